//! Reading this machine, all of it at once.

use crosstie_facts::{Meta, Raw, collect};

use crate::Local;

/// Everything that facts are parsed from, read of the machine that this runs on.
pub fn collect() -> Raw {
    let mut raw = Raw::new(Meta::default());
    collect::tree(&Local::machine(), &[], &mut raw);
    raw.meta.host = raw
        .text("proc/sys/kernel/hostname")
        .into_known()
        .unwrap_or("")
        .to_owned();
    raw
}

/// The capture cut down to the allow-list, however it was made.
pub fn sanitised(raw: &Raw) -> Raw {
    let mut kept = Raw::new(raw.meta.clone());
    collect::tree(raw, &[], &mut kept);
    for (name, entry) in raw.commands() {
        kept.insert_command(name, entry.clone());
    }
    kept
}
