//! Settings of NCCL and its companions, in files that hold other people's variables too.

use super::word::{is_plain, shell_word};
use crate::collect::secret::is_secret;

const PREFIXES: [&str; 7] = [
    "NCCL_",
    "GLOO_SOCKET_IFNAME",
    "TP_SOCKET_IFNAME",
    "UCX_NET_DEVICES",
    "UCX_TLS",
    "OMPI_MCA_btl_tcp_if",
    "OMPI_MCA_oob_tcp_if",
];

/// Assignments of the engines' variables, `export` or not, one a line, each with the first word of its value. Everything
/// else, tokens above all, stays on the node.
pub(in crate::collect) fn engine_settings(text: &str) -> Option<String> {
    let kept: String = text.lines().flat_map(assignments).collect();
    (!kept.is_empty()).then_some(kept)
}

/// Those that a line begins with, up to the first word that is none.
fn assignments(line: &str) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = line.trim_start();
    let mut start = "";
    if let Some(after) = rest.strip_prefix("export")
        && after.starts_with(char::is_whitespace)
    {
        (start, rest) = ("export ", after.trim_start());
    }
    while let Some((name, after)) = name(rest)
        && let Some((value, after)) = shell_word(after)
    {
        kept.extend(assignment(name, &value).map(|assignment| format!("{start}{assignment}\n")));
        if !after.starts_with(char::is_whitespace) {
            break;
        }
        rest = after.trim_start();
    }
    kept
}

/// The name before an equals sign, and what follows that.
fn name(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.split_once('=')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_name).then_some((name, after))
}

/// In place of a path: people and projects are called by name in it.
const WITHHELD: &str = "/withheld";

fn is_path(name: &str, value: &str) -> bool {
    /// Files, whose names people give, with a folder or without.
    const OF_FILES: [&str; 5] = ["_FILE", "_PATH", "_DIR", "_CONFIG", "_PLUGIN"];
    /// In place of a plugin.
    const NO_PLUGIN: &str = "none";
    let is_file = OF_FILES.iter().any(|end| name.ends_with(end));
    let mut parts = value.split([',', ':', ';', '=']);
    parts.any(|part| part.starts_with(['/', '~', '.']))
        || (is_file && !value.is_empty() && value != NO_PLUGIN)
}

/// `NAME=VALUE`, if the variable is an engine's. None of them has a use for white space in its value.
pub(in crate::collect) fn assignment(name: &str, value: &str) -> Option<String> {
    let value = value.split_whitespace().next().unwrap_or("");
    let value = if is_path(name, value) {
        WITHHELD
    } else {
        value
    };
    let is_listed = |letter: char| letter == '=' || is_plain(letter.encode_utf8(&mut [0; 4]));
    let plain = value.is_ascii()
        && value
            .chars()
            .all(|letter| is_listed(letter) && !"()@".contains(letter));
    let assignment = format!("{name}={value}");
    (plain && is_engine_variable(name) && !is_secret(&assignment)).then_some(assignment)
}

/// Whether a variable is one that NCCL, Gloo, UCX or Open MPI read to choose their network.
pub fn is_engine_variable(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_engine_variables_leave_the_node() {
        let text =
            "export NCCL_IB_HCA==mlx5_0\nHF_TOKEN=hf_x\n# NCCL_A=1\nNCCL_A=$(x)\nNCCL_B=\"x\n";
        assert_eq!(
            engine_settings(text).unwrap(),
            "export NCCL_IB_HCA==mlx5_0\n"
        );
    }

    #[test]
    fn paths_stay_on_the_node() {
        for line in [
            "NCCL_TOPO_FILE=/home/alice/acme.xml",
            "NCCL_TOPO_FILE=~/acme.xml",
            "NCCL_TOPO_FILE=alice/acme.xml",
            "NCCL_TOPO_FILE=acme-alice.%h.xml",
            "NCCL_TOPO_FILE=/withheld",
            "NCCL_TOPO_FILE=rc,/acme.xml",
        ] {
            let kept = engine_settings(line).unwrap();
            assert_eq!(kept, "NCCL_TOPO_FILE=/withheld\n");
        }
        for (line, kept) in [
            (
                "NCCL_TUNER_CONFIG=alice/tuner.csv",
                "NCCL_TUNER_CONFIG=/withheld\n",
            ),
            ("NCCL_NET_PLUGIN=acme", "NCCL_NET_PLUGIN=/withheld\n"),
            ("NCCL_NET_PLUGIN=none", "NCCL_NET_PLUGIN=none\n"),
        ] {
            assert_eq!(engine_settings(line).unwrap(), kept);
        }
        let range = "NCCL_IB_ADDR_RANGE=10.0.0.0/24\n";
        assert_eq!(engine_settings(range).unwrap(), range);
    }

    #[test]
    fn nothing_that_follows_a_variable_leaves_the_node() {
        for line in [
            "NCCL_DEBUG=INFO",
            "  NCCL_DEBUG='INFO'",
            "NCCL_DEBUG=INFO WANDB_API_KEY=x",
            "NCCL_DEBUG=\"INFO\" HF_TOKEN='x'",
            "HF_TOKEN=x NCCL_DEBUG=INFO",
            "NCCL_DEBUG=INFO; export T=secret",
            "NCCL_DEBUG=INFO&&x",
            "NCCL_DEBUG=INFO # x",
            "NCCL_DEBUG=\"INFO x\"",
            "NCCL_DEBUG=INFO python x.py",
            "NCCL_DEBUG=INFO NCCL_NET=hf_0123456789",
        ] {
            assert_eq!(
                engine_settings(line).unwrap(),
                "NCCL_DEBUG=INFO\n",
                "{line}"
            );
        }
        let both = engine_settings("export NCCL_DEBUG=INFO NCCL_IB_HCA=a,b").unwrap();
        assert_eq!(both, "export NCCL_DEBUG=INFO\nexport NCCL_IB_HCA=a,b\n");
        assert_eq!(engine_settings(&both).unwrap(), both);
    }
}
