//! What this tool has written on the node.

use crosstie_model::{
    facts::ManagedFiles,
    managed::{ASIDE_SUFFIX, FileOrigin, ManagedBlock, origin},
};

use crate::{RawCapture, raw::CaptureEntry, renderer};

/// Files in which we have a block.
const SHARED: [&str; 2] = ["etc/hosts", "etc/nccl.conf"];
pub(super) fn managed(raw: &RawCapture) -> ManagedFiles {
    let mut found = ManagedFiles::default();
    for (path, entry) in raw.tree().filter(|(path, _)| path.starts_with("etc/")) {
        let full = format!("/{path}");
        if let Some(original) = full.strip_suffix(ASIDE_SUFFIX)
            && may_be_aside(path)
        {
            found.aside.insert(original.to_owned());
        } else if let Some(unit) = started(path) {
            found.units.insert(unit.to_owned());
        } else if let CaptureEntry::File(bytes) = entry
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            if SHARED.contains(&path) {
                shared(&mut found, full, text);
                continue;
            }
            match origin(text) {
                FileOrigin::Ours => {
                    found.files.insert(full, text.to_owned());
                }
                FileOrigin::Edited => {
                    found.edited.insert(full);
                }
                FileOrigin::Foreign => {}
            }
        }
    }
    found
}

/// Where other people's files may have been set aside.
fn may_be_aside(path: &str) -> bool {
    let mut folders = renderer::ALL.iter().flat_map(|one| one.folders());
    let below = path.strip_prefix("etc/").unwrap_or_default();
    folders.any(|folder| {
        below
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
    })
}

/// `etc/systemd/system/multi-user.target.wants/crosstie-fabric.service`
fn started(path: &str) -> Option<&str> {
    let (target, unit) = path.strip_prefix("etc/systemd/system/")?.split_once('/')?;
    (target.strip_suffix(".wants").is_some() && !unit.contains('/')).then_some(unit)
}

fn shared(found: &mut ManagedFiles, path: String, text: &str) {
    match ManagedBlock::find(text) {
        Some(block) if block.is_intact() => {
            found.blocks.insert(path, block.body.to_owned());
        }
        Some(_) => {
            found.edited.insert(path);
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use crosstie_model::managed::{BlockPlace, seal, with_block};

    use super::*;

    #[test]
    fn what_is_ours_is_told_from_what_is_not() {
        let mut raw = RawCapture::default();
        let mut file = |path: &str, text: &str| {
            raw.insert(path, CaptureEntry::File(text.as_bytes().to_vec()));
        };
        let ours = seal("rdma_ucm\n");
        let block = with_block(None, Some("10.0.0.1 a\n"), BlockPlace::End).unwrap();
        file("etc/modules-load.d/crosstie.conf", &ours);
        file("etc/modules-load.d/other.conf", "x\n");
        file("etc/sysctl.d/90-crosstie.conf", &(seal("a") + "b\n"));
        file("etc/hosts", &block);
        file("etc/netplan/40-x.yaml.crosstie~", "");
        file(
            "etc/systemd/system/multi-user.target.wants/crosstie-fabric.service",
            "",
        );
        let found = managed(&raw);
        assert_eq!(found.files["/etc/modules-load.d/crosstie.conf"], ours);
        assert_eq!(found.files.len(), 1);
        assert!(found.edited.contains("/etc/sysctl.d/90-crosstie.conf"));
        assert_eq!(found.blocks["/etc/hosts"], "10.0.0.1 a\n");
        assert!(found.aside.contains("/etc/netplan/40-x.yaml"));
        assert!(found.units.contains("crosstie-fabric.service"));
    }
}
