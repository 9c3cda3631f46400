//! Reading this machine, all of it at once.

use std::{env, path::PathBuf, time::Instant};

use crosstie_facts::{
    CaptureMeta, RawCapture,
    collect::{self, CollectRule, PathAlias},
};

use crate::{LocalFileTree, child_processes::inherited, commands, gid_tables::GidTableOverlay};

/// Everything that facts are parsed from, read of the machine that this runs on.
///
/// Where there are RDMA cards, each group of files has a thread of its own, since their firmware is slow to answer.
/// Elsewhere one more thread is all that pays for itself.
pub fn collect() -> RawCapture {
    let machine = GidTableOverlay::new(LocalFileTree::machine());
    let fabric = commands::fabric_interfaces(&machine);
    let mut raw = RawCapture::default();
    std::thread::scope(|scope| {
        let commands = scope.spawn(inherited(|| commands::gather(&fabric)));
        let (here, beside) = collect::GROUPS.split_at(if fabric.is_empty() { 4 } else { 1 });
        let beside: Vec<_> = beside
            .iter()
            .map(|rules| scope.spawn(|| group(&machine, rules)))
            .collect();
        for rules in here {
            raw.merge(group(&machine, rules));
        }
        // A panic over there is a bug, and still no reason to lose what was read elsewhere.
        for group in beside {
            raw.merge(group.join().unwrap_or_default());
        }
        for (name, entry) in commands.join().unwrap_or_default() {
            raw.insert_command(&name, entry);
        }
    });
    for alias in aliases() {
        if let Some(entry) = collect::alias(&machine, &alias) {
            raw.insert(alias.recorded, entry);
        }
    }
    raw.meta = CaptureMeta {
        host: raw
            .word("proc/sys/kernel/hostname")
            .into_known()
            .unwrap_or_default(),
        captured: now(),
        root_refused: None,
    };
    raw
}

fn group(machine: &GidTableOverlay, rules: &[CollectRule]) -> RawCapture {
    let started = Instant::now();
    let raw = collect::collect_group(machine, rules);
    let first = rules.first().map_or("nothing", |rule| rule.path);
    tracing::debug!(first, elapsed = ?started.elapsed(), "read a group of files");
    raw
}

/// NCCL's files of the user who runs this, recorded without saying who that is.
fn aliases() -> Vec<PathAlias> {
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".nccl.conf"));
    let named = env::var_os("NCCL_CONF_FILE").map(PathBuf::from);
    let places = [
        (home, collect::HOME_NCCL_CONF),
        (named, collect::NAMED_NCCL_CONF),
    ];
    places
        .into_iter()
        .filter_map(|(path, recorded)| {
            let path = path.filter(|path| path.is_absolute())?;
            Some(PathAlias {
                actual: path.to_str()?.trim_start_matches('/').to_owned(),
                recorded,
            })
        })
        .collect()
}

/// RFC 3339, in UTC.
pub fn now() -> String {
    rfc3339(
        std::time::UNIX_EPOCH
            .elapsed()
            .unwrap_or_default()
            .as_secs(),
    )
}

/// Days to a date by the era method: 400 years repeat exactly, and a year that starts in March ends in its leap day.
fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day + 2) / 153;
    let day = day - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The capture cut down to the allow-list, however it was made, and without names that people gave to files and to definitions of
/// interfaces that are not there.
pub fn cut_to_allow_list(raw: &RawCapture) -> RawCapture {
    let mut kept = collect::collect_all(raw);
    kept.meta = meta(&raw.meta);
    for (name, entry) in raw.commands() {
        if let Some(entry) = collect::command(name, entry) {
            kept.insert_command(name, entry);
        }
    }
    collect::rename_absent_interfaces(&collect::rename_user_files(&kept))
}

/// A name and a time, and nothing in their place.
fn meta(meta: &CaptureMeta) -> CaptureMeta {
    let is_time = |byte: u8| byte.is_ascii_digit() || b"TZ:.+-".contains(&byte);
    CaptureMeta {
        host: collect::host_name(&meta.host),
        captured: if meta.captured.bytes().all(is_time) {
            meta.captured.clone()
        } else {
            String::new()
        },
        root_refused: meta.root_refused.as_deref().map(collect::root_refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_what_date_prints() {
        // date -u -d @N +%FT%TZ
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_798_761_599), "2026-12-31T23:59:59Z");
        assert_eq!(rfc3339(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
