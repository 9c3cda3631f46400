//! The sample nodes of `fixtures/`.

use std::path::PathBuf;

use crosstie_facts::Raw;
use crosstie_node::capture;

pub(crate) fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

pub(crate) fn raw(name: &str) -> Raw {
    load(name).next().unwrap()
}

pub(crate) fn all() -> impl Iterator<Item = Raw> {
    load("")
}

fn load(name: &str) -> impl Iterator<Item = Raw> {
    let loaded = capture::load(&fixtures().join("nodes").join(name)).unwrap();
    loaded.into_iter().map(|loaded| loaded.raw.unwrap())
}
