//! Lines that are folded between words.

use super::Span;

/// As many lines as it takes, each with its spans; those behind the first begin with so many blanks.
pub(super) fn fold(spans: &[Span], columns: Option<usize>, indent: usize) -> Vec<Vec<Span>> {
    let width: usize = spans.iter().map(Span::width).sum();
    let Some(columns) = columns.filter(|columns| width > *columns) else {
        return vec![spans.to_vec()];
    };
    let indent = indent.min(columns / 3);
    let mut folded = Folded {
        lines: vec![Vec::new()],
        width: 0,
        columns,
        indent,
    };
    for span in spans {
        folded.put(span);
    }
    folded.lines
}

struct Folded {
    lines: Vec<Vec<Span>>,
    /// Of the last line.
    width: usize,
    columns: usize,
    indent: usize,
}

impl Folded {
    fn put(&mut self, span: &Span) {
        if span.is_command {
            let fits = |before: usize| before + span.width() <= self.columns;
            if !fits(self.width) && fits(self.indent) {
                self.next_line(span, span.width());
            }
            return self.add(span.clone());
        }
        for word in words(&span.text) {
            let length = word.trim_end_matches(' ').chars().count();
            let is_begun = self.lines.last().is_some_and(|line| {
                let mut spans = line.iter();
                spans.any(|span| !span.text.trim().is_empty())
            });
            let fits = self.width + length <= self.columns;
            let word = if fits || !is_begun {
                word
            } else {
                let word = word.trim_start_matches(' ');
                self.next_line(span, word.trim_end_matches(' ').chars().count());
                word
            };
            if !word.is_empty() {
                self.add(Span {
                    text: word.to_owned(),
                    ..span.clone()
                });
            }
        }
    }

    /// For a word of this length, which is indented less before the terminal has to break it.
    fn next_line(&mut self, like: &Span, length: usize) {
        let indent = self.indent.min(self.columns.saturating_sub(length));
        let blanks = Span {
            text: " ".repeat(indent),
            ..like.clone()
        };
        self.lines.push(vec![blanks]);
        self.width = indent;
    }

    /// Neighbours of one tone are one span.
    fn add(&mut self, span: Span) {
        self.width += span.width();
        let Some(line) = self.lines.last_mut() else {
            return;
        };
        match line.last_mut() {
            Some(last) if last.tone == span.tone && !last.is_command && !span.is_command => {
                last.text.push_str(&span.text);
            }
            _ => line.push(span),
        }
    }
}

/// Each with the blanks before it; blanks at the end by themselves.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        let end = rest[blanks..]
            .find(' ')
            .map_or(rest.len(), |at| blanks + at);
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::Tone;
    use super::*;

    fn folded(spans: &[Span], columns: usize) -> Vec<String> {
        let lines = fold(spans, Some(columns), 4).into_iter();
        lines
            .map(|line| line.iter().map(|span| span.text.as_str()).collect())
            .collect()
    }

    #[test]
    fn lines_break_between_words_and_no_word_is_lost() {
        let spans = [
            Span::new(Tone::Quiet, "  changed   "),
            Span::new(Tone::Strong, "spark-a  "),
            Span::new(
                Tone::Plain,
                "192.0.2.1 answered before and does not any more",
            ),
        ];
        assert_eq!(
            folded(&spans, 30),
            [
                "  changed   spark-a  192.0.2.1",
                "    answered before and does",
                "    not any more"
            ]
        );
        assert_eq!(folded(&spans, 80).len(), 1);
    }

    #[test]
    fn what_is_to_be_copied_is_not_folded() {
        let command = "crosstie rollback --run 20261116T175500Z-1f2e3d4c";
        let spans = [
            Span::new(Tone::Quiet, "  undo  "),
            Span::command(Tone::Accent, command),
        ];
        assert_eq!(folded(&spans, 30), [format!("  undo  {command}")]);
        let spans = [
            Span::new(Tone::Quiet, "no lab is up: "),
            Span::command(Tone::Accent, "crosstie lab up"),
        ];
        assert_eq!(
            folded(&spans, 20),
            ["no lab is up: ", "    crosstie lab up"]
        );
    }

    #[test]
    fn a_long_word_has_a_line_of_its_own() {
        let spans = [Span::new(Tone::Plain, "a bbbbbbbbbbbbbbbbbbbbbbbb c")];
        assert_eq!(
            folded(&spans, 12),
            ["a", "bbbbbbbbbbbbbbbbbbbbbbbb", "    c"]
        );
        let spans = [Span::new(Tone::Plain, "aa bbbbbbbbbb c")];
        assert_eq!(folded(&spans, 12), ["aa", "  bbbbbbbbbb", "    c"]);
    }
}
