//! Lines at the end of what a terminal shows, drawn over and over: only those that changed.

use std::fmt::Write;

/// What is there now.
#[derive(Debug, Default)]
pub(crate) struct DrawnArea {
    lines: Vec<String>,
}

impl DrawnArea {
    /// What has to be written for these lines to stand there instead (ECMA-48: CUU, EL, ED).
    pub(crate) fn draw(&mut self, lines: Vec<String>) -> String {
        let mut out = String::new();
        if lines == self.lines {
            return out;
        }
        // Writing to a String cannot fail.
        if !self.lines.is_empty() {
            let _ = write!(out, "\r\x1b[{}A", self.lines.len());
        }
        for (index, line) in lines.iter().enumerate() {
            if self.lines.get(index) != Some(line) {
                let _ = write!(out, "{line}\x1b[K");
            }
            out.push('\n');
        }
        if lines.len() < self.lines.len() {
            out.push_str("\x1b[J");
        }
        self.lines = lines;
        out
    }

    pub(crate) fn erase(&mut self) -> String {
        self.draw(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_changed_are_written() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let mut area = DrawnArea::default();
        assert_eq!(area.draw(lines("a\nb")), "a\x1b[K\nb\x1b[K\n");
        assert_eq!(area.draw(lines("a\nb")), "");
        assert_eq!(area.draw(lines("a\nc")), "\r\x1b[2A\nc\x1b[K\n");
        assert_eq!(area.draw(lines("a")), "\r\x1b[2A\n\x1b[J");
        assert_eq!(area.erase(), "\r\x1b[1A\x1b[J");
        assert_eq!(area.erase(), "");
    }
}
