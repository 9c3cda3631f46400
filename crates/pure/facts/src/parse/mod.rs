//! Raw → Facts: one file for each group of facts, one parser for each fact.

mod ethtool;
mod firewall;
mod gpu;
mod host;
mod interface;
mod ip;
mod libraries;
mod managed;
mod manager;
mod nccl;
mod pci;
mod persistence;
mod qos;
mod rdma;
mod resource;
mod software;
mod sysctl;
mod system;
mod unread;

pub(crate) use gpu::from_xml as gpus_from_xml;
pub use host::distro;
pub use manager::covers;
pub use qos::dscp_table;
pub use rdma::traffic_class;

use crosstie_model::Facts;
use serde_json::Value;

use crate::RawCapture;

/// The facts of the node that `raw` was read from. Total: whatever `raw` holds, there is an answer.
pub fn facts(raw: &RawCapture) -> Facts {
    let pci = pci::devices(raw);
    let persistence = persistence::persistence(raw);
    Facts {
        host: host::host(raw),
        system: system::system(raw),
        network: interface::network(raw, &pci, &persistence),
        rdma: rdma::devices(raw),
        gpus: gpu::gpus(raw),
        software: software::software(raw),
        sysctls: sysctl::sysctls(raw),
        nccl: nccl::settings(raw),
        managed: managed::managed(raw),
        unread: unread::unread(raw),
        pci,
        persistence,
    }
}

/// A JSON array that a command printed; anything else is malformed.
fn json_array(raw: &RawCapture, command: &str) -> crosstie_model::Reading<Vec<Value>> {
    use crosstie_model::Reading;
    raw.command(command)
        .and_then(|text| match serde_json::from_str(text) {
            Ok(Value::Array(items)) => Reading::Value(items),
            _ => Reading::malformed(text),
        })
}

/// A string field, owned.
fn string(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// A number that fits.
fn number<T: TryFrom<u64>>(value: &Value, key: &str) -> Option<T> {
    value.get(key)?.as_u64()?.try_into().ok()
}

/// `0x15b3` or plain hex digits.
fn hex(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u32::from_str_radix(digits, 16)
        .ok()
        .filter(|_| !digits.starts_with('+'))
}
