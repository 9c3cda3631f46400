//! Packets that were sent and did not arrive, and in which direction.

use crosstie_model::run::{Measurement, MeasurementFigures, MeasurementOutcome};

use crate::counters;

/// Fewer can be counters that were not read at the same moment.
const LEAST_LOST: u64 = 10;
/// Of a test that gave no figure, traffic may go on while its counters are read, first at one end and then at the other: no
/// such moment explains a larger share.
const LEAST_SHARE_UNFINISHED: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketLoss {
    pub path: LostPacketKind,
    pub sent: u64,
    pub lost: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LostPacketKind {
    /// From the sender of messages to their receiver.
    Data,
    /// Back.
    Acknowledgements,
}

impl PacketLoss {
    /// Of 1.
    #[allow(clippy::cast_precision_loss)] // a share
    pub fn share(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }
}

/// Packets sent less packets received, where the protocol noticed, too: a gap at the receiver is loss of data; a sender
/// that sent again, with no gap, has missed acknowledgements.
pub fn loss(measurement: &Measurement) -> Option<PacketLoss> {
    let least_share = match &measurement.outcome {
        MeasurementOutcome::Measured(MeasurementFigures::Bandwidth(_)) => 0.0,
        MeasurementOutcome::Failed { .. } => LEAST_SHARE_UNFINISHED,
        _ => return None,
    };
    let growth = &measurement.counters;
    let of = |path, (sent, received): (u64, u64)| {
        let lost = sent.saturating_sub(received);
        let found = PacketLoss { path, sent, lost };
        (lost >= LEAST_LOST && found.share() >= least_share).then_some(found)
    };
    if counters::out_of_sequence(growth) > 0 {
        return of(
            LostPacketKind::Data,
            counters::packets(&growth.from, &growth.to)?,
        );
    }
    if counters::timeouts(growth) > 0 {
        return of(
            LostPacketKind::Acknowledgements,
            counters::packets(&growth.to, &growth.from)?,
        );
    }
    None
}
