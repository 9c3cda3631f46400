//! TCP sockets may not grow large enough buffers for a fast fabric.

use crosstie_model::Severity;
use crosstie_plan::SOCKET_BUFFER_BYTES as WANTED;

use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "socket-buffers-small",
    title: "TCP sockets are limited to small buffers",
    severity: "info (warning with a cluster file)",
    fires: "`net.core.rmem_max` or `net.core.wmem_max` is below 268435456 (256 MiB).",
    reads: &["/proc/sys/net/core/rmem_max", "/proc/sys/net/core/wmem_max"],
    cause: "the distribution's default, which is made for slower networks",
    meaning: "RDMA does not use these buffers. What goes over TCP on the same cable does: loading models, Ray's object \
        store, NCCL without RDMA. With small buffers one TCP stream stays far below 100 Gb/s.",
    fix: "Raise both limits in a file of sysctl.d.",
    verify: "`sysctl net.core.rmem_max net.core.wmem_max` shows 268435456 for both.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let small: Vec<(&str, u64)> = ["net.core.rmem_max", "net.core.wmem_max"]
        .into_iter()
        .filter_map(|name| {
            let value = node.facts.sysctls.get(name)?.trim().parse().ok()?;
            (value < WANTED).then_some((name, value))
        })
        .collect();
    if small.is_empty() {
        return Vec::new();
    }
    let severity = if node.expected {
        Severity::Warning
    } else {
        Severity::Info
    };
    let names: Vec<&str> = small.iter().map(|(name, _)| *name).collect();
    let hit = CheckHit::new(severity, names.join(", "));
    let hit = small.iter().fold(hit, |hit, (name, value)| {
        hit.saw(name, value, format!("/proc/sys/{}", name.replace('.', "/")))
    });
    let lines: Vec<String> = names
        .iter()
        .map(|name| format!("'{name} = {WANTED}'"))
        .collect();
    vec![
        hit.command(format!(
            r"printf '%s\n' {} | sudo tee {}/90-socket-buffers.conf",
            lines.join(" "),
            node.facts.distribution().folders.sysctl
        ))
        .command("sudo sysctl --system"),
    ]
}
