//! A port came up slower than it should.

use crosstie_fabric::CageGrouping;
use crosstie_model::Gbps;

use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, ExaminedPort, explains, port_file,
    word,
};

pub(super) const CHECK: Check = Check {
    id: "port-rate-low",
    title: "A port runs below the rate it should have",
    severity: "fault",
    fires: "An active fabric port's rate is below that of its active twin, or below `rate_gbps` of the cluster file.",
    reads: &[
        "/sys/class/infiniband/DEVICE/ports/PORT/rate",
        "cluster.toml",
    ],
    cause: "the two ends agreed on a lower speed: a cable or transceiver that cannot do more, forward error correction that \
        does not match, or a switch port with a fixed speed",
    meaning: "The rate is what the two ends of the cable agreed on when it was plugged in. A 200 Gb/s port on a 100 Gb/s \
        cable, or on a switch port that was split, comes up at 100 Gb/s without a word.",
    fix: "Compare the port's modes with the far end's (`ethtool IF`), set the same forward error correction on both, try \
        another cable, and as a last resort force the speed at both ends.",
    verify: "`rate` of the port shows the wanted figure.",
    explained_by: &[explains("fec-differs", CauseScope::Cable)],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let active = |port: &&ExaminedPort| port.port.is_active() && !port.device.software;
    let ports = node.fabric.iter().filter(active);
    ports
        .filter_map(|port| {
            let rate = *port.port.rate.known()?;
            let hit =
                CheckHit::fault(port.label()).saw("rate of the port", rate, port.file("rate"));
            let (hit, wanted) = against_twin(node, port, rate, hit.clone())
                .or_else(|| against_file(node, rate, hit))?;
            Some(commands(hit, port, wanted))
        })
        .collect()
}

fn against_twin(
    node: &ExaminedNode,
    port: &ExaminedPort,
    rate: Gbps,
    hit: CheckHit,
) -> Option<(CheckHit, Gbps)> {
    node.cages
        .get(port.cage)
        .filter(|cage| cage.grouping != CageGrouping::Alone)?;
    let twins = node.twins(port).filter(|(_, twin)| twin.is_active());
    let (twin, twin_port, wanted) = twins
        .filter_map(|(twin, port)| Some((twin, port, *port.rate.known()?)))
        .find(|(_, _, wanted)| rate < *wanted)?;
    let source = port_file(twin, twin_port, "rate");
    Some((
        hit.saw(format!("rate of its twin {}", twin.name), wanted, source),
        wanted,
    ))
}

fn against_file(node: &ExaminedNode, rate: Gbps, hit: CheckHit) -> Option<(CheckHit, Gbps)> {
    let wanted = node.spec.filter(|_| node.expected)?.fabric.rate_gbps?;
    (rate < wanted).then(|| (hit.saw("rate_gbps", wanted, "cluster.toml"), wanted))
}

fn commands(hit: CheckHit, port: &ExaminedPort, wanted: Gbps) -> CheckHit {
    let Some(netdev) = port.netdev.filter(|_| port.is_roce()) else {
        return hit;
    };
    let name = word(&netdev.name);
    hit.advice(format!(
        "Compare the port's modes and forward error correction with the far end's, and try another cable. As a last \
         resort force the speed, at both ends: `sudo ethtool -s {name} speed {:.0} autoneg off`.",
        wanted.0 * 1000.0
    ))
    .command(format!("ethtool {name} && ethtool --show-fec {name}"))
}
