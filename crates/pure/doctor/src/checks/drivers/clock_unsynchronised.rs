//! The node's clock is set by nobody.

use crate::{Check, Hit, Node, Run};

pub(super) const CHECK: Check = Check {
    id: "clock-unsynchronised",
    title: "The clock is not synchronised",
    severity: "warning",
    fires: "`timedatectl` says that the clock is not synchronised.",
    reads: &["timedatectl show"],
    cause: "no time service runs, or it reaches no server: often a fabric node without a way out",
    meaning: "RDMA does not care about the time of day. What runs on top does: TLS certificates, leases, file times on \
        shared storage, and the logs in which you look for what happened first on which node.",
    fix: "Switch time synchronisation on, and give the node a server that it can reach over the management network.",
    verify: "`timedatectl` says `System clock synchronized: yes`.",
    run: Run::Node(run),
};

fn run(node: &Node) -> Vec<Hit> {
    if node.facts.system.clock_synchronised.known() != Some(&false) {
        return Vec::new();
    }
    let hit = Hit::warning("clock").saw("NTPSynchronized", "no", "timedatectl show");
    let services = node.facts.software.services.iter();
    let mut services = services.filter(|name| {
        let name = name.as_str();
        name == "systemd-timesyncd" || name.starts_with("chrony") || name.starts_with("ntp")
    });
    vec![match services.next() {
        Some(service) => {
            let hit = hit
                .saw("time service", service, "/sys/fs/cgroup/system.slice")
                .cause("the time service runs and reaches no server")
                .advice("See which servers it asks, and give it one that the node can reach.");
            if service.starts_with("chrony") {
                hit.command("chronyc sources")
            } else if service.starts_with("ntp") {
                hit.command("ntpq -p")
            } else {
                hit.command("timedatectl timesync-status")
            }
        }
        None => hit.command("sudo timedatectl set-ntp true"),
    }]
}
