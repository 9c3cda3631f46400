//! The sample nodes of `fixtures/`.

use std::path::PathBuf;

use crosstie_facts::RawCapture;
use crosstie_node::capture;

pub(crate) fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

pub(crate) fn raw(name: &str) -> RawCapture {
    load(name).next().unwrap()
}

pub(crate) fn all() -> impl Iterator<Item = RawCapture> {
    load("")
}

fn load(name: &str) -> impl Iterator<Item = RawCapture> {
    let loaded = capture::load(&fixtures().join("nodes").join(name)).unwrap();
    loaded.into_iter().map(|loaded| loaded.raw.unwrap())
}
