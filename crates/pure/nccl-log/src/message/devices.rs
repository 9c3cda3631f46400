//! Lists of devices: `[0]rocep1s0f1:1/RoCE [1]roceP2p1s0f1:1/RoCE [RO]; OOB enP7s7:10.0.0.1<0>`.

use schemars::JsonSchema;
use serde::Serialize;

/// A device of a network, at its place in the list that channels count by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct NcclDevice {
    /// Several physical ones that NCCL joined are `a+b`.
    pub name: String,
    /// `RoCE` or `IB`; none for an interface of the socket transport.
    pub link: Option<String>,
}

impl NcclDevice {
    /// The physical devices that it stands for.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.name.split('+')
    }

    pub fn is_roce(&self) -> bool {
        self.link.as_deref() == Some("RoCE")
    }
}

const MAX_DEVICES: usize = 64;
/// As long as any of the kernel's names for devices joined with four more.
const MAX_NAME: usize = 200;

/// Entries by their place: in 2.20 to 2.23 the number in the bracket counts physical devices, channels count joined ones.
pub(super) fn infiniband(list: &str) -> Option<Vec<NcclDevice>> {
    let list = list.split("; OOB").next()?;
    let mut devices = Vec::new();
    let mut rest = list.trim_start();
    while devices.len() < MAX_DEVICES {
        let Some((_, entry)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
            break;
        };
        if let Some(joined) = entry.strip_prefix("={") {
            let (inside, after) = joined.split_once('}').unwrap_or((joined, ""));
            devices.extend(join(inside));
            rest = after.trim_start();
        } else {
            let end = entry.find(" [").unwrap_or(entry.len());
            devices.extend(entry_device(entry[..end].trim()));
            rest = entry[end..].trim_start();
        }
    }
    (!devices.is_empty()).then_some(devices)
}

/// `[0] a:1/RoCE, [1] b:1/RoCE`.
fn join(inside: &str) -> Option<NcclDevice> {
    let parts: Vec<NcclDevice> = inside
        .split(',')
        .filter_map(|part| entry_device(part.split_once(']')?.1.trim()))
        .collect();
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    Some(NcclDevice {
        name: bounded(&names.join("+"))?,
        link: parts.first()?.link.clone(),
    })
}

/// `NAME:PORT/LINK`; from 2.30 on `NAME:PORT:RAIL:PLANE/LINK`.
fn entry_device(entry: &str) -> Option<NcclDevice> {
    let (device, link) = entry.rsplit_once('/')?;
    let (name, _) = device.split_once(':')?;
    let link = link.split_whitespace().next()?;
    Some(NcclDevice {
        name: bounded(name)?,
        link: bounded(link),
    })
}

/// `[0]eth0:10.0.0.1<0> [1]eth1:10.0.1.1<0>`.
pub(super) fn socket(list: &str) -> Option<Vec<NcclDevice>> {
    let entries = list.split(" [").take(MAX_DEVICES);
    let devices: Vec<NcclDevice> = entries
        .filter_map(|entry| {
            let (_, device) = entry.split_once(']')?;
            let (name, _) = device.split_once(':')?;
            Some(NcclDevice {
                name: bounded(name)?,
                link: None,
            })
        })
        .collect();
    (!devices.is_empty()).then_some(devices)
}

/// `[2] name=a+b speed=400000 ndevs=2`.
pub(super) fn virtual_device(text: &str) -> Option<(u32, String)> {
    let (index, rest) = text.strip_prefix('[')?.split_once(']')?;
    let name = rest.trim_start().strip_prefix("name=")?;
    Some((index.parse().ok()?, bounded(super::word(name))?))
}

fn bounded(name: &str) -> Option<String> {
    (!name.is_empty() && name.len() <= MAX_NAME).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(devices: Option<Vec<NcclDevice>>) -> Vec<String> {
        let shown = |device: NcclDevice| match device.link {
            Some(link) => format!("{}/{link}", device.name),
            None => device.name,
        };
        devices.into_iter().flatten().map(shown).collect()
    }

    #[test]
    fn lists_of_each_version() {
        for (list, expected) in [
            (
                "[0]rocep1s0f1:1/RoCE [1]roceP2p1s0f1:1/RoCE [RO]; OOB enP7s7:10.0.0.1<0>",
                "rocep1s0f1/RoCE roceP2p1s0f1/RoCE",
            ),
            ("[0]mlx5_0:1/IB ; OOB eth0:10.0.0.1<0>", "mlx5_0/IB"),
            (
                "[0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [2]mlx5_2:1/RoCE [RO]; OOB e:1<0>",
                "mlx5_0+mlx5_1/RoCE mlx5_2/RoCE",
            ),
            (
                "[0]mlx5_0:1:0:1/RoCE [1]mlx5_1:1::1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
                "mlx5_0/RoCE mlx5_1/RoCE",
            ),
            ("[0]mlx5_0:1/RoCE [1]mlx5_", "mlx5_0/RoCE"),
        ] {
            assert_eq!(names(infiniband(list)).join(" "), expected, "{list}");
        }
        assert_eq!(
            names(socket("[0]eth0:10.0.0.1<0> [1]eth1:fe80::1%eth1<0>")),
            ["eth0", "eth1"]
        );
        assert_eq!(socket("4 threads and 4 sockets per thread"), None);
        assert_eq!(infiniband("nothing"), None);
    }

    #[test]
    fn devices_that_nccl_joined() {
        let made = virtual_device(
            "[2] name=rocep1s0f1+roceP2p1s0f1 speed=400000 ndevs=2 rail=-1 plane=-1",
        );
        assert_eq!(made, Some((2, "rocep1s0f1+roceP2p1s0f1".to_owned())));
    }
}
