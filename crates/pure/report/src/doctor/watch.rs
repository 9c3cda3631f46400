//! What `doctor --watch` shows, look by look.

use crosstie_doctor::Diagnosis;

use super::{DiagnosisChange, FindingDetail, change_line, changes, plural, verdict, view};
use crate::{
    text::{Palette, TextSpan, TextTone, line},
    up::TerminalSize,
};

/// How many of the latest changes are kept.
const MAX_HISTORY: usize = 50;
/// So many of them stay in sight, also where the findings need more room than there is.
const MIN_SHOWN_CHANGES: usize = 4;

pub struct DoctorWatch {
    pub detail: FindingDetail,
    pub palette: Palette,
    last: Option<Diagnosis>,
    /// With the time of each.
    history: Vec<(String, DiagnosisChange)>,
}

impl DoctorWatch {
    pub fn new(detail: FindingDetail, palette: Palette) -> Self {
        Self {
            detail,
            palette,
            last: None,
            history: Vec::new(),
        }
    }

    /// After one more look, at this time of the day: all of it at first, then what changed, a line each.
    pub fn see(&mut self, diagnosis: Diagnosis, time: &str) -> String {
        let text = match &self.last {
            None => view(&diagnosis, self.detail, self.palette),
            Some(last) => {
                let new = changes(last, &diagnosis);
                let mut text: String = new
                    .iter()
                    .map(|change| change_line(change, time, self.palette))
                    .collect();
                if !text.is_empty() {
                    line(self.palette, &[verdict(&diagnosis)], &mut text);
                }
                let new = new.into_iter().map(|change| (time.to_owned(), change));
                self.history.extend(new);
                let old = self.history.len().saturating_sub(MAX_HISTORY);
                self.history.drain(..old);
                text
            }
        };
        self.last = Some(diagnosis);
        text
    }

    /// The whole as it stands, in so many lines: the verdict and the time, what is wrong, and what changed last.
    pub fn lines(&self, time: &str, size: TerminalSize) -> Vec<String> {
        let palette = self.palette.within(size.columns);
        let Some(diagnosis) = &self.last else {
            return Vec::new();
        };
        let mut head = String::new();
        let clock = TextSpan::new(TextTone::Quiet, format!("  {time} UTC, Ctrl-C ends it"));
        line(palette, &[verdict(diagnosis), clock], &mut head);
        let mut lines = split(&head);
        let history: String = self
            .history
            .iter()
            .map(|(time, change)| change_line(change, time, palette))
            .collect();
        let history = split(&history);
        let mut findings = split(&view(diagnosis, self.detail, palette));
        // The last lines are the verdict, which is the first one here, and a hint.
        let said = verdict(diagnosis);
        if let Some(at) = findings.iter().rposition(|line| line.contains(said.text())) {
            findings.truncate(at);
        }
        while findings.last().is_some_and(String::is_empty) {
            findings.pop();
        }
        let room = size.lines.saturating_sub(lines.len());
        let kept = history.len().min(MIN_SHOWN_CHANGES);
        let below = if kept > 0 { kept + 1 } else { 0 };
        let most = room.saturating_sub(below + 1);
        if !findings.is_empty() {
            lines.push(String::new());
        }
        if findings.len() > most {
            let hidden = findings.len() - most.saturating_sub(1);
            findings.truncate(most.saturating_sub(1));
            if let Some(more) = plural(hidden, "more line") {
                let more = format!("… {more}; a larger window shows them");
                let mut text = String::new();
                line(palette, &[TextSpan::new(TextTone::Quiet, more)], &mut text);
                findings.extend(split(&text).into_iter().take(1));
            }
        }
        lines.extend(findings);
        let left = size.lines.saturating_sub(lines.len() + 1);
        if !history.is_empty() && left > 0 {
            lines.push(String::new());
            let first = history.len().saturating_sub(left);
            lines.extend_from_slice(&history[first..]);
        }
        lines.truncate(size.lines);
        lines
    }

    /// What is left on the terminal when somebody has seen enough.
    pub fn last_words(&self) -> String {
        let Some(diagnosis) = &self.last else {
            return String::new();
        };
        let mut text: String = self
            .history
            .iter()
            .map(|(time, change)| change_line(change, time, self.palette))
            .collect();
        line(self.palette, &[verdict(diagnosis)], &mut text);
        text
    }
}

fn split(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// The time of day in UTC, to the second, so long after the epoch.
pub fn time_of_day(seconds: u64) -> String {
    let [hours, minutes, seconds] = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
    format!("{hours:02}:{minutes:02}:{seconds:02}")
}

#[cfg(test)]
mod tests {
    use crosstie_doctor::NodeFindings;
    use crosstie_model::{Finding, Severity};

    use super::*;

    fn diagnosis(faults: usize) -> Diagnosis {
        let finding = |index: usize| Finding {
            id: format!("fault-{index}"),
            severity: Severity::Fault,
            subject: "enp1s0f0np0".to_owned(),
            evidence: Vec::new(),
            cause: "a cable that somebody pulled while nobody was looking".to_owned(),
            fix: "put it back".to_owned(),
            commands: Vec::new(),
            caused_by: None,
        };
        let node = NodeFindings {
            host: "spark-a".to_owned(),
            error: None,
            findings: (0..faults).map(finding).collect(),
            notes: Vec::new(),
        };
        Diagnosis {
            nodes: vec![node],
            cluster: Vec::new(),
        }
    }

    #[test]
    fn a_day_has_24_hours() {
        assert_eq!(time_of_day(0), "00:00:00");
        assert_eq!(time_of_day(3 * 86400 - 1), "23:59:59");
    }

    #[test]
    fn what_did_not_change_is_not_said_again() {
        let mut watch = DoctorWatch::new(FindingDetail::Roots, Palette::Plain);
        assert!(!watch.see(diagnosis(0), "00:00:00").is_empty());
        assert!(watch.see(diagnosis(0), "00:00:02").is_empty());
        let said = watch.see(diagnosis(1), "00:00:04");
        assert!(said.starts_with("00:00:04  new fault"), "{said}");
        assert!(watch.last_words().contains("1 fault"));
    }

    #[test]
    fn a_screen_is_as_small_as_its_terminal() {
        let mut watch = DoctorWatch::new(FindingDetail::Roots, Palette::Plain);
        watch.see(diagnosis(0), "00:00:00");
        watch.see(diagnosis(9), "00:00:02");
        for (columns, lines) in [(40, 12), (80, 24), (120, 60), (24, 3)] {
            let shown = watch.lines("00:00:03", TerminalSize { columns, lines });
            let text = shown.join("\n");
            assert!(shown.len() <= lines, "{text}");
            let wide = shown.iter().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{text}");
            assert!(text.starts_with("1 node: 9 faults"), "{text}");
        }
        let size = TerminalSize {
            columns: 60,
            lines: 12,
        };
        insta::assert_snapshot!(watch.lines("00:00:03", size).join("\n"));
    }
}
