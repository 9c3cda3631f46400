//! What collection wanted and did not get, for a person.

use crosstie_model::facts::FactGap;
use serde::de::IgnoredAny;

use crate::{
    RawCapture,
    collect::is_cut_log,
    raw::{CaptureEntry, ReadGap},
};

pub(super) fn unread(raw: &RawCapture) -> Vec<FactGap> {
    // Device nodes are looked at, not read: that one may not be opened is a fact of its own.
    let files = raw
        .tree()
        .filter(|(path, _)| !path.starts_with("dev/"))
        .map(|(path, entry)| (format!("/{path}"), entry));
    let commands = raw
        .commands()
        .map(|(name, entry)| (command_name(name), entry));
    let root = raw.meta.root_refused.as_ref().map(|why| FactGap {
        what: "what only root may read".to_owned(),
        why: why.clone(),
        root_would: false,
    });
    let gaps = files
        .chain(commands)
        .filter_map(|(what, entry)| match entry {
            CaptureEntry::Gap(ReadGap::Absent) => None,
            CaptureEntry::Gap(gap) => Some(FactGap {
                what,
                why: gap.to_string(),
                root_would: *gap == ReadGap::Denied,
            }),
            _ => None,
        });
    gaps.chain(root)
        .chain(damaged(raw))
        .chain(cut_log(raw))
        .collect()
}

/// Lines of the kernel's that are missing may be those that tell of a fault.
fn cut_log(raw: &RawCapture) -> Option<FactGap> {
    const LOG: &str = "dmesg.txt";
    let text = raw.command(LOG).into_known()?;
    is_cut_log(text).then(|| FactGap {
        what: command_name(LOG),
        why: "cut short: some of it is missing".to_owned(),
        root_would: false,
    })
}

/// Output that was cut short or is something else: no fact can come of it, and its absence would look like health.
fn damaged(raw: &RawCapture) -> impl Iterator<Item = FactGap> {
    let documents = raw
        .commands()
        .filter(|(name, _)| name.strip_suffix(".json").is_some());
    documents.filter_map(|(name, entry)| {
        let CaptureEntry::File(bytes) = entry else {
            return None;
        };
        if bytes.trim_ascii().is_empty() {
            return None;
        }
        let error = serde_json::from_slice::<IgnoredAny>(bytes).err()?;
        Some(FactGap {
            what: command_name(name),
            why: format!("damaged: {error}"),
            root_would: false,
        })
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::cut_log;

    #[test]
    fn output_that_was_cut_short_is_unread() {
        let mut raw = RawCapture::default();
        let mut keep = |name: &str, text: &str| {
            raw.insert_command(name, CaptureEntry::File(text.as_bytes().to_vec()));
        };
        keep("ip-addr.json", "[{\"ifindex\": 1, ");
        keep("ip-route.json", &"[".repeat(100_000));
        keep("ip-rule.json", "[]");
        keep("nft.json", "");
        keep("dmesg.txt", "[ no JSON");
        let found: Vec<String> = unread(&raw).into_iter().map(|one| one.what).collect();
        assert_eq!(found, ["addresses", "routes"]);
        let log = cut_log("[    1.0] mlx5_core: x\n");
        raw.insert_command("dmesg.txt", CaptureEntry::File(log.into_bytes()));
        let found: Vec<String> = unread(&raw).into_iter().map(|one| one.what).collect();
        assert_eq!(found, ["addresses", "routes", "kernel log"]);
    }
}
