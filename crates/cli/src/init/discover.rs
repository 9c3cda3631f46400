//! What is cabled to what, heard by the ports themselves, and the cluster file that says so.

use std::{path::Path, time::Duration};

use anyhow::Context;
use crosstie_agent::NodeCalls;
use crosstie_fabric::{
    cabling::{self, Key, Listened, Note, Probe, Station, Token, Wiring},
    cages,
    init::{Member, propose},
};
use crosstie_model::{Facts, Spec};
use crosstie_report::{
    cabling::{Node, draw},
    cluster_file::{Existing, Merged, merge},
    init as report,
    text::Palette,
};
use rustix::rand::{GetRandomFlags, getrandom};

use super::file;
use crate::{look::Looked, nodes::Fleet, output};

/// Where every link is up: agents begin at different times, and this is long enough for the slowest.
const LISTEN: Duration = Duration::from_secs(6);

/// Where links come up first: a 200 Gb/s port with a copper cable takes up to ten seconds.
const LISTEN_LONG: Duration = Duration::from_secs(15);

/// For an agent to look at its machine first, and to put links back.
const AROUND: Duration = Duration::from_secs(30);

/// Where the nodes' cluster file is, and what it says already.
pub(crate) struct Place<'a> {
    pub(crate) path: &'a Path,
    pub(crate) existing: Option<&'a Existing>,
    /// What a new one is called.
    pub(crate) name: &'a str,
    pub(crate) dry_run: bool,
}

/// What the nodes heard of each other, and the file that it makes.
pub(crate) struct Discovered {
    pub(crate) found: report::Init,
    pub(crate) merged: Merged,
    stations: Vec<Station>,
    wiring: Wiring,
}

/// `None` where a node could not be asked, which is told. The file is written where something is new.
pub(crate) fn discover(
    fleet: &Fleet,
    looked: &[Looked],
    place: &Place,
    seconds: Option<u32>,
) -> anyhow::Result<Option<Discovered>> {
    let spec = place.existing.map(|existing| &existing.spec);
    let Some((stations, mut notes)) = listen(fleet, looked, spec, seconds)? else {
        return Ok(None);
    };
    let mut wiring = cabling::wiring(&stations, spec);
    let members: Vec<Member> = looked
        .iter()
        .zip(&stations)
        .map(|(looked, station)| Member {
            facts: &looked.facts,
            destination: &looked.destination,
            station,
        })
        .collect();
    let proposal = propose(&members, &wiring);
    let mut merged = merge(place.existing, place.name, &proposal, &wiring)
        .with_context(|| format!("cannot use {}", place.path.display()))?;
    notes.append(&mut merged.notes);
    notes.append(&mut wiring.notes);
    notes.sort_by_key(|note| !note.is_problem());
    let is_new = place.existing.is_none() || !merged.added.is_empty();
    let written = is_new && !place.dry_run;
    if written {
        file::write(place.path, &merged.text)?;
    }
    let found = report::Init {
        cables: report::numbered(&wiring.cables, &merged.spec),
        notes: notes.iter().map(report::Note::from).collect(),
        nodes: report::nodes(&stations, &wiring, &merged.spec),
        file: place.path.display().to_string(),
        written,
        added: merged.added.clone(),
    };
    Ok(Some(Discovered {
        found,
        merged,
        stations,
        wiring,
    }))
}

impl Discovered {
    /// The nodes and their cables as a drawing, and what there is to say of them.
    pub(crate) fn view(&self, palette: Palette) -> String {
        let nodes: Vec<Node> = self
            .stations
            .iter()
            .zip(&self.wiring.cages)
            .map(|(station, cages)| Node {
                name: station.name.clone(),
                cages: cages
                    .iter()
                    .map(|cage| (cage.id.clone(), cage.state))
                    .collect(),
            })
            .collect();
        let mut text = draw(&nodes, &self.found.cables, palette);
        if !self.found.notes.is_empty() {
            text.push('\n');
            text += &report::notes(&self.found.notes, palette);
        }
        text
    }
}

/// Every port speaks and listens, on all nodes at once.
fn listen(
    fleet: &Fleet,
    looked: &[Looked],
    spec: Option<&Spec>,
    seconds: Option<u32>,
) -> anyhow::Result<Option<(Vec<Station>, Vec<Note>)>> {
    let mut notes = Vec::new();
    let mut surveys = Vec::new();
    for node in looked {
        let (station, left_out) =
            cabling::interfaces_to_probe(&node.facts, &cages(&node.facts, spec));
        surveys.push(station);
        notes.extend(left_out);
    }
    if surveys.iter().all(|station| station.jacks.is_empty()) {
        let why: Vec<String> = notes.iter().map(ToString::to_string).collect();
        let error = "no node has an RDMA port on Ethernet that can say its name";
        return Err(match why.as_slice() {
            [] => anyhow::Error::msg(error),
            why => anyhow::Error::msg(why.join("\n")).context(error),
        });
    }
    let duration = seconds.map_or_else(
        || listening(looked, &surveys),
        |seconds| Duration::from_secs(seconds.into()),
    );
    let probes = probes(&surveys, duration)?;
    let deadline = duration + AROUND;
    let answers = fleet.call_together(fleet.patience(deadline), move |index, session, progress| {
        Ok(session.cabling(&probes[index], deadline, progress)?)
    });
    let mut stations = Vec::new();
    let mut failed = false;
    for (survey, (destination, answer)) in surveys.into_iter().zip(answers) {
        match answer {
            Ok(listened) => {
                let (station, more) = cabling::station(survey, bounded(listened));
                stations.push(station);
                notes.extend(more);
            }
            Err(error) => {
                failed = true;
                output::complain(&anyhow::Error::msg(format!("{destination}: {error}")));
            }
        }
    }
    Ok((!failed).then_some((stations, notes)))
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

fn listening(looked: &[Looked], surveys: &[Station]) -> Duration {
    let is_down = |facts: &Facts, name: &str| {
        let interface = facts.network.interface(name);
        interface.is_some_and(|interface| interface.up.known() == Some(&false))
    };
    let any_down = looked.iter().zip(surveys).any(|(node, station)| {
        station
            .jacks
            .iter()
            .any(|jack| is_down(&node.facts, &jack.interface))
    });
    if any_down { LISTEN_LONG } else { LISTEN }
}

fn probes(surveys: &[Station], duration: Duration) -> anyhow::Result<Vec<Probe>> {
    let (mut token, mut key) = (Token([0; 16]), Key([0; 32]));
    for bytes in [&mut token.0[..], &mut key.0[..]] {
        let length = bytes.len();
        let given = getrandom(bytes, GetRandomFlags::empty()).context("no random numbers")?;
        anyhow::ensure!(given == length, "no random numbers");
    }
    let probe = |(index, station): (usize, &Station)| {
        Ok(Probe {
            token,
            key: key.clone(),
            node: u16::try_from(index).context("more nodes than one run can tell apart")?,
            interfaces: station
                .jacks
                .iter()
                .map(|jack| jack.interface.clone())
                .collect(),
            listen_ms: u64::try_from(duration.as_millis())?,
        })
    };
    surveys.iter().enumerate().map(probe).collect()
}
