//! Limits, clock, container, kernel log.

use crosstie_model::{
    Reading,
    facts::{
        persistence::{LimitsConfLine, ProcessLimit},
        system::{KernelLogLine, SystemFacts},
    },
};

use super::nccl::environment;
use crate::{RawCapture, collect::is_cut_log};

pub(super) fn system(raw: &RawCapture) -> SystemFacts {
    SystemFacts {
        root: environment(raw, "UID").map(|uid| uid == "0"),
        locked_memory: locked_memory(raw),
        limit_lines: limit_lines(raw),
        clock_synchronised: clock(raw, "NTPSynchronized="),
        time_service_on: clock(raw, "NTP="),
        time_service_installed: clock(raw, "CanNTP="),
        container: container(raw),
        kernel_log: raw.command("dmesg.txt").map(|text| {
            let lines = text.lines().filter(|line| !is_cut_log(line));
            lines.map(log_line).collect()
        }),
        aspm_policy: raw
            .text("sys/module/pcie_aspm/parameters/policy")
            .and_then(|text| {
                // `[default] performance powersave powersupersave`
                let selected = text
                    .split_once('[')
                    .and_then(|(_, rest)| rest.split_once(']'));
                selected.map(|(policy, _)| policy.to_owned()).into()
            }),
    }
}

/// A line of `timedatectl show`.
fn clock(raw: &RawCapture, key: &str) -> Reading<bool> {
    raw.command("timedatectl.txt").and_then(|text| {
        let mut values = text.lines().filter_map(|line| line.strip_prefix(key));
        Reading::from(values.next()).map(|value| value.trim() == "yes")
    })
}

/// `Max locked memory   SOFT   HARD   bytes`.
fn locked_memory(raw: &RawCapture) -> ProcessLimit {
    let line = raw.text("proc/self/limits").and_then(|text| {
        text.lines()
            .find_map(|line| line.strip_prefix("Max locked memory"))
            .into()
    });
    let column = |index: usize| {
        line.as_ref()
            .and_then(|line| match line.split_whitespace().nth(index) {
                Some("unlimited") => Reading::Value(None),
                Some(number) => number.parse().map_or_else(
                    |_| Reading::malformed(number),
                    |limit| Reading::Value(Some(limit)),
                ),
                None => Reading::Absent,
            })
    };
    ProcessLimit {
        soft: column(0),
        hard: column(1),
    }
}

/// In the order in which `pam_limits` reads them: limits.conf, then limits.d by name.
fn limit_lines(raw: &RawCapture) -> Vec<LimitsConfLine> {
    let dropins = raw.names("etc/security/limits.d").into_iter();
    let dropins = dropins.map(|name| format!("etc/security/limits.d/{name}"));
    std::iter::once("etc/security/limits.conf".to_owned())
        .chain(dropins)
        .flat_map(|path| {
            let text = raw.text(&path).into_known().unwrap_or("");
            text.lines()
                .filter_map(move |line| limit_line(&path, line))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn limit_line(path: &str, line: &str) -> Option<LimitsConfLine> {
    let line = line.split('#').next().unwrap_or("");
    let [domain, kind, item, value] = line.split_whitespace().collect::<Vec<_>>()[..] else {
        return None;
    };
    Some(LimitsConfLine {
        file: format!("/{path}"),
        domain: domain.to_owned(),
        kind: kind.to_owned(),
        item: item.to_owned(),
        value: value.to_owned(),
    })
}

fn container(raw: &RawCapture) -> Reading<String> {
    let marker = |path: &str, name: &str| Reading::from(raw.exists(path).then(|| name.to_owned()));
    raw.word("run/systemd/container")
        .or_else(|| marker(".dockerenv", "docker"))
        .or_else(|| marker("run/.containerenv", "podman"))
}

/// `[    1.000000] TEXT`; a line of another form keeps its text.
fn log_line(line: &str) -> KernelLogLine {
    let stamped = line.strip_prefix('[').and_then(|rest| {
        let (stamp, text) = rest.split_once(']')?;
        let (seconds, micros) = stamp.trim().split_once('.')?;
        let micros = (micros.len() == 6).then(|| micros.parse::<u64>().ok())??;
        let at = seconds
            .parse::<u64>()
            .ok()?
            .checked_mul(1_000_000)?
            .checked_add(micros)?;
        Some((at, text.trim_start()))
    });
    match stamped {
        Some((at, text)) => KernelLogLine {
            at_us: Reading::Value(at),
            text: text.to_owned(),
        },
        None => KernelLogLine {
            at_us: Reading::Absent,
            text: line.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_carry_their_time() {
        assert_eq!(
            log_line("[   12.345678] mlx5_core x").at_us,
            Reading::Value(12_345_678)
        );
        assert_eq!(log_line("no stamp").at_us, Reading::Absent);
        assert_eq!(
            log_line("[99999999999999999999.000000] x").at_us,
            Reading::Absent
        );
    }
}
