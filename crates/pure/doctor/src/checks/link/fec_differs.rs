//! The two ends of a cable correct errors in different ways.

use super::cable_ends;
use crate::{CagePair, Check, CheckFunctions, CheckHit, ExaminedPort, word};

pub(super) const CHECK: Check = Check {
    id: "fec-differs",
    title: "The two ends of a cable use different forward error correction",
    severity: "warning",
    fires: "Two cages that are taken as the ends of one cable have active ports whose active FEC encodings differ, and no \
        switch is known to be in between.",
    reads: &["ethtool --show-fec IF"],
    cause: "the encoding was set by hand on one end, or negotiation is off",
    meaning: "Forward error correction has to be the same at both ends of a cable. Where it differs the link flaps, loses \
        packets, or comes up at a lower speed; each lost packet costs RDMA a retransmission.",
    fix: "On both nodes let the port choose by itself, or set the same encoding (RS for 50 Gb/s a lane and more).",
    verify: "`ethtool --show-fec` shows the same active encoding at both ends.",
    explained_by: &[],
    run: CheckFunctions::pair(run),
};

fn run(pair: &CagePair) -> Vec<CheckHit> {
    let Some((a, b)) = cable_ends(pair) else {
        return Vec::new();
    };
    let (Some((name_a, fec_a)), Some((name_b, fec_b))) = (encoding(a), encoding(b)) else {
        return Vec::new();
    };
    if fec_a.eq_ignore_ascii_case(fec_b) {
        return Vec::new();
    }
    let seen = |hit: CheckHit, node: &str, name: &str, fec: &str| {
        let source = format!("ethtool --show-fec {}", word(name));
        hit.saw(format!("active FEC of {name} on {node}"), fec, source)
    };
    let hit = seen(
        CheckHit::warning(pair.label()),
        pair.a.node.name,
        name_a,
        fec_a,
    );
    let hit = seen(hit, pair.b.node.name, name_b, fec_b);
    let auto = |name: &str| format!("sudo ethtool --set-fec {} encoding auto", word(name));
    let mut commands = vec![auto(name_a), auto(name_b)];
    commands.dedup();
    vec![commands.into_iter().fold(hit, CheckHit::command)]
}

fn encoding<'a>(port: &ExaminedPort<'a>) -> Option<(&'a str, &'a str)> {
    let netdev = port.netdev?;
    let fec = netdev.link.fec_active.known()?;
    Some((&netdev.name, fec))
}
