//! A run with every figure judged.

use std::collections::HashMap;

use crosstie_model::run::{
    MeasuredEnd, Measurement, MeasurementOutcome, StoredRun, TestConcurrency, TestKind,
};

use crate::{
    ceiling::{self, PairCeiling, RunPortIndex},
    ledger::{BandwidthLedger, ledger},
    limit::{LikelyLimit, matches},
    statistics::{median, spread},
    verdict::{FAULT_PERCENT, FigureVerdict, HEALTHY_PERCENT, NotGraded, of_percent, percent},
};

/// Smaller messages are bounded by their number.
pub const LEAST_GRADED_SIZE: u64 = 64 * 1024;
/// One queue pair was seen to end at 220 to 230 Gb/s.
const NEEDS_SEVERAL_QUEUE_PAIRS: f64 = 400.0;
/// With fewer there is nothing to compare software devices with.
const LEAST_PEERS: usize = 3;

pub struct GradedRun<'a> {
    pub run: &'a StoredRun,
    pub ports: RunPortIndex<'a>,
    /// In the order in which they were first measured.
    pub cells: Vec<GradedPath<'a>>,
    /// All rails between two nodes at once.
    pub rail_sums: Vec<RailSum<'a>>,
}

/// What was measured from one port to another, in one way: the best of all tries.
#[derive(Debug, Clone)]
pub struct GradedPath<'a> {
    pub best: &'a Measurement,
    pub tried: Vec<&'a Measurement>,
    pub gbps: Option<f64>,
    pub ceiling: Option<PairCeiling>,
    pub percent: Option<u32>,
    pub verdict: FigureVerdict,
    pub ledger: Option<BandwidthLedger>,
    /// What the figure looks like; several if they cannot be told apart by it.
    pub limits: Vec<LikelyLimit>,
}

#[derive(Debug, Clone)]
pub struct RailSum<'a> {
    /// One a rail, of one moment.
    pub rails: Vec<&'a Measurement>,
    pub gbps: f64,
    pub ceiling: Option<PairCeiling>,
    pub percent: Option<u32>,
    pub verdict: FigureVerdict,
    pub limits: Vec<LikelyLimit>,
}

/// What makes two measurements tries of the same.
type Key<'a> = (
    TestKind,
    TestConcurrency,
    &'a MeasuredEnd,
    &'a MeasuredEnd,
    Option<u64>,
);

impl<'a> GradedRun<'a> {
    /// A software device whose rate nobody has declared: how steady it is, and whether both ways are alike, is up to what
    /// else its processor has to do.
    pub fn is_as_fast_as_its_processor(&self, one: &Measurement) -> bool {
        let ends = [&one.from, &one.to];
        let mut ports = ends.into_iter().filter_map(|end| self.ports.port(end));
        ports.any(|port| port.software) && self.run.header.options.rate_gbps.is_none()
    }

    pub fn new(run: &'a StoredRun) -> Self {
        let ports = RunPortIndex::new(run);
        let mut places: HashMap<Key, usize> = HashMap::new();
        let mut groups: Vec<Vec<&'a Measurement>> = Vec::new();
        for measurement in &run.measurements {
            let place = *places.entry(key(measurement)).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[place].push(measurement);
        }
        let mut cells: Vec<GradedPath> = groups
            .into_iter()
            .map(|tried| cell(&ports, tried))
            .collect();
        grade_by_peers(&ports, &mut cells);
        let rail_sums = rail_sums(run, &ports);
        Self {
            run,
            ports,
            cells,
            rail_sums,
        }
    }

    /// The worst verdict of all figures that have one.
    pub fn worst(&self) -> Option<FigureVerdict> {
        let cells = self.cells.iter().map(|cell| cell.verdict);
        let all = cells.chain(self.rail_sums.iter().map(|sum| sum.verdict));
        all.filter_map(|verdict| match verdict {
            FigureVerdict::Failed => Some((3, verdict)),
            FigureVerdict::Fault => Some((2, verdict)),
            FigureVerdict::Warning => Some((1, verdict)),
            FigureVerdict::Healthy => Some((0, verdict)),
            FigureVerdict::NotGraded(_) | FigureVerdict::NotApplicable => None,
        })
        .max_by_key(|(rank, _)| *rank)
        .map(|(_, verdict)| verdict)
    }
}

fn key(measurement: &Measurement) -> Key<'_> {
    let large = |size: &u64| *size >= LEAST_GRADED_SIZE && measurement.kind.is_bandwidth();
    (
        measurement.kind,
        measurement.phase,
        &measurement.from,
        &measurement.to,
        // Large messages are tries of one thing.
        measurement.size.filter(|size| !large(size)),
    )
}

fn gbps(measurement: &Measurement) -> Option<f64> {
    measurement.bandwidth()?.gbps()
}

fn cell<'a>(ports: &RunPortIndex, tried: Vec<&'a Measurement>) -> GradedPath<'a> {
    let rank = |measurement: &&&Measurement| match &measurement.outcome {
        MeasurementOutcome::Measured(_) => (1, gbps(measurement).unwrap_or(0.0)),
        MeasurementOutcome::Failed { .. } | MeasurementOutcome::NotApplicable { .. } => (0, 0.0),
    };
    let best = tried.iter().max_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    // A group has at least the measurement that made it.
    let best = best.copied().unwrap_or(tried[0]);
    let figure = gbps(best);
    let ceiling = if best.kind.is_bandwidth() {
        ports.of_pair(best.kind, &best.from, &best.to)
    } else {
        None
    };
    let share = figure
        .zip(ceiling.as_ref())
        .and_then(|(figure, ceiling)| percent(figure, ceiling.gbps));
    let mut cell = GradedPath {
        verdict: verdict(best, &tried, ceiling.as_ref(), share),
        best,
        tried,
        gbps: figure,
        ceiling,
        percent: share,
        ledger: None,
        limits: Vec::new(),
    };
    cell.account();
    cell
}

fn verdict(
    best: &Measurement,
    tried: &[&Measurement],
    ceiling: Option<&PairCeiling>,
    share: Option<u32>,
) -> FigureVerdict {
    match &best.outcome {
        MeasurementOutcome::Failed { .. } => return FigureVerdict::Failed,
        MeasurementOutcome::NotApplicable { .. } => return FigureVerdict::NotApplicable,
        MeasurementOutcome::Measured(_) => {}
    }
    let graded = match best.kind {
        TestKind::Reachability => Err(NotGraded::Reachability),
        TestKind::TcpLatency | TestKind::RdmaLatency => Err(NotGraded::Latency),
        TestKind::TcpBandwidth => Err(NotGraded::Tcp),
        TestKind::RdmaBandwidth(_) => Ok(()),
    };
    let graded = graded.and(match best.phase {
        TestConcurrency::Bidirectional => Err(NotGraded::Duplex),
        TestConcurrency::AllRails | TestConcurrency::Incast => Err(NotGraded::Shared),
        TestConcurrency::Solo | TestConcurrency::Round | TestConcurrency::Soak => Ok(()),
    });
    if let Err(why) = graded {
        return FigureVerdict::NotGraded(why);
    }
    if best.size.is_some_and(|size| size < LEAST_GRADED_SIZE) {
        return FigureVerdict::NotGraded(NotGraded::SmallMessages);
    }
    if best.bandwidth().is_some_and(|figures| !figures.complete) {
        return FigureVerdict::NotGraded(NotGraded::Incomplete);
    }
    let (Some(ceiling), Some(share)) = (ceiling, share) else {
        return FigureVerdict::NotGraded(NotGraded::NoCeiling);
    };
    let one_alone = tried
        .iter()
        .all(|one| one.queue_pairs.is_none_or(|pairs| pairs <= 1));
    let wide = ceiling.port_rate >= NEEDS_SEVERAL_QUEUE_PAIRS;
    if wide && one_alone && share < HEALTHY_PERCENT {
        return FigureVerdict::NotGraded(NotGraded::OneQueuePair);
    }
    of_percent(share)
}

impl GradedPath<'_> {
    /// The ledger, and what the figure looks like.
    fn account(&mut self) {
        if let (Some(figure), Some(ceiling)) = (self.gbps, &self.ceiling)
            && self.best.kind.is_rdma()
        {
            self.ledger = ledger(self.best, ceiling);
            self.limits = matches(figure, ceiling);
        } else if let Some(ceiling) = &self.ceiling {
            self.ledger = ledger(self.best, ceiling);
        }
    }

    /// Bandwidth of large messages over RDMA that is held against something.
    pub fn is_graded(&self) -> bool {
        self.verdict.is_graded()
    }
}

/// Software devices without a declared rate: each against the median of all of them. Such figures wander, so only what is
/// far below and beyond the spread counts.
fn grade_by_peers(ports: &RunPortIndex, cells: &mut [GradedPath]) {
    let is_open = |cell: &GradedPath| {
        cell.verdict == FigureVerdict::NotGraded(NotGraded::NoCeiling)
            && ports.is_software(&cell.best.from, &cell.best.to)
    };
    for phase in [
        TestConcurrency::Solo,
        TestConcurrency::Round,
        TestConcurrency::Soak,
    ] {
        let members = cells.iter().enumerate();
        let members = members.filter(|(_, cell)| cell.best.phase == phase && is_open(cell));
        let (places, figures): (Vec<usize>, Vec<f64>) = members
            .filter_map(|(place, cell)| Some((place, cell.gbps?)))
            .unzip();
        let (Some(centre), Some(spread)) = (median(&figures), spread(&figures)) else {
            continue;
        };
        if figures.len() < LEAST_PEERS {
            continue;
        }
        for (place, figure) in places.into_iter().zip(figures) {
            let cell = &mut cells[place];
            let share = percent(figure, centre);
            let is_low = share.is_some_and(|share| share < FAULT_PERCENT);
            let is_far = centre - figure > 3.0 * spread;
            cell.percent = share;
            cell.verdict = if is_low && is_far {
                FigureVerdict::Fault
            } else {
                FigureVerdict::Healthy
            };
            cell.ceiling = Some(ceiling::of_peers(centre));
            cell.account();
        }
    }
}

fn rail_sums<'a>(run: &'a StoredRun, ports: &RunPortIndex) -> Vec<RailSum<'a>> {
    // Of each moment, and of each pair of nodes the best moment.
    type Moment<'m> = (u32, &'m str, &'m str);
    let mut moments: Vec<(Moment, Vec<&Measurement>)> = Vec::new();
    let mut places: HashMap<Moment, usize> = HashMap::new();
    for one in run
        .measurements
        .iter()
        .filter(|one| one.phase == TestConcurrency::AllRails)
    {
        let key = (one.round, one.from.host.as_str(), one.to.host.as_str());
        let place = *places.entry(key).or_insert_with(|| {
            moments.push((key, Vec::new()));
            moments.len() - 1
        });
        moments[place].1.push(one);
    }
    let mut best: HashMap<(&str, &str), usize> = HashMap::new();
    let mut sums: Vec<RailSum> = Vec::new();
    for ((_, from, to), rails) in moments {
        let sum = rail_sum(ports, rails);
        match best.get(&(from, to)) {
            Some(place) if sums[*place].gbps >= sum.gbps => {}
            Some(place) => sums[*place] = sum,
            None => {
                best.insert((from, to), sums.len());
                sums.push(sum);
            }
        }
    }
    sums
}

fn rail_sum<'a>(ports: &RunPortIndex, rails: Vec<&'a Measurement>) -> RailSum<'a> {
    let figure: f64 = rails.iter().filter_map(|rail| gbps(rail)).sum();
    let ends: Vec<_> = rails.iter().map(|rail| (&rail.from, &rail.to)).collect();
    let ceiling = ports.of_rails(&ends);
    let share = ceiling
        .as_ref()
        .and_then(|ceiling| percent(figure, ceiling.gbps));
    let measured = rails.iter().any(|rail| rail.bandwidth().is_some());
    RailSum {
        gbps: figure,
        verdict: match share {
            _ if !measured => FigureVerdict::Failed,
            Some(share) => of_percent(share),
            None => FigureVerdict::NotGraded(NotGraded::NoCeiling),
        },
        limits: ceiling
            .as_ref()
            .map_or_else(Vec::new, |ceiling| matches(figure, ceiling)),
        percent: share,
        ceiling,
        rails,
    }
}
