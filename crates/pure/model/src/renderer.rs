//! Who configures network interfaces, declared once: [`with_every_renderer!`](crate::with_every_renderer) is the list. Reading a node,
//! planning for it and changing it have a module for each entry, of the same name.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Facts, plan::PlanRefusal};

/// Calls the macro `$generate` with the list. Each entry is the name of its modules, its type, and its name for people.
///
/// `generators` make a manager's files out of files of their own, for each manager that stands below them. `managers` run interfaces
/// by files of their own, each as a systemd service; where several run and nothing tells which of them is to have an interface, the
/// last one gets it. Files of `read_only` managers are read, and nothing is written for them.
#[macro_export]
macro_rules! with_every_renderer {
    ($generate:ident) => {
        $generate! {
            generators {
                netplan Netplan "netplan" {
                    NetplanNetworkd by Networkd,
                    NetplanNetworkManager by NetworkManager,
                }
            }
            managers {
                network_manager NetworkManager "NetworkManager" service "NetworkManager",
                networkd Networkd "networkd" service "systemd-networkd",
            }
            read_only {
                ifupdown Ifupdown "ifupdown",
            }
        }
    };
}

/// All of them as one string literal: `netplan, NetworkManager, systemd-networkd or ifupdown`. Managers go by their services.
#[macro_export]
macro_rules! renderers_listed {
    (
        generators { $($generator:ident $generator_type:ident $generator_name:literal { $($made:tt)* })* }
        managers { $($manager:ident $manager_type:ident $manager_name:literal service $service:literal,)+ }
        read_only { $($read:ident $read_type:ident $read_name:literal,)* }
    ) => { $crate::renderers_listed!($($generator_name,)* $($service,)+ $($read_name,)*) };
    ($name:literal,) => { $name };
    ($name:literal, $last:literal,) => { concat!($name, " or ", $last) };
    ($name:literal, $($more:literal,)+) => { concat!($name, ", ", $crate::renderers_listed!($($more,)+)) };
}

macro_rules! declare {
    (
        generators {
            $($generator:ident $generator_type:ident $generator_name:literal { $($made:ident by $made_for:ident,)+ })*
        }
        managers { $($manager:ident $manager_type:ident $manager_name:literal service $service:literal,)+ }
        read_only { $($read:ident $read_type:ident $read_name:literal,)* }
    ) => {
        // By the name that it has in the schema of plans.
        /// Whose files describe an interface, and who reads them.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "kebab-case")]
        #[schemars(rename = "Tool")]
        pub enum Renderer {
            $($($made,)+)*
            $($manager_type,)+
        }

        impl Renderer {
            pub const ALL: &[Self] = &[$($(Self::$made,)+)* $(Self::$manager_type,)+];

            /// What makes the manager's files, where they are not written themselves.
            pub const fn generator(self) -> Option<Generator> {
                match self {
                    $($(Self::$made => Some(Generator::$generator_type),)+)*
                    $(Self::$manager_type => None,)+
                }
            }

            /// Who runs the interface.
            pub const fn manager(self) -> Manager {
                match self {
                    $($(Self::$made => Manager::$made_for,)+)*
                    $(Self::$manager_type => Manager::$manager_type,)+
                }
            }

            /// What its files are read as.
            pub const fn format(self) -> Format {
                match self {
                    $($(Self::$made => Format::$made,)+)*
                    $(Self::$manager_type => Format::$manager_type,)+
                }
            }
        }

        /// What makes files of a manager's out of files of its own.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Generator {
            $($generator_type,)*
        }

        impl Generator {
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$generator_type => $generator_name,)*
                }
            }
        }

        /// Who configures an interface.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Manager {
            $($manager_type,)+
            $($read_type,)*
            /// A manager is known to run, and it leaves this interface alone.
            Nobody,
            #[default]
            Unknown,
        }

        impl Manager {
            pub const ALL: &[Self] = &[
                $(Self::$manager_type,)+
                $(Self::$read_type,)*
                Self::Nobody,
                Self::Unknown,
            ];

            /// Those that files are written for.
            pub const WRITTEN: &[Self] = &[$(Self::$manager_type,)+];

            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$manager_type => $manager_name,)+
                    $(Self::$read_type => $read_name,)*
                    Self::Nobody => "nobody",
                    Self::Unknown => "unknown",
                }
            }

            /// The systemd service that it is, less `.service`.
            pub const fn service(&self) -> Option<&'static str> {
                match self {
                    $(Self::$manager_type => Some($service),)+
                    $(Self::$read_type => None,)*
                    Self::Nobody | Self::Unknown => None,
                }
            }

            /// Why nothing is written for an interface that it runs.
            pub fn refusal(&self, interface: &str) -> Option<PlanRefusal> {
                let interface = interface.to_owned();
                match self {
                    $(Self::$manager_type => None,)+
                    $(Self::$read_type => Some(PlanRefusal::$read_type { interface }),)*
                    Self::Nobody | Self::Unknown => None,
                }
            }
        }

        /// What a profile is written in.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Format {
            // A generator's, with the manager that is in force for the interface.
            $($($made,)+)*
            $($manager_type,)+
            $($read_type,)*
        }

        impl Format {
            pub const fn generator(self) -> Option<Generator> {
                match self {
                    $($(Self::$made => Some(Generator::$generator_type),)+)*
                    $(Self::$manager_type => None,)+
                    $(Self::$read_type => None,)*
                }
            }

            /// Who runs the interface then.
            pub const fn manager(self) -> Manager {
                match self {
                    $($(Self::$made => Manager::$made_for,)+)*
                    $(Self::$manager_type => Manager::$manager_type,)+
                    $(Self::$read_type => Manager::$read_type,)*
                }
            }
        }
    };
}

with_every_renderer!(declare);

impl Renderer {
    /// For a manager whose files a generator makes, or nobody does.
    pub fn of(generator: Option<Generator>, manager: &Manager) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|own| own.generator() == generator && own.manager() == *manager)
    }
}

impl Manager {
    /// Whether its service runs.
    pub fn is_running(&self, facts: &Facts) -> bool {
        let mut services = facts.software.services.iter().map(String::as_str);
        services.any(|found| Some(found) == self.service())
    }
}

/// `netplan and networkd`, `networkd`
impl fmt::Display for Renderer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(generator) = self.generator() {
            write!(formatter, "{} and ", generator.name())?;
        }
        formatter.write_str(self.manager().name())
    }
}

/// The services of all managers that files are written for.
pub fn services() -> impl Iterator<Item = &'static str> {
    Manager::WRITTEN.iter().filter_map(Manager::service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_and_facts_keep_their_words() {
        let written = |renderer: &Renderer| serde_json::to_value(renderer).unwrap();
        let words = [
            "netplan-networkd",
            "netplan-network-manager",
            "network-manager",
            "networkd",
        ];
        let found: Vec<_> = Renderer::ALL.iter().map(written).collect();
        assert!(words.iter().all(|word| found.iter().any(|one| one == word)));
        for renderer in Renderer::ALL {
            let format = serde_json::to_value(renderer.format()).unwrap();
            assert_eq!(format, written(renderer));
            assert_eq!(renderer.format().manager(), renderer.manager());
            assert_eq!(renderer.format().generator(), renderer.generator());
            let same = Renderer::of(renderer.generator(), &renderer.manager());
            assert_eq!(same, Some(*renderer));
        }
    }

    #[test]
    fn people_are_told_both_programs() {
        let words: Vec<String> = Renderer::ALL.iter().map(ToString::to_string).collect();
        for expected in [
            "netplan and networkd",
            "netplan and NetworkManager",
            "NetworkManager",
            "networkd",
        ] {
            assert!(words.iter().any(|words| words == expected), "{expected}");
        }
        let listed = with_every_renderer!(renderers_listed);
        assert!(
            listed.starts_with("netplan, ")
                && listed.contains("NetworkManager")
                && listed.contains("systemd-networkd")
                && listed.ends_with(" or ifupdown"),
            "{listed}"
        );
    }
}
