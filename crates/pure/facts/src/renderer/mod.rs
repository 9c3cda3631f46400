//! What is read of those who configure network interfaces: a file for each entry of the model's list, of the same name.

mod profiles;

pub(crate) use profiles::PLACES;

use crosstie_model::{
    facts::{
        net::Manager,
        persistence::{Format, InterfaceProfile, PersistentNetworkConfig},
    },
    with_every_renderer,
};

use crate::{
    RawCapture,
    collect::{CollectRule, FileFilter, rules::rule},
};

/// What one of them reads and leaves on a node. Its module has two constants besides: `RULES`, the part of the allow-list that is its
/// own, and `PROFILES`, where people look for its definitions of interfaces.
pub(crate) trait RendererFiles {
    /// How the names of packages that it comes in begin, less a leading `lib`.
    fn packages(&self) -> &'static [&'static str];

    /// Where people name its files, below `/etc`, `/run` and `/usr/lib`.
    fn folders(&self) -> &'static [&'static str];

    /// Endings of file names that tell that it reads the file, and nothing else.
    fn endings(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a program gave a file of its this name, and no person.
    fn is_given(&self, _name: &str) -> bool {
        false
    }

    /// A part of the path of all its files, of which none may be missing where its profiles count.
    fn path_part(&self) -> &'static str;

    /// Whether its profiles are for root alone, names and all.
    fn is_private(&self) -> bool {
        false
    }

    /// Definitions of interfaces in its files.
    fn read(&self, raw: &RawCapture, found: &mut PersistentNetworkConfig);

    /// What generators last made for it, under `/run`: by the names that they give.
    fn read_made(&self, _raw: &RawCapture) -> Vec<InterfaceProfile> {
        Vec::new()
    }

    /// Of a generator: how the names of the files that it makes begin, by manager.
    fn makes(&self) -> &'static [(Manager, &'static str)] {
        &[]
    }

    /// What its own state says it runs. `None` where it keeps none.
    fn claim<'a>(&self, _raw: &'a RawCapture) -> Option<Claim<'a>> {
        None
    }

    /// Whether one of its profiles that names no interface keeps the settings of those that it happens to apply to.
    fn keeps_unnamed(&self, _profile: &InterfaceProfile) -> bool {
        false
    }
}

/// Whether an interface of this name and index is run.
pub(crate) type Claim<'a> = Box<dyn Fn(&str, u32) -> bool + 'a>;

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
        $(mod $read;)*

        pub(crate) const ALL: &[&dyn RendererFiles] = &[
            $(&$generator::$generator_type,)*
            $(&$manager::$manager_type,)+
            $(&$read::$read_type,)*
        ];

        /// Those that run interfaces.
        pub(crate) const MANAGERS: &[(Manager, &dyn RendererFiles)] = &[
            $((Manager::$manager_type, &$manager::$manager_type),)+
            $((Manager::$read_type, &$read::$read_type),)*
        ];

        pub(crate) const RULES: &[&[CollectRule]] = &[
            $($generator::RULES,)*
            $($manager::RULES,)+
            $($read::RULES,)*
            // That a manager's service runs.
            &[$(rule(concat!("sys/fs/cgroup/system.slice/", $service, ".service"), FileFilter::Name),)+],
        ];

        /// Where people look for definitions of interfaces.
        pub const PROFILES: &[&str] = &[
            $($generator::PROFILES,)*
            $($manager::PROFILES,)+
            $($read::PROFILES,)*
        ];

        fn of(format: Format) -> &'static dyn RendererFiles {
            match format {
                $($(Format::$made => &$generator::$generator_type,)+)*
                $(Format::$manager_type => &$manager::$manager_type,)+
                $(Format::$read_type => &$read::$read_type,)*
            }
        }
    };
}

with_every_renderer!(modules);

/// How the names of files that generators make begin.
pub(crate) fn made_prefixes() -> impl Iterator<Item = &'static str> {
    let made = ALL.iter().flat_map(|one| one.makes());
    made.map(|(_, prefix)| *prefix)
}

/// Whether a path is of the files by which interfaces are configured.
pub fn is_renderers(path: &str) -> bool {
    ALL.iter().any(|one| path.contains(one.path_part()))
}

/// Managers whose profiles are for root alone.
pub fn private_managers() -> impl Iterator<Item = &'static Manager> {
    let private = MANAGERS.iter().filter(|(_, files)| files.is_private());
    private.map(|(manager, _)| manager)
}

/// Whether a profile that names no interface keeps the settings of those that it happens to apply to.
pub fn keeps_unnamed(profile: &InterfaceProfile) -> bool {
    of(profile.format).keeps_unnamed(profile)
}
