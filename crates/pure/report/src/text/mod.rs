//! Text for a terminal: styled, aligned, and with nothing in it that a node could use to talk to the terminal.

mod fold;
mod table;

use std::fmt::{Display, Write};

use anstyle::{AnsiColor, Style};

pub use table::{TableRow, table};

/// What a piece of text means; the palette decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextTone {
    Plain,
    Strong,
    Good,
    Bad,
    Alarm,
    Quiet,
    Accent,
}

/// How text is drawn: in colours or not, and how wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    colours: bool,
    /// Of the terminal. Absent where nobody knows: then tables are as wide as they are.
    columns: Option<usize>,
}

/// What reads well, on a terminal that is wider.
const PROSE: usize = 100;
/// Where nobody knows the terminal: a pager breaks no word of a sentence on any usual one.
const PIPED_PROSE: usize = 80;
/// A terminal that is narrower gets lines that it breaks itself.
const NARROWEST: usize = 24;

#[expect(
    non_upper_case_globals,
    reason = "they read as the two kinds there are"
)]
impl Palette {
    pub const Colour: Self = Self {
        colours: true,
        columns: None,
    };
    pub const Plain: Self = Self {
        colours: false,
        columns: None,
    };
}

impl Palette {
    /// Nothing is wider than so many columns.
    #[must_use]
    pub fn within(self, columns: usize) -> Self {
        Self {
            columns: Some(columns.max(NARROWEST)),
            ..self
        }
    }

    /// Columns for sentences behind an indent.
    pub fn prose(self, indent: usize) -> usize {
        let columns = self
            .columns
            .map_or(PIPED_PROSE, |columns| columns.min(PROSE));
        columns.saturating_sub(indent).max(NARROWEST / 2)
    }

    /// No wider than what reads well.
    #[must_use]
    pub(crate) fn for_prose(self) -> Self {
        self.within(self.prose(0))
    }

    /// Whether there is room for so many columns.
    pub(crate) fn has_room_for(self, width: usize) -> bool {
        self.columns.is_none_or(|columns| width <= columns)
    }

    fn style(self, tone: TextTone) -> Style {
        let style = Style::new();
        match (self.colours, tone) {
            (false, _) | (_, TextTone::Plain) => style,
            (_, TextTone::Strong) => style.bold(),
            (_, TextTone::Good) => style.fg_color(Some(AnsiColor::Green.into())),
            (_, TextTone::Bad) => style.fg_color(Some(AnsiColor::Yellow.into())),
            (_, TextTone::Alarm) => style.bold().fg_color(Some(AnsiColor::Red.into())),
            (_, TextTone::Quiet) => style.dimmed(),
            (_, TextTone::Accent) => style.fg_color(Some(AnsiColor::Cyan.into())),
        }
    }
}

/// A run of text with one meaning. Control characters of foreign text become visible replacements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSpan {
    text: String,
    tone: TextTone,
    /// To be copied, so it is never folded.
    is_command: bool,
}

impl TextSpan {
    pub fn new(tone: TextTone, text: impl AsRef<str>) -> Self {
        Self {
            text: printable(text.as_ref()),
            tone,
            is_command: false,
        }
    }

    /// What a person copies: the terminal may break it, we do not.
    pub fn command(tone: TextTone, text: impl AsRef<str>) -> Self {
        Self {
            is_command: true,
            ..Self::new(tone, text)
        }
    }

    /// A command and what it is for, if something is said of that: a remark goes onto a line of its own before it is torn.
    pub fn offer(tone: TextTone, text: &str) -> Vec<Self> {
        match text.rsplit_once(REMARK) {
            Some((command, remark)) => vec![
                Self::command(tone, command),
                Self::command(TextTone::Quiet, format!("{REMARK}{remark}")),
            ],
            None => vec![Self::command(tone, text)],
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Columns that it takes, counting every character as one.
    pub fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// Its first columns.
    #[must_use]
    pub fn cut(mut self, columns: usize) -> Self {
        if self.width() > columns {
            self.text = self.text.chars().take(columns).collect();
        }
        self
    }

    fn paint(&self, palette: Palette, out: &mut String) {
        let style = palette.style(self.tone);
        // Writing to a String cannot fail.
        let _ = write!(out, "{style}{}{style:#}", self.text);
    }
}

/// Before what is said of a command: to a shell it is a comment, so the whole line can be pasted.
const REMARK: &str = "    # ";

/// A command with what it is for behind it.
pub fn with_remark(command: impl Display, remark: &str) -> String {
    format!("{command}{REMARK}{remark}")
}

pub(crate) fn plain(text: impl AsRef<str>) -> TextSpan {
    TextSpan::new(TextTone::Plain, text)
}

pub(crate) fn strong(text: impl AsRef<str>) -> TextSpan {
    TextSpan::new(TextTone::Strong, text)
}

pub(crate) fn quiet(text: impl AsRef<str>) -> TextSpan {
    TextSpan::new(TextTone::Quiet, text)
}

/// Control, format and bidirectional characters could rewrite the line around them.
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// With hostile characters replaced by a visible one.
pub fn printable(text: &str) -> String {
    let safe = |c: char| if is_hostile(c) { '\u{fffd}' } else { c };
    text.chars().map(safe).collect()
}

/// Lines of at most `columns` characters, broken between words; a longer word has a line of its own.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// One line of spans; where the terminal is too narrow, several, indented a little more than the first.
pub fn line(palette: Palette, spans: &[TextSpan], out: &mut String) {
    let lead = spans.first().map_or(0, |span| blanks(span.text()));
    line_behind(palette, lead + 2, spans, out);
}

/// The same, indented by so much where it goes on.
pub fn line_behind(palette: Palette, indent: usize, spans: &[TextSpan], out: &mut String) {
    for mut folded in fold::fold(spans, palette.columns, indent) {
        trim_end(&mut folded);
        for span in &folded {
            span.paint(palette, out);
        }
        out.push('\n');
    }
}

/// A sentence, indented by so much where it goes on. What stands between backquotes or before a remark is to be copied and
/// stays whole.
pub fn sentence(palette: Palette, indent: usize, text: &str, out: &mut String) {
    if text.contains(REMARK) {
        return line_behind(
            palette,
            indent,
            &TextSpan::offer(TextTone::Plain, text),
            out,
        );
    }
    let mut spans = Vec::new();
    let mut parts = text.split('`');
    if let Some(first) = parts.next() {
        spans.push(plain(first));
    }
    while let Some(command) = parts.next() {
        let Some(after) = parts.next() else {
            spans.push(plain(format!("`{command}")));
            break;
        };
        // A comma stays where it belongs.
        let end = after.find(' ').unwrap_or(after.len());
        let (joined, after) = after.split_at(end);
        spans.push(TextSpan::command(
            TextTone::Plain,
            format!("`{command}`{joined}"),
        ));
        spans.push(plain(after));
    }
    line_behind(palette, indent, &spans, out);
}

fn blanks(text: &str) -> usize {
    text.chars().take_while(|c| *c == ' ').count()
}

/// A text with a sign before it, indented where it goes on.
pub fn item(palette: Palette, (tone, sign): (TextTone, &str), text: &str, out: &mut String) {
    let indent = 2 + sign.chars().count();
    for (index, part) in wrap(text, palette.prose(indent)).iter().enumerate() {
        let lead = if index == 0 {
            TextSpan::new(tone, format!("  {sign}"))
        } else {
            TextSpan::new(TextTone::Plain, " ".repeat(indent))
        };
        line(palette, &[lead, TextSpan::new(TextTone::Plain, part)], out);
    }
}

fn trim_line(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
}

/// A blank at the end of a line that is as wide as the terminal would make an empty one.
fn trim_end(spans: &mut Vec<TextSpan>) {
    while let Some(last) = spans.last_mut() {
        last.text.truncate(last.text.trim_end_matches(' ').len());
        if !last.text.is_empty() {
            break;
        }
        spans.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_cannot_talk_to_the_terminal() {
        let span = TextSpan::new(TextTone::Plain, "spark\u{1b}]0;owned\u{7}\u{202e}\n");
        let mut out = String::new();
        line(Palette::Plain, &[span], &mut out);
        assert!(
            !out.trim_end_matches('\n')
                .contains(|c: char| c.is_control()),
            "{out:?}"
        );
    }

    #[test]
    fn sentences_fit_a_pager_where_nobody_knows_the_terminal() {
        assert_eq!(Palette::Plain.prose(2), 78);
        assert_eq!(Palette::Plain.within(120).prose(2), 98);
        assert_eq!(Palette::Plain.within(60).prose(2), 58);
    }

    #[test]
    fn text_breaks_between_words() {
        assert_eq!(
            wrap("a bb  ccc\ndddddd e", 5),
            ["a bb", "ccc", "dddddd", "e"]
        );
        assert!(wrap(" ", 5).is_empty());
    }

    #[test]
    fn a_sentence_breaks_around_what_is_copied() {
        let text = "no lab is up; `crosstie lab up`, or `crosstie lab list` for more";
        let mut out = String::new();
        sentence(Palette::Plain.within(30), 2, text, &mut out);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(
            lines,
            [
                "no lab is up;",
                "  `crosstie lab up`, or",
                "  `crosstie lab list` for more"
            ]
        );
        let mut out = String::new();
        sentence(Palette::Plain, 2, "it's `odd", &mut out);
        assert_eq!(out, "it's `odd\n");
    }

    #[test]
    fn what_is_said_of_a_command_is_a_comment_to_a_shell() {
        let text = with_remark("crosstie trust --undo spark-b", "undoes it");
        assert_eq!(text, "crosstie trust --undo spark-b    # undoes it");
        for (columns, expected) in [
            (60, "  crosstie trust --undo spark-b    # undoes it\n"),
            (40, "  crosstie trust --undo spark-b\n    # undoes it\n"),
        ] {
            let mut out = String::new();
            let palette = Palette::Plain.within(columns);
            sentence(palette, 4, &format!("  {text}"), &mut out);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn columns_line_up_and_empty_ones_vanish() {
        let cell = |text: &str| TextSpan::new(TextTone::Plain, text);
        let rows = [
            TableRow::Cells(0, vec![cell("a"), cell(""), cell("1")]),
            TableRow::Heading(vec![cell("heading")]),
            TableRow::Cells(0, vec![cell("bbb"), cell(""), cell("22")]),
        ];
        let mut out = String::new();
        table(Palette::Plain, &rows, &mut out);
        assert_eq!(out, "a    1\nheading\nbbb  22\n");
    }
}
