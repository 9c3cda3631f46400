//! Interface definitions in the files of all who configure interfaces, and modules that the boot loads.

use std::collections::BTreeMap;

use crosstie_model::{
    Reading,
    facts::persistence::{Persistence, Profile},
};

use crate::{
    Raw,
    renderer::{ALL, PLACES},
};

pub(super) fn persistence(raw: &Raw) -> Persistence {
    let mut found = Persistence {
        modules: modules(raw),
        cx7_hotplug_marker: raw.exists("etc/nvidia/cx7-hotplug-enabled"),
        rendered: rendered(raw),
        ..Persistence::default()
    };
    for renderer in ALL {
        renderer.read(raw, &mut found);
    }
    found
}

fn rendered(raw: &Raw) -> Reading<Vec<Profile>> {
    let made = ALL.iter().flat_map(|renderer| renderer.read_made(raw));
    let made: Vec<Profile> = made.collect();
    Reading::from((!made.is_empty()).then_some(made))
}

/// Lines of modules-load.d and /etc/modules, hyphen and underscore being the same.
fn modules(raw: &Raw) -> BTreeMap<String, String> {
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
