//! Where the bandwidth of a pair went: port rate → headers → PCI Express → measured, and the rest to measured causes.
//!
//! A cause is in the ledger only if a counter or a clock shows it. Some show how much they cost (time paused, packets sent
//! twice, time in which the queue had room). Others only show that they were there: together they cost *at most* what the
//! first leave. What nothing speaks for is unexplained, and is printed as such.

#[cfg(test)]
mod tests;

use crosstie_model::run::{BandwidthFigures, Measurement};

use crate::{
    ceiling::{CeilingCause, PairCeiling},
    counters::{self, GrownCounter},
};

/// All in Gb/s.
#[derive(Debug, Clone, PartialEq)]
pub struct BandwidthLedger {
    pub port_rate: f64,
    /// What physics takes, in order.
    pub deductions: Vec<LedgerDeduction>,
    pub ceiling: f64,
    /// What is lost between the ceiling and the figure.
    pub shares: Vec<LedgerLoss>,
    /// Lost, and nothing that was measured speaks for a cause.
    pub unexplained: f64,
    pub measured: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LedgerDeduction {
    pub what: String,
    pub gbps: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LedgerLoss {
    /// One, or several that cannot be told apart.
    pub causes: Vec<LossCause>,
    pub gbps: f64,
    /// The causes were seen, and not how much they cost.
    pub at_most: bool,
    pub evidence: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LossCause {
    /// Packets are smaller than they could be.
    SmallPathMtu(u32),
    /// The sender was told to stop.
    Pause,
    Retransmission,
    Congestion,
    PcieStall,
    /// The thread that posts cannot keep the queue full.
    Poster,
    /// A thread used all of its processor.
    BusyThread,
}

impl LossCause {
    pub fn words(self) -> String {
        match self {
            Self::SmallPathMtu(mtu) => format!("headers of {mtu}-byte packets"),
            Self::Pause => "pause: the sender was told to stop".to_owned(),
            Self::Retransmission => "packets sent again".to_owned(),
            Self::Congestion => "congestion notifications".to_owned(),
            Self::PcieStall => "PCIe stalls of the card".to_owned(),
            Self::Poster => "the sending thread cannot keep the queue full".to_owned(),
            Self::BusyThread => "a thread at 100 % of its processor".to_owned(),
        }
    }
}

/// A thread is busy from this share of its time on.
const BUSY: f64 = 0.97;
/// Packets above what the messages need that may be acknowledgements, keep-alives and rounding.
const EXCESS_NOISE: f64 = 0.01;
/// Time with room in the queue that is no matter.
const ROOM_NOISE: f64 = 0.02;

struct Draft {
    ledger: BandwidthLedger,
    left: f64,
    /// Seen, with no amount.
    seen: Vec<(LossCause, Vec<(String, String)>)>,
}

/// `None` without a figure.
pub fn ledger(measurement: &Measurement, ceiling: &PairCeiling) -> Option<BandwidthLedger> {
    let figures = measurement.bandwidth()?;
    let measured = figures.gbps()?;
    let mut draft = Draft {
        left: (ceiling.gbps - measured).max(0.0),
        ledger: BandwidthLedger {
            port_rate: ceiling.port_rate,
            deductions: deductions(ceiling),
            ceiling: ceiling.gbps,
            shares: Vec::new(),
            unexplained: 0.0,
            measured,
        },
        seen: Vec::new(),
    };
    if let Some((mtu, left)) = ceiling.small_path_mtu {
        let lost = ceiling.gbps - left.min(ceiling.gbps);
        draft.take(
            LossCause::SmallPathMtu(mtu),
            lost,
            vec![("path MTU".to_owned(), mtu.to_string())],
        );
    }
    pause(&mut draft, measurement, ceiling.gbps);
    retransmission(&mut draft, measurement, figures, ceiling);
    poster(&mut draft, measurement, figures, ceiling.gbps);
    draft.see(
        measurement,
        LossCause::Congestion,
        &counters::congestion(&measurement.counters),
    );
    draft.see(
        measurement,
        LossCause::PcieStall,
        &counters::pcie_stalls(&measurement.counters),
    );
    Some(draft.close())
}

fn deductions(ceiling: &PairCeiling) -> Vec<LedgerDeduction> {
    let mut found = Vec::new();
    let headers = ceiling.port_rate - ceiling.after_headers;
    if headers > 0.0 {
        found.push(LedgerDeduction {
            what: format!("headers of {}-byte packets", ceiling.path_mtu),
            gbps: headers,
        });
    }
    if let (CeilingCause::Pcie, Some(pcie)) = (ceiling.binding, &ceiling.pcie) {
        found.push(LedgerDeduction {
            what: format!("PCIe: {}", pcie.words()),
            gbps: ceiling.after_headers - pcie.gbps,
        });
    }
    found
}

/// The share of the time between two readings of the counters; of the measured time where that was not taken.
#[allow(clippy::cast_precision_loss)] // a share
fn share_of_time(nanoseconds: u64, measurement: &Measurement) -> f64 {
    let measured = measurement.bandwidth().map(|figures| figures.nanoseconds);
    let whole = measurement.counters.nanoseconds.or(measured).unwrap_or(0);
    if whole == 0 {
        return 0.0;
    }
    (nanoseconds as f64 / whole as f64).min(1.0)
}

fn pause(draft: &mut Draft, measurement: &Measurement, ceiling: f64) {
    let nanoseconds = counters::paused_nanoseconds(&measurement.counters);
    let pauses = counters::pauses(&measurement.counters);
    if nanoseconds > 0 {
        let share = share_of_time(nanoseconds, measurement);
        draft.take(
            LossCause::Pause,
            share * ceiling,
            named(measurement, &pauses),
        );
    } else {
        draft.see(measurement, LossCause::Pause, &pauses);
    }
}

#[allow(clippy::cast_precision_loss)] // a share
fn retransmission(
    draft: &mut Draft,
    measurement: &Measurement,
    figures: &BandwidthFigures,
    ceiling: &PairCeiling,
) {
    let growth = &measurement.counters;
    let seen = counters::retransmissions(growth);
    if seen.is_empty() {
        return;
    }
    let mtu = ceiling
        .small_path_mtu
        .map_or(ceiling.path_mtu, |(mtu, _)| mtu);
    let size = measurement.size.unwrap_or(u64::MAX).max(1);
    let needed = growth.bytes.map(|bytes| {
        // Every message ends with a packet that may not be full.
        let whole = bytes / size * size.div_ceil(u64::from(mtu.max(1)));
        whole.max(1) as f64
    });
    let sent = counters::packets_sent(&growth.from).map(|sent| sent as f64);
    let excess = needed
        .zip(sent)
        .map(|(needed, sent)| (sent - needed) / sent.max(1.0));
    let evidence = named(measurement, &seen);
    match excess {
        // A timeout costs time in which nothing is sent at all.
        Some(excess) if excess > EXCESS_NOISE && counters::timeouts(growth) == 0 => {
            let measured = figures.gbps().unwrap_or(0.0);
            draft.take(
                LossCause::Retransmission,
                measured * excess / (1.0 - excess).max(0.01),
                evidence,
            );
        }
        _ => draft.seen.push((LossCause::Retransmission, evidence)),
    }
}

#[allow(clippy::cast_precision_loss)] // a share
fn poster(draft: &mut Draft, measurement: &Measurement, figures: &BandwidthFigures, ceiling: f64) {
    let whole = figures.nanoseconds.max(1) as f64;
    let room = figures
        .queue_not_full_nanoseconds
        .map(|room| room as f64 / whole);
    let busy = |used: u64| used as f64 / (whole * f64::from(figures.threads.max(1))) >= BUSY;
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    match room {
        Some(room) if room > ROOM_NOISE => {
            let evidence = vec![(
                "time with room in the send queue".to_owned(),
                percent(room.min(1.0)),
            )];
            draft.take(LossCause::Poster, room.min(1.0) * ceiling, evidence);
        }
        // Threads that poll are always busy: that they are says something only of those that sleep.
        _ if measurement.kind.is_rdma() => {}
        _ => {
            let ends = [
                (&measurement.from.host, Some(figures.processor_nanoseconds)),
                (&measurement.to.host, figures.receiver_processor_nanoseconds),
            ];
            let used = ends
                .into_iter()
                .filter_map(|(host, used)| Some((host, used?)));
            let used = used.filter(|(_, used)| busy(*used));
            let evidence: Vec<_> = used
                .map(|(host, used)| {
                    let share = used as f64 / (whole * f64::from(figures.threads.max(1)));
                    (
                        format!("processor time of a thread at {host}"),
                        percent(share),
                    )
                })
                .collect();
            if !evidence.is_empty() {
                draft.seen.push((LossCause::BusyThread, evidence));
            }
        }
    }
}

fn named(measurement: &Measurement, grown: &[GrownCounter]) -> Vec<(String, String)> {
    let (from, to) = (&measurement.from.host, &measurement.to.host);
    let named = grown
        .iter()
        .map(|one| (one.words(from, to), format!("+{}", one.by)));
    named.collect()
}

impl Draft {
    /// A cause whose cost is known. No more is given away than is missing.
    fn take(&mut self, cause: LossCause, gbps: f64, evidence: Vec<(String, String)>) {
        let gbps = gbps.min(self.left);
        if gbps <= 0.0 {
            return;
        }
        self.left -= gbps;
        self.ledger.shares.push(LedgerLoss {
            causes: vec![cause],
            gbps,
            at_most: false,
            evidence,
        });
    }

    fn see(&mut self, measurement: &Measurement, cause: LossCause, grown: &[GrownCounter]) {
        if !grown.is_empty() {
            self.seen.push((cause, named(measurement, grown)));
        }
    }

    fn close(self) -> BandwidthLedger {
        let Self {
            mut ledger,
            left,
            seen,
        } = self;
        if left > 0.0 && !seen.is_empty() {
            let (causes, evidence): (Vec<LossCause>, Vec<_>) = seen.into_iter().unzip();
            ledger.shares.push(LedgerLoss {
                causes,
                gbps: left,
                at_most: true,
                evidence: evidence.concat(),
            });
        } else {
            ledger.unexplained = left;
        }
        ledger
    }
}

impl BandwidthLedger {
    /// What the practice guides say to look at, in their order, for a figure that is too low.
    pub const CHECK_ORDER: [&'static str; 5] = [
        "MTU: 9000 on every interface and switch port of the path",
        "flow control (PFC) on RoCE, on hosts and switches alike",
        "the cable and its transceivers",
        "PCIe generation and lanes of the card",
        "NUMA: the card, the process and its memory on one node",
    ];

    pub fn missing(&self) -> f64 {
        (self.ceiling - self.measured).max(0.0)
    }
}
