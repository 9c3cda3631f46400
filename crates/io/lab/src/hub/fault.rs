//! What can go wrong on a cable, and the arithmetic of it. No clock: `now` is an argument.

use std::{fmt, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

const ETHERNET_HEADER: usize = 14;
const VLAN_TAG: usize = 4;
/// A slow link holds this much before it drops: more than senders of RDMA have under way (Soft-RoCE 128 packets a queue
/// pair), as a lossless fabric would, whose ports pause them.
const RATE_QUEUE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a reordered frame is held back, so that later ones overtake it.
const REORDER_INTERVAL: Duration = Duration::from_millis(5);
const REORDER_SHARE: f64 = 0.25;

/// One fault, as a person asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CableFault {
    Cut,
    /// Share of frames lost, 0 to 1.
    Loss(f64),
    DelayMicros(u64),
    RateBits(u64),
    /// Frames with more payload than this vanish, as on a port whose MTU is too small.
    Mtu(u32),
    /// Share of frames held back.
    Reorder(f64),
}

/// Which frames a fault is for, as the node sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultDirection {
    #[default]
    Both,
    /// Those that the node sends.
    Sent,
    /// Those that are meant for it.
    Received,
}

/// The faults of one attachment, for each way.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AttachmentFaults {
    pub sent: DirectionFaults,
    pub received: DirectionFaults,
}

impl AttachmentFaults {
    pub fn add(&mut self, fault: CableFault, way: FaultDirection) {
        if way != FaultDirection::Received {
            self.sent.add(fault);
        }
        if way != FaultDirection::Sent {
            self.received.add(fault);
        }
    }

    pub fn none(&self) -> bool {
        self.sent.none() && self.received.none()
    }

    /// Both ways: only then is the light gone.
    pub fn is_cut(&self) -> bool {
        self.sent.cut && self.received.cut
    }
}

/// `cut`, `loss 1%`; where the directions differ, each by itself.
impl fmt::Display for AttachmentFaults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sent == self.received {
            return self.sent.fmt(formatter);
        }
        let ways = [("sent", self.sent), ("received", self.received)];
        let ways = ways.iter().filter(|(_, faults)| !faults.none());
        let words = ways.map(|(way, faults)| format!("{faults} of what is {way}"));
        formatter.write_str(&words.collect::<Vec<_>>().join(", "))
    }
}

/// Frames that one attachment lost to faults since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LostFrames {
    pub sent: u64,
    pub received: u64,
}

/// All faults of one attachment, one way.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DirectionFaults {
    pub cut: bool,
    pub loss: f64,
    pub delay_micros: u64,
    pub rate_bits: Option<u64>,
    pub mtu: Option<u32>,
    pub reorder: f64,
}

impl fmt::Display for DirectionFaults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent =
            |name: &str, share: f64| (share > 0.0).then(|| format!("{name} {}%", share * 100.0));
        let words = [
            self.cut.then(|| "cut".to_owned()),
            percent("loss", self.loss),
            (self.delay_micros > 0).then(|| format!("delay {} µs", self.delay_micros)),
            self.rate_bits.map(|rate| format!("rate {rate} bit/s")),
            self.mtu.map(|mtu| format!("mtu {mtu}")),
            percent("reorder", self.reorder),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        formatter.write_str(&words.join(", "))
    }
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum FaultSyntaxError {
    #[error(
        "no fault is called \"{0}\"; there are: cut, restore, loss 1%, delay 2ms, rate 1gbit, mtu 1500, reorder [25%]"
    )]
    Unknown(String),
    #[error("{fault} wants {wants}, not \"{got}\"")]
    Value {
        fault: &'static str,
        wants: &'static str,
        got: String,
    },
}

impl CableFault {
    /// `cut`, `loss 1%`, `delay 2ms`, `rate 1gbit`, `mtu 1500`, `reorder [25%]`.
    pub fn parse(kind: &str, value: Option<&str>) -> Result<Self, FaultSyntaxError> {
        let given = value.unwrap_or("");
        let wrong = |fault, wants| FaultSyntaxError::Value {
            fault,
            wants,
            got: given.to_owned(),
        };
        match (kind, value) {
            ("cut", None) => Ok(Self::Cut),
            ("cut", Some(_)) => Err(wrong("cut", "no value")),
            ("loss", _) => share(given)
                .map(Self::Loss)
                .ok_or_else(|| wrong("loss", "a share such as 1%")),
            ("delay", _) => duration(given)
                .map(Self::DelayMicros)
                .ok_or_else(|| wrong("delay", "a time such as 500us, 2ms or 1s")),
            ("rate", _) => rate(given)
                .map(Self::RateBits)
                .ok_or_else(|| wrong("rate", "a rate such as 500kbit, 100mbit or 1gbit")),
            ("mtu", _) => given
                .parse()
                .ok()
                .filter(|mtu| (68..=65_535).contains(mtu))
                .map(Self::Mtu)
                .ok_or_else(|| wrong("mtu", "68 to 65535")),
            ("reorder", None) => Ok(Self::Reorder(REORDER_SHARE)),
            ("reorder", Some(_)) => share(given)
                .map(Self::Reorder)
                .ok_or_else(|| wrong("reorder", "a share such as 25%")),
            _ => Err(FaultSyntaxError::Unknown(kind.to_owned())),
        }
    }
}

impl DirectionFaults {
    pub fn add(&mut self, fault: CableFault) {
        match fault {
            CableFault::Cut => self.cut = true,
            CableFault::Loss(share) => self.loss = share,
            CableFault::DelayMicros(micros) => self.delay_micros = micros,
            CableFault::RateBits(bits) => self.rate_bits = Some(bits),
            CableFault::Mtu(mtu) => self.mtu = Some(mtu),
            CableFault::Reorder(share) => self.reorder = share,
        }
    }

    pub fn none(&self) -> bool {
        *self == Self::default()
    }
}

/// One direction of an attachment: its generator and when its line is next free.
#[derive(Debug, Clone)]
pub(super) struct LinkDirection {
    generator: Generator,
    free_at: Duration,
}

impl LinkDirection {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            generator: Generator(seed),
            free_at: Duration::ZERO,
        }
    }

    /// When the frame comes out at the other end; `None` when it does not.
    pub(super) fn pass(
        &mut self,
        faults: &DirectionFaults,
        frame: &[u8],
        now: Duration,
    ) -> Option<Duration> {
        if faults.cut || faults.mtu.is_some_and(|mtu| payload(frame) > mtu as usize) {
            return None;
        }
        // Drawn even at a share of zero, so that one fault does not shift another's sequence.
        let lost = self.generator.share() < faults.loss;
        let held = self.generator.share() < faults.reorder;
        if lost {
            return None;
        }
        let mut due = now;
        if let Some(bits) = faults.rate_bits {
            let start = self.free_at.max(now);
            if start.saturating_sub(now) > RATE_QUEUE_TIMEOUT {
                return None;
            }
            let nanos = (frame.len() as u64 * 8).saturating_mul(1_000_000_000) / bits.max(1);
            due = start + Duration::from_nanos(nanos);
            self.free_at = due;
        }
        due += Duration::from_micros(faults.delay_micros);
        if held {
            due += REORDER_INTERVAL;
        }
        Some(due)
    }
}

fn payload(frame: &[u8]) -> usize {
    let tagged = frame.get(12..14) == Some(&[0x81, 0x00]);
    let header = ETHERNET_HEADER + if tagged { VLAN_TAG } else { 0 };
    frame.len().saturating_sub(header)
}

/// splitmix64 (Steele, Lea, Flood 2014): small, seedable, good enough to lose frames with.
#[derive(Debug, Clone)]
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in 0..1, from 32 bits.
    fn share(&mut self) -> f64 {
        let high = u32::try_from(self.next() >> 32).unwrap_or(u32::MAX);
        f64::from(high) / (f64::from(u32::MAX) + 1.0)
    }
}

fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&share).then_some(share)
}

fn duration(text: &str) -> Option<u64> {
    scaled(text, &[("us", 1), ("ms", 1_000), ("s", 1_000_000)])
        .filter(|micros| *micros <= 60_000_000)
}

fn rate(text: &str) -> Option<u64> {
    let units = [
        ("kbit", 1_000),
        ("mbit", 1_000_000),
        ("gbit", 1_000_000_000),
        ("bit", 1),
    ];
    scaled(text, &units).filter(|bits| *bits > 0)
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| text.strip_suffix(name).map(|number| (number, unit)))?;
    number.parse::<u64>().ok()?.checked_mul(*unit)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const FRAME: [u8; 1014] = [0; 1014];

    fn faults(kind: &str, value: &str) -> DirectionFaults {
        let mut faults = DirectionFaults::default();
        faults.add(CableFault::parse(kind, Some(value)).unwrap());
        faults
    }

    #[test]
    fn words_become_faults() {
        assert_eq!(
            CableFault::parse("loss", Some("1%")),
            Ok(CableFault::Loss(0.01))
        );
        assert_eq!(
            CableFault::parse("delay", Some("2ms")),
            Ok(CableFault::DelayMicros(2000))
        );
        assert_eq!(
            CableFault::parse("rate", Some("1gbit")),
            Ok(CableFault::RateBits(1_000_000_000))
        );
        assert_eq!(
            CableFault::parse("reorder", None),
            Ok(CableFault::Reorder(0.25))
        );
        for (kind, value) in [
            ("loss", "200%"),
            ("delay", "2"),
            ("rate", "0gbit"),
            ("mtu", "1"),
            ("cut", "x"),
            ("smoke", ""),
        ] {
            assert!(
                CableFault::parse(kind, Some(value)).is_err(),
                "{kind} {value}"
            );
        }
    }

    #[test]
    fn loss_is_about_its_share_and_repeats_with_its_seed() {
        let faults = faults("loss", "10%");
        let fates = |seed| {
            let mut direction = LinkDirection::new(seed);
            (0..10_000)
                .map(|_| direction.pass(&faults, &FRAME, Duration::ZERO).is_none())
                .collect::<Vec<bool>>()
        };
        let lost = fates(7).iter().filter(|lost| **lost).count();
        assert!((850..1150).contains(&lost), "{lost}");
        assert_eq!(fates(7), fates(7));
        assert_ne!(fates(7), fates(8));
    }

    #[test]
    fn a_rate_spaces_frames_and_drops_what_its_queue_cannot_hold() {
        let faults = faults("rate", "1mbit");
        let mut direction = LinkDirection::new(1);
        let first = direction.pass(&faults, &FRAME, Duration::ZERO).unwrap();
        let second = direction.pass(&faults, &FRAME, Duration::ZERO).unwrap();
        assert_eq!(second, first * 2);
        assert_eq!(first, Duration::from_micros(8 * 1014));
        let passed = (0..100)
            .filter_map(|_| direction.pass(&faults, &FRAME, Duration::ZERO))
            .count();
        assert!((55..65).contains(&passed), "{passed}");
    }

    #[test]
    fn the_mtu_counts_payload_and_forgives_a_vlan_tag() {
        let mut direction = LinkDirection::new(1);
        let faults = faults("mtu", "1000");
        assert!(direction.pass(&faults, &FRAME, Duration::ZERO).is_some());
        let mut tagged = [0; 1018];
        tagged[12] = 0x81;
        assert!(direction.pass(&faults, &tagged, Duration::ZERO).is_some());
        let big = [0; 1015];
        assert!(direction.pass(&faults, &big, Duration::ZERO).is_none());
    }
}
