//! Who configures an interface: asked of the managers' own state, else read off their files.

use crosstie_model::{
    Reading,
    facts::{
        Persistence,
        net::{Interface, Manager},
        persistence::{Format, Profile},
    },
};

use crate::Raw;

pub(super) struct Managers<'a> {
    raw: &'a Raw,
    /// Some manager keeps its state under /run, so silence about an interface means something.
    state_known: bool,
}

impl<'a> Managers<'a> {
    pub(super) fn new(raw: &'a Raw) -> Self {
        let state_known = [
            "run/NetworkManager/devices",
            "run/systemd/netif/links",
            "run/network/ifstate",
        ]
        .iter()
        .any(|path| raw.exists(path));
        Self { raw, state_known }
    }

    pub(super) fn of(
        &self,
        interface: &Interface,
        driver: Option<&str>,
        files: &Persistence,
    ) -> Manager {
        self.running(interface)
            .or_else(|| declared(interface, driver, files))
            .unwrap_or(if self.state_known {
                Manager::Nobody
            } else {
                Manager::Unknown
            })
    }

    fn running(&self, interface: &Interface) -> Option<Manager> {
        let index = interface.index.known()?;
        let has = |path: String, line: &str| {
            let text = self.raw.text(&path).into_known().unwrap_or("");
            text.lines().any(|found| found.trim() == line)
        };
        if has(
            format!("run/NetworkManager/devices/{index}"),
            "managed=true",
        ) {
            return Some(Manager::NetworkManager);
        }
        let state = self.raw.text(&format!("run/systemd/netif/links/{index}"));
        if let Reading::Value(text) = state
            && !text.contains("ADMIN_STATE=unmanaged")
            && text.contains("ADMIN_STATE=")
        {
            return Some(Manager::Networkd);
        }
        has(
            "run/network/ifstate".to_owned(),
            &format!("{0}={0}", interface.name),
        )
        .then_some(Manager::Ifupdown)
    }
}

/// What the files would make of it. The last file that matches is the one in force in netplan.
fn declared(interface: &Interface, driver: Option<&str>, files: &Persistence) -> Option<Manager> {
    let profiles = files.profiles.iter();
    let mut matching = profiles.filter(|profile| covers(profile, interface, driver));
    matching.next_back().map(|profile| match profile.format {
        Format::NetplanNetworkManager | Format::NetworkManager => Manager::NetworkManager,
        Format::NetplanNetworkd | Format::Networkd => Manager::Networkd,
        Format::Ifupdown => Manager::Ifupdown,
    })
}

/// Whether a profile applies to an interface. One that names nothing applies to everything, and says nothing here.
pub fn covers(profile: &Profile, interface: &Interface, driver: Option<&str>) -> bool {
    !profile.matches.is_open() && profile.matches.holds_for(interface, driver)
}
