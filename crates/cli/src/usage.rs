//! What clap says of a command line that it cannot read, with tips that help.

use clap::{
    Command, Error,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use crosstie_doctor::checks;

/// More values than these push the tip off the screen.
const MAX_LISTED_VALUES: usize = 20;

/// The same error, with tips that fit this program.
pub(crate) fn with_tips(mut error: Error, command: &mut Command, words: &[String]) -> Error {
    match error.kind() {
        ErrorKind::InvalidValue => list_checks_elsewhere(&mut error),
        ErrorKind::UnknownArgument => suggest_long_option(&mut error, command, words),
        _ => {}
    }
    error
}

/// A mistyped check gets the one that was meant rather than all of them.
fn list_checks_elsewhere(error: &mut Error) {
    let is_long = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(valid)) => {
            valid.len() > MAX_LISTED_VALUES && valid.iter().any(|id| checks::find(id).is_some())
        }
        _ => false,
    };
    if !is_long {
        return;
    }
    error.remove(ContextKind::ValidValue);
    if error.get(ContextKind::SuggestedValue).is_none() {
        tip(error, "`crosstie explain` lists them all".to_owned());
    }
}

/// `-y` is `--yes`, and no value: only a command that starts another one takes such values, behind `--`.
fn suggest_long_option(error: &mut Error, command: &mut Command, words: &[String]) {
    command.build();
    let command = innermost(command, words);
    if command.get_positionals().any(clap::Arg::is_last_set) {
        return;
    }
    error.remove(ContextKind::Suggested);
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let mut letters = given.chars().skip_while(|c| *c == '-');
    let (Some(letter), None) = (letters.next(), letters.next()) else {
        return;
    };
    let options = command
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    let mut names = options.filter_map(clap::Arg::get_long);
    let found = names.find(|name| name.starts_with(letter));
    if let Some(name) = found {
        tip(error, format!("did you mean '--{name}'?"));
    }
}

fn tip(error: &mut Error, text: String) {
    let tips = vec![StyledStr::from(text)];
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}

/// The subcommand that was meant, as far as its words go.
fn innermost<'a>(command: &'a Command, words: &[String]) -> &'a Command {
    words.iter().fold(command, |command, word| {
        command.find_subcommand(word).unwrap_or(command)
    })
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::args::Arguments;

    fn said(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let given = ["crosstie".to_owned()].into_iter().chain(words.clone());
        let error = Arguments::try_parse_from(given).unwrap_err();
        let error = with_tips(error, &mut Arguments::command(), &words);
        error.render().to_string()
    }

    #[test]
    fn a_mistyped_check_gets_the_one_that_was_meant() {
        let text = said("doctor --only twins-same-sbnet");
        let tip = text.lines().nth(2).unwrap_or_default();
        assert!(tip.contains("'twins-same-subnet'"), "{text}");
        assert!(!text.contains("possible values"), "{text}");
        let text = said("doctor --only xyz");
        assert!(text.contains("crosstie explain"), "{text}");
        // A few are listed, as ever.
        assert!(said("scan --color blue").contains("possible values: auto"));
    }

    #[test]
    fn an_option_that_is_none_is_no_value() {
        let text = said("up -y");
        assert!(text.contains("did you mean '--yes'?"), "{text}");
        assert!(!text.contains("as a value"), "{text}");
        assert!(!said("status -q").contains("tip:"));
        let text = said("launch mpirun --bind-to");
        assert!(text.contains("-- --bind-to"), "{text}");
    }
}
