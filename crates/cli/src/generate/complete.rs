//! What a shell offers where a name is typed that only this machine knows: labs, nodes of the cluster file, checks.

use std::{fmt::Write, path::Path};

use clap_complete::Shell;
use crosstie_control::{CLUSTER_FILE, read_existing, state::labs_folder};
use crosstie_doctor::checks;
use crosstie_lab::Paths;

/// Names of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Names {
    Labs,
    /// Of ./cluster.toml.
    Nodes,
    Checks,
}

impl Names {
    /// None where nothing can be read: a shell that completes has nobody to tell.
    pub(crate) fn list(self) -> Vec<String> {
        match self {
            Self::Labs => crosstie_lab::names(&Paths::new(&labs_folder())),
            Self::Nodes => {
                let file = read_existing(Path::new(CLUSTER_FILE)).ok().flatten();
                let nodes = file.map_or_else(Vec::new, |file| file.spec.nodes);
                nodes.into_iter().map(|node| node.name).collect()
            }
            Self::Checks => checks::all().map(|check| check.id.to_owned()).collect(),
        }
    }

    fn command(self) -> String {
        let names = match self {
            Self::Labs => "labs",
            Self::Nodes => "nodes",
            Self::Checks => "checks",
        };
        format!("$(crosstie complete {names} 2>/dev/null)")
    }
}

/// The script that clap wrote, with those names in it.
pub(super) fn with_names(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => bash(script),
        Shell::Zsh => script.lines().map(zsh).collect(),
        Shell::Fish => fish(script),
        _ => script.to_owned(),
    }
}

/// Commands that take nodes.
const WITH_NODES: &str =
    "scan doctor trust plan init apply rollback status uninstall up bench prove env try";

/// `--lab` takes a file's name there, and positional arguments are not among the words that are offered.
fn bash(script: &str) -> String {
    let files = "COMPREPLY=($(compgen -f \"${cur}\"))";
    let labs = Names::Labs.command();
    let labs = format!("COMPREPLY=($(compgen -W \"{labs}\" -- \"${{cur}}\"))");
    let mut out = String::new();
    let mut is_lab = false;
    let mut names = None;
    for line in script.lines() {
        let mut line = if is_lab {
            line.replace(files, &labs)
        } else {
            line.to_owned()
        };
        is_lab = line.trim() == "--lab)";
        let verb = line.trim().strip_prefix("crosstie__subcmd__");
        if let Some(verb) = verb.and_then(|verb| verb.strip_suffix(')')) {
            names = match verb {
                "explain" => Some(Names::Checks),
                verb if WITH_NODES.split(' ').any(|known| known == verb) => Some(Names::Nodes),
                _ => None,
            };
        }
        if let (true, Some(names)) = (line.trim().starts_with("opts=\""), names) {
            let end = line.len() - 1;
            line.insert_str(end, &format!(" {}", names.command()));
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn zsh(line: &str) -> String {
    let names = if line.contains("--lab=[") {
        Some(Names::Labs)
    } else if line.starts_with("'*::nodes ")
        || line.starts_with("':node -- The node, as the cluster")
    {
        Some(Names::Nodes)
    } else if line.starts_with("'::id ") {
        Some(Names::Checks)
    } else {
        None
    };
    match names {
        Some(names) => {
            let action = format!(":{{compadd -- {}}}'", names.command());
            line.replace(":_default'", &action) + "\n"
        }
        None => format!("{line}\n"),
    }
}

fn fish(script: &str) -> String {
    let offer = |names: Names| {
        let command = names.command();
        format!("-f -a \"{}\"", command.trim_start_matches('$'))
    };
    let mut out = String::new();
    for line in script.lines() {
        out.push_str(line);
        if line.contains(" -l lab ") {
            // Writing to a String cannot fail.
            let _ = write!(out, " {}", offer(Names::Labs));
        }
        out.push('\n');
    }
    for (verbs, names) in [(WITH_NODES, Names::Nodes), ("explain", Names::Checks)] {
        let _ = writeln!(
            out,
            "complete -c crosstie -n \"__fish_seen_subcommand_from {verbs}\" {}",
            offer(names)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

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
            let script = with_names(shell, &String::from_utf8(script).unwrap());
            for names in ["labs", "nodes", "checks"] {
                let command = format!("(crosstie complete {names} 2>/dev/null)");
                assert!(script.contains(&command), "{shell}: {names}");
            }
        }
        assert!(Names::Checks.list().contains(&"cable-dead".to_owned()));
    }
}
