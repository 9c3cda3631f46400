//! Whether a port counted as many bytes as the engine says it moved.
//!
//! The engine counts payload, a port what went by it. Between them lie headers, which are computed; and packets that were
//! sent again, answers and other traffic, which are not, and for which [`TOLERANCE`] is left.

use serde::{Deserialize, Serialize};

use crate::{growth::CounterChanges, reading::CounterGroup};

/// In thousandths.
const TOLERANCE: u64 = 20;

/// Ethernet 14, as interfaces count it: neither preamble nor check sequence nor gap.
const ETHERNET: u64 = 14;
/// UDP 8, BTH 12, ICRC 4.
const ROCE: u64 = 24;
/// RDMA extended header: of the first packet of a write, and of a read's request.
const RETH: u64 = 16;
/// TCP with its time stamps.
const TCP: u64 = 32;
/// What a driver may hand over in one piece, or count as one: generic segmentation offload (`GSO_MAX_SIZE`).
const SEGMENT_BYTES: u64 = 65_536;

/// What carried the payload of one end, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadTraffic {
    pub carrier: TrafficCarrier,
    /// Of the whole test, from its first byte to its last.
    pub payload: u64,
    pub is_ipv6: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficCarrier {
    /// Messages of one size, at a path MTU. A software device's packets go by its interface, a card's do not.
    Rdma {
        message: u32,
        path_mtu: u32,
        is_software: bool,
    },
    /// At an interface's MTU.
    Tcp { interface_mtu: u32 },
}

/// A port and an engine that do not agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteCountMismatch {
    /// The counter, as [`crate::CounterName`] prints it.
    pub counter: String,
    pub counted: u64,
    /// The engine's payload and its headers: a port may count those of packets that the card made, or not.
    pub at_least: u64,
    pub at_most: u64,
}

/// `None` if they agree, or if the port does not count this. `is_sent` of the end that sent the payload. All of `traffic`
/// went the same way, by the same kind of device.
pub fn compare(
    growth: &CounterChanges,
    traffic: &[PayloadTraffic],
    is_sent: bool,
) -> Option<ByteCountMismatch> {
    let (group, name, scale) = counter_of(traffic.first()?.carrier, is_sent);
    let counted = growth.get(group, name)?.saturating_mul(scale);
    let (at_least, at_most) = traffic
        .iter()
        .map(expected)
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let slack = |bytes: u64| bytes / 1000 * TOLERANCE;
    let fits = counted + slack(at_least) >= at_least && counted <= at_most + slack(at_most);
    (!fits).then(|| ByteCountMismatch {
        counter: crate::CounterName::new(group, name).to_string(),
        counted,
        at_least,
        at_most,
    })
}

/// Where these bytes are counted, and how many of them one stands for.
fn counter_of(carrier: TrafficCarrier, is_sent: bool) -> (CounterGroup, &'static str, u64) {
    match (carrier, is_sent) {
        // In words of four bytes (IBA 16.1.3.5).
        (
            TrafficCarrier::Rdma {
                is_software: false, ..
            },
            true,
        ) => (CounterGroup::Port, "port_xmit_data", 4),
        (
            TrafficCarrier::Rdma {
                is_software: false, ..
            },
            false,
        ) => (CounterGroup::Port, "port_rcv_data", 4),
        (_, true) => (CounterGroup::Interface, "tx_bytes", 1),
        (_, false) => (CounterGroup::Interface, "rx_bytes", 1),
    }
}

/// What the port should have counted, at least and at most.
fn expected(traffic: &PayloadTraffic) -> (u64, u64) {
    let ip = if traffic.is_ipv6 { 40 } else { 20 };
    let payload = traffic.payload;
    match traffic.carrier {
        TrafficCarrier::Rdma {
            message,
            path_mtu,
            is_software,
        } => {
            let message = u64::from(message.max(1));
            let messages = payload.div_ceil(message);
            let packets = messages * message.div_ceil(u64::from(path_mtu.max(1)));
            let padding = messages * (message.next_multiple_of(4) - message);
            let transport = packets * ROCE + messages * RETH + padding;
            let whole = payload + transport + packets * (ETHERNET + ip);
            // Cards differ in which headers `port_xmit_data` holds.
            let least = if is_software { whole } else { payload };
            (least, whole)
        }
        TrafficCarrier::Tcp { interface_mtu } => {
            let header = ETHERNET + ip + TCP;
            let segment = u64::from(interface_mtu).saturating_sub(ip + TCP).max(1);
            let fewest = payload.div_ceil(SEGMENT_BYTES.max(segment));
            let most = payload.div_ceil(segment);
            (payload + fewest * header, payload + most * header)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{growth::counter_changes, reading::CounterReading};

    fn grown(group: CounterGroup, name: &str, by: u64) -> CounterChanges {
        let mut before = CounterReading::default();
        before.insert(group, name, 1000);
        let mut after = CounterReading::default();
        after.insert(group, name, 1000 + by);
        counter_changes(&before, &after)
    }

    fn rdma(is_software: bool) -> PayloadTraffic {
        PayloadTraffic {
            carrier: TrafficCarrier::Rdma {
                message: 65_536,
                path_mtu: 1024,
                is_software,
            },
            payload: 65_536 * 1000,
            is_ipv6: false,
        }
    }

    #[test]
    fn headers_of_small_packets_are_more_than_the_tolerance() {
        let traffic = rdma(true);
        // 64 packets a message, 58 bytes each, and one extended header.
        let whole = 1000 * (65_536 + 64 * 58 + 16);
        let of = |by| {
            compare(
                &grown(CounterGroup::Interface, "tx_bytes", by),
                &[traffic],
                true,
            )
        };
        assert_eq!(of(whole), None);
        assert_eq!(of(whole * 101 / 100), None);
        let disagreement = of(traffic.payload).unwrap();
        assert_eq!(disagreement.at_least, whole);
        assert_eq!(disagreement.counter, "statistics/tx_bytes");
        assert!(of(whole * 103 / 100).is_some());
    }

    #[test]
    fn cards_count_words_at_their_port_and_nothing_at_the_interface() {
        let traffic = rdma(false);
        let words = grown(CounterGroup::Port, "port_rcv_data", traffic.payload / 4);
        assert_eq!(compare(&words, &[traffic], false), None);
        let none = grown(CounterGroup::Interface, "rx_bytes", 0);
        assert_eq!(
            compare(&none, &[traffic], false),
            None,
            "there is nothing to compare"
        );
        let half = grown(CounterGroup::Port, "port_rcv_data", traffic.payload / 8);
        assert!(compare(&half, &[traffic], false).is_some());
    }

    #[test]
    fn tcp_may_be_counted_before_or_after_it_is_cut_into_packets() {
        let traffic = PayloadTraffic {
            carrier: TrafficCarrier::Tcp {
                interface_mtu: 1500,
            },
            payload: 1 << 30,
            is_ipv6: false,
        };
        let of = |by| {
            compare(
                &grown(CounterGroup::Interface, "rx_bytes", by),
                &[traffic],
                false,
            )
        };
        assert_eq!(of(1 << 30), None);
        assert_eq!(of((1 << 30) * 1514 / 1448), None);
        assert!(of((1 << 30) * 9 / 10).is_some());
        assert!(of((1 << 30) * 11 / 10).is_some());
    }
}
