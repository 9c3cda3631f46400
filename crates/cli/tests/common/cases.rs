//! Cases of `fixtures/`: captures bent into the faults that people meet. `fixtures/README.md` has the format.

use std::{collections::BTreeMap, path::Path};

use crosstie_doctor::{Diagnosis, DoctorInput, NodeInput, UnreadNode, diagnose};
use crosstie_facts::{CaptureEntry, RawCapture, ReadGap, facts};
use crosstie_model::{ClusterSpec, Facts, Finding};
use crosstie_report::causes::located;
use serde::Deserialize;

use crate::common::samples::{self, fixtures};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) expect: Vec<String>,
    #[serde(default)]
    pub(crate) cluster: Option<String>,
    /// Of `expect`, those that no other explains; left out: whatever they are.
    #[serde(default)]
    pub(crate) roots: Option<Vec<String>>,
    /// Nodes that do not answer.
    #[serde(default)]
    pub(crate) unread: Vec<String>,
    pub(crate) node: Vec<CaseNode>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseNode {
    base: String,
    #[serde(default)]
    substitute: Vec<(String, String)>,
    #[serde(flatten)]
    changes: Changes,
    #[serde(default)]
    earlier: Option<Changes>,
}

#[derive(Debug, Default, Deserialize)]
struct Changes {
    #[serde(default)]
    remove: Vec<String>,
    #[serde(default)]
    write: BTreeMap<String, String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    link: BTreeMap<String, String>,
    #[serde(default)]
    replace: BTreeMap<String, Vec<(String, String)>>,
}

impl CaseNode {
    /// It is read once: nothing is told by what grew.
    pub(crate) fn is_read_once(&self) -> bool {
        self.earlier.is_none()
    }
}

/// The cases of every file in a folder of `fixtures/`, by the file's stem.
pub(crate) fn load(folder: &str) -> BTreeMap<String, Vec<Case>> {
    let mut cases = BTreeMap::new();
    for entry in fixtures().join(folder).read_dir().unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let parsed: Cases =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        cases.insert(stem(&path), parsed.case);
    }
    cases
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

impl CaseNode {
    /// What collection would have read.
    pub(crate) fn raw(&self) -> RawCapture {
        let mut raw = samples::raw(&self.base);
        substitute(&mut raw, &self.substitute);
        self.changes.apply(&mut raw);
        raw
    }

    /// With another case's fault as well; nothing where that one is made of something that this one has changed.
    pub(crate) fn raw_with(&self, other: &Self) -> Option<RawCapture> {
        let is_same = self.base == other.base && self.substitute == other.substitute;
        let Changes { write, link, .. } = &other.changes;
        let brings_back = write.keys().chain(link.keys()).any(|path| {
            let mut gone = self.changes.remove.iter();
            gone.any(|gone| Path::new(path).starts_with(gone))
        });
        let mut raw = self.raw();
        (is_same && !brings_back && other.changes.fits(&raw)).then(|| {
            other.changes.apply(&mut raw);
            raw
        })
    }

    /// The same a moment before.
    pub(crate) fn earlier(&self) -> Option<RawCapture> {
        let mut raw = self.raw();
        self.earlier.as_ref()?.apply(&mut raw);
        Some(raw)
    }
}

pub(crate) fn substitute(raw: &mut RawCapture, pairs: &[(String, String)]) {
    if pairs.is_empty() {
        return;
    }
    let changed = |text: &str| {
        pairs
            .iter()
            .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let entry = |entry: &CaptureEntry| match entry {
        CaptureEntry::File(bytes) => {
            CaptureEntry::File(changed(&String::from_utf8_lossy(bytes)).into_bytes())
        }
        entry => entry.clone(),
    };
    let mut other = RawCapture::new(raw.meta.clone());
    other.meta.host = changed(&raw.meta.host);
    raw.tree()
        .for_each(|(path, found)| other.insert(path, entry(found)));
    raw.commands()
        .for_each(|(name, found)| other.insert_command(name, entry(found)));
    *raw = other;
}

impl Changes {
    /// Whether everything that it changes is there.
    fn fits(&self, raw: &RawCapture) -> bool {
        let there = |path: &String| match path.strip_prefix("cmd/") {
            Some(name) => raw.command_entry(name).is_some(),
            None => raw.holds(&resolved(raw, path)) || raw.holds(path),
        };
        self.remove.iter().all(there)
            && self.replace.iter().all(|(path, pairs)| {
                there(path) && {
                    let text = read(raw, path);
                    pairs.iter().all(|(from, _)| text.contains(from.as_str()))
                }
            })
    }

    fn apply(&self, raw: &mut RawCapture) {
        for path in &self.remove {
            remove(raw, path);
        }
        for (path, text) in &self.write {
            write(raw, path, CaptureEntry::File(text.clone().into_bytes()));
        }
        for path in &self.deny {
            write(raw, path, CaptureEntry::Gap(ReadGap::Denied));
        }
        for (path, target) in &self.link {
            let (parent, name) = path.rsplit_once('/').unwrap();
            let parent = resolved(raw, parent);
            raw.insert(
                &format!("{parent}/{name}"),
                CaptureEntry::Link(target.clone()),
            );
        }
        for (path, pairs) in &self.replace {
            let mut text = read(raw, path);
            for (from, to) in pairs {
                assert!(
                    text.contains(from.as_str()),
                    "{path} has no {from:?}:\n{text}"
                );
                text = text.replace(from, to);
            }
            write(raw, path, CaptureEntry::File(text.into_bytes()));
        }
    }
}

/// The path with the links of its parents resolved, whether it exists or not.
fn resolved(raw: &RawCapture, path: &str) -> String {
    if let Some(real) = raw.real_path(path) {
        return real;
    }
    match path.rsplit_once('/') {
        Some((parent, name)) => format!("{}/{name}", resolved(raw, parent)),
        None => path.to_owned(),
    }
}

fn write(raw: &mut RawCapture, path: &str, entry: CaptureEntry) {
    if let Some(name) = path.strip_prefix("cmd/") {
        raw.insert_command(name, entry);
    } else {
        let real = resolved(raw, path);
        raw.insert(&real, entry);
    }
}

fn read(raw: &RawCapture, path: &str) -> String {
    let entry = match path.strip_prefix("cmd/") {
        Some(name) => raw.command_entry(name),
        None => raw.entry(&resolved(raw, path)),
    };
    match entry {
        Some(CaptureEntry::File(bytes)) => String::from_utf8(bytes.clone()).unwrap(),
        other => panic!("{path} is {other:?}"),
    }
}

fn remove(raw: &mut RawCapture, path: &str) {
    let real = resolved(raw, path);
    let below = format!("{real}/");
    let command = path.strip_prefix("cmd/");
    let mut other = RawCapture::new(raw.meta.clone());
    let mut found = false;
    for (name, entry) in raw.tree() {
        // A link is taken away by the name it has, not by what it points to.
        if name == path || name == real || name.starts_with(&below) {
            found = true;
        } else {
            other.insert(name, entry.clone());
        }
    }
    for (name, entry) in raw.commands() {
        if command == Some(name) {
            found = true;
        } else {
            other.insert_command(name, entry.clone());
        }
    }
    assert!(found, "nothing to remove at {path}");
    *raw = other;
}

impl Case {
    pub(crate) fn spec(&self) -> Option<ClusterSpec> {
        let text = self.cluster.as_ref()?;
        Some(
            ClusterSpec::from_toml(text).unwrap_or_else(|error| panic!("{}: {error:?}", self.name)),
        )
    }

    pub(crate) fn diagnose(&self) -> Diagnosis {
        self.diagnose_as(facts)
    }

    /// As a capture of it would be diagnosed.
    pub(crate) fn diagnose_cut_down(&self) -> Diagnosis {
        self.diagnose_as(|raw| facts(&crosstie_node::cut_to_allow_list(raw)))
    }

    fn diagnose_as(&self, facts: impl Fn(&RawCapture) -> Facts) -> Diagnosis {
        let now: Vec<_> = self.node.iter().map(|node| facts(&node.raw())).collect();
        let before: Vec<_> = self
            .node
            .iter()
            .map(|node| node.earlier().map(|raw| facts(&raw)))
            .collect();
        let patients: Vec<NodeInput> = now
            .iter()
            .zip(&before)
            .map(|(facts, earlier)| NodeInput {
                facts,
                earlier: earlier.as_ref(),
                clock: None,
            })
            .collect();
        let unread: Vec<UnreadNode> = self
            .unread
            .iter()
            .map(|host| UnreadNode {
                host: host.clone(),
                error: "no answer".to_owned(),
            })
            .collect();
        diagnose(&DoctorInput {
            patients: &patients,
            unread: &unread,
            spec: self.spec().as_ref(),
            ..DoctorInput::default()
        })
    }
}

/// `HOST SEVERITY ID SUBJECT`, sorted.
pub(crate) fn lines(diagnosis: &Diagnosis) -> Vec<String> {
    lines_of(diagnosis, |_| true)
}

/// The same of findings that no other explains.
pub(crate) fn roots(diagnosis: &Diagnosis) -> Vec<String> {
    lines_of(diagnosis, |finding| finding.caused_by.is_none())
}

fn lines_of(diagnosis: &Diagnosis, is_meant: impl Fn(&Finding) -> bool) -> Vec<String> {
    let found = located(diagnosis).into_iter();
    let mut lines: Vec<String> = found
        .filter(|(_, finding)| is_meant(finding))
        .map(|(host, finding)| {
            let (severity, id, subject) = (finding.severity, &finding.id, &finding.subject);
            format!("{} {severity} {id} {subject}", host.unwrap_or("cluster"))
        })
        .collect();
    lines.sort();
    lines
}
