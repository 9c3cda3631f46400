//! What collection wanted and did not get, for a person.

use crosstie_model::facts::Unread;

use crate::{
    Raw,
    raw::{Entry, Gap},
};

pub(super) fn unread(raw: &Raw) -> Vec<Unread> {
    // Device nodes are looked at, not read: that one may not be opened is a fact of its own.
    let files = raw
        .tree()
        .filter(|(path, _)| !path.starts_with("dev/"))
        .map(|(path, entry)| (format!("/{path}"), entry));
    let commands = raw
        .commands()
        .map(|(name, entry)| (command_name(name), entry));
    let root = raw.meta.root_refused.as_ref().map(|why| Unread {
        what: "what only root may read".to_owned(),
        why: why.clone(),
        root_would: false,
    });
    let gaps = files
        .chain(commands)
        .filter_map(|(what, entry)| match entry {
            Entry::Gap(Gap::Absent) => None,
            Entry::Gap(gap) => Some(Unread {
                what,
                why: gap.to_string(),
                root_would: *gap == Gap::Denied,
            }),
            _ => None,
        });
    gaps.chain(root).collect()
}

/// What a capture's command file stands for, in a person's words.
fn command_name(file: &str) -> String {
    match file {
        "nft.json" => "firewall rules".to_owned(),
        "dmesg.txt" => "kernel log".to_owned(),
        "nvidia-smi.xml" => "GPUs (NVML, nvidia-smi)".to_owned(),
        "ip-addr.json" => "addresses".to_owned(),
        "ip-route.json" => "routes".to_owned(),
        "ip-rule.json" => "routing rules".to_owned(),
        "ip-neigh.json" => "neighbours".to_owned(),
        "rdma-resource.json" => "live queue pairs".to_owned(),
        "timedatectl.txt" => "clock synchronisation".to_owned(),
        other => other.to_owned(),
    }
}
