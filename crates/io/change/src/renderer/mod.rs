//! Those who configure network interfaces, told to read their files again: a file for each entry of the model's list that files are
//! written for, of the same name. One interface at a time, and nothing else is brought up or down.
//!
//! Every one of them is asked, whatever came of the others: a rollback is done as far as it can be.

mod programs;

use crosstie_model::{
    Renderer,
    facts::net::Manager,
    plan::{ConfigReload, InterfaceChange},
    renderer::{Generator, services},
    with_every_renderer,
};

use crate::error::ManagerError;
use programs::ManagerPrograms;

/// What one of them does when files have changed.
pub(crate) trait RendererControl {
    /// Reads the files of these interfaces, which are its own, and configures them anew.
    fn reconfigure(&self, changes: &[&InterfaceChange], programs: &mut ManagerPrograms<'_>);

    /// Reads all files again, if it is there and runs. They changed under a person's own hands: nothing is brought up or down for it.
    fn reread(&self, programs: &mut ManagerPrograms<'_>);

    /// Of a generator: makes its files anew before any manager starts.
    fn render_at_boot(&self, _programs: &mut ManagerPrograms<'_>) {}

    /// Units that read its files at boot, besides a manager's own.
    fn units(&self) -> &'static [&'static str] {
        &[]
    }

    /// Where its files are, and what it remembers.
    fn files(&self) -> &'static [&'static str];

    /// What a manager calls the profile of an interface.
    fn profile(&self, interface: &str) -> String {
        format!("crosstie-{interface}")
    }
}

macro_rules! modules {
    (
        generators {
            $($generator:ident $generator_type:ident $generator_name:literal { $($made:ident by $made_for:ident,)+ })*
        }
        managers { $($manager:ident $manager_type:ident $manager_name:literal service $service:literal,)+ }
        read_only { $($read:ident $read_type:ident $read_name:literal,)* }
    ) => {
        $(mod $generator;)*
        $(mod $manager;)+

        const GENERATORS: &[(Generator, &dyn RendererControl)] = &[
            $((Generator::$generator_type, &$generator::$generator_type),)*
        ];

        const MANAGERS: &[(Manager, &dyn RendererControl)] = &[
            $((Manager::$manager_type, &$manager::$manager_type),)+
        ];

        /// Whose files describe an interface.
        fn writer(renderer: Renderer) -> &'static dyn RendererControl {
            match renderer {
                $($(Renderer::$made => &$generator::$generator_type,)+)*
                $(Renderer::$manager_type => &$manager::$manager_type,)+
            }
        }
    };
}

with_every_renderer!(modules);

/// Generators first. Of managers the last comes first: it gets interfaces that nobody claims, and lets go of those that another has now.
fn in_order() -> impl Iterator<Item = &'static dyn RendererControl> {
    let generators = GENERATORS.iter().map(|(_, control)| *control);
    generators.chain(MANAGERS.iter().rev().map(|(_, control)| *control))
}

/// Interfaces configured anew, each by its own manager and by nobody else's.
pub(crate) fn reconfigure(then: &[ConfigReload]) -> Vec<ManagerError> {
    let mut programs = ManagerPrograms::of_machine();
    reconfigure_with(then, &mut programs);
    programs.failed()
}

fn reconfigure_with(then: &[ConfigReload], programs: &mut ManagerPrograms<'_>) {
    let interfaces = then.iter().filter_map(|reread| match reread {
        ConfigReload::Interface(change) => Some(change),
        ConfigReload::Units => None,
    });
    let interfaces: Vec<&InterfaceChange> = interfaces.collect();
    let mut reconfigure = |control: &dyn RendererControl, is_own: &dyn Fn(Renderer) -> bool| {
        let own = interfaces.iter().copied();
        let own: Vec<&InterfaceChange> = own.filter(|change| is_own(change.by)).collect();
        if !own.is_empty() {
            control.reconfigure(&own, programs);
        }
    };
    for (generator, control) in GENERATORS {
        reconfigure(*control, &|by| by.generator() == Some(*generator));
    }
    for (manager, control) in MANAGERS.iter().rev() {
        reconfigure(*control, &|by| by.manager() == *manager);
    }
}

/// All of them read their files again.
pub(crate) fn reread_all() -> Vec<ManagerError> {
    let mut programs = ManagerPrograms::of_machine();
    in_order().for_each(|control| control.reread(&mut programs));
    programs.failed()
}

/// Before the managers start.
pub(crate) fn render_at_boot() -> Vec<ManagerError> {
    let mut programs = ManagerPrograms::of_machine();
    in_order().for_each(|control| control.render_at_boot(&mut programs));
    programs.failed()
}

/// Whether a manager runs.
pub(crate) fn is_any_running() -> bool {
    let programs = ManagerPrograms::of_machine();
    let mut managers = MANAGERS.iter();
    managers.any(|(manager, _)| programs.is_running(manager))
}

/// Whatever reads their files at boot.
pub(crate) fn units() -> Vec<String> {
    let own = in_order().flat_map(RendererControl::units);
    let own = own.map(|unit| (*unit).to_owned());
    let managers = services().map(|service| format!("{service}.service"));
    own.chain(managers).collect()
}

/// Where their files are, and what they remember.
pub(crate) fn files() -> impl Iterator<Item = &'static str> {
    in_order().flat_map(RendererControl::files).copied()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use crosstie_model::plan::ValueChange;

    use super::*;
    use crate::error::ExternalProgramError;

    fn change(name: &str, by: Renderer) -> ConfigReload {
        ConfigReload::Interface(InterfaceChange {
            name: name.to_owned(),
            by,
            addresses: ValueChange {
                from: Vec::new(),
                to: Vec::new(),
            },
            mtu: ValueChange {
                from: None,
                to: None,
            },
        })
    }

    #[test]
    fn whatever_fails_every_manager_is_asked_for_every_interface() {
        let asked = RefCell::new(Vec::new());
        let run = |program: &str, arguments: &[&str], _| {
            let command = format!("{program} {}", arguments.join(" "));
            asked.borrow_mut().push(command.clone());
            if arguments.contains(&"show") {
                let profiles = ["crosstie-eth1", "crosstie-eth2"];
                return Ok(profiles.map(|name| format!("{name}:/etc/x\n")).concat());
            }
            let complaint = String::new();
            Err(ExternalProgramError::Failed { command, complaint })
        };
        let mut programs = ManagerPrograms::of(&run);
        let changes = [
            change("eth1", Renderer::NetworkManager),
            change("eth2", Renderer::NetworkManager),
            change("eth3", Renderer::Networkd),
            change("eth4", Renderer::Networkd),
        ];
        reconfigure_with(&changes, &mut programs);
        let failed = programs.failed();
        let asked = asked.take();
        for wanted in ["crosstie-eth1", "crosstie-eth2", "eth3", "eth4"] {
            let is_asked = asked.iter().any(|command| command.ends_with(wanted));
            assert!(is_asked, "{wanted}: {asked:#?}");
            let mut told = failed.iter().map(ToString::to_string);
            let is_told = told.any(|told| told.contains(wanted));
            assert!(is_told, "{wanted}: {failed:#?}");
        }
    }

    #[test]
    fn a_rollback_at_boot_comes_before_whatever_reads_network_files() {
        let units = units();
        for unit in [
            "netplan-configure.service",
            "NetworkManager.service",
            "systemd-networkd.service",
        ] {
            assert!(units.iter().any(|found| found == unit), "{unit}");
        }
    }

    #[test]
    fn a_profile_is_called_after_whoever_wrote_it() {
        let profile = |renderer| writer(renderer).profile("eth1");
        assert_eq!(profile(Renderer::NetplanNetworkManager), "netplan-eth1");
        assert_eq!(profile(Renderer::NetworkManager), "crosstie-eth1");
    }
}
