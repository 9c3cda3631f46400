//! Lines that are folded between words.

use super::TextSpan;

/// As many lines as it takes, each with its spans; those behind the first begin with so many blanks.
pub(super) fn fold(
    spans: &[TextSpan],
    columns: Option<usize>,
    indent: usize,
) -> Vec<Vec<TextSpan>> {
    let width: usize = spans.iter().map(TextSpan::width).sum();
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
    lines: Vec<Vec<TextSpan>>,
    /// Of the last line.
    width: usize,
    columns: usize,
    indent: usize,
}

impl Folded {
    fn put(&mut self, span: &TextSpan) {
        if span.is_command {
            let fits = |before: usize| before + span.width() <= self.columns;
            if !fits(self.width) && fits(self.indent) {
                let mut moved = span.clone();
                moved.text = span.text.trim_start_matches(' ').into();
                self.next_line(span, moved.width());
                return self.add(moved);
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
                self.add(TextSpan {
                    text: word.to_owned(),
                    ..span.clone()
                });
            }
        }
    }

    /// For a word of this length, which is indented less before the terminal has to break it.
    fn next_line(&mut self, like: &TextSpan, length: usize) {
        let indent = self.indent.min(self.columns.saturating_sub(length));
        let blanks = TextSpan {
            text: " ".repeat(indent),
            ..like.clone()
        };
        self.lines.push(vec![blanks]);
        self.width = indent;
    }

    /// Neighbours of one tone are one span.
    fn add(&mut self, span: TextSpan) {
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
    use super::super::TextTone;
    use super::*;

    fn folded(spans: &[TextSpan], columns: usize) -> Vec<String> {
        let lines = fold(spans, Some(columns), 4).into_iter();
        lines
            .map(|line| line.iter().map(|span| span.text.as_str()).collect())
            .collect()
    }

    #[test]
    fn lines_break_between_words_and_no_word_is_lost() {
        let spans = [
            TextSpan::new(TextTone::Quiet, "  changed   "),
            TextSpan::new(TextTone::Strong, "spark-a  "),
            TextSpan::new(
                TextTone::Plain,
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
            TextSpan::new(TextTone::Quiet, "  undo  "),
            TextSpan::command(TextTone::Accent, command),
        ];
        assert_eq!(folded(&spans, 30), [format!("  undo  {command}")]);
        let spans = [
            TextSpan::new(TextTone::Quiet, "no lab is up: "),
            TextSpan::command(TextTone::Accent, "crosstie lab up"),
        ];
        assert_eq!(
            folded(&spans, 20),
            ["no lab is up: ", "    crosstie lab up"]
        );
    }

    #[test]
    fn a_long_word_has_a_line_of_its_own() {
        let spans = [TextSpan::new(
            TextTone::Plain,
            "a bbbbbbbbbbbbbbbbbbbbbbbb c",
        )];
        assert_eq!(
            folded(&spans, 12),
            ["a", "bbbbbbbbbbbbbbbbbbbbbbbb", "    c"]
        );
        let spans = [TextSpan::new(TextTone::Plain, "aa bbbbbbbbbb c")];
        assert_eq!(folded(&spans, 12), ["aa", "  bbbbbbbbbb", "    c"]);
    }
}
