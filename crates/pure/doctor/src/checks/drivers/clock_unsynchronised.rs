//! The node's clock is set by nobody.

use crate::{CauseScope, Check, CheckFunctions, CheckHit, ExaminedCluster, ExaminedNode, explains};

pub(super) const CHECK: Check = Check {
    id: "clock-unsynchronised",
    title: "The clock is not synchronised",
    severity: "warning",
    fires: "`timedatectl` says that the clock is not synchronised; or the clocks of two live nodes are more than a \
        second apart, whatever they think of themselves.",
    reads: &[
        "timedatectl show",
        "the time of day of each node, while it is examined",
    ],
    cause: "no time service runs, or it reaches no server: often a fabric node without a way out",
    meaning: "RDMA does not care about the time of day. What runs on top does: TLS certificates, leases, file times on \
        shared storage, and the logs in which you look for what happened first on which node.",
    fix: "Switch time synchronisation on, and give the node a server that it can reach over the management network.",
    verify: "`timedatectl` says `System clock synchronized: yes`.",
    explained_by: &[explains("clock-unsynchronised", CauseScope::Node)],
    run: CheckFunctions::node(run).and_cluster(skewed),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    if node.facts.system.clock_synchronised.known() != Some(&false) {
        return Vec::new();
    }
    let hit = CheckHit::warning("clock").felt_elsewhere().saw(
        "NTPSynchronized",
        "no",
        "timedatectl show",
    );
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
        None if node.facts.system.time_service_installed.known() == Some(&false) => hit
            .saw("CanNTP", "no", "timedatectl show")
            .cause("no time service is installed")
            .advice("Install one, and give the node a server that it can reach over the management network.")
            .command({
                let distribution = node.facts.distribution();
                distribution.install_typed(&[distribution.packages.time_service])
            }),
        None => hit
            .advice("Start the one that is installed: `crosstie apply` does, and `crosstie rollback` stops it again.")
            .command("sudo timedatectl set-ntp true"),
    }]
}

/// Milliseconds that clocks may be apart.
const SKEW: i64 = 1000;

/// Each node against the one in the middle, so that the odd clock is named and not all the others.
fn skewed(cluster: &ExaminedCluster) -> Vec<CheckHit> {
    let mut clocks: Vec<_> = cluster
        .nodes
        .iter()
        .filter_map(|node| Some((node.clock?, node.name)))
        .collect();
    clocks.sort_by_key(|(clock, _)| clock.least.saturating_add(clock.most));
    let Some((middle, middle_name)) = clocks.get(clocks.len().saturating_sub(1) / 2).copied()
    else {
        return Vec::new();
    };
    clocks
        .iter()
        .filter(|(clock, _)| clock.apart(middle) > SKEW)
        .map(|(clock, name)| {
            let apart = clock.apart(middle) / 1000;
            CheckHit::warning(format!("{name}, {middle_name}"))
                .saw(
                    format!("{name} and {middle_name} are apart by at least"),
                    format!("{apart} s"),
                    "the time of day of both, while they were examined",
                )
                .cause("the clock of one of the two is set by nobody, or by another source")
                .command("timedatectl")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::ClockOffset;

    #[test]
    fn a_clock_within_a_second_is_no_matter() {
        let exact = ClockOffset::between(0, 10, 0);
        let late = ClockOffset::between(0, 10, -1500);
        assert!(late.apart(exact) <= super::SKEW);
        let wrong = ClockOffset::between(0, 10, -7_200_000);
        assert!(wrong.apart(exact) > super::SKEW);
    }
}
