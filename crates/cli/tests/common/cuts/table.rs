//! How each cut ended, as a page. A run goes on where the one before it stopped, as long as the same code makes the change.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use sha2::{Digest, Sha256};

use super::{Cut, Edges, Job, Operation};

/// The code that decides how a change goes: the steps, what is planned of them, and how they are done and rolled back.
const SOURCES: [&str; 4] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../io/change/src"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../io/durable/src"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../pure/plan/src"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../pure/model/src/plan"),
];
const END: &str = "\
**rolled back**: every file below `/etc`, its owner, mode and time, and every value of the ports are what they were.
**kept**: the node is confirmed, and was rolled back byte for byte when it was asked to. **next**: all but units of a guard that was
not armed yet, or was about to go, is what it was, and the next command removed them. An empty cell has not been tried.

`make test-full` makes this table, and goes on where it stopped: one of every kind of edge first. When the code that changes
a node is another (`crates/io/change`, `crates/io/durable`, `crates/pure/plan`, the steps of `crates/pure/model`), it begins anew.
";

/// One kind of lab, with edges of its own, since its nodes' plans have other files.
pub(crate) struct Page {
    path: &'static str,
    introduction: &'static str,
    pub(crate) cuts: &'static [Cut],
}

pub(crate) const KILLED: Page = Page {
    path: concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/edges-lab.md"),
    introduction: "\
# Cut off at every edge, on real nodes

What [edges.md](edges.md) tries in a temporary root, here on the nodes of the lab `two-sparks` as containers: netplan,
NetworkManager, systemd and sshd. The agent or the controller is killed. Each cut waits until the guard is gone; then the node is
looked at before any command of ours can settle anything. [edges-power.md](edges-power.md) is the same for power cuts.
",
    cuts: &[Cut::Agent, Cut::Controller],
};

pub(crate) const POWER: Page = Page {
    path: concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/edges-power.md"),
    introduction: "\
# The power goes at every edge

On machines of the lab `two-sparks`, each with a kernel and a disk: QEMU is killed, so what was not synced is lost, and a power
cut is a torn write too. Each cut waits until the node answers ssh again and its guard is gone; then it is looked at before any
command of ours can settle anything. [edges-lab.md](edges-lab.md) is the same for programs that are killed.
",
    cuts: &[Cut::Power],
};

pub(crate) struct Table<'a> {
    page: &'a Page,
    edges: &'a Edges,
    outcomes: BTreeMap<Job, String>,
    made_by: String,
}

impl<'a> Table<'a> {
    /// With what earlier runs of the same code found at the same edges.
    pub(crate) fn open(page: &'a Page, edges: &'a Edges) -> Self {
        let mut table = Self {
            page,
            edges,
            outcomes: BTreeMap::new(),
            made_by: digest(),
        };
        let text = fs::read_to_string(page.path).unwrap_or_default();
        let outcomes = read(&text, page.cuts);
        let empty = table.text();
        table.outcomes = outcomes;
        // The same introduction, code and edges: then nothing but the outcomes was added.
        if table.text() != text {
            table.outcomes.clear();
            fs::write(page.path, empty).unwrap();
        }
        table
    }

    pub(crate) fn has(&self, job: &Job) -> bool {
        self.outcomes.contains_key(job)
    }

    pub(crate) fn add(&mut self, job: Job, outcome: &str) {
        self.outcomes.insert(job, outcome.to_owned());
        fs::write(self.page.path, self.text()).unwrap();
    }

    fn text(&self) -> String {
        let Page {
            introduction, cuts, ..
        } = self.page;
        let all = cuts.len() * self.edges.values().map(Vec::len).sum::<usize>();
        let (count, made_by) = (self.outcomes.len(), &self.made_by);
        let mut text = format!("{introduction}{END}\n{count} cuts of {all}. Code: {made_by}\n");
        for (operation, names) in self.edges {
            write!(text, "\n## {operation}\n\n| | edge |").unwrap();
            for cut in *cuts {
                write!(text, " {cut} |").unwrap();
            }
            writeln!(text, "\n|--:|---|{}", "---|".repeat(cuts.len())).unwrap();
            for (edge, name) in (1..).zip(names) {
                write!(text, "| {edge} | {name} |").unwrap();
                for cut in *cuts {
                    let job = Job {
                        operation: *operation,
                        edge,
                        cut: *cut,
                    };
                    let outcome = self.outcomes.get(&job).map_or("", String::as_str);
                    write!(text, " {outcome} |").unwrap();
                }
                text.push('\n');
            }
        }
        text
    }
}

fn read(text: &str, cuts: &[Cut]) -> BTreeMap<Job, String> {
    let mut outcomes = BTreeMap::new();
    let mut operation = Operation::Change;
    for line in text.lines() {
        if line.strip_prefix("## ") == Some(&Operation::Rollback.to_string()) {
            operation = Operation::Rollback;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, edge, _, told @ .., _] = &cells[..] else {
            continue;
        };
        let Ok(edge) = edge.parse() else { continue };
        for (cut, outcome) in cuts.iter().copied().zip(told) {
            let job = Job {
                operation,
                edge,
                cut,
            };
            if !outcome.is_empty() {
                outcomes.insert(job, (*outcome).to_owned());
            }
        }
    }
    outcomes
}

/// By name and text; tests, and what is there for them, decide nothing.
fn digest() -> String {
    fn add(directory: &Path, hasher: &mut Sha256) {
        let entries = fs::read_dir(directory).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path
                .file_stem()
                .is_some_and(|stem| stem == "tests" || stem == "testing")
            {
                continue;
            }
            if path.is_dir() {
                add(&path, hasher);
            } else {
                hasher.update(path.file_name().unwrap().as_encoded_bytes());
                hasher.update(fs::read(&path).unwrap());
            }
        }
    }
    let mut hasher = Sha256::new();
    for directory in SOURCES {
        add(Path::new(directory), &mut hasher);
    }
    let mut digest = String::new();
    for byte in &hasher.finalize()[..8] {
        write!(digest, "{byte:02x}").unwrap();
    }
    digest
}
