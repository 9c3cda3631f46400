//! Characters in rows and columns, each with its tone.

use crate::text::{Palette, TextSpan, TextTone, line, printable};

#[derive(Default)]
pub(super) struct Canvas {
    rows: Vec<Vec<(char, TextTone)>>,
}

impl Canvas {
    pub(super) fn put(&mut self, row: usize, column: usize, tone: TextTone, text: &str) {
        if self.rows.len() <= row {
            self.rows.resize(row + 1, Vec::new());
        }
        let cells = &mut self.rows[row];
        for (offset, character) in printable(text).chars().enumerate() {
            if cells.len() <= column + offset {
                cells.resize(column + offset + 1, (' ', TextTone::Plain));
            }
            cells[column + offset] = (character, tone);
        }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> char {
        let cell = self.rows.get(row).and_then(|cells| cells.get(column));
        cell.map_or(' ', |(character, _)| *character)
    }

    pub(super) fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    pub(super) fn render(&self, palette: Palette, out: &mut String) {
        for row in &self.rows {
            let runs = row.chunk_by(|a, b| a.1 == b.1);
            let spans: Vec<TextSpan> = runs
                .map(|run| {
                    TextSpan::new(run[0].1, run.iter().map(|cell| cell.0).collect::<String>())
                })
                .collect();
            line(palette, &spans, out);
        }
    }
}
