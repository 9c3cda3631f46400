//! What NCCL says, in the forms of 2.18 to 2.30 (`src/init.cc`, `src/transport/`, `src/misc/ibvwrap.cc` and `src/plugin/`
//! of its sources, at each tag).

mod channel;
mod devices;
mod failure;
mod init;

use std::borrow::Cow;

pub(crate) use channel::{ChannelPath, NcclChannel};
pub use devices::NcclDevice;
pub(crate) use failure::NcclQueuePairError;
pub(crate) use init::{CommunicatorKey, NcclInit};

/// The messages that matter here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NcclMessage<'a> {
    Channel(NcclChannel<'a>),
    Init(NcclInit),
    /// `Using network IB`.
    Network(Cow<'a, str>),
    Version(Cow<'a, str>),
    InfinibandDevices(Vec<NcclDevice>),
    SocketDevices(Vec<NcclDevice>),
    /// Several devices made one: its index and name.
    VirtualDevice(u32, String),
    NoInfinibandDevice,
    /// libibverbs cannot be opened.
    NoVerbs,
    /// A queue pair's GID: index, and whether it is link-local.
    Gid {
        index: u32,
        link_local: bool,
    },
    GpuDirect {
        enabled: bool,
    },
    QueuePair(NcclQueuePairError),
    Completion {
        status: u32,
    },
    /// Memory could not be registered: none to lock.
    Registration,
    /// A plugin for the network that is not NCCL's own, by library or name.
    Plugin(Cow<'a, str>),
    /// `NCCL_IB_DISABLE` is on.
    InfinibandDisabled,
    /// `NCCL_NET` asks for sockets.
    SocketForced,
    /// Said once in the life of a process.
    Started,
}

/// `None` for all that does not matter here. The first letters decide, since most lines are of no interest.
pub(crate) fn message(text: &[u8]) -> Option<NcclMessage<'_>> {
    match text.first()? {
        b'C' if text.starts_with(b"Channel ") => channel::parse(text).map(NcclMessage::Channel),
        b'C' if text.starts_with(b"Call to ibv_") => failure::call(&lossy(text)),
        b'C' | b'F' if text.get(1) == Some(&b'o') || text.get(1) == Some(&b'a') => {
            failure::verbs_library(&lossy(text))
        }
        b'c' | b'n' | b'[' => init::parse(text).map(NcclMessage::Init),
        b'B' => started(text),
        b'U' => network(text),
        b'S' => external_plugin(text),
        b'N' if text.starts_with(b"NET/") => net(text),
        b'N' if text.starts_with(b"NCCL") => setting(text),
        _ => None,
    }
}

pub(crate) fn lossy(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}

/// `Bootstrap : Using eth0:10.0.0.1<0>`. What is said of an RDMA device, `Bootstrap: Using mlx5_0:1`, comes again.
fn started(text: &[u8]) -> Option<NcclMessage<'_>> {
    let text = lossy(text.strip_prefix(b"Bootstrap")?);
    let rest = text.trim_start_matches([' ', ':']);
    let address = rest.strip_prefix("Using ").map(word)?;
    let once = address.contains('<') || text.contains("\\u003c");
    once.then_some(NcclMessage::Started)
}

fn network(text: &[u8]) -> Option<NcclMessage<'_>> {
    let name = text.strip_prefix(b"Using network ")?;
    Some(NcclMessage::Network(trimmed(lossy(name))))
}

/// Without the white space at the end and what Ray and Docker's JSON append.
fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    let end = ["\\n\"", " [repeated "]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min()
        .unwrap_or(text.len());
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text[..end].trim_end()),
        Cow::Owned(text) => Cow::Owned(text[..end].trim_end().to_owned()),
    }
}

/// The first word, without the full stop of a sentence.
fn word(text: &str) -> &str {
    text.split(|c: char| c.is_whitespace() || c == '\\' || c == '"')
        .next()
        .unwrap_or("")
}

/// `Successfully loaded external plugin X` (2.27), `… external network plugin X` (2.28 on).
fn external_plugin(text: &[u8]) -> Option<NcclMessage<'_>> {
    let text = lossy(text.strip_prefix(b"Successfully loaded external ")?);
    let (_, library) = text.split_once("plugin ")?;
    Some(NcclMessage::Plugin(Cow::Owned(word(library).to_owned())))
}

/// Lines of the network: `NET/IB : …`, `NET/IB: …`, `NET/Socket : …`, `NET/Plugin: …`.
fn net(text: &[u8]) -> Option<NcclMessage<'_>> {
    let text = lossy(text);
    let (network, rest) = text.strip_prefix("NET/")?.split_once(':')?;
    let rest = rest.trim_start();
    match network.trim_end() {
        "Plugin" => {
            // Plugins for CollNet are announced as `Loaded coll plugin`.
            let (name, _) = rest
                .strip_prefix("Loaded net plugin ")?
                .rsplit_once(" (v")?;
            Some(NcclMessage::Plugin(Cow::Owned(name.to_owned())))
        }
        "Socket" => devices::socket(rest.strip_prefix("Using ")?).map(NcclMessage::SocketDevices),
        "IB/GIN" => failure::completion(rest),
        _ => infiniband(rest),
    }
}

fn infiniband(rest: &str) -> Option<NcclMessage<'static>> {
    if let Some(list) = rest.strip_prefix("Using ") {
        return devices::infiniband(list).map(NcclMessage::InfinibandDevices);
    }
    if rest.starts_with("No device found") {
        return Some(NcclMessage::NoInfinibandDevice);
    }
    if let Some(state) = rest.strip_prefix("GPU Direct RDMA ") {
        return gpu_direct(state);
    }
    if let Some(made) = rest.strip_prefix("Made virtual device ") {
        return devices::virtual_device(made)
            .map(|(index, name)| NcclMessage::VirtualDevice(index, name));
    }
    failure::completion(rest).or_else(|| failure::gid(rest))
}

/// `Enabled for HCA 0 'mlx5_0'`.
fn gpu_direct(state: &str) -> Option<NcclMessage<'static>> {
    let enabled = match word(state) {
        "Enabled" => true,
        "Disabled" => false,
        _ => return None,
    };
    Some(NcclMessage::GpuDirect { enabled })
}

/// `NCCL version …`, and the settings that choose the network.
fn setting(text: &[u8]) -> Option<NcclMessage<'_>> {
    let text = lossy(text);
    if let Some(version) = version(&text) {
        return Some(NcclMessage::Version(Cow::Owned(version.to_owned())));
    }
    let (name, value) = text.split_once(" set by environment to ")?;
    let value = word(value).trim_end_matches('.');
    match name {
        "NCCL_IB_DISABLE" if value.parse().is_ok_and(|value: i64| value != 0) => {
            Some(NcclMessage::InfinibandDisabled)
        }
        "NCCL_NET" if value.eq_ignore_ascii_case("socket") => Some(NcclMessage::SocketForced),
        _ => None,
    }
}

/// The version in `NCCL version 2.27.7+cuda12.9`, wherever it begins.
pub(crate) fn version(text: &str) -> Option<&str> {
    let version = word(text.strip_prefix("NCCL version ")?);
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_in_use() {
        for (text, name) in [
            ("Using network IB", "IB"),
            ("Using network Socket\r", "Socket"),
            ("Using network AWS Libfabric", "AWS Libfabric"),
            (
                "Using network IBext_v8 [repeated 3x across cluster]",
                "IBext_v8",
            ),
            ("Using network IB\\n\",\"stream\":\"stdout\"}", "IB"),
        ] {
            assert_eq!(
                message(text.as_bytes()),
                Some(NcclMessage::Network(name.into()))
            );
        }
        assert_eq!(message(b"Using non-device net plugin version 0"), None);
    }

    #[test]
    fn a_process_starts_once() {
        for (text, started) in [
            ("Bootstrap : Using eth0:10.0.0.1<0>", true),
            ("Bootstrap: Using eth0:10.0.0.1<0>", true),
            ("Bootstrap: Using eth0:10.0.0.1\\u003c0\\u003e", true),
            ("Bootstrap: Using mlx5_0:1", false),
            ("Bootstrap timings total 0.1", false),
        ] {
            let expected = started.then_some(NcclMessage::Started);
            assert_eq!(message(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn plugins_of_each_version() {
        for (text, name) in [
            ("NET/Plugin: Loaded net plugin IBext (v5)", Some("IBext")),
            (
                "NET/Plugin: Loaded net plugin AWS Libfabric (v8)",
                Some("AWS Libfabric"),
            ),
            (
                "Successfully loaded external plugin libnccl-net.so",
                Some("libnccl-net.so"),
            ),
            (
                "Successfully loaded external network plugin /opt/x/libnccl-net.so",
                Some("/opt/x/libnccl-net.so"),
            ),
            ("NET/Plugin: Loaded coll plugin SHARP (v7)", None),
            (
                "NET/Plugin : No plugin found, using internal implementation",
                None,
            ),
            (
                "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
                None,
            ),
            ("TUNER/Plugin: Could not find: libnccl-tuner.so", None),
            ("Assigned NET plugin IB to comm", None),
        ] {
            assert_eq!(
                message(text.as_bytes()),
                name.map(|name| NcclMessage::Plugin(name.into())),
                "{text}"
            );
        }
    }

    #[test]
    fn settings_that_choose_the_network() {
        let disabled = Some(NcclMessage::InfinibandDisabled);
        assert_eq!(
            message(b"NCCL_IB_DISABLE set by environment to 1."),
            disabled
        );
        assert_eq!(message(b"NCCL_IB_DISABLE set by environment to 0."), None);
        assert_eq!(
            message(b"NCCL_NET set by environment to Socket"),
            Some(NcclMessage::SocketForced)
        );
        assert_eq!(message(b"NCCL_NET set by environment to IB"), None);
    }

    #[test]
    fn gpu_direct_for_an_adapter() {
        let state = |enabled| Some(NcclMessage::GpuDirect { enabled });
        assert_eq!(
            message(b"NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'"),
            state(true)
        );
        assert_eq!(
            message(b"NET/IBext_v8 : GPU Direct RDMA Disabled for HCA 1 'x'"),
            state(false)
        );
    }
}
