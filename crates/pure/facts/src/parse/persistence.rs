//! Interface definitions in the files of all who configure interfaces, and modules that the boot loads.

use std::collections::BTreeMap;

use crosstie_model::{
    Reading,
    facts::persistence::{InterfaceProfile, PersistentNetworkConfig},
};

use crate::{
    RawCapture,
    renderer::{ALL, PLACES},
};

pub(super) fn persistence(raw: &RawCapture) -> PersistentNetworkConfig {
    let mut found = PersistentNetworkConfig {
        modules: modules(raw),
        cx7_hotplug_marker: raw.exists("etc/nvidia/cx7-hotplug-enabled"),
        rendered: rendered(raw),
        ..PersistentNetworkConfig::default()
    };
    for renderer in ALL {
        renderer.read(raw, &mut found);
    }
    found
}

fn rendered(raw: &RawCapture) -> Reading<Vec<InterfaceProfile>> {
    let made = ALL.iter().flat_map(|renderer| renderer.read_made(raw));
    let made: Vec<InterfaceProfile> = made.collect();
    Reading::from((!made.is_empty()).then_some(made))
}

/// Lines of modules-load.d and /etc/modules, hyphen and underscore being the same.
fn modules(raw: &RawCapture) -> BTreeMap<String, String> {
    let places = PLACES.iter().flat_map(|place| {
        let directory = format!("{place}/modules-load.d");
        raw.names(&directory)
            .into_iter()
            .map(|name| format!("{directory}/{name}"))
            .collect::<Vec<_>>()
    });
    places
        .chain(["etc/modules".to_owned()])
        .flat_map(|path| {
            let text = raw.text(&path).into_known().unwrap_or("");
            let names = text
                .lines()
                .filter_map(|line| line.split_whitespace().next());
            let names = names.filter(|name| !name.starts_with(['#', ';']));
            names
                .map(|name| (name.replace('-', "_"), format!("/{path}")))
                .collect::<Vec<_>>()
        })
        .collect()
}
