//! What `init` found and wrote, for programs and for people.

use crosstie_fabric::cabling::{CablingNote, CageConnection, DetectedCabling, SurveyedNode};
use crosstie_model::{Cable, ClusterSpec};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cabling,
    suggested_command::{CommandContext, CommandVerb},
    text::{Palette, TextSpan, TextTone, line, printable, wrap},
};

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InitReport {
    /// As they are found, with the cluster file's numbers.
    pub cables: Vec<Cable>,
    pub notes: Vec<InitNote>,
    pub nodes: Vec<InitNode>,
    /// The cluster file.
    pub file: String,
    /// It was written; not so where nothing is new, or with --dry-run.
    pub written: bool,
    /// What is new in the file.
    pub added: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InitNote {
    /// `one-way`, `apart`, `loop`, `stranger`, `nobody`, `no-carrier`, `crossed`, `twins-by-hearing`, `not-probed`,
    /// `put-back`, `left`, `gone` or `contradicts`.
    pub kind: &'static str,
    /// Something is wrong, or may be.
    pub problem: bool,
    /// The cages that it is about, as NODE:CAGE.
    pub ports: Vec<String>,
    pub text: String,
}

impl From<&CablingNote> for InitNote {
    fn from(note: &CablingNote) -> Self {
        Self {
            kind: note.kind(),
            problem: note.is_problem(),
            ports: note.ports().iter().map(ToString::to_string).collect(),
            text: note.to_string(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InitNode {
    #[serde(rename = "host")]
    pub name: String,
    pub number: Option<u32>,
    pub cages: Vec<InitCage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InitCage {
    pub id: String,
    pub devices: Vec<String>,
    pub interfaces: Vec<String>,
    /// `cabled`, `loop`, `stranger`, `nobody`, `no-carrier` or `unknown`.
    pub state: &'static str,
    /// Nothing but the hearing says that its ports are twins.
    pub by_hearing: bool,
}

pub fn schema() -> schemars::Schema {
    crate::document::document_schema::<InitReport>()
}

pub fn nodes(
    surveys: &[SurveyedNode],
    wiring: &DetectedCabling,
    spec: &ClusterSpec,
) -> Vec<InitNode> {
    let nodes = surveys.iter().zip(&wiring.cages);
    nodes
        .map(|(survey, cages)| InitNode {
            name: survey.name.clone(),
            number: spec.node(&survey.name).and_then(|node| node.number),
            cages: cages
                .iter()
                .map(|cage| {
                    let ports = || cage.ports.iter().map(|port| &survey.ports[*port]);
                    InitCage {
                        id: cage.id.clone(),
                        devices: ports().map(|port| port.device.clone()).collect(),
                        interfaces: ports().map(|port| port.interface.clone()).collect(),
                        state: state(cage.connection),
                        by_hearing: cage.by_hearing,
                    }
                })
                .collect(),
        })
        .collect()
}

fn state(state: CageConnection) -> &'static str {
    match state {
        CageConnection::Cabled => "cabled",
        CageConnection::Loop => "loop",
        CageConnection::Stranger => "stranger",
        CageConnection::Nobody => "nobody",
        CageConnection::NoCarrier => "no-carrier",
        CageConnection::Unknown => "unknown",
    }
}

/// The found cables with the numbers that the file gives them.
pub fn numbered(cables: &[Cable], spec: &ClusterSpec) -> Vec<Cable> {
    let with_number = |cable: &Cable| {
        let ends = |cable: &Cable| {
            let mut ends: Vec<_> = cable.ends().cloned().collect();
            ends.sort();
            ends
        };
        let own = spec.cables.iter().find(|own| ends(own) == ends(cable));
        match (cable, own) {
            (Cable::Direct { a, b, .. }, Some(Cable::Direct { number, .. })) => Cable::Direct {
                a: a.clone(),
                b: b.clone(),
                number: *number,
            },
            _ => cable.clone(),
        }
    };
    cables.iter().map(with_number).collect()
}

/// The nodes and their cables as a drawing, and what there is to say of them.
pub fn drawing(
    found: &InitReport,
    surveys: &[SurveyedNode],
    wiring: &DetectedCabling,
    palette: Palette,
) -> String {
    let nodes = surveys.iter().zip(&wiring.cages).map(|(survey, cages)| {
        let cages = cages.iter().map(|cage| (cage.id.clone(), cage.connection));
        cabling::DrawnNode {
            name: survey.name.clone(),
            cages: cages.collect(),
        }
    });
    let mut text = cabling::draw(&nodes.collect::<Vec<_>>(), &found.cables, palette);
    if !found.notes.is_empty() {
        text.push('\n');
        text += &notes(&found.notes, palette);
    }
    text
}

/// What `init` ends with: the drawing, what became of the file, and what comes next. `preview` is what the file would be,
/// where none is written.
pub fn view(
    found: &InitReport,
    drawing: &str,
    preview: Option<&str>,
    offer: &CommandContext,
) -> String {
    let path = printable(&found.file);
    let next = format!(
        "Next: {}",
        offer.for_cluster_file().command(CommandVerb::Plan)
    );
    let last = if let Some(text) = preview {
        let lines: Vec<String> = text.lines().map(printable).collect();
        format!("{path} would be:\n\n{}", lines.join("\n"))
    } else if found.written {
        let added = printable(&found.added.join("; "));
        format!("Wrote {path}: {added}\n\n{next}")
    } else {
        format!("{path} has all of it already.\n\n{next}")
    };
    format!("{drawing}\n{last}\n")
}

/// The notes in their order, those that every other cage may have as one.
pub fn notes(notes: &[InitNote], palette: Palette) -> String {
    let mut out = String::new();
    let mut told: Vec<&str> = Vec::new();
    for note in notes {
        let text = match together(note.kind) {
            Some(_) if told.contains(&note.kind) => continue,
            Some(text) => {
                told.push(note.kind);
                let same = notes.iter().filter(|other| other.kind == note.kind);
                let ports: Vec<&str> = same
                    .flat_map(|note| &note.ports)
                    .map(String::as_str)
                    .collect();
                format!("{text}: {}", ports.join(", "))
            }
            None => note.text.clone(),
        };
        let (mark, tone) = if note.problem {
            ("!", TextTone::Bad)
        } else {
            ("·", TextTone::Quiet)
        };
        for (index, text) in wrap(&text, palette.prose(4)).iter().enumerate() {
            let mark = if index == 0 { mark } else { " " };
            let spans = [
                TextSpan::new(tone, format!("  {mark} ")),
                TextSpan::new(tone, text),
            ];
            line(palette, &spans, &mut out);
        }
    }
    out
}

fn together(kind: &str) -> Option<&'static str> {
    match kind {
        "no-carrier" => Some("no carrier, so nothing plugged in or a dead cable"),
        "twins-by-hearing" => {
            Some("the driver does not tell twins, those on one wire were taken for one cage")
        }
        _ => None,
    }
}
