//! Counters by their names in the kernel and in drivers, and what their growth means.

use std::collections::BTreeMap;

use crosstie_model::run::CounterGrowth;

pub type GrownCounters = BTreeMap<String, u64>;

/// Packets that left and packets that came, in the same words: Soft-RoCE, hardware ports, interfaces.
const PACKETS: [(&str, &str); 3] = [
    ("sent_pkts", "rcvd_pkts"),
    ("port_xmit_packets", "port_rcv_packets"),
    ("tx_packets", "rx_packets"),
];
/// At the receiver of data: a packet was missing before the one that came.
const OUT_OF_SEQUENCE: [&str; 2] = ["out_of_seq_request", "out_of_sequence"];
/// At the sender: the receiver has said that one is missing.
const REFUSED: [&str; 3] = ["rcvd_seq_err", "packet_seq_err", "implied_nak_seq_err"];
/// At the sender: no word came in time, and it sent again.
const TIMEOUTS: [&str; 2] = ["completer_retry_err", "local_ack_timeout_err"];
/// Congestion: packets were marked, and the sender was told.
const CONGESTION: [&str; 3] = [
    "rp_cnp_handled",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
];
const PCIE_STALLS: [&str; 3] = [
    "outbound_pci_stalled_rd_events",
    "outbound_pci_stalled_wr_events",
    "outbound_pci_buffer_overflow",
];
/// Damage or loss on the link itself.
const LINK_ERRORS: [&str; 14] = [
    "symbol_error",
    "port_rcv_errors",
    "port_xmit_discards",
    "link_error_recovery",
    "link_downed",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "rx_symbol_err_phy",
    "rx_crc_errors_phy",
    "rx_pcs_symbol_err_phy",
    "rx_discards_phy",
    "tx_discards_phy",
    "rx_out_of_buffer",
    "rx_crc_errors",
];

/// One counter that grew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrownCounter {
    pub name: String,
    pub by: u64,
    /// At the end that sends.
    pub at_sender: bool,
}

fn sum(growth: &GrownCounters, names: &[&str]) -> u64 {
    let values = names.iter().filter_map(|name| growth.get(*name));
    values.fold(0, |sum, value| sum.saturating_add(*value))
}

fn grown(growth: &GrownCounters, names: &[&str], at_sender: bool) -> Vec<GrownCounter> {
    let found = names.iter().filter_map(|name| {
        let by = *growth.get(*name).filter(|by| **by > 0)?;
        let name = (*name).to_owned();
        Some(GrownCounter {
            name,
            by,
            at_sender,
        })
    });
    found.collect()
}

fn both(growth: &CounterGrowth, names: &[&str]) -> Vec<GrownCounter> {
    let mut found = grown(&growth.from, names, true);
    found.extend(grown(&growth.to, names, false));
    found
}

/// Packets that one end sent and the other received, where both count alike.
pub fn packets(sender: &GrownCounters, receiver: &GrownCounters) -> Option<(u64, u64)> {
    PACKETS
        .iter()
        .find_map(|(sent, received)| Some((*sender.get(*sent)?, *receiver.get(*received)?)))
}

pub fn packets_sent(sender: &GrownCounters) -> Option<u64> {
    PACKETS
        .iter()
        .find_map(|(sent, _)| sender.get(*sent).copied())
}

/// Gaps that the receiver saw, whichever end has counted them.
pub fn out_of_sequence(growth: &CounterGrowth) -> u64 {
    let at_receiver = sum(&growth.to, &OUT_OF_SEQUENCE);
    at_receiver.max(sum(&growth.from, &REFUSED))
}

pub fn timeouts(growth: &CounterGrowth) -> u64 {
    sum(&growth.from, &TIMEOUTS)
}

pub fn retransmissions(growth: &CounterGrowth) -> Vec<GrownCounter> {
    let mut found = grown(
        &growth.from,
        &[REFUSED.as_slice(), &TIMEOUTS].concat(),
        true,
    );
    found.extend(grown(&growth.to, &OUT_OF_SEQUENCE, false));
    found
}

pub fn congestion(growth: &CounterGrowth) -> Vec<GrownCounter> {
    both(growth, &CONGESTION)
}

pub fn pcie_stalls(growth: &CounterGrowth) -> Vec<GrownCounter> {
    both(growth, &PCIE_STALLS)
}

pub fn link_errors(growth: &CounterGrowth) -> Vec<GrownCounter> {
    both(growth, &LINK_ERRORS)
}

/// Nanoseconds for which the sender was told to stop; drivers count microseconds, one counter a priority.
pub fn paused_nanoseconds(growth: &CounterGrowth) -> u64 {
    let counts = growth.from.iter();
    let durations =
        counts.filter(|(name, _)| name.starts_with("rx_") && name.ends_with("pause_duration"));
    // Priorities that are paused at once are not paused for longer: the longest counts.
    let longest = durations.map(|(_, by)| *by).max().unwrap_or(0);
    longest.saturating_mul(1000)
}

/// Pause frames that the sender got, where the driver gives no durations.
pub fn pauses(growth: &CounterGrowth) -> Vec<GrownCounter> {
    let counts = growth.from.iter();
    let pauses = counts.filter(|(name, by)| {
        let received = name.starts_with("rx_") && name.contains("pause");
        (received || *name == "port_xmit_wait") && **by > 0
    });
    let grown = pauses.map(|(name, by)| GrownCounter {
        name: name.clone(),
        by: *by,
        at_sender: true,
    });
    grown.collect()
}

/// Bit errors that forward error correction mended at an end, of the bits that it received.
pub fn corrected_bits(growth: &GrownCounters) -> Option<(u64, u64)> {
    let corrected = *growth.get("rx_corrected_bits_phy")?;
    let bits = growth.get("rx_bytes_phy")?.saturating_mul(8);
    Some((corrected, bits))
}

impl GrownCounter {
    pub fn words(&self, from: &str, to: &str) -> String {
        let host = if self.at_sender { from } else { to };
        format!("{} at {host}", self.name)
    }
}
