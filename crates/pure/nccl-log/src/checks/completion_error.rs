//! The card reported a failed transfer.

use std::{collections::BTreeSet, net::Ipv4Addr};

use crosstie_doctor::CheckHit;
use crosstie_model::Severity;

use crate::{
    run::{HostObservation, NcclRun},
    state::ObservationKind,
};

/// One hit for each status: each has its own meaning.
pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    let all = run.seen(|kind| matches!(kind, ObservationKind::Completion(_)));
    let statuses: BTreeSet<u32> = all
        .iter()
        .filter_map(|(kind, ..)| match kind {
            ObservationKind::Completion(status) => Some(*status),
            _ => None,
        })
        .collect();
    // A flush follows another failure, so it comes after it.
    let ordered = statuses
        .iter()
        .filter(|status| **status != FLUSHED)
        .chain(statuses.get(&FLUSHED));
    ordered
        .map(|status| {
            let seen = run.seen(|kind| kind == ObservationKind::Completion(*status));
            let (meaning, cause, advice) = meaning(*status);
            let hit = run.hit(Severity::Fault, &seen).saw(
                format!("status {status}"),
                meaning,
                "ibv_wc_status",
            );
            let hit = hit.cause(cause).advice(advice);
            if *status == NO_ANSWER {
                with_probes(hit, &seen)
            } else {
                hit
            }
        })
        .collect()
}

/// A frame as large as they get, and who answers for the address.
fn with_probes(hit: CheckHit, seen: &[HostObservation]) -> CheckHit {
    let mut lines = seen.iter().flat_map(|(_, _, seen)| &seen.lines);
    let peer = lines.find_map(|line| remote_address(&line.text));
    let peer = peer.map_or_else(|| "PEER".to_owned(), |peer| peer.to_string());
    hit.command(format!("ping -c 3 -M do -s 8972 {peer}"))
        .command(format!("ip neigh show {peer}"))
}

/// The IPv4 address in the last GID of the line, which is the remote one.
fn remote_address(line: &str) -> Option<Ipv4Addr> {
    let (_, address) = line.rsplit_once("::ffff:")?;
    address.split_whitespace().next()?.parse().ok()
}

const FLUSHED: u32 = 5;
const NO_ANSWER: u32 = 12;

/// What the status says (`enum ibv_wc_status`), what is usually behind it, and what to do.
fn meaning(status: u32) -> (&'static str, &'static str, &'static str) {
    const PROGRAM: (&str, &str) = (
        "memory or sizes that the two ends disagree on: a fault of the program, of NCCL or of differing versions of it",
        "Use one version of NCCL on all nodes, and no plugin for the network (NCCL_NET_PLUGIN=none); if it stays, report \
         it with this log.",
    );
    let with = |name, (cause, advice)| (name, cause, advice);
    match status {
        1 => with("local length error", PROGRAM),
        2 => with("local queue pair operation error", PROGRAM),
        4 => with("local protection error", PROGRAM),
        FLUSHED => (
            "work request flushed",
            "the queue pair had failed before: this follows another error, on this node or, when the peer ended first, there",
            "Look for the first error, in this log or in the peer's, and mend that one.",
        ),
        8 => with("local access error", PROGRAM),
        9 => with("remote invalid request", PROGRAM),
        10 => (
            "remote access error",
            "the peer refused: its memory was no longer registered, since its process failed or ended, or the two ends \
             disagree on the buffer",
            "Look for the first error in the peer's log; use one version of NCCL on all nodes.",
        ),
        11 => (
            "remote operation error",
            "the peer's card could not finish: its process failed or ended",
            "Look for the first error in the peer's log.",
        ),
        NO_ANSWER => (
            "transport retry counter exceeded",
            "no answer from the peer: frames reach the wrong port (the peer's address resolves to its other twin), a \
             smaller MTU somewhere on the way, a bad cable, or the peer is gone",
            "Run `crosstie doctor` on both nodes. Then send a full-size frame to the peer's fabric address, and compare the \
             hardware address that the neighbour table gives for it with the peer's own:",
        ),
        13 => (
            "receiver-not-ready retry counter exceeded",
            "the peer posted no buffer in time: it hangs, is far behind, or has failed",
            "Look at the peer: its log, its GPU, and whether all ranks run the same program.",
        ),
        _ => (
            "another error",
            "the card ended the transfer",
            "Look for the first error, in this log or in the peer's.",
        ),
    }
}
