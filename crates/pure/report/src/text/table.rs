//! Tables: cells in columns, and where the terminal is too narrow for all columns, in several lines a row.

use super::{Palette, TextSpan, TextTone, line, trim_line, wrap};

/// A line of a table.
pub enum TableRow {
    /// Runs across all columns.
    Heading(Vec<TextSpan>),
    /// An indent, then cells that line up with those above and below.
    Cells(usize, Vec<TextSpan>),
}

/// Between two columns.
const GAP: usize = 2;
/// A last column is folded rather than moved below the others, if it is left so much.
const FOLDED: usize = 28;

/// Rows with their cells in columns as wide as the widest cell, two spaces apart. Columns that are empty vanish.
pub fn table(palette: Palette, rows: &[TableRow], out: &mut String) {
    let widths = widths(rows);
    let indent = rows.iter().filter_map(|row| match row {
        TableRow::Cells(indent, _) => Some(*indent),
        TableRow::Heading(_) => None,
    });
    let layout = Layout::new(&widths, indent.max().unwrap_or(0), palette.columns);
    for row in rows {
        match row {
            TableRow::Heading(spans) => line(palette, spans, out),
            TableRow::Cells(indent, cells) => layout.row(*indent, cells, palette, out),
        }
    }
}

fn widths(rows: &[TableRow]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        let TableRow::Cells(_, cells) = row else {
            continue;
        };
        for (column, cell) in cells.iter().enumerate() {
            if column == widths.len() {
                widths.push(0);
            }
            widths[column] = cell.width().max(widths[column]);
        }
    }
    widths
}

/// Which columns stand side by side.
struct Layout {
    /// Each is a line of a row: columns with their widths.
    bands: Vec<Vec<(usize, usize)>>,
    /// The very last column is folded to so much.
    last: Option<usize>,
}

impl Layout {
    fn new(widths: &[usize], indent: usize, columns: Option<usize>) -> Self {
        let shown = widths.iter().copied().enumerate();
        let shown: Vec<(usize, usize)> = shown.filter(|(_, width)| *width > 0).collect();
        let all: usize = shown.iter().map(|(_, width)| width + GAP).sum();
        let fits = columns.is_none_or(|columns| indent + all <= columns + GAP);
        let (Some(columns), false) = (columns, fits) else {
            return Self {
                bands: vec![shown],
                last: None,
            };
        };
        let last = shown.last().map_or(0, |(_, width)| *width);
        let left = columns.saturating_sub(indent + all - last - GAP);
        if left >= FOLDED {
            return Self {
                bands: vec![shown],
                last: Some(left),
            };
        }
        let mut bands: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
        let mut used = indent;
        for (column, width) in shown {
            let below = indent + GAP;
            let is_begun = bands.last().is_some_and(|band| !band.is_empty());
            if is_begun && used + width > columns {
                bands.push(Vec::new());
                used = below;
            }
            if let Some(band) = bands.last_mut() {
                band.push((column, width));
            }
            used += width + GAP;
        }
        let room = columns.saturating_sub(indent + GAP);
        Self {
            last: (last > room).then_some(room),
            bands,
        }
    }

    fn row(&self, indent: usize, cells: &[TextSpan], palette: Palette, out: &mut String) {
        for (number, band) in self.bands.iter().enumerate() {
            let indent = if number == 0 { indent } else { indent + GAP };
            let is_empty = |column: usize| cells.get(column).is_none_or(|cell| cell.width() == 0);
            if number > 0 && band.iter().all(|(column, _)| is_empty(*column)) {
                continue;
            }
            let is_last = number + 1 == self.bands.len();
            let folded = self.last.filter(|_| is_last);
            draw(indent, band, folded, cells, palette, out);
        }
    }
}

/// One line of a row, or more where its last cell is folded.
fn draw(
    indent: usize,
    band: &[(usize, usize)],
    folded: Option<usize>,
    cells: &[TextSpan],
    palette: Palette,
    out: &mut String,
) {
    out.extend(std::iter::repeat_n(' ', indent));
    let mut at = indent;
    for (place, (column, width)) in band.iter().enumerate() {
        let Some(cell) = cells.get(*column) else {
            break;
        };
        let is_folded = place + 1 == band.len() && folded.is_some();
        if let (true, Some(columns)) = (is_folded, folded) {
            let position = Position { at, indent };
            fold(cell, columns, position, palette, out);
            return;
        }
        cell.paint(palette, out);
        let gap = width.saturating_sub(cell.width()) + GAP;
        out.extend(std::iter::repeat_n(' ', gap));
        at += width + GAP;
    }
    trim_line(out);
    out.push('\n');
}

/// Where a cell begins, and its line.
#[derive(Clone, Copy)]
struct Position {
    at: usize,
    indent: usize,
}

/// The last cell of a line, folded where it stands. A word that is wider than what is left of the line has one of its own, and
/// is indented less before the terminal has to break it.
fn fold(cell: &TextSpan, columns: usize, position: Position, palette: Palette, out: &mut String) {
    let Position { at, indent } = position;
    let parts = if cell.is_command || cell.width() <= columns {
        vec![cell.text.clone()]
    } else {
        wrap(&cell.text, columns)
    };
    let blanks = |count: usize| std::iter::repeat_n(' ', count);
    for (index, part) in parts.iter().enumerate() {
        let width = part.chars().count();
        let is_wide = width > columns && !cell.is_command;
        let room = (at + columns).saturating_sub(width);
        match (index, is_wide) {
            (0, false) => {}
            (0, true) if at == indent => out.truncate(out.len() - indent + indent.min(room)),
            (0, true) => {
                trim_line(out);
                out.push('\n');
                out.extend(blanks(room.min(indent + GAP)));
            }
            (_, false) => out.extend(blanks(at)),
            (_, true) => out.extend(blanks(at.min(room))),
        }
        TextSpan::new(cell.tone, part).paint(palette, out);
        trim_line(out);
        out.push('\n');
    }
    if parts.is_empty() {
        TextSpan::new(TextTone::Plain, "").paint(palette, out);
        trim_line(out);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> TextSpan {
        TextSpan::new(TextTone::Plain, text)
    }

    fn drawn(rows: &[TableRow], columns: usize) -> String {
        let mut out = String::new();
        table(Palette::Plain.within(columns), rows, &mut out);
        out
    }

    #[test]
    fn a_long_last_column_is_folded_where_it_stands() {
        let why = "192.0.2.1 answered before and does not any more";
        let rows = [
            TableRow::Cells(0, vec![cell("spark-a"), cell("rolled back"), cell(why)]),
            TableRow::Cells(0, vec![cell("spark-b"), cell("confirmed"), cell("")]),
        ];
        assert_eq!(
            drawn(&rows, 59),
            "spark-a  rolled back  192.0.2.1 answered before and does\n\
             \x20                     not any more\n\
             spark-b  confirmed\n"
        );
    }

    #[test]
    fn a_word_wider_than_what_is_left_is_not_torn() {
        let path = "/sys/class/net/enP2p1s0f0np0/carrier";
        let row = |what: &str| TableRow::Cells(4, vec![cell(what), cell("no carrier"), cell(path)]);
        assert_eq!(
            drawn(&[row("enP2p1s0f0np0 on a")], 66),
            format!("    enP2p1s0f0np0 on a  no carrier\n      {path}\n")
        );
        assert_eq!(
            drawn(&[row("enP2p1s0f0np0 on a")], 40),
            format!("    enP2p1s0f0np0 on a  no carrier\n    {path}\n")
        );
    }

    #[test]
    fn columns_that_do_not_fit_stand_below_the_others() {
        let port = ["rocep1s0f0", "enp1s0f0np0", "200 Gb/s", "10.78.0.1/24"];
        let rows = [
            TableRow::Cells(
                2,
                ["device", "interface", "link", "address"]
                    .map(cell)
                    .to_vec(),
            ),
            TableRow::Cells(2, port.map(cell).to_vec()),
        ];
        assert_eq!(
            drawn(&rows, 40),
            "  device      interface    link\n    address\n\
             \x20 rocep1s0f0  enp1s0f0np0  200 Gb/s\n    10.78.0.1/24\n"
        );
        assert_eq!(drawn(&rows, 80).lines().count(), 2);
    }
}
