//! What a figure is worth: whole percents of a ceiling.

use std::fmt;

/// Healthy from this many percent of the ceiling.
pub const HEALTHY_PERCENT: u32 = 95;
/// A fault below this many.
pub const FAULT_PERCENT: u32 = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FigureVerdict {
    Healthy,
    Warning,
    Fault,
    /// It was measured, and there is nothing to judge it by, or it is not meant to be judged.
    NotGraded(NotGraded),
    /// It was tried, and there is no figure.
    Failed,
    NotApplicable,
}

/// Why a figure has no grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotGraded {
    /// Neither rate nor PCI Express link is known, or the device is software and has no peers to compare with.
    NoCeiling,
    /// Two directions together: shown, since people compare it, and bounded by memory as much as by the link.
    Duplex,
    /// TCP depends on the processor.
    Tcp,
    /// Small messages are bounded by their number.
    SmallMessages,
    /// One queue pair cannot fill such a port.
    OneQueuePair,
    /// Several senders share what one receiver has.
    Shared,
    /// Latency has limits of its own.
    Latency,
    /// It answered, or it did not.
    Reachability,
    /// It ended early.
    Incomplete,
}

/// Rounded to whole percents: 93 of 98 are 95 %.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped before
pub fn percent(figure: f64, ceiling: f64) -> Option<u32> {
    if !(figure.is_finite() && ceiling.is_finite()) || ceiling <= 0.0 || figure < 0.0 {
        return None;
    }
    Some((figure / ceiling * 100.0).round().clamp(0.0, 9999.0) as u32)
}

pub fn of_percent(percent: u32) -> FigureVerdict {
    match percent {
        HEALTHY_PERCENT.. => FigureVerdict::Healthy,
        FAULT_PERCENT.. => FigureVerdict::Warning,
        _ => FigureVerdict::Fault,
    }
}

impl FigureVerdict {
    /// As JSON output has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Warning => "warning",
            Self::Fault => "fault",
            Self::NotGraded(_) => "not-graded",
            Self::Failed => "failed",
            Self::NotApplicable => "not-applicable",
        }
    }

    pub fn is_graded(self) -> bool {
        matches!(self, Self::Healthy | Self::Warning | Self::Fault)
    }
}

impl fmt::Display for FigureVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl NotGraded {
    pub fn words(self) -> &'static str {
        match self {
            Self::NoCeiling => "nothing to judge it by",
            Self::Duplex => "both directions together",
            Self::Tcp => "TCP depends on the processor",
            Self::SmallMessages => "messages below 64 KiB",
            Self::OneQueuePair => "one queue pair cannot fill such a port",
            Self::Shared => "several senders share one receiver",
            Self::Latency => "latency has limits of its own",
            Self::Reachability => "answered",
            Self::Incomplete => "it ended early",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_whole_and_limits_are_inclusive() {
        assert_eq!(percent(93.0, 98.0), Some(95));
        assert_eq!(percent(92.0, 112.8), Some(82));
        assert_eq!(percent(1.0, 0.0), None);
        assert_eq!(percent(f64::NAN, 98.0), None);
        assert_eq!(of_percent(95), FigureVerdict::Healthy);
        assert_eq!(of_percent(94), FigureVerdict::Warning);
        assert_eq!(of_percent(80), FigureVerdict::Warning);
        assert_eq!(of_percent(79), FigureVerdict::Fault);
    }
}
