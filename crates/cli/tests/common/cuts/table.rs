//! How each cut ended, as a page. A run goes on where the one before it stopped, as long as the same code makes the change.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use sha2::{Digest, Sha256};

use super::{CUTS, Edges, Job, Operation};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/edges-lab.md");
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../io/node/src/change");
const INTRODUCTION: &str = "\
# Cut off at every edge, on real nodes

What [edges.md](edges.md) tries in a temporary root, here on the nodes of the lab `two-sparks`: netplan, NetworkManager,
systemd and sshd. Agents and controllers are killed on containers; the power goes, without warning, on machines with a disk
(what was not synced is lost, so a power cut is a torn write too). Each cut waits until the node answers ssh again and its guard is gone;
then it is looked at before any command of ours can settle anything.
**back**: every file below `/etc`, its owner, mode and time, and every value of the ports are what they were.
**kept**: the node is confirmed, and went back byte for byte when it was asked to. **next**: all but units of a guard that was
not armed yet, or was on its way out, is what it was, and the next command removed them. An empty cell has not been tried.

`make test-full` makes this table, and goes on where it stopped: one of every kind of edge first. When the code that changes
a node is another (`crates/io/node/src/change`), it begins anew.
";

pub(crate) struct Table<'a> {
    edges: &'a Edges,
    outcomes: BTreeMap<Job, String>,
    made_by: String,
}

impl<'a> Table<'a> {
    /// With what earlier runs of the same code found at the same edges.
    pub(crate) fn open(edges: &'a Edges) -> Self {
        let mut table = Self {
            edges,
            outcomes: BTreeMap::new(),
            made_by: digest(),
        };
        let page = fs::read_to_string(PAGE).unwrap_or_default();
        let outcomes = read(&page);
        let empty = table.page();
        table.outcomes = outcomes;
        // The same introduction, code and edges: then nothing but the outcomes was added.
        if table.page() != page {
            table.outcomes.clear();
            fs::write(PAGE, empty).unwrap();
        }
        table
    }

    pub(crate) fn has(&self, job: &Job) -> bool {
        self.outcomes.contains_key(job)
    }

    pub(crate) fn add(&mut self, job: Job, outcome: &str) {
        self.outcomes.insert(job, outcome.to_owned());
        fs::write(PAGE, self.page()).unwrap();
    }

    fn page(&self) -> String {
        let all = CUTS.len() * self.edges.values().map(Vec::len).sum::<usize>();
        let (count, made_by) = (self.outcomes.len(), &self.made_by);
        let mut page = format!("{INTRODUCTION}\n{count} cuts of {all}. Code: {made_by}\n");
        for (operation, names) in self.edges {
            let head =
                "| | edge | agent killed | controller killed | power cut |\n|--:|---|---|---|---|";
            writeln!(page, "\n## {operation}\n\n{head}").unwrap();
            for (edge, name) in (1..).zip(names) {
                write!(page, "| {edge} | {name} |").unwrap();
                for cut in CUTS {
                    let job = Job {
                        operation: *operation,
                        edge,
                        cut,
                    };
                    let outcome = self.outcomes.get(&job).map_or("", String::as_str);
                    write!(page, " {outcome} |").unwrap();
                }
                page.push('\n');
            }
        }
        page
    }
}

fn read(page: &str) -> BTreeMap<Job, String> {
    let mut outcomes = BTreeMap::new();
    let mut operation = Operation::Change;
    for line in page.lines() {
        if line.strip_prefix("## ") == Some(&Operation::WayBack.to_string()) {
            operation = Operation::WayBack;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, edge, _, told @ .., _] = &cells[..] else {
            continue;
        };
        let Ok(edge) = edge.parse() else { continue };
        for (cut, outcome) in CUTS.into_iter().zip(told) {
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

/// Over every source file that takes part in a change, by name and text.
fn digest() -> String {
    fn add(directory: &Path, hasher: &mut Sha256) {
        let entries = fs::read_dir(directory).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                add(&path, hasher);
            } else {
                hasher.update(path.file_name().unwrap().as_encoded_bytes());
                hasher.update(fs::read(&path).unwrap());
            }
        }
    }
    let mut hasher = Sha256::new();
    add(Path::new(SOURCES), &mut hasher);
    let mut digest = String::new();
    for byte in &hasher.finalize()[..8] {
        write!(digest, "{byte:02x}").unwrap();
    }
    digest
}
