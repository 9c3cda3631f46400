//! Flags of `docker run` and `podman run`.

use super::{EnvFormat, NodeEnvironment, files::quoted};

/// What RDMA needs in a container, each with its reason.
const FLAGS: [(&str, &str, &str); 6] = [
    ("--network", "host", "the fabric's interfaces and addresses"),
    ("--ipc", "host", "shared memory between ranks"),
    ("--device", "/dev/infiniband", "the RDMA devices"),
    (
        "--cap-add",
        "IPC_LOCK",
        "memory that the card reads must stay where it is",
    ),
    ("--ulimit", "memlock=-1:-1", "as much of it as there is"),
    (
        "--ulimit",
        "stack=67108864:67108864",
        "threads of CUDA and NCCL",
    ),
];

/// Words of a POSIX shell, one flag a line: `eval "podman run $(crosstie env NODE --format podman) IMAGE"`. A line that ends
/// in a backslash goes on, so reasons cannot stand between them.
pub(super) fn arguments(format: EnvFormat, node: &NodeEnvironment) -> String {
    let fixed = FLAGS
        .iter()
        .map(|(flag, value, _)| format!("{flag} {value}"));
    let gpus = node.has_gpus.then(|| {
        let flag = match format {
            EnvFormat::Podman => "--device nvidia.com/gpu=all",
            _ => "--gpus all",
        };
        flag.to_owned()
    });
    let variables = node.settings.iter().map(|setting| {
        let variable = format!("{}={}", setting.name, setting.value);
        format!("--env {}", quoted(&variable))
    });
    let lines: Vec<String> = fixed.chain(gpus).chain(variables).collect();
    lines.join(" \\\n") + "\n"
}

/// For people: what each flag is for.
pub fn reasons() -> impl Iterator<Item = (String, &'static str)> {
    let flags = FLAGS.iter();
    flags.map(|(flag, value, why)| (format!("{flag} {value}"), *why))
}
