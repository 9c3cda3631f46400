//! What is written for those who configure network interfaces: a file for each entry of the model's list that files are written for,
//! of the same name.

mod choice;

use crosstie_model::{
    Facts, Mtu, Renderer,
    facts::{
        net::{Interface, Manager},
        persistence::{Format, InterfaceProfile},
    },
    plan::{FileMode, PlanRefusal},
    renderer::Generator,
    with_every_renderer,
};
use ipnet::IpNet;

pub(crate) use choice::choose;

/// An interface as the cluster file wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedInterface {
    pub(crate) name: String,
    pub(crate) renderer: Renderer,
    /// Sorted.
    pub(crate) addresses: Vec<IpNet>,
    pub(crate) mtu: Option<Mtu>,
}

/// A file that is all ours, by its path, and what is in it.
pub(crate) type NewFile = (String, String);

/// What one of them is told, and what stands in its way.
pub(crate) trait RendererPlan {
    /// Where its files are, and who may read those that are written there. The first that a path begins with counts.
    fn folders(&self) -> &'static [(&'static str, FileMode)];

    /// Its files for those interfaces that are its own.
    fn files(&self, wanted: &[WantedInterface]) -> Vec<NewFile>;

    /// Whether a profile in its files would have a say beside ours.
    fn is_heard(&self, own: &WantedInterface, profile: &InterfaceProfile) -> bool;

    /// Why a file of its that is for fabric ports alone cannot be set aside either.
    fn obstacle(&self, _facts: &Facts, _file: &str) -> Option<&'static str> {
        None
    }

    /// Why its files cannot be written now, if any are.
    fn refusals(&self, _facts: &Facts, _wanted: &[WantedInterface]) -> Vec<PlanRefusal> {
        Vec::new()
    }

    /// What a person types to have it keep an interface's settings, where it would.
    fn keep(&self, _facts: &Facts, _settings: &Settings) -> Option<Vec<String>> {
        None
    }
}

/// What makes the files of managers.
pub(crate) trait GeneratorPlan {
    /// It is there and is what people here write their files for.
    fn is_used(&self, facts: &Facts) -> bool;

    /// Whom its files are for, where they say so.
    fn named(&self, facts: &Facts) -> Option<Manager>;

    /// Whom they are for where they do not.
    fn default_manager(&self) -> Manager;

    /// How the name of a file begins that it makes for its default manager.
    fn made_prefix(&self) -> &'static str;
}

/// What an interface has now and is to keep.
pub(crate) struct Settings<'a> {
    pub(crate) interface: &'a Interface,
    /// With their prefix lengths.
    pub(crate) addresses: &'a [String],
    pub(crate) mtu: u32,
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

        pub(crate) const ALL: &[&dyn RendererPlan] = &[
            $(&$generator::$generator_type,)*
            $(&$manager::$manager_type,)+
        ];

        const GENERATORS: &[Generator] = &[$(Generator::$generator_type,)*];

        fn generator(generator: Generator) -> &'static dyn GeneratorPlan {
            match generator {
                $(Generator::$generator_type => &$generator::$generator_type,)*
            }
        }

        /// `None` where nothing is written in that format.
        pub(crate) fn of(format: Format) -> Option<&'static dyn RendererPlan> {
            match format {
                $($(Format::$made => Some(&$generator::$generator_type),)+)*
                $(Format::$manager_type => Some(&$manager::$manager_type),)+
                $(Format::$read_type => None,)*
            }
        }
    };
}

with_every_renderer!(modules);

/// Who may read a file, if it is one of theirs.
pub(crate) fn mode_of(path: &str) -> Option<FileMode> {
    let mut folders = ALL.iter().flat_map(|renderer| renderer.folders());
    let found = folders.find(|(folder, _)| path.starts_with(folder));
    found.map(|(_, mode)| *mode)
}

/// The commands by which a person makes an interface's settings last, of the first that it can be done with.
pub fn keep_commands(
    facts: &Facts,
    interface: &Interface,
    addresses: &[String],
    mtu: u32,
) -> Vec<String> {
    let settings = Settings {
        interface,
        addresses,
        mtu,
    };
    let mut commands = ALL.iter();
    let found = commands.find_map(|renderer| renderer.keep(facts, &settings));
    found.unwrap_or_default()
}
