//! The part of the invoking user's environment that NCCL and its friends read, and how the user came in.

use std::{collections::BTreeMap, fmt::Write as _};

use crosstie_facts::{FileTree, collect::is_engine_variable};

use crate::LocalFileTree;

/// `client port server port`
const SSH: &str = "SSH_CONNECTION";

/// How far up the parents are asked.
const MAX_PARENTS: usize = 16;
const MAX_VALUE: usize = 4096;

type Variables = BTreeMap<String, String>;

pub(super) fn read(machine: &LocalFileTree) -> String {
    let own = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut variables: Variables = own.filter(|(name, _)| is_listed(name)).collect();
    let under_sudo = std::env::var_os("SUDO_UID").is_some();
    if under_sudo || !variables.contains_key(SSH) {
        read_parent_environments(machine, under_sudo, &mut variables);
    }
    render(&variables, rustix::process::getuid().as_raw())
}

fn is_listed(name: &str) -> bool {
    name == SSH || is_engine_variable(name)
}

/// sudo drops the user's variables, and its own process still has them; the ssh connection is looked for higher up.
fn read_parent_environments(machine: &LocalFileTree, under_sudo: bool, variables: &mut Variables) {
    let mut pid = std::process::id();
    let mut wanted = under_sudo;
    for _ in 0..MAX_PARENTS {
        let Some(parent) = parent_of(machine, pid) else {
            return;
        };
        pid = parent;
        let theirs = machine.read(&format!("proc/{pid}/environ"));
        let theirs = parse(&theirs.unwrap_or_default());
        let name = machine
            .read(&format!("proc/{pid}/comm"))
            .unwrap_or_default();
        let is_sudo = name == b"sudo\n";
        for (name, value) in theirs {
            if name == SSH || (wanted && is_sudo) {
                variables.entry(name).or_insert(value);
            }
        }
        wanted &= !is_sudo;
        if !wanted && variables.contains_key(SSH) {
            return;
        }
    }
}

/// `pid (comm) state ppid …`, where the name may hold anything.
fn parent_of(machine: &LocalFileTree, pid: u32) -> Option<u32> {
    let stat = machine.read(&format!("proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, fields) = stat.rsplit_once(')')?;
    let parent = fields.split_whitespace().nth(1)?.parse().ok()?;
    (parent != 0).then_some(parent)
}

/// The listed ones of `NAME=value` pairs that end in NULs.
fn parse(environ: &[u8]) -> Variables {
    environ
        .split(|byte| *byte == 0)
        .filter_map(|pair| std::str::from_utf8(pair).ok()?.split_once('='))
        .filter(|(name, _)| is_listed(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn render(variables: &Variables, user: u32) -> String {
    let mut text = format!("UID={user}\n");
    for (name, value) in variables {
        let (name, value) = if name == SSH {
            // The node's own address; the client's is nobody's business.
            let Some(address) = value.split_whitespace().nth(2) else {
                continue;
            };
            ("SSH_SERVER_ADDRESS", address)
        } else {
            (name.as_str(), value.as_str())
        };
        let plain = !name.chars().chain(value.chars()).any(char::is_control);
        if plain && value.len() <= MAX_VALUE {
            let _ = writeln!(text, "{name}={value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_kept() {
        let environ = b"HOME=/home/x\0NCCL_DEBUG=INFO\0HF_TOKEN=secret\0UCX_TLS=rc\0\
            NCCL_EVIL=a\nUID=0\0SSH_CONNECTION=198.51.100.7 50000 192.0.2.2 22\0broken\0\xff=\0";
        let text = render(&parse(environ), 1000);
        let expected = "UID=1000\nNCCL_DEBUG=INFO\nSSH_SERVER_ADDRESS=192.0.2.2\nUCX_TLS=rc\n";
        assert_eq!(text, expected);
        let long = format!("NCCL_X={}", "x".repeat(MAX_VALUE + 1));
        assert_eq!(render(&parse(long.as_bytes()), 0), "UID=0\n");
        assert_eq!(render(&parse(b"SSH_CONNECTION=short"), 0), "UID=0\n");
    }

    #[test]
    fn parents_are_found() {
        let machine = LocalFileTree::machine();
        let parent = parent_of(&machine, std::process::id());
        assert_eq!(parent, Some(std::os::unix::process::parent_id()));
        assert_eq!(parent_of(&machine, 1), None);
    }
}
