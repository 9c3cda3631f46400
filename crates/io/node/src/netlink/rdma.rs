//! Queue pairs (`RDMA_NLDEV_CMD_RES_QP_GET`), in the shape of `rdma -j resource show qp`.

use crosstie_facts::{FileTree, ReadGap};
use rustix::net::netlink::RDMA;
use serde_json::Value;

use super::{
    json_object::JsonObject,
    message::{NetlinkAttributes, NetlinkRequest},
    socket::{NetlinkError, NetlinkSocket},
};
use crate::LocalFileTree;

/// `RDMA_NL_GET_TYPE`: the client in the upper six bits, the command in the lower ten.
const NLDEV: u16 = 5 << 10;
const GET: u16 = NLDEV + 1;
const RES_QP_GET: u16 = NLDEV + 10;

// `RDMA_NLDEV_ATTR_*`
const DEV_INDEX: u16 = 1;
const DEV_NAME: u16 = 2;
const PORT_INDEX: u16 = 3;
const RES_QP: u16 = 19;
const RES_QP_ENTRY: u16 = 20;
const RES_LQPN: u16 = 21;
const RES_TYPE: u16 = 26;
const RES_STATE: u16 = 27;
const RES_PID: u16 = 28;
const RES_KERN_NAME: u16 = 29;
const RES_SUBTYPE: u16 = 98;
const NUMBERS: [(u16, &str); 7] = [
    (PORT_INDEX, "port"),
    (RES_LQPN, "lqpn"),
    (22, "rqpn"),
    (23, "rq-psn"),
    (24, "sq-psn"),
    (60, "pdn"),
    (RES_PID, "pid"),
];

/// `IB_QPT_*`; 7 is a hole.
const TYPES: [&str; 11] = [
    "SMI",
    "GSI",
    "RC",
    "UC",
    "UD",
    "RAW_IPV6",
    "RAW_ETHERTYPE",
    "UNKNOWN",
    "RAW_PACKET",
    "XRC_INI",
    "XRC_TGT",
];
const DRIVER_TYPE: u8 = 0xff;
/// `IB_QPS_*`
const STATES: [&str; 7] = ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"];
/// `IB_MIG_*`
const PATH_MIGRATION: (u16, &str, [&str; 3]) =
    (25, "path-mig-state", ["MIGRATED", "REARM", "ARMED"]);

/// The queue pairs of every RDMA device; a kernel without RDMA has none to tell of.
pub fn queue_pairs() -> Result<Value, ReadGap> {
    Ok(read(&LocalFileTree::machine())?)
}

fn read(machine: &LocalFileTree) -> Result<Value, NetlinkError> {
    let mut socket = NetlinkSocket::open(Some(RDMA))?;
    let devices = socket.dump(&NetlinkRequest::new(GET, &[]))?;
    let indices = devices.iter().filter(|(kind, _)| *kind == GET);
    let indices = indices.filter_map(|(_, body)| NetlinkAttributes::new(body).u32(DEV_INDEX));
    let mut pairs = Vec::new();
    for index in indices {
        let request = NetlinkRequest::new(RES_QP_GET, &[]).u32(DEV_INDEX, index);
        let answer = match socket.dump(&request) {
            Ok(answer) => answer,
            // A device that went away meanwhile.
            Err(NetlinkError::Refused(rustix::io::Errno::NODEV | rustix::io::Errno::INVAL)) => {
                continue;
            }
            Err(error) => return Err(error),
        };
        for (_, body) in answer.iter().filter(|(kind, _)| *kind == RES_QP_GET) {
            pairs.extend(describe(body, &|pid| command_of(machine, pid)));
        }
    }
    Ok(pairs.into())
}

/// A process's own name for itself, which the kernel leaves to the reader to look up.
fn command_of(machine: &LocalFileTree, pid: u32) -> Option<String> {
    let comm = machine.read(&format!("proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&comm).trim_end().to_owned())
}

/// The queue pairs in one message of the dump.
fn describe(body: &[u8], command: &dyn Fn(u32) -> Option<String>) -> Vec<Value> {
    let device = NetlinkAttributes::new(body);
    let (Some(index), Some(name)) = (device.u32(DEV_INDEX), device.text(DEV_NAME)) else {
        return Vec::new();
    };
    let Some(table) = device.nested(RES_QP) else {
        return Vec::new();
    };
    let entries = table.iter().filter(|(kind, _)| *kind == RES_QP_ENTRY);
    entries
        .filter_map(|(_, entry)| {
            let mut object = queue_pair(NetlinkAttributes::new(entry), command)?;
            object.put("ifindex", index);
            object.put("ifname", name.clone());
            Some(object.into())
        })
        .collect()
}

fn queue_pair(
    entry: NetlinkAttributes<'_>,
    command: &dyn Fn(u32) -> Option<String>,
) -> Option<JsonObject> {
    let (kind, state) = (entry.u8(RES_TYPE)?, entry.u8(RES_STATE)?);
    entry.u32(RES_LQPN)?;
    let mut object = JsonObject::default();
    for (attribute, key) in NUMBERS {
        object.put_some(key, entry.u32(attribute));
    }
    if kind == DRIVER_TYPE {
        object.put("type", "DRIVER");
        object.put_some("subtype", entry.text(RES_SUBTYPE));
    } else {
        object.put("type", word(kind, &TYPES));
    }
    object.put("state", word(state, &STATES));
    let (attribute, key, words) = PATH_MIGRATION;
    let migration = entry.u8(attribute);
    object.put_some(key, migration.map(|state| word(state, &words)));
    let owner = match entry.u32(RES_PID) {
        Some(pid) => command(pid),
        None => entry.text(RES_KERN_NAME),
    };
    object.put_some("comm", owner);
    Some(object)
}

fn word(number: u8, words: &[&'static str]) -> &'static str {
    words.get(usize::from(number)).copied().unwrap_or("UNKNOWN")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::netlink::message::NetlinkMessages;

    fn dump() -> Vec<u8> {
        let kernel = NetlinkRequest::attributes()
            .u32(PORT_INDEX, 1)
            .u32(RES_LQPN, 1)
            .u32(24, 0)
            .bytes(RES_TYPE, &[1])
            .bytes(RES_STATE, &[3])
            .text(RES_KERN_NAME, "ib_core");
        let user = NetlinkRequest::attributes()
            .u32(PORT_INDEX, 1)
            .u32(RES_LQPN, 17)
            .u32(22, 18)
            .u32(24, 7)
            .bytes(25, &[0])
            .bytes(RES_TYPE, &[2])
            .bytes(RES_STATE, &[3])
            .u32(RES_PID, 4242);
        let table = NetlinkRequest::attributes()
            .nest(RES_QP_ENTRY, &kernel)
            .nest(RES_QP_ENTRY, &user);
        NetlinkRequest::new(RES_QP_GET, &[])
            .u32(DEV_INDEX, 0)
            .text(DEV_NAME, "rocep1s0f0")
            .nest(RES_QP, &table)
            .encode(2, 1)
    }

    #[test]
    fn queue_pairs_have_the_shape_of_rdma() {
        let bytes = dump();
        let message = NetlinkMessages(&bytes).next().unwrap();
        let pairs = describe(message.body, &|pid| Some(format!("process {pid}")));
        assert_eq!(
            Value::from(pairs),
            json!([
                { "ifindex": 0, "ifname": "rocep1s0f0", "port": 1, "lqpn": 1, "type": "GSI",
                  "state": "RTS", "sq-psn": 0, "comm": "ib_core" },
                { "ifindex": 0, "ifname": "rocep1s0f0", "port": 1, "lqpn": 17, "rqpn": 18,
                  "type": "RC", "state": "RTS", "sq-psn": 7, "path-mig-state": "MIGRATED",
                  "pid": 4242, "comm": "process 4242" },
            ])
        );
    }

    #[test]
    fn a_kernel_without_rdma_is_an_absence() {
        if LocalFileTree::machine().list("sys/class/infiniband") == Err(ReadGap::Absent) {
            assert_eq!(queue_pairs(), Err(ReadGap::Absent));
        }
    }

    proptest! {
        #[test]
        fn damaged_dumps_do_no_harm(at in 0_usize..200, byte: u8, end in 0_usize..200) {
            let mut bytes = dump();
            let length = bytes.len();
            bytes[16 + at % (length - 16)] = byte;
            let _ = describe(&bytes[16..16 + end % (length - 16)], &|_| None);
            let _ = describe(&bytes[16..], &|_| None);
        }
    }
}
