//! What is different since the last look.

use std::collections::BTreeMap;

use crosstie_doctor::Diagnosis;
use crosstie_model::{Finding, Severity};

use crate::{
    causes::{Key, key, located},
    text::{Palette, TextSpan, TextTone, line},
};

/// One difference between two diagnoses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiagnosisChange {
    Appeared {
        host: String,
        finding: Finding,
    },
    Gone {
        host: String,
        finding: Finding,
    },
    /// The same finding, of another severity.
    Turned {
        host: String,
        finding: Finding,
        was: Severity,
    },
    /// A node that could not be examined before.
    Back {
        host: String,
    },
    Lost {
        host: String,
        error: String,
    },
}

/// Losses of nodes first, then what appeared, then what is gone. Only of what is to be mended: what it explains comes and
/// goes with it.
pub fn changes(before: &Diagnosis, after: &Diagnosis) -> Vec<DiagnosisChange> {
    let (old, new) = (keyed(before), keyed(after));
    let mut changes = reached(before, after);
    // Nothing is known of a node that is lost: its findings are neither gone nor new.
    let unread = |diagnosis: &Diagnosis, host: Option<&str>| {
        let mut nodes = diagnosis.nodes.iter();
        nodes.any(|node| Some(node.host.as_str()) == host && node.error.is_some())
    };
    let is_root = |finding: &Finding| finding.caused_by.is_none();
    for (key, finding) in new.iter().filter(|(_, finding)| is_root(finding)) {
        let host = place(key.0);
        let finding = (*finding).clone();
        match old.get(key) {
            None => changes.push(DiagnosisChange::Appeared { host, finding }),
            Some(earlier) if !is_root(earlier) => {
                changes.push(DiagnosisChange::Appeared { host, finding });
            }
            Some(earlier) if earlier.severity != finding.severity => {
                changes.push(DiagnosisChange::Turned {
                    host,
                    was: earlier.severity,
                    finding,
                });
            }
            Some(_) => {}
        }
    }
    for (key, finding) in old.iter().filter(|(_, finding)| is_root(finding)) {
        // One that another explains now is not mended.
        if !new.contains_key(key) && !unread(after, key.0) {
            changes.push(DiagnosisChange::Gone {
                host: place(key.0),
                finding: (*finding).clone(),
            });
        }
    }
    changes
}

fn place(host: Option<&str>) -> String {
    host.unwrap_or("between nodes").to_owned()
}

fn reached(before: &Diagnosis, after: &Diagnosis) -> Vec<DiagnosisChange> {
    let pairs = before.nodes.iter().zip(&after.nodes);
    pairs
        .filter_map(|(old, new)| match (&old.error, &new.error) {
            (None, Some(error)) => Some(DiagnosisChange::Lost {
                host: new.host.clone(),
                error: error.clone(),
            }),
            (Some(_), None) => Some(DiagnosisChange::Back {
                host: new.host.clone(),
            }),
            _ => None,
        })
        .collect()
}

fn keyed(diagnosis: &Diagnosis) -> BTreeMap<Key<'_>, &Finding> {
    let found = located(diagnosis).into_iter();
    found.map(|found| (key(found), found.1)).collect()
}

/// One line: when, and what became of what.
pub fn change_line(change: &DiagnosisChange, time: &str, palette: Palette) -> String {
    let (tone, what, host, subject) = match change {
        DiagnosisChange::Appeared { host, finding } => (
            TextTone::Alarm,
            format!("new {}", finding.severity),
            host,
            format!("{} {}", finding.id, finding.subject),
        ),
        DiagnosisChange::Gone { host, finding } => (
            TextTone::Good,
            "mended".to_owned(),
            host,
            format!("{} {}", finding.id, finding.subject),
        ),
        DiagnosisChange::Turned { host, finding, was } => (
            TextTone::Bad,
            format!("{was} is now {}", finding.severity),
            host,
            format!("{} {}", finding.id, finding.subject),
        ),
        DiagnosisChange::Back { host } => (
            TextTone::Good,
            "answers again".to_owned(),
            host,
            String::new(),
        ),
        DiagnosisChange::Lost { host, error } => {
            (TextTone::Alarm, "lost".to_owned(), host, error.clone())
        }
    };
    let mut out = String::new();
    let spans = [
        TextSpan::new(TextTone::Quiet, time),
        TextSpan::new(tone, format!("  {what:<14}")),
        TextSpan::new(TextTone::Strong, format!("  {host}  ")),
        TextSpan::new(TextTone::Plain, subject),
    ];
    line(palette, &spans, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use crosstie_doctor::NodeFindings;

    use super::*;

    fn finding(id: &str, severity: Severity) -> Finding {
        Finding {
            id: id.to_owned(),
            severity,
            subject: "eth0".to_owned(),
            evidence: Vec::new(),
            cause: String::new(),
            fix: String::new(),
            commands: Vec::new(),
            caused_by: None,
        }
    }

    fn diagnosis(error: Option<&str>, findings: Vec<Finding>) -> Diagnosis {
        Diagnosis {
            nodes: vec![NodeFindings {
                host: "a".to_owned(),
                error: error.map(str::to_owned),
                findings,
                notes: Vec::new(),
            }],
            cluster: Vec::new(),
        }
    }

    #[test]
    fn a_lost_node_is_not_a_mended_one() {
        let sick = diagnosis(None, vec![finding("twin-down", Severity::Fault)]);
        let lost = diagnosis(Some("no answer"), Vec::new());
        let found = changes(&sick, &lost);
        assert!(
            matches!(found.as_slice(), [DiagnosisChange::Lost { .. }]),
            "{found:?}"
        );
        let mended = diagnosis(None, Vec::new());
        let found = changes(&sick, &mended);
        assert!(
            matches!(found.as_slice(), [DiagnosisChange::Gone { .. }]),
            "{found:?}"
        );
    }

    #[test]
    fn a_finding_that_turned_worse_is_told_once() {
        let mild = diagnosis(None, vec![finding("x", Severity::Warning)]);
        let bad = diagnosis(None, vec![finding("x", Severity::Fault)]);
        let found = changes(&mild, &bad);
        assert!(
            matches!(
                found.as_slice(),
                [DiagnosisChange::Turned {
                    was: Severity::Warning,
                    ..
                }]
            ),
            "{found:?}"
        );
        assert!(changes(&bad, &bad).is_empty());
    }
}
