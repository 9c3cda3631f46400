//! Errors on a link grow while it is watched.

use crosstie_grade::FaultKind;

use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, ExaminedPort, RunWithFaults,
    explains,
    growth::{all_grown, grown},
    word,
};

pub(super) const CHECK: Check = Check {
    id: "link-errors-growing",
    title: "Error counters of a fabric port are growing",
    severity: "warning",
    fires: "Between two readings (of the doctor, or around a measurement) a symbol, discard, sequence, acknowledgement-timeout \
        or retransmission counter of a fabric port grew. What it held before does not matter.",
    reads: &[
        "/sys/class/infiniband/DEVICE/ports/PORT/counters/*",
        "/sys/class/infiniband/DEVICE/ports/PORT/hw_counters/*",
        "ethtool -S IF",
    ],
    cause: "a poor cable or transceiver, a congested fabric without flow control, or a receiver that cannot keep up",
    meaning: "RDMA has no patience with loss: each lost packet makes the sender repeat everything after it, so a rate of \
        one in a million is felt. The counter that grows says where to look. Symbol errors, receive errors and links that \
        went down are the cable. Discards are congestion without flow control. Sequence errors and timeouts are what RDMA \
        sees of packets that were lost on the way.",
    fix: "Symbol errors or link downs: seat the cable again, clean or change it. Discards: switch priority flow control and \
        ECN on at both host and switch. Sequence errors or timeouts alone: look at the same counters of the far end and \
        of the switch ports in between.",
    verify: "The counters stand still while a measurement (`prove`) runs.",
    explained_by: &[
        explains("cable-dead", CauseScope::Cable),
        explains("twin-down", CauseScope::Cage),
        explains("fabric-port-down", CauseScope::Cage),
    ],
    run: CheckFunctions::stored(measured).and_node(run),
};

/// Below `counters/`.
const PORT: [&str; 8] = [
    "symbol_error",
    "port_rcv_errors",
    "port_xmit_discards",
    "port_rcv_remote_physical_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "link_error_recovery",
    "link_downed",
];

/// Below `hw_counters/`: mlx5's, then Soft-RoCE's.
const HARDWARE: [&str; 11] = [
    "local_ack_timeout_err",
    "packet_seq_err",
    "out_of_sequence",
    "implied_nak_seq_err",
    "req_transport_retries_exceeded",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "rx_icrc_encapsulated",
    "out_of_seq_request",
    "rcvd_seq_err",
    "retry_exceeded_err",
];

/// Of `ethtool -S`: the physical port's, which twins share.
const DRIVER: [&str; 6] = [
    "rx_symbol_err_phy",
    "rx_pcs_symbol_err_phy",
    "rx_crc_errors_phy",
    "rx_discards_phy",
    "tx_discards_phy",
    "tx_errors_phy",
];

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let mut cages = Vec::new();
    node.fabric
        .iter()
        .filter_map(|port| {
            let first = !cages.contains(&port.cage);
            cages.push(port.cage);
            let mut growth = of_port(node, port);
            if first {
                growth.extend(of_driver(node, port));
            }
            if growth.is_empty() {
                return None;
            }
            let hit = growth.into_iter().fold(
                CheckHit::warning(port.label()),
                |hit, (name, grown, source)| hit.saw(name, format!("grew by {grown}"), source),
            );
            Some(hit)
        })
        .collect()
}

type Growth = (String, u64, String);

fn of_port(node: &ExaminedNode, port: &ExaminedPort) -> Vec<Growth> {
    let Some(before) = node.earlier_port(port.device, port.port) else {
        return Vec::new();
    };
    let own = all_grown(&before.counters, &port.port.counters)
        .filter(|(name, _)| PORT.contains(name))
        .map(|(name, grown)| {
            (
                name.to_owned(),
                grown,
                port.file(&format!("counters/{name}")),
            )
        });
    let hardware = all_grown(&before.hw_counters, &port.port.hw_counters)
        .filter(|(name, _)| HARDWARE.contains(name))
        .map(|(name, grown)| {
            let source = port.file(&format!("hw_counters/{name}"));
            (name.to_owned(), grown, source)
        });
    own.chain(hardware).collect()
}

fn of_driver(node: &ExaminedNode, port: &ExaminedPort) -> Vec<Growth> {
    let counters = || {
        let netdev = port.netdev?;
        let before = node.earlier?.network.interface(&netdev.name)?;
        let before = before.link.driver_counters.known()?;
        Some((netdev, before, netdev.link.driver_counters.known()?))
    };
    let Some((netdev, before, after)) = counters() else {
        return Vec::new();
    };
    DRIVER
        .iter()
        .filter_map(|name| {
            let growth = grown(*before.get(*name)?, *after.get(*name)?);
            let source = format!("ethtool -S {}", word(&netdev.name));
            (growth > 0).then(|| ((*name).to_owned(), growth, source))
        })
        .collect()
}

fn measured(run: &RunWithFaults) -> Vec<CheckHit> {
    run.hits(FaultKind::LinkErrorsGrowing)
}
