//! What is cabled to what, heard by the ports themselves, and the cluster file that says so.

use std::{path::Path, time::Duration};

use crosstie_agent::{CallError, NodeCalls};
use crosstie_fabric::{
    cabling::{self, Key, Listened, Note, Probe, Station, Token, Wiring},
    cages,
    init::{Member, propose},
};
use crosstie_model::{Facts, Spec};
use crosstie_node::cabling::CablingError;
use crosstie_report::{
    cluster_file::{Existing, Merged, merge},
    init as report,
};

use crate::{
    ClusterFileError, Fleet, FleetError, NodeError, NodeFacts, NodesFailed, Targets, TargetsError,
    cluster_file::merging,
    destinations,
    files::{self, WriteError},
    random::{NoRandomNumbers, random},
};

/// Where every link is up: agents begin at different times, and this is long enough for the slowest.
const LISTEN_TIME: Duration = Duration::from_secs(6);

/// Where links come up first: a 200 Gb/s port with a copper cable takes up to ten seconds.
const LISTEN_TIME_LINKS_DOWN: Duration = Duration::from_secs(15);

/// For an agent to look at its machine first, and to put links back.
const CABLING_MARGIN: Duration = Duration::from_secs(30);

/// Of a cluster that nobody has named.
const NAME: &str = "cluster";

pub struct InitOptions<'a> {
    /// Where the nodes' cluster file is.
    pub file: &'a Path,
    /// What it says already.
    pub existing: Option<&'a Existing>,
    /// What a new one is called.
    pub name: Option<&'a str>,
    pub dry_run: bool,
    /// To listen for.
    pub seconds: Option<u32>,
}

/// What the nodes heard of each other, and the file that it makes.
#[derive(Debug)]
pub struct Discovered {
    pub found: report::Init,
    pub merged: Merged,
    pub stations: Vec<Station>,
    pub wiring: Wiring,
}

#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("name the nodes, like `. spark-b`    (`.` is this machine, others as ssh takes them)")]
    NoNodes,
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error("no node has an RDMA port on Ethernet that can say its name")]
    NoPorts(#[source] Option<NoPorts>),
    #[error("a node could not be asked")]
    NotAsked(#[source] NodesFailed),
    #[error("more nodes than one run can tell apart")]
    TooManyNodes,
    #[error(transparent)]
    NoRandomNumbers(#[from] NoRandomNumbers),
    #[error(transparent)]
    ClusterFile(#[from] ClusterFileError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// What there is to say of each, a line each.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoPorts(String);

pub fn no_root(why: String) -> NodeError {
    CallError::Call(CablingError::NotRoot { why }).into()
}

/// The nodes that are named, a lab's, or those of the cluster file.
pub fn members(targets: &Targets, spec: Option<&Spec>) -> Result<Fleet, InitError> {
    let names = match (&targets.lab, spec) {
        (Some(lab), _) => lab.among(&targets.nodes)?,
        (None, _) if !targets.nodes.is_empty() => targets.nodes.clone(),
        (None, Some(spec)) if !spec.nodes.is_empty() => destinations(spec),
        (None, _) => return Err(InitError::NoNodes),
    };
    Ok(Fleet::new(names, &targets.options)?)
}

/// The file is written where something is new.
pub fn discover(
    fleet: &Fleet,
    nodes: &[NodeFacts],
    options: &InitOptions,
) -> Result<Discovered, InitError> {
    let spec = options.existing.map(|existing| &existing.spec);
    let (stations, mut remarks) = listen(fleet, nodes, spec, options.seconds)?;
    let mut wiring = cabling::wiring(&stations, spec);
    let members: Vec<Member> = nodes
        .iter()
        .zip(&stations)
        .map(|(node, station)| Member {
            facts: &node.facts,
            destination: &node.destination,
            station,
        })
        .collect();
    let proposal = propose(&members, &wiring);
    let name = options.name.unwrap_or(NAME);
    let mut merged =
        merge(options.existing, name, &proposal, &wiring).map_err(merging(options.file))?;
    remarks.append(&mut merged.notes);
    remarks.append(&mut wiring.notes);
    remarks.sort_by_key(|note| !note.is_problem());
    let is_new = options.existing.is_none() || !merged.added.is_empty();
    let written = is_new && !options.dry_run;
    if written {
        files::replace(options.file, &merged.text)?;
    }
    let found = report::Init {
        cables: report::numbered(&wiring.cables, &merged.spec),
        notes: remarks.iter().map(report::Note::from).collect(),
        nodes: report::nodes(&stations, &wiring, &merged.spec),
        file: options.file.display().to_string(),
        written,
        added: merged.added.clone(),
    };
    Ok(Discovered {
        found,
        merged,
        stations,
        wiring,
    })
}

/// Every port speaks and listens, on all nodes at once.
fn listen(
    fleet: &Fleet,
    nodes: &[NodeFacts],
    spec: Option<&Spec>,
    seconds: Option<u32>,
) -> Result<(Vec<Station>, Vec<Note>), InitError> {
    let mut remarks = Vec::new();
    let mut surveys = Vec::new();
    for node in nodes {
        let (station, left_out) =
            cabling::interfaces_to_probe(&node.facts, &cages(&node.facts, spec));
        surveys.push(station);
        remarks.extend(left_out);
    }
    if surveys.iter().all(|station| station.jacks.is_empty()) {
        let why: Vec<String> = remarks.iter().map(ToString::to_string).collect();
        let why = (!why.is_empty()).then(|| NoPorts(why.join("\n")));
        return Err(InitError::NoPorts(why));
    }
    let duration = seconds.map_or_else(
        || listening(nodes, &surveys),
        |seconds| Duration::from_secs(seconds.into()),
    );
    let probes = probes(&surveys, duration)?;
    let deadline = duration + CABLING_MARGIN;
    let answers = fleet.call_together(deadline, move |index, session, progress| {
        Ok(session.cabling(&probes[index], deadline, progress)?)
    });
    let mut stations = Vec::new();
    let mut failed = Vec::new();
    for (survey, (destination, answer)) in surveys.into_iter().zip(answers) {
        match answer {
            Ok(listened) => {
                let (station, more) = cabling::station(survey, bounded(listened));
                stations.push(station);
                remarks.extend(more);
            }
            Err(error) => failed.push((destination, error)),
        }
    }
    if failed.is_empty() {
        return Ok((stations, remarks));
    }
    Err(InitError::NotAsked(NodesFailed(failed)))
}

/// A node is not believed to have much to say.
fn bounded(mut listened: Listened) -> Listened {
    const LONGEST: usize = 300;
    let cut = |text: &mut String| *text = text.chars().take(LONGEST).collect();
    for list in [&mut listened.put_back, &mut listened.left] {
        list.truncate(64);
        list.iter_mut().for_each(cut);
    }
    listened
        .ports
        .iter_mut()
        .filter_map(|port| port.problem.as_mut())
        .for_each(cut);
    listened
}

fn listening(nodes: &[NodeFacts], surveys: &[Station]) -> Duration {
    let is_down = |facts: &Facts, name: &str| {
        let interface = facts.network.interface(name);
        interface.is_some_and(|interface| interface.up.known() == Some(&false))
    };
    let any_down = nodes.iter().zip(surveys).any(|(node, station)| {
        station
            .jacks
            .iter()
            .any(|jack| is_down(&node.facts, &jack.interface))
    });
    if any_down {
        LISTEN_TIME_LINKS_DOWN
    } else {
        LISTEN_TIME
    }
}

fn probes(surveys: &[Station], duration: Duration) -> Result<Vec<Probe>, InitError> {
    let (token, key) = (Token(random()?), Key(random()?));
    let probe = |(index, station): (usize, &Station)| {
        let jacks = station.jacks.iter();
        Ok(Probe {
            token,
            key: key.clone(),
            node: u16::try_from(index).map_err(|_| InitError::TooManyNodes)?,
            interfaces: jacks.map(|jack| jack.interface.clone()).collect(),
            listen_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        })
    };
    surveys.iter().enumerate().map(probe).collect()
}
