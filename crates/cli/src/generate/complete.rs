//! What a shell offers where a name is typed that only this machine knows: labs, nodes of the cluster file, checks.

use std::path::Path;

use crosstie_control::{CLUSTER_FILE, read_existing, state::labs_folder};
use crosstie_doctor::checks;
use crosstie_lab::LabPaths;

/// Names of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CompletionNames {
    Labs,
    /// Of ./cluster.toml.
    Nodes,
    Checks,
}

impl CompletionNames {
    /// None where nothing can be read: a shell that completes has nobody to tell.
    pub(crate) fn list(self) -> Vec<String> {
        match self {
            Self::Labs => crosstie_lab::names(&LabPaths::new(&labs_folder())),
            Self::Nodes => {
                let file = read_existing(Path::new(CLUSTER_FILE)).ok().flatten();
                let nodes = file.map_or_else(Vec::new, |file| file.spec.nodes);
                nodes.into_iter().map(|node| node.name).collect()
            }
            Self::Checks => checks::all().map(|check| check.id.to_owned()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap_complete::Shell;
    use crosstie_report::completion::{WITH_NODES, with_names};

    use super::*;
    use crate::{args::Arguments, generate::hidden};

    #[test]
    fn nodes_are_offered_wherever_one_is_taken() {
        let command = Arguments::command();
        let takes_nodes = |command: &&clap::Command| {
            let mut positionals = command.get_positionals();
            positionals.any(|argument| {
                let names = argument.get_value_names().unwrap_or_default();
                names.iter().any(|name| name == "NODE")
            })
        };
        let verbs = command.get_subcommands().filter(takes_nodes);
        let mut verbs: Vec<&str> = verbs.map(clap::Command::get_name).collect();
        verbs.sort_unstable();
        let mut known: Vec<&str> = WITH_NODES.split(' ').collect();
        known.sort_unstable();
        assert_eq!(verbs, known);
    }

    #[test]
    fn every_shell_offers_labs_nodes_and_checks() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "crosstie", &mut script);
            let script = with_names(
                &shell.to_string(),
                &String::from_utf8(script).unwrap(),
                &hidden(&Arguments::command()),
            );
            let mut lists = script.lines().filter(|line| line.contains("opts=\""));
            let is_hidden = |word: &str| ["agent", "hub"].contains(&word);
            assert!(!lists.any(|list| list.split([' ', '"']).any(is_hidden)));
            for names in ["labs", "nodes", "checks"] {
                let command = format!("(crosstie complete {names} 2>/dev/null)");
                assert!(script.contains(&command), "{shell}: {names}");
            }
        }
        assert!(
            CompletionNames::Checks
                .list()
                .contains(&"cable-dead".to_owned())
        );
    }
}
