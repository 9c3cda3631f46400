//! Settings of NCCL and its companions, in files that hold other people's variables too.

use super::is_comment;

const PREFIXES: [&str; 7] = [
    "NCCL_",
    "GLOO_SOCKET_IFNAME",
    "TP_SOCKET_IFNAME",
    "UCX_NET_DEVICES",
    "UCX_TLS",
    "OMPI_MCA_btl_tcp_if",
    "OMPI_MCA_oob_tcp_if",
];

/// Assignments of the engines' variables, `export` or not. Everything else, tokens above all, stays on the node.
pub(in crate::collect) fn engine_settings(text: &str) -> Option<String> {
    super::lines(text, |line| !is_comment(line) && is_engine_assignment(line))
}

fn is_engine_assignment(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
    let Some((name, value)) = line.split_once('=') else {
        return false;
    };
    // A second command on the line could carry anything.
    let plain = !value.contains([';', '&', '|', '`', '$', '(']);
    plain && is_engine_variable(name)
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
        let text = "export NCCL_IB_HCA==mlx5_0\nHF_TOKEN=hf_x\nexport NCCL_DEBUG=INFO; export T=secret\n# NCCL_A=1\n";
        assert_eq!(
            engine_settings(text).unwrap(),
            "export NCCL_IB_HCA==mlx5_0\n"
        );
    }
}
