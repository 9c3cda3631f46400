//! Counters that tell of trouble, and of what kind.

use crate::reading::{CounterGroup, CounterName};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterSeverity {
    /// Packets were lost or broken.
    Error,
    /// Something held the traffic up, or asked it to slow down.
    Held,
}

/// What it means that a counter grew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterMeaning {
    pub severity: CounterSeverity,
    pub text: &'static str,
}

type Row = (CounterGroup, &'static str, CounterSeverity, &'static str);

const LOST_HERE: &str = "packets to this end were lost on the way";
const LOST_THERE: &str = "packets that this end sent were lost on the way";
const RETRIED: &str = "this end sent requests again";
const DAMAGED: &str = "frames arrived damaged: cable, transceiver or FEC";
const NO_ROOM: &str = "packets were dropped at this end for want of buffers";
const PAUSED: &str = "pause frames: one end cannot take more";
const CONGESTED: &str = "congestion was signalled (ECN, CNP)";

/// `*` stands for a number.
#[rustfmt::skip] // one counter a line reads as the table it is
const TABLE: &[Row] = {
    use CounterGroup::{Driver, Hardware, Interface, Port, Tcp};
    use CounterSeverity::{Error, Held};
    &[
        // Soft-RoCE (drivers/infiniband/sw/rxe/rxe_hw_counters.c)
        (Hardware, "out_of_seq_request", Error, LOST_HERE),
        (Hardware, "rcvd_seq_err", Error, LOST_THERE),
        (Hardware, "duplicate_request", Error, "requests came twice: an answer of this end was lost, or late"),
        (Hardware, "completer_retry_err", Error, RETRIED),
        (Hardware, "retry_exceeded_err", Error, "requests were given up after all retries"),
        (Hardware, "send_err", Error, "packets could not be sent"),
        // mlx5 (its documentation, "Understanding mlx5 Linux counters")
        (Hardware, "out_of_sequence", Error, LOST_HERE),
        (Hardware, "packet_seq_err", Error, LOST_THERE),
        (Hardware, "implied_nak_seq_err", Error, LOST_HERE),
        (Hardware, "local_ack_timeout_err", Error, RETRIED),
        (Hardware, "rnr_nak_retry_err", Error, "the peer had no receive posted"),
        (Hardware, "out_of_buffer", Error, NO_ROOM),
        (Hardware, "rx_icrc_encapsulated", Error, DAMAGED),
        (Hardware, "roce_adp_retrans", Error, RETRIED),
        (Hardware, "req_cqe_error", Error, "requests completed with an error"),
        (Hardware, "resp_cqe_error", Error, "requests of the peer completed with an error"),
        (Hardware, "np_cnp_sent", Held, CONGESTED),
        (Hardware, "rp_cnp_handled", Held, CONGESTED),
        (Hardware, "np_ecn_marked_roce_packets", Held, CONGESTED),
        // InfiniBand's own (IBA 16.1.3.5)
        (Port, "symbol_error", Error, DAMAGED),
        (Port, "port_rcv_errors", Error, DAMAGED),
        (Port, "port_xmit_discards", Error, "packets were discarded before they left"),
        (Port, "port_rcv_remote_physical_errors", Error, DAMAGED),
        (Port, "link_downed", Error, "the link went down"),
        (Port, "link_error_recovery", Error, "the link had to recover"),
        (Port, "local_link_integrity_errors", Error, DAMAGED),
        (Port, "excessive_buffer_overrun_errors", Error, NO_ROOM),
        (Port, "VL15_dropped", Error, NO_ROOM),
        (Port, "port_xmit_wait", Held, "data waited for the link"),
        (Interface, "rx_errors", Error, DAMAGED),
        (Interface, "tx_errors", Error, "frames could not be sent"),
        (Interface, "rx_dropped", Error, NO_ROOM),
        (Interface, "tx_dropped", Error, "frames were dropped before they left"),
        (Interface, "rx_missed_errors", Error, NO_ROOM),
        (Interface, "rx_crc_errors", Error, DAMAGED),
        (Driver, "rx_crc_errors_phy", Error, DAMAGED),
        (Driver, "rx_symbol_err_phy", Error, DAMAGED),
        (Driver, "rx_discards_phy", Error, NO_ROOM),
        (Driver, "tx_discards_phy", Error, "packets were discarded before they left"),
        (Driver, "tx_errors_phy", Error, "frames could not be sent"),
        (Driver, "rx_out_of_buffer", Error, NO_ROOM),
        (Driver, "rx_prio*_discards", Error, NO_ROOM),
        (Driver, "rx_steer_missed_packets", Held, "packets came for nobody here"),
        (Driver, "rx_pause_ctrl_phy", Held, PAUSED),
        (Driver, "tx_pause_ctrl_phy", Held, PAUSED),
        (Driver, "rx_prio*_pause", Held, PAUSED),
        (Driver, "tx_prio*_pause", Held, PAUSED),
        (Driver, "outbound_pci_stalled_rd", Held, "the card waited for PCI Express"),
        (Driver, "outbound_pci_stalled_wr", Held, "the card waited for PCI Express"),
        (Driver, "outbound_pci_buffer_overflow", Error, "packets were dropped because PCI Express was too slow"),
        (Driver, "link_down_events_phy", Error, "the link went down"),
        (Tcp, "RetransSegs", Error, "this end sent segments again: they were lost on the way, or late"),
        (Tcp, "InErrs", Error, DAMAGED),
    ]
};

/// `None` for one that grows in good times, too.
pub fn counter_meaning(counter: &CounterName) -> Option<CounterMeaning> {
    let row = TABLE
        .iter()
        .find(|(group, name, ..)| *group == counter.group && is_named(&counter.name, name));
    row.map(|(_, _, severity, text)| CounterMeaning {
        severity: *severity,
        text,
    })
}

fn is_named(name: &str, pattern: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let middle = name
        .strip_prefix(head)
        .and_then(|rest| rest.strip_suffix(tail));
    middle.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_known_by_group_and_name() {
        let of = |group, name: &str| counter_meaning(&CounterName::new(group, name));
        let lost = of(CounterGroup::Hardware, "out_of_seq_request").unwrap();
        assert_eq!(
            (lost.severity, lost.text),
            (CounterSeverity::Error, LOST_HERE)
        );
        let pause = of(CounterGroup::Driver, "rx_prio3_pause").unwrap();
        assert_eq!(pause.severity, CounterSeverity::Held);
        assert_eq!(of(CounterGroup::Driver, "rx_prio_pause"), None);
        assert_eq!(of(CounterGroup::Driver, "rx_priox_pause"), None);
        assert_eq!(of(CounterGroup::Interface, "out_of_seq_request"), None);
        assert_eq!(of(CounterGroup::Interface, "rx_bytes"), None);
    }
}
