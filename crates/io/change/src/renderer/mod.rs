//! Those who configure network interfaces, told to read their files again: a file for each entry of the model's list that files are
//! written for, of the same name. One interface at a time, and nothing else is brought up or down.

use crosstie_model::{
    Renderer,
    facts::net::Manager,
    plan::{ConfigReload, InterfaceChange},
    renderer::{Generator, services},
    with_every_renderer,
};

use crate::{error::ManagerError, program::run};

/// What one of them does when files have changed.
pub(crate) trait RendererControl {
    /// Reads the files of these interfaces, which are its own, and configures them anew.
    fn reconfigure(&self, changes: &[&InterfaceChange]) -> Result<(), ManagerError>;

    /// Reads all files again, if it is there and runs. They changed under a person's own hands: nothing is brought up or down for it.
    fn reread(&self) -> Result<(), ManagerError>;

    /// Of a generator: makes its files anew before any manager starts.
    fn render_at_boot(&self) -> Result<(), ManagerError> {
        Ok(())
    }

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
pub(crate) fn reconfigure(then: &[ConfigReload]) -> Result<(), ManagerError> {
    let interfaces = then.iter().filter_map(|reread| match reread {
        ConfigReload::Interface(change) => Some(change),
        ConfigReload::Units => None,
    });
    let interfaces: Vec<&InterfaceChange> = interfaces.collect();
    let reconfigure = |control: &dyn RendererControl, is_own: &dyn Fn(Renderer) -> bool| {
        let own = interfaces.iter().copied();
        let own: Vec<&InterfaceChange> = own.filter(|change| is_own(change.by)).collect();
        if own.is_empty() {
            return Ok(());
        }
        control.reconfigure(&own)
    };
    for (generator, control) in GENERATORS {
        reconfigure(*control, &|by| by.generator() == Some(*generator))?;
    }
    for (manager, control) in MANAGERS.iter().rev() {
        reconfigure(*control, &|by| by.manager() == *manager)?;
    }
    Ok(())
}

/// All of them read their files again.
pub(crate) fn reread_all() -> Result<(), ManagerError> {
    in_order().try_for_each(RendererControl::reread)
}

/// Before the managers start.
pub(crate) fn render_at_boot() -> Result<(), ManagerError> {
    in_order().try_for_each(RendererControl::render_at_boot)
}

/// Whether a manager runs.
pub(crate) fn is_any_running() -> bool {
    MANAGERS.iter().any(|(manager, _)| is_running(manager))
}

fn is_running(manager: &Manager) -> bool {
    let unit = manager
        .service()
        .map(|service| format!("{service}.service"));
    unit.is_some_and(|unit| run("systemctl", &["is-active", &unit]).is_ok())
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
    use super::*;

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
