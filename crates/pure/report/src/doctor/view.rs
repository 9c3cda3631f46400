//! The diagnosis on a terminal.

use std::collections::{BTreeMap, HashSet};

use crosstie_doctor::{Diagnosis, NodeFindings};
use crosstie_model::Severity;

use super::{FindingCounts, plural};
use crate::{
    causes::{HostFindingRef, RootFinding, located, roots},
    finding::{consequences, finding, heading},
    text::{Palette, TextSpan, TextTone, line, with_remark, wrap},
};

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingDetail {
    /// What to mend; the rest is counted.
    Roots,
    /// Every finding, whether another explains it or not.
    All,
}

/// Names that are written out; of more, the number.
const MAX_NAMED: usize = 4;

/// Faults first, then nodes that could not be examined, warnings, what is only worth knowing, and a line that sums up.
pub fn view(diagnosis: &Diagnosis, detail: FindingDetail, palette: Palette) -> String {
    let found = located(diagnosis);
    let roots = roots(&found);
    let mut screen = Screen {
        palette,
        detail,
        out: String::new(),
        place: None,
    };
    let (faults, rest): (Vec<&RootFinding>, Vec<&RootFinding>) = roots
        .iter()
        .partition(|root| root.severity() == Severity::Fault);
    let (warnings, infos): (Vec<&RootFinding>, Vec<&RootFinding>) = rest
        .into_iter()
        .partition(|root| root.severity() == Severity::Warning);
    for root in faults {
        screen.root(root);
    }
    unread(diagnosis, &mut screen);
    for root in warnings {
        screen.root(root);
    }
    worth_knowing(&infos, &mut screen);
    healthy_nodes(diagnosis, &found, &mut screen);
    notes(diagnosis, &mut screen);
    screen.line(&[verdict(diagnosis)]);
    if let Some(worst) = roots.first() {
        let command = format!("crosstie explain {}", worst.finding.id);
        let hint = with_remark(command, "tells more");
        screen.line(&TextSpan::offer(TextTone::Quiet, &hint));
    }
    screen.out
}

/// The whole in one line.
pub fn verdict(diagnosis: &Diagnosis) -> TextSpan {
    let roots = roots(&located(diagnosis));
    let count = FindingCounts::of_roots(&roots);
    let nodes = diagnosis.nodes.len();
    let read = diagnosis.nodes.iter().filter(|node| node.error.is_none());
    let read = read.count();
    let tone = match (count.faults, count.warnings + (nodes - read)) {
        (0, 0) => TextTone::Good,
        (0, _) => TextTone::Bad,
        _ => TextTone::Alarm,
    };
    let found = match count.words() {
        words if words.is_empty() => "nothing wrong".to_owned(),
        words => words,
    };
    let nodes = plural(nodes, "node").unwrap_or_else(|| "no nodes".to_owned());
    TextSpan::new(
        tone,
        match read {
            read if read == diagnosis.nodes.len() => format!("{nodes}: {found}"),
            0 if roots.is_empty() => format!("0 of {nodes} examined"),
            read => format!("{read} of {nodes} examined: {found}"),
        },
    )
}

struct Screen<'a> {
    palette: Palette,
    detail: FindingDetail,
    out: String,
    /// Where the finding above is: it is not said again.
    place: Option<Vec<&'a str>>,
}

impl<'a> Screen<'a> {
    fn line(&mut self, spans: &[TextSpan]) {
        line(self.palette, spans, &mut self.out);
    }

    fn root(&mut self, root: &RootFinding<'a>) {
        self.at(&root.hosts);
        finding(root.finding, self.palette, &mut self.out);
        match self.detail {
            FindingDetail::Roots => consequences(root, "--all", self.palette, &mut self.out),
            FindingDetail::All => root
                .explains
                .iter()
                .for_each(|found| self.explained(*found)),
        }
    }

    fn explained(&mut self, (host, found): HostFindingRef<'a>) {
        self.at(&host.into_iter().collect::<Vec<_>>());
        finding(found, self.palette, &mut self.out);
    }

    fn at(&mut self, hosts: &[&'a str]) {
        if self.place.as_deref() == Some(hosts) {
            return;
        }
        self.place = Some(hosts.to_vec());
        let place = if hosts.is_empty() {
            "between nodes".to_owned()
        } else {
            names(hosts)
        };
        self.line(&[TextSpan::new(TextTone::Strong, place)]);
    }
}

/// The first few, and how many more.
fn names(names: &[&str]) -> String {
    match names.len().saturating_sub(MAX_NAMED) {
        0 | 1 => names.join(", "),
        more => format!("{} and {more} more nodes", names[..MAX_NAMED].join(", ")),
    }
}

fn unread(diagnosis: &Diagnosis, screen: &mut Screen) {
    let failed = |node: &NodeFindings| node.error.clone().map(|error| (node.host.clone(), error));
    let failed: Vec<(String, String)> = diagnosis.nodes.iter().filter_map(failed).collect();
    for (host, error) in &failed {
        screen.line(&[
            TextSpan::new(TextTone::Strong, host),
            TextSpan::new(TextTone::Bad, "  could not be examined: "),
            TextSpan::new(TextTone::Plain, error),
        ]);
    }
    if !failed.is_empty() {
        screen.out.push('\n');
    }
    screen.place = None;
}

/// One line for all of it, unless all is asked for: it is never an alarm.
fn worth_knowing<'a>(infos: &[&RootFinding<'a>], screen: &mut Screen<'a>) {
    if infos.is_empty() {
        return;
    }
    if screen.detail == FindingDetail::All {
        for root in infos {
            screen.at(&root.hosts);
            heading(root.finding, screen.palette, &mut screen.out);
            for (_, found) in &root.explains {
                heading(found, screen.palette, &mut screen.out);
            }
        }
        screen.out.push('\n');
        return;
    }
    let mut by_id: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for root in infos {
        let hosts = by_id.entry(&root.finding.id).or_default();
        hosts.extend(&root.hosts);
        hosts.extend(root.explains.iter().filter_map(|(host, _)| *host));
    }
    let words = by_id.into_iter().map(|(id, mut hosts)| {
        hosts.sort_unstable();
        hosts.dedup();
        match hosts.as_slice() {
            [] => id.to_owned(),
            few if few.len() <= 2 => format!("{id} ({})", few.join(", ")),
            many => format!("{id} ({} nodes)", many.len()),
        }
    });
    let text = format!("{}; --all shows more", words.collect::<Vec<_>>().join(", "));
    let mut label = "info     ";
    for part in wrap(&text, screen.palette.prose(11)) {
        screen.line(&[
            TextSpan::new(TextTone::Quiet, format!("  {label}")),
            TextSpan::new(TextTone::Plain, part),
        ]);
        label = "         ";
    }
    screen.out.push('\n');
}

/// Nodes that no fault or warning is about, in a line.
fn healthy_nodes(diagnosis: &Diagnosis, found: &[HostFindingRef], screen: &mut Screen) {
    if found
        .iter()
        .all(|(_, finding)| finding.severity == Severity::Info)
    {
        // The last line says so of all of them.
        return;
    }
    let alarm = |node: &NodeFindings| {
        let mut findings = node.findings.iter();
        findings.any(|finding| finding.severity != Severity::Info)
    };
    // Nor may a finding between nodes be about it: `spark-a:p0 – spark-b:p0`, `spark-a, spark-b`.
    let between = diagnosis.cluster.iter();
    let named: HashSet<&str> = between
        .filter(|finding| finding.severity != Severity::Info)
        .flat_map(|finding| finding.subject.split([',', '–', '→']))
        .map(str::trim)
        .flat_map(|word| [word, word.rsplit_once(':').map_or(word, |(node, _)| node)])
        .collect();
    let nodes = diagnosis.nodes.iter();
    let well: Vec<&str> = nodes
        .filter(|node| node.error.is_none() && !alarm(node))
        .filter(|node| !named.contains(node.host.as_str()))
        .map(|node| node.host.as_str())
        .collect();
    let who = match well.as_slice() {
        [] => return,
        few if few.len() <= MAX_NAMED => few.join(", "),
        many => format!("{} nodes", many.len()),
    };
    screen.line(&[
        TextSpan::new(TextTone::Strong, who),
        TextSpan::new(TextTone::Good, ": nothing wrong"),
    ]);
    screen.out.push('\n');
}

/// What could not be looked at; nodes with the same gap share a line.
fn notes(diagnosis: &Diagnosis, screen: &mut Screen) {
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for node in &diagnosis.nodes {
        for note in &node.notes {
            match notes.iter_mut().find(|(text, _)| text == note) {
                Some((_, hosts)) => hosts.push(&node.host),
                None => notes.push((note, vec![&node.host])),
            }
        }
    }
    let shown = match screen.detail {
        FindingDetail::All => notes.len(),
        FindingDetail::Roots => MAX_NAMED,
    };
    for (note, hosts) in notes.iter().take(shown) {
        let who = match hosts.as_slice() {
            _ if diagnosis.nodes.len() == 1 => String::new(),
            few if few.len() <= MAX_NAMED => format!("{}: ", few.join(", ")),
            many => format!("{} nodes: ", many.len()),
        };
        screen.line(&[TextSpan::new(TextTone::Quiet, format!("{who}{note}"))]);
    }
    if let Some(more) = plural(notes.len().saturating_sub(shown), "more note") {
        screen.line(&[TextSpan::new(TextTone::Quiet, format!("{more} (--all)"))]);
    }
    if !notes.is_empty() {
        screen.out.push('\n');
    }
}
