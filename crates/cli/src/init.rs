//! `crosstie init`.

mod file;

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, bail};
use clap::ColorChoice;
use crosstie_fabric::{
    cabling::{self, Key, Listened, Note, Probe, Station, Token, Wiring},
    cages,
    init::{Member, propose},
};
use crosstie_model::{Facts, Spec};
use crosstie_node::cabling::CablingError;
use crosstie_report::{
    cabling::{Node, draw},
    cluster_file::{Merged, merge},
    init as report,
    text::printable,
};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::{
    args::Init,
    exit, lab,
    look::{Looked, look},
    nodes::Fleet,
    output,
    targets::destinations,
};

/// Where every link is up: agents begin at different times, and this is long enough for the slowest.
const LISTEN: Duration = Duration::from_secs(6);

/// Where links come up first: a 200 Gb/s port with a copper cable takes up to ten seconds.
const LISTEN_LONG: Duration = Duration::from_secs(15);

/// For an agent to look at its machine first, and to put links back.
const AROUND: Duration = Duration::from_secs(30);

pub(crate) fn run(init: &Init, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let existing = file::read(&init.output)?;
    let spec = existing.as_ref().map(|existing| &existing.spec);
    let fleet = fleet(init, spec, colour)?;
    let no_root = |why| CablingError::NotRoot { why }.to_string();
    // A cluster file is about all of them.
    let Some(looked) = look(&fleet, no_root)? else {
        return Ok(exit::tool_failed());
    };
    let Some((stations, mut notes)) = listen(init, &fleet, &looked, spec)? else {
        return Ok(exit::tool_failed());
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
    let name = init.lab.as_deref().unwrap_or("cluster");
    let mut merged = merge(
        existing.as_ref(),
        name,
        &propose(&members, &wiring),
        &wiring,
    )
    .with_context(|| format!("cannot use {}", init.output.display()))?;
    notes.append(&mut merged.notes);
    notes.append(&mut wiring.notes);
    notes.sort_by_key(|note| !note.is_problem());
    let is_new = existing.is_none() || !merged.added.is_empty();
    let written = is_new && !init.dry_run;
    if written {
        file::write(&init.output, &merged.text)?;
    }
    let found = report::Init {
        cables: report::numbered(&wiring.cables, &merged.spec),
        notes: notes.iter().map(report::Note::from).collect(),
        nodes: report::nodes(&stations, &wiring, &merged.spec),
        file: init.output.display().to_string(),
        written,
        added: merged.added.clone(),
    };
    let text = if init.json {
        format!("{}\n", serde_json::to_string_pretty(&found)?)
    } else {
        view(init, &found, &stations, &wiring, &merged, colour)
    };
    output::print(&text)?;
    Ok(exit::CLEAN)
}

fn fleet(init: &Init, spec: Option<&Spec>, colour: ColorChoice) -> anyhow::Result<Fleet> {
    // Frames of our own take root.
    let mut reach = init.root.reach();
    let names = match (&init.lab, spec) {
        (Some(lab), _) => {
            let lab = lab::cluster(lab)?;
            reach.ways.ssh_config = Some(lab.ssh_config);
            lab.nodes
        }
        (None, _) if !init.nodes.is_empty() => init.nodes.clone(),
        (None, Some(spec)) if !spec.nodes.is_empty() => destinations(spec),
        (None, _) => bail!(
            "name the nodes: crosstie init . spark-b    (`.` is this machine, others as ssh takes them)"
        ),
    };
    let config = reach.ways.ssh_config.clone();
    Fleet::new(names, config.as_deref(), &reach, colour)
}

/// Every port speaks and listens, on all nodes at once.
fn listen(
    init: &Init,
    fleet: &Fleet,
    looked: &[Looked],
    spec: Option<&Spec>,
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
        bail!(
            "no node has an RDMA port on Ethernet that can say its name\n{}",
            why.join("\n")
        );
    }
    let duration = init.listen.map_or_else(
        || listening(looked, &surveys),
        |seconds| Duration::from_secs(seconds.into()),
    );
    let probes = probes(&surveys, duration)?;
    let deadline = duration + AROUND;
    let answers = fleet.call_all(
        fleet.count(),
        fleet.patience(deadline),
        move |index, session, progress| session.cabling(&probes[index], deadline, progress),
    );
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

fn view(
    init: &Init,
    found: &report::Init,
    stations: &[Station],
    wiring: &Wiring,
    merged: &Merged,
    colour: ColorChoice,
) -> String {
    let palette = output::palette(colour);
    let nodes: Vec<Node> = stations
        .iter()
        .zip(&wiring.cages)
        .map(|(station, cages)| Node {
            name: station.name.clone(),
            cages: cages
                .iter()
                .map(|cage| (cage.id.clone(), cage.state))
                .collect(),
        })
        .collect();
    let mut text = draw(&nodes, &found.cables, palette);
    if !found.notes.is_empty() {
        text.push('\n');
        text += &report::notes(&found.notes, palette);
    }
    let path = printable(&found.file);
    let shown: Vec<String> = merged.text.lines().map(printable).collect();
    let last = match (init.dry_run, found.written) {
        (true, _) => format!("{path} would be:\n\n{}", shown.join("\n")),
        (false, true) => format!(
            "Wrote {path}: {}\n\nNext: crosstie plan --cluster {path}",
            printable(&merged.added.join("; "))
        ),
        (false, false) => format!("{path} has all of it already."),
    };
    format!("{text}\n{last}\n")
}
