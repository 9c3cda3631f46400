//! Paths that lose packets, and which part of them does.

use std::collections::HashMap;

use crosstie_model::{
    Severity,
    run::{MeasuredEnd, TestConcurrency},
};

use super::{FaultKind, MeasuredFault, part_names};
use crate::{
    counters,
    graded::GradedRun,
    locate::{DirectionState, DirectionTest, LocatedFault, PortLocation, SuspectPart, locate},
    loss::{LostPacketKind, loss},
};

/// A fault above this share of packets.
const FAULT_SHARE: f64 = 0.001;

/// What went in one direction, as data of one test or as acknowledgements of another.
#[derive(Default, Clone, Copy)]
struct Direction {
    sent: u64,
    lost: u64,
    as_data: bool,
    as_acknowledgements: bool,
}

pub(super) fn faults(graded: &GradedRun) -> Vec<MeasuredFault> {
    let mut observed = Places::default();
    let mut directions: HashMap<(usize, usize), Direction> = HashMap::new();
    let tried = graded.cells.iter().flat_map(|cell| &cell.tried);
    // Under contention a switch may drop: that is told by who recovers, not by who lost. Where both directions run at once,
    // the same counters are two tests', and every loss would count twice.
    let counts = |phase| {
        !matches!(
            phase,
            TestConcurrency::Incast | TestConcurrency::Bidirectional
        )
    };
    // What was sent to a node that went away was not lost on the way.
    let is_lost = |end: &MeasuredEnd| graded.run.lost.iter().any(|lost| lost.host == end.host);
    let tried = tried.filter(|one| {
        one.kind.is_rdma() && counts(one.phase) && !is_lost(&one.from) && !is_lost(&one.to)
    });
    for one in tried {
        let (from, to) = (observed.place(&one.from), observed.place(&one.to));
        let growth = &one.counters;
        let found = loss(one);
        let ways = [
            (
                (from, to),
                LostPacketKind::Data,
                counters::packets(&growth.from, &growth.to),
            ),
            (
                (to, from),
                LostPacketKind::Acknowledgements,
                counters::packets(&growth.to, &growth.from),
            ),
        ];
        for (way, path, packets) in ways {
            let Some((sent, _)) = packets else { continue };
            let direction = directions.entry(way).or_default();
            direction.sent = direction.sent.saturating_add(sent);
            if let Some(found) = found.filter(|found| found.path == path) {
                direction.lost = direction.lost.saturating_add(found.lost);
                direction.as_data |= path == LostPacketKind::Data;
                direction.as_acknowledgements |= path == LostPacketKind::Acknowledgements;
            }
        }
    }
    let mut ways: Vec<((usize, usize), Direction)> = directions.into_iter().collect();
    ways.sort_unstable_by_key(|(way, _)| *way);
    let tests: Vec<DirectionTest> = ways
        .iter()
        .map(|((from, to), direction)| DirectionTest {
            from: *from,
            to: *to,
            state: if direction.lost > 0 {
                DirectionState::Low
            } else {
                DirectionState::Good
            },
        })
        .collect();
    let groups = locate(&observed.all, &tests);
    groups
        .iter()
        .map(|group| of_group(&observed, group, &ways))
        .collect()
}

/// The ends of measurements as places.
#[derive(Default)]
struct Places<'a> {
    known: HashMap<&'a MeasuredEnd, usize>,
    ends: Vec<&'a MeasuredEnd>,
    all: Vec<PortLocation>,
    hosts: Vec<&'a str>,
    cables: Vec<&'a str>,
}

impl<'a> Places<'a> {
    fn place(&mut self, end: &'a MeasuredEnd) -> usize {
        if let Some(place) = self.known.get(end) {
            return *place;
        }
        let place = PortLocation {
            node: numbered(&mut self.hosts, &end.host),
            rail: end.rail,
            cable: end
                .cable
                .as_deref()
                .map(|cable| numbered(&mut self.cables, cable)),
        };
        self.all.push(place);
        self.ends.push(end);
        self.known.insert(end, self.ends.len() - 1);
        self.ends.len() - 1
    }
}

fn numbered<'a>(all: &mut Vec<&'a str>, name: &'a str) -> usize {
    let known = all.iter().position(|known| *known == name);
    known.unwrap_or_else(|| {
        all.push(name);
        all.len() - 1
    })
}

fn of_group(
    ends: &Places,
    group: &LocatedFault,
    ways: &[((usize, usize), Direction)],
) -> MeasuredFault {
    let own: Vec<&((usize, usize), Direction)> =
        group.tests.iter().map(|test| &ways[*test]).collect();
    let sum = |of: fn(&Direction) -> u64| {
        own.iter()
            .fold(0_u64, |sum, (_, one)| sum.saturating_add(of(one)))
    };
    let (sent, lost) = (sum(|one| one.sent), sum(|one| one.lost));
    #[allow(clippy::cast_precision_loss)] // a share
    let share = lost as f64 / sent.max(1) as f64;
    let severity = if share > FAULT_SHARE {
        Severity::Fault
    } else {
        Severity::Warning
    };
    let subject = match own.as_slice() {
        [((from, to), _)] => part_names::direction(ends.ends[*from], ends.ends[*to]),
        [((from, to), _), ..]
            if group
                .parts
                .iter()
                .any(|part| matches!(part, SuspectPart::Path(..))) =>
        {
            part_names::both_ways(ends.ends[*from], ends.ends[*to])
        }
        _ => name(
            ends,
            group
                .parts
                .first()
                .copied()
                .unwrap_or(SuspectPart::Everything),
        ),
    };
    let mut fault = MeasuredFault::new(FaultKind::PathLosesPackets, severity, subject);
    fault.directions = own
        .iter()
        .map(|((from, to), _)| (ends.ends[*from].clone(), ends.ends[*to].clone()))
        .collect();
    fault.hosts = group
        .parts
        .first()
        .map(|part| part.nodes(&ends.all))
        .into_iter()
        .flatten()
        .map(|node| ends.hosts[node].to_owned())
        .collect();
    fault.suspects = group.parts.iter().map(|part| name(ends, *part)).collect();
    for ((from, to), direction) in own.iter().take(4) {
        let what = match (direction.as_data, direction.as_acknowledgements) {
            (true, false) => "data",
            (false, true) => "acknowledgements",
            _ => "packets",
        };
        let names = part_names::direction(ends.ends[*from], ends.ends[*to]);
        fault.saw(
            format!("{what} lost, {names}"),
            format!("{} of {}", direction.lost, direction.sent),
        );
    }
    fault.saw("share of packets lost", format!("{:.3} %", share * 100.0));
    fault.cause = Some(format!(
        "packets are lost at {}",
        fault.suspects.join(", or ")
    ));
    fault
}

fn name(ends: &Places, part: SuspectPart) -> String {
    let names = part_names::PartNames {
        hosts: &ends.hosts,
        cables: &ends.cables,
        ends: &ends.ends,
        places: &ends.all,
    };
    part_names::suspect(names, part)
}
