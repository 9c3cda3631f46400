//! RDMA between two nodes: every rail alone, in both directions, then all of them at once.

use crosstie_fabric::{
    carries_management,
    rails::{Rail, RailEnd, rails, users},
};
use crosstie_model::Facts;
use crosstie_rdma::{Direction, Figures, OpenRequest, PathRequest, Role, Test, Times};
use crosstie_report::bench::{Bandwidth, Bench, Cell, Directions, Latency, Operation, RailResult};

use crate::{
    Event, Fleet, FleetSnapshot, NodeFacts, SnapshotError, Targets, TargetsError,
    measure::{End, MeasureError, PairTest, measure},
};

/// perftest's; a timeout of 14 is 67 ms.
const PATH: PathRequest = PathRequest {
    timeout: 14,
    retry_count: 7,
    service_level: 0,
    traffic_class: 0,
};
const DEPTH: u32 = 128;
/// In milliseconds.
const WARM_UP: u32 = 500;
const COOL_DOWN: u32 = 200;
const SILENCE: u32 = 3000;
/// Bytes of a message whose latency is measured.
const LATENCY_SIZE: u32 = 2;

#[derive(Debug, Clone)]
pub struct BenchOptions {
    pub operation: Operation,
    pub size: u32,
    pub queue_pairs: u16,
    /// Of each test, in milliseconds.
    pub measure: u32,
    /// Also rails that carry management, and devices that programs use.
    pub force: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("RDMA is measured between two nodes, and {0} were named")]
    NotTwo(usize),
    #[error(
        "{near} and {far} share no RDMA rail: no active ports with addresses in one subnet (crosstie doctor {near} {far} tells why)"
    )]
    NoRail { near: String, far: String },
    #[error(
        "{node}: {interface} carries management, and a test could cut it off; pass --force to measure it all the same"
    )]
    CarriesManagement { node: String, interface: String },
    #[error(
        "{node}: {device} is in use by {}; a test would disturb it and be disturbed. End it, or pass --force",
        users.join(", ")
    )]
    InUse {
        node: String,
        device: String,
        users: Vec<String>,
    },
}

pub fn bench(targets: &Targets, options: &BenchOptions) -> Result<Bench, BenchError> {
    let (_, fleet) = targets.find_live(true)?;
    let count = fleet.names().len();
    if count != 2 {
        return Err(BenchError::NotTwo(count));
    }
    let nodes = FleetSnapshot::take(&fleet).known()?;
    let [near, far] = &nodes[..] else {
        return Err(BenchError::NotTwo(nodes.len()));
    };
    let rails = rails(&near.facts, &far.facts);
    if rails.is_empty() {
        let (near, far) = (near.destination.clone(), far.destination.clone());
        return Err(BenchError::NoRail { near, far });
    }
    if !options.force {
        for rail in &rails {
            check(near, &rail.near)?;
            check(far, &rail.far)?;
        }
    }
    let run = Run {
        fleet: &fleet,
        options,
    };
    let results = rails.iter().map(|rail| run.rail(rail));
    let results: Vec<RailResult> = results.collect();
    let all_rails = (rails.len() > 1).then(|| run.all(&rails));
    Ok(Bench {
        nodes: [near, far].map(|node| node.facts.host.name.clone()),
        operation: options.operation,
        size: options.size,
        queue_pairs: options.queue_pairs,
        rails: results,
        all_rails,
        doubts: doubts(&[&near.facts, &far.facts], &rails),
    })
}

/// Whether a test here would do harm.
fn check(node: &NodeFacts, end: &RailEnd) -> Result<(), BenchError> {
    let name = || node.facts.host.name.clone();
    if let Some(interface) = &end.interface
        && carries_management(&node.facts, interface)
    {
        return Err(BenchError::CarriesManagement {
            node: name(),
            interface: interface.clone(),
        });
    }
    let users = users(&node.facts, &end.device);
    if !users.is_empty() {
        return Err(BenchError::InUse {
            node: name(),
            device: end.device.clone(),
            users,
        });
    }
    Ok(())
}

fn doubts(facts: &[&Facts; 2], rails: &[Rail]) -> Vec<String> {
    let mut software = facts.iter().zip([false, true]).flat_map(|(facts, is_far)| {
        let ends = rails
            .iter()
            .map(move |rail| if is_far { &rail.far } else { &rail.near });
        let devices = |end: &RailEnd| {
            let mut devices = facts.rdma.iter();
            devices.any(|device| device.name == end.device && device.software)
        };
        ends.map(devices).collect::<Vec<bool>>()
    });
    if software.any(|is_software| is_software) {
        let text = "Soft-RoCE: these are figures of processors, not of cards";
        return vec![text.to_owned()];
    }
    Vec::new()
}

struct Run<'a> {
    fleet: &'a Fleet,
    options: &'a BenchOptions,
}

impl Run<'_> {
    fn rail(&self, rail: &Rail) -> RailResult {
        let name = &rail.near.device;
        let [there, back] = [false, true].map(|is_back| {
            let arrow = if is_back { "←" } else { "→" };
            let figures =
                self.measure(&format!("{name} {arrow}"), &[self.bandwidth(rail, is_back)]);
            one(figures).map(|figures| sum(&[figures]))
        });
        let latency = self.measure(&format!("{name} latency"), &[self.latency(rail)]);
        RailResult {
            devices: [rail.near.device.clone(), rail.far.device.clone()],
            bandwidth: Directions {
                there: cell(there),
                back: cell(back),
            },
            latency: cell(one(latency).and_then(|figures| percentiles(&figures))),
        }
    }

    /// All rails at once.
    fn all(&self, rails: &[Rail]) -> Directions {
        let [there, back] = [false, true].map(|is_back| {
            let tests = rails.iter().map(|rail| self.bandwidth(rail, is_back));
            let tests: Vec<PairTest> = tests.collect();
            let arrow = if is_back { "←" } else { "→" };
            let figures = self.measure(&format!("all rails {arrow}"), &tests);
            let figures = figures.into_iter().collect::<Result<Vec<_>, _>>();
            cell(figures.map(|figures| sum(&figures)))
        });
        Directions { there, back }
    }

    fn measure(&self, name: &str, tests: &[PairTest]) -> Vec<Result<Figures, String>> {
        let observer = &self.fleet.options().observer;
        observer.observe(Event::TestBegan { name });
        let figures = measure(self.fleet, tests);
        let text = |error: MeasureError| error.to_string();
        figures.into_iter().map(|one| one.map_err(text)).collect()
    }

    fn bandwidth(&self, rail: &Rail, is_back: bool) -> PairTest {
        let direction = match self.options.operation {
            Operation::Write => Direction::Write,
            Operation::Read => Direction::Read,
        };
        let size = self.options.size;
        let request = |end: &RailEnd| OpenRequest {
            test: Test::Bandwidth { direction },
            queue_pairs: self.options.queue_pairs,
            size,
            signal_every: OpenRequest::usual_signal_every(size, DEPTH),
            ..self.request(end)
        };
        pair(rail, is_back, request)
    }

    fn latency(&self, rail: &Rail) -> PairTest {
        let request = |end: &RailEnd| OpenRequest {
            test: Test::Latency,
            size: LATENCY_SIZE,
            depth: 1,
            ..self.request(end)
        };
        pair(rail, false, request)
    }

    fn request(&self, end: &RailEnd) -> OpenRequest {
        OpenRequest {
            device: end.device.clone(),
            port: u8::try_from(end.port).unwrap_or(u8::MAX),
            address: end.address,
            interface_mtu: end.mtu,
            role: Role::Initiator,
            test: Test::Latency,
            queue_pairs: 1,
            size: LATENCY_SIZE,
            depth: DEPTH,
            list: 1,
            signal_every: 1,
            relaxed_ordering: false,
            path: PATH,
            times: Times {
                warm_up: WARM_UP,
                measure: self.options.measure,
                cool_down: COOL_DOWN,
                silence: SILENCE,
            },
        }
    }
}

/// The first node's end sends, unless it is the way back.
fn pair(rail: &Rail, is_back: bool, request: impl Fn(&RailEnd) -> OpenRequest) -> PairTest {
    let first = End {
        node: 0,
        request: request(&rail.near),
    };
    let second = End {
        node: 1,
        request: request(&rail.far),
    };
    let (near, far) = if is_back {
        (second, first)
    } else {
        (first, second)
    };
    PairTest { near, far }
}

fn one(figures: Vec<Result<Figures, String>>) -> Result<Figures, String> {
    let missing = || Err("it was not begun".to_owned());
    figures.into_iter().next().unwrap_or_else(missing)
}

fn cell<T>(result: Result<T, String>) -> Cell<T> {
    result.map_or_else(Cell::NotMeasured, Cell::Measured)
}

/// Rails add up; each counts its own time.
#[allow(clippy::cast_precision_loss)] // figures for people
fn sum(all: &[Figures]) -> Bandwidth {
    let mut sum = Bandwidth {
        gbps: 0.0,
        worst_gbps: Some(0.0),
        messages_per_second: 0.0,
        bytes: 0,
        nanoseconds: 0,
        processor_nanoseconds: 0,
    };
    for figures in all {
        let Figures::Bandwidth(one) = figures else {
            continue;
        };
        let time = one.nanoseconds.max(1) as f64;
        sum.gbps += one.bytes as f64 * 8.0 / time;
        sum.messages_per_second += one.messages as f64 * 1e9 / time;
        sum.bytes += one.bytes;
        sum.nanoseconds = sum.nanoseconds.max(one.nanoseconds);
        sum.processor_nanoseconds += one.processor_nanoseconds;
        let window = one.window_nanoseconds.max(1) as f64;
        let worst = one.worst_window().map(|bytes| bytes as f64 * 8.0 / window);
        sum.worst_gbps = sum.worst_gbps.zip(worst).map(|(sum, one)| sum + one);
    }
    sum
}

fn percentiles(figures: &Figures) -> Result<Latency, String> {
    let Figures::Latency(latency) = figures else {
        return Err("the engine measured something else".to_owned());
    };
    let times = &latency.half_round_trips;
    let at = |of_100_000| times.percentile(of_100_000);
    let found = (|| {
        Some(Latency {
            least_ns: times.least()?,
            p50_ns: at(50_000)?,
            p99_ns: at(99_000)?,
            p999_ns: at(99_900)?,
            most_ns: times.most()?,
            count: times.count(),
        })
    })();
    found.ok_or_else(|| "no message came back in time".to_owned())
}
