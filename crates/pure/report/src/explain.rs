//! The catalogue of faults for a terminal.

use crosstie_doctor::{Check, checks::AREAS, explain::page};
use crosstie_model::spec::distance;

use crate::text::{Palette, TableRow, TextSpan, TextTone, line, sentence, table};

/// Every fault in one line, by area.
pub fn list(palette: Palette) -> String {
    let mut out = String::new();
    for area in AREAS.iter().filter(|area| !area.checks.is_empty()) {
        line(
            palette,
            &[TextSpan::new(TextTone::Strong, area.title)],
            &mut out,
        );
        let row = |check: &&Check| {
            let mut cells = vec![
                TextSpan::new(TextTone::Accent, check.id),
                TextSpan::new(TextTone::Plain, check.title),
            ];
            if let Some(needs) = check.needs() {
                cells.push(TextSpan::new(TextTone::Quiet, needs.brief()));
            }
            TableRow::Cells(2, cells)
        };
        table(
            palette,
            &area.checks.iter().map(row).collect::<Vec<_>>(),
            &mut out,
        );
        out.push('\n');
    }
    let next = [
        TextSpan::new(TextTone::Quiet, "Next: "),
        TextSpan::new(TextTone::Accent, "crosstie explain ID"),
    ];
    line(palette, &next, &mut out);
    out
}

/// A check's page: its headings stand out, its paragraphs are broken to the width of a terminal.
pub fn check(check: &Check, palette: Palette) -> String {
    let mut out = String::new();
    for row in page(check).lines() {
        let title = row.trim_start_matches('#');
        if row.starts_with('#') {
            line(
                palette,
                &[TextSpan::new(TextTone::Strong, title.trim_start())],
                &mut out,
            );
        } else if row.starts_with("| severity") || row.starts_with("|---") {
            // A terminal needs no table for two words.
        } else if row.starts_with('|') {
            let facts = format!("{}, read from: {}", check.severity, check.scope());
            line(palette, &[TextSpan::new(TextTone::Quiet, facts)], &mut out);
        } else if row.is_empty() {
            out.push('\n');
        } else {
            paragraph(row, palette, &mut out);
        }
    }
    out
}

fn paragraph(row: &str, palette: Palette, out: &mut String) {
    let indent = if row.starts_with("- ") { 4 } else { 2 };
    sentence(palette.for_prose(), indent, &format!("  {row}"), out);
}

/// What whoever asks for a fault is told that there is none of that name.
pub fn unknown(id: &str) -> String {
    let nearest = nearest(id);
    let hint = if nearest.is_empty() {
        "`crosstie explain` lists them all".to_owned()
    } else {
        format!("did you mean {}?", nearest.join(", "))
    };
    format!("there is no fault called {id:?}; {hint}")
}

/// The ids that are most like what was asked for, best first.
fn nearest(id: &str) -> Vec<&'static str> {
    const MAX_SUGGESTIONS: usize = 3;
    let wanted = id.to_lowercase();
    let mut ids: Vec<(usize, &str)> = crosstie_doctor::checks::all()
        .map(|check| {
            // A part of the name is as good as a typo.
            let part = wanted.len() > 2 && check.id.contains(&wanted);
            (if part { 1 } else { distance(&wanted, check.id) }, check.id)
        })
        .filter(|(distance, found)| *distance <= found.len() / 3)
        .collect();
    ids.sort_unstable();
    ids.into_iter()
        .take(MAX_SUGGESTIONS)
        .map(|(_, id)| id)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_or_a_part_finds_the_name() {
        assert_eq!(
            nearest("nccl-socket-falback").first(),
            Some(&"nccl-socket-fallback")
        );
        assert_eq!(nearest("libibverbs").first(), Some(&"nccl-no-libibverbs"));
        assert!(nearest("xyz").is_empty());
    }

    #[test]
    fn a_page_fits_a_terminal() {
        for found in crosstie_doctor::checks::all() {
            let text = check(found, Palette::Plain);
            assert!(text.starts_with(found.id), "{text}");
            let is_wide = |line: &str| line.chars().count() > 100 && !line.contains('`');
            assert!(!text.lines().any(is_wide), "{text}");
        }
    }

    #[test]
    fn a_page_is_folded_once() {
        const COLUMNS: usize = 80;
        // What begins a line would have found room at the end of the one before.
        let is_stub = |before: &str, line: &str| {
            let word = line.split_whitespace().next().unwrap_or_default();
            let is_more = before.starts_with("  ") && line.starts_with("  ") && word != "-";
            let is_prose = !before.contains('`') && !line.contains('`');
            let room = before.chars().count() + 1 + word.chars().count();
            is_more && is_prose && room <= COLUMNS
        };
        for found in crosstie_doctor::checks::all() {
            let text = check(found, Palette::Plain.within(COLUMNS));
            let pairs = text.lines().zip(text.lines().skip(1));
            let stub = pairs.filter(|(before, line)| is_stub(before, line)).last();
            assert_eq!(stub, None, "{text}");
        }
    }
}
