//! Runs the target that this program is named after.

#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let tables = [
        crosstie_facts::fuzz::TARGETS,
        crosstie_nccl_log::fuzz::TARGETS,
        crosstie_node::fuzz::TARGETS,
        crosstie_reach::fuzz::TARGETS,
    ];
    let wanted = env!("CARGO_BIN_NAME");
    let found = tables
        .concat()
        .into_iter()
        .find(|(name, _)| *name == wanted);
    found.expect("no table has a target of this name").1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
