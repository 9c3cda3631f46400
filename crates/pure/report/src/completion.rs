//! Completion scripts of shells, with names in them that only the machine knows: labs, nodes of the cluster file, checks.

use std::fmt::Write;

/// Lists names of one kind: `labs`, `nodes` or `checks`.
fn listing(names: &str) -> String {
    format!("$(crosstie complete {names} 2>/dev/null)")
}

/// The script that was made of the command line's description, with those names in it, and without the commands that nobody
/// types.
pub fn with_names(shell: &str, script: &str, hidden: &[&str]) -> String {
    match shell {
        "bash" => bash(script, hidden),
        "zsh" => script.lines().map(zsh).collect(),
        "fish" => fish(script),
        _ => script.to_owned(),
    }
}

/// Commands that take nodes.
pub const WITH_NODES: &str =
    "scan doctor trust plan init apply rollback status uninstall up bench prove env try";

/// `--lab` takes a file's name there, and positional arguments are not among the words that are offered.
fn bash(script: &str, hidden: &[&str]) -> String {
    let files = "COMPREPLY=($(compgen -f \"${cur}\"))";
    let labs = listing("labs");
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
        if let Some((before, words)) = line.split_once("opts=\"") {
            let words = words.trim_end_matches('"').split(' ');
            let shown: Vec<&str> = words.filter(|word| !hidden.contains(word)).collect();
            line = format!("{before}opts=\"{}\"", shown.join(" "));
        }
        is_lab = line.trim() == "--lab)";
        let verb = line.trim().strip_prefix("crosstie__subcmd__");
        if let Some(verb) = verb.and_then(|verb| verb.strip_suffix(')')) {
            names = match verb {
                "explain" => Some("checks"),
                verb if WITH_NODES.split(' ').any(|known| known == verb) => Some("nodes"),
                _ => None,
            };
        }
        if let (true, Some(names)) = (line.trim().starts_with("opts=\""), names) {
            let end = line.len() - 1;
            line.insert_str(end, &format!(" {}", listing(names)));
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn zsh(line: &str) -> String {
    let names = if line.contains("--lab=[") {
        Some("labs")
    } else if line.starts_with("'*::nodes ")
        || line.starts_with("':node -- The node, as the cluster")
    {
        Some("nodes")
    } else if line.starts_with("'::id ") {
        Some("checks")
    } else {
        None
    };
    match names {
        Some(names) => {
            let action = format!(":{{compadd -- {}}}'", listing(names));
            line.replace(":_default'", &action) + "\n"
        }
        None => format!("{line}\n"),
    }
}

fn fish(script: &str) -> String {
    let offer = |names: &str| {
        let command = listing(names);
        format!("-f -a \"{}\"", command.trim_start_matches('$'))
    };
    let mut out = String::new();
    for line in script.lines() {
        out.push_str(line);
        if line.contains(" -l lab ") {
            // Writing to a String cannot fail.
            let _ = write!(out, " {}", offer("labs"));
        }
        out.push('\n');
    }
    for (verbs, names) in [(WITH_NODES, "nodes"), ("explain", "checks")] {
        let _ = writeln!(
            out,
            "complete -c crosstie -n \"__fish_seen_subcommand_from {verbs}\" {}",
            offer(names)
        );
    }
    out
}
