//! The one way from nodes to facts: all nodes beside each other, each with a deadline, so that none holds up another.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crosstie_agent::NodeCalls;
use crosstie_doctor::{ClockOffset, clock::milliseconds};
use crosstie_facts::{RawCapture, check_size, facts};
use crosstie_model::Facts;
use crosstie_node::capture::{self, CaptureLoadError};
use crosstie_reach::{BOUND, NodeStage, Session, fan_out};

use crate::{Fleet, NodeError, NodesFailed, connector::NAMESPACE_PREFIX};

/// The largest machine takes a second. Whoever made a capture that takes longer meant it to.
const PARSE_TIMEOUT: Duration = Duration::from_secs(30);

/// What was read of one node, or why nothing was.
#[derive(Debug)]
pub struct NodeReading {
    /// As the person called it; of a capture, its file.
    pub name: String,
    pub raw: Result<RawCapture, NodeError>,
    /// How far its clock was from ours.
    pub clock: Option<ClockOffset>,
}

impl NodeReading {
    pub fn new(name: String, raw: Result<RawCapture, NodeError>) -> Self {
        let clock = None;
        Self { name, raw, clock }
    }

    /// Of the node at the other end of a session.
    pub(crate) fn over(
        session: &dyn Session,
        timeout: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<Self, NodeError> {
        let asked = now();
        let raw = session.collect(timeout, progress)?;
        let shown = milliseconds(&raw.meta.captured);
        let clock = shown.map(|shown| ClockOffset::between(asked, now(), shown));
        Ok(Self {
            clock,
            ..Self::new(session.name().to_owned(), Ok(raw))
        })
    }
}

/// Milliseconds since the epoch.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// What captures hold, by their names.
pub fn captured(paths: &[PathBuf]) -> Result<Vec<NodeReading>, CaptureLoadError> {
    let mut readings = Vec::new();
    for path in paths {
        for loaded in capture::load(path)? {
            let name = loaded.path.file_name().unwrap_or(loaded.path.as_os_str());
            let name = name.to_string_lossy().into_owned();
            let raw = loaded.raw.map_err(|error| NodeError::Capture(error.into()));
            readings.push(NodeReading::new(name, raw));
        }
    }
    Ok(readings)
}

/// All nodes of a command at one moment, in its order.
#[derive(Debug)]
pub struct FleetSnapshot {
    pub nodes: Vec<NodeSnapshot>,
}

/// One node.
#[derive(Debug, Clone)]
pub struct NodeSnapshot {
    /// As the person called it.
    pub name: String,
    pub facts: Result<Arc<Facts>, NodeError>,
    pub clock: Option<ClockOffset>,
    /// When it was read, by its own clock.
    pub captured: String,
    /// Root was asked for and not given.
    pub root_refusal: Option<String>,
}

/// A node whose facts are known.
#[derive(Debug, Clone)]
pub struct NodeFacts {
    /// As the person called it.
    pub destination: String,
    pub facts: Arc<Facts>,
    pub clock: Option<ClockOffset>,
}

/// Why nothing can be done with nodes that were read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("a node could not be read")]
    Unread(#[source] NodesFailed),
    #[error("{destination} does not tell its host name")]
    Nameless { destination: String },
    #[error(
        "{first} and {second} both call themselves {name}: it is one machine, named twice, or the host names must be told \
         apart first"
    )]
    SameName {
        first: String,
        second: String,
        name: String,
    },
}

impl FleetSnapshot {
    pub fn take(fleet: &Fleet) -> Self {
        Self::parse(fleet.read())
    }

    /// Of one node, over a session that is in other hands than a fleet's.
    pub(crate) fn facts_over(
        session: &dyn Session,
        timeout: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<Arc<Facts>, NodeError> {
        let reading = NodeReading::over(session, timeout, progress)?;
        let parsed = Self::parse(vec![reading]).nodes.pop();
        parsed.map_or(Err(NodeError::Busy), |node| node.facts)
    }

    /// The facts of what was read.
    pub fn parse(readings: Vec<NodeReading>) -> Self {
        let (named, raws): (Vec<_>, Vec<_>) = readings
            .into_iter()
            .map(|reading| ((reading.name, reading.clock), reading.raw))
            .unzip();
        let parsed = within(raws, PARSE_TIMEOUT, |raw| {
            check_size(raw)?;
            let meta = raw.meta.clone();
            Ok((Arc::new(facts(raw)), meta.captured, meta.root_refused))
        });
        let nodes = named.into_iter().zip(parsed);
        let nodes = nodes.map(|((name, clock), parsed)| {
            let (facts, captured, root_refusal) = match parsed {
                Ok(Ok((facts, captured, refusal))) => (Ok(facts), captured, refusal),
                Ok(Err(error)) => (Err(NodeError::TooLarge(error)), String::new(), None),
                Err(error) => (Err(error), String::new(), None),
            };
            NodeSnapshot {
                name,
                facts,
                clock,
                captured,
                root_refusal,
            }
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// What `work` makes of each node's facts, under the same deadline.
    pub fn each<T: Send + 'static>(
        &self,
        work: impl Fn(&Facts) -> T + Send + Sync + 'static,
    ) -> Vec<Result<T, NodeError>> {
        let facts = self.nodes.iter().map(|node| node.facts.clone());
        within(facts.collect(), PARSE_TIMEOUT, move |facts| work(facts))
    }

    /// The facts of all nodes, each with a name of its own.
    pub fn known(self) -> Result<Vec<NodeFacts>, SnapshotError> {
        self.named(|facts, _| Ok(facts))
    }

    /// The facts of all nodes, each read as root and with a name of its own. `no_root` says what root would be for.
    pub fn as_root(
        self,
        no_root: impl Fn(String) -> NodeError,
    ) -> Result<Vec<NodeFacts>, SnapshotError> {
        self.named(|facts, refusal| match refusal {
            Some(why) => Err(no_root(why)),
            None => Ok(facts),
        })
    }

    fn named(
        self,
        judge: impl Fn(Arc<Facts>, Option<String>) -> Result<Arc<Facts>, NodeError>,
    ) -> Result<Vec<NodeFacts>, SnapshotError> {
        let mut known: Vec<NodeFacts> = Vec::new();
        let mut failed = Vec::new();
        for node in self.nodes {
            let refusal = node.root_refusal;
            match node.facts.and_then(|facts| judge(facts, refusal)) {
                Ok(facts) => known.push(NodeFacts {
                    destination: node.name,
                    facts,
                    clock: node.clock,
                }),
                Err(error) => failed.push((node.name, error)),
            }
        }
        if !failed.is_empty() {
            return Err(SnapshotError::Unread(NodesFailed(failed)));
        }
        named_apart(&known)?;
        Ok(known)
    }
}

fn named_apart(nodes: &[NodeFacts]) -> Result<(), SnapshotError> {
    for (index, node) in nodes.iter().enumerate() {
        let name = &node.facts.host.name;
        let destination = &node.destination;
        if name.is_empty() {
            let destination = destination.clone();
            return Err(SnapshotError::Nameless { destination });
        }
        // Namespaces of one machine have its host name.
        let is_namespace = |node: &NodeFacts| node.destination.starts_with(NAMESPACE_PREFIX);
        let is_same = |other: &&NodeFacts| {
            other.facts.host.name == *name
                && (!is_namespace(node) || other.destination == *destination)
        };
        let mut earlier = nodes[..index].iter();
        if let Some(other) = earlier.find(is_same) {
            return Err(SnapshotError::SameName {
                first: other.destination.clone(),
                second: destination.clone(),
                name: name.clone(),
            });
        }
    }
    Ok(())
}

fn within<I: Send + Sync + 'static, T: Send + 'static>(
    items: Vec<Result<I, NodeError>>,
    timeout: Duration,
    work: impl Fn(&I) -> T + Send + Sync + 'static,
) -> Vec<Result<T, NodeError>> {
    let results = fan_out(items, BOUND, timeout, move |_, item| match item {
        Ok(item) => Ok(work(item)),
        Err(error) => Err(error.clone()),
    });
    let results = results.into_iter().map(|result| match result {
        Ok(result) => result,
        Err(unfinished) => Err(NodeError::Parse(unfinished)),
    });
    results.collect()
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Instant};

    use crosstie_facts::CaptureMeta;

    use super::*;

    fn reading(name: &str, host: &str, refusal: Option<&str>) -> NodeReading {
        let raw = RawCapture::new(CaptureMeta {
            host: host.to_owned(),
            root_refused: refusal.map(str::to_owned),
            ..CaptureMeta::default()
        });
        NodeReading::new(name.to_owned(), Ok(raw))
    }

    fn as_root(readings: Vec<NodeReading>) -> Result<Vec<NodeFacts>, SnapshotError> {
        FleetSnapshot::parse(readings).as_root(crate::apply::no_root)
    }

    #[test]
    fn every_node_that_failed_is_named_and_no_two_may_be_one() {
        let lost = NodeReading::new("lost".to_owned(), Err(NodeError::Busy));
        let refused = reading("spark-c", "spark-c", Some("no password"));
        let error = as_root(vec![reading("spark-a", "spark-a", None), lost, refused]);
        let Err(SnapshotError::Unread(failed)) = error else {
            panic!()
        };
        let lines: Vec<String> = failed.lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0], "lost: it has not answered an earlier call yet");
        assert!(lines[1].starts_with("spark-c: ") && lines[1].contains("no password"));
        let twice = vec![
            reading("spark-a", "spark-a", None),
            reading("192.0.2.1", "spark-a", None),
        ];
        let error = as_root(twice).unwrap_err().to_string();
        assert!(error.starts_with("spark-a and 192.0.2.1 both call themselves spark-a"));
    }

    #[test]
    fn a_slow_capture_holds_up_nobody_and_is_given_up() {
        let started = Instant::now();
        let items = vec![Ok("slow"), Ok("small"), Err(NodeError::Busy)];
        let timeout = Duration::from_secs(1);
        let parsed = within(items, timeout, move |name| {
            if *name == "slow" {
                thread::sleep(Duration::from_secs(30));
            }
            (*name, started.elapsed())
        });
        let [slow, small, lost] = &parsed[..] else {
            panic!("{parsed:?}")
        };
        let error = slow.as_ref().unwrap_err().line();
        assert!(error.contains("given up after 1 s"), "{error}");
        let (name, took) = small.as_ref().unwrap();
        assert_eq!(*name, "small");
        assert!(*took < timeout, "{took:?}");
        assert!(matches!(lost, Err(NodeError::Busy)));
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
