//! Data centre bridging of one port (`RTM_GETDCB`), in the shapes of `dcb -j pfc|app|ets show`.

use crosstie_facts::ReadGap;
use rustix::io::Errno;
use serde_json::{Value, json};

use super::{
    json_object::JsonObject,
    message::{NetlinkAttributes, NetlinkRequest, u16_at, u64_at},
    socket::{NetlinkError, NetlinkSocket, errno_of},
};

pub(super) const RTM_GETDCB: u16 = 78;
pub(super) const DCB_CMD_IEEE_GET: u8 = 21;
/// `dcbmsg`: family u8, command u8, pad u16.
pub(super) const FIXED: usize = 4;

pub(super) const DCB_ATTR_IFNAME: u16 = 1;
pub(super) const DCB_ATTR_IEEE: u16 = 13;
const DCB_ATTR_IEEE_ETS: u16 = 1;
pub(super) const DCB_ATTR_IEEE_PFC: u16 = 2;
pub(super) const DCB_ATTR_IEEE_APP_TABLE: u16 = 3;
pub(super) const DCB_ATTR_IEEE_APP: u16 = 1;

/// Priorities and traffic classes alike (`IEEE_8021QAZ_MAX_TCS`).
const CLASSES: usize = 8;

/// Priority flow control, the mapping of traffic to priorities, and the classes' shares.
pub fn qos(interface: &str) -> Result<Value, ReadGap> {
    Ok(read(interface)?)
}

fn read(interface: &str) -> Result<Value, NetlinkError> {
    let mut socket = NetlinkSocket::open(None)?;
    let request = NetlinkRequest::new(RTM_GETDCB, &[0, DCB_CMD_IEEE_GET, 0, 0]);
    let answer = socket.ask(&request.text(DCB_ATTR_IFNAME, interface))?;
    let body = answer.iter().next().map(|(_, body)| body);
    describe(body.unwrap_or_default())
}

/// What the port says of itself in the answer to `DCB_CMD_IEEE_GET`.
pub(super) fn ieee(body: &[u8]) -> Result<NetlinkAttributes<'_>, NetlinkError> {
    match NetlinkAttributes::behind(body, FIXED).get(DCB_ATTR_IEEE) {
        None => Err(NetlinkError::Refused(Errno::OPNOTSUPP)),
        Some([status]) => Err(refused(*status)),
        Some(nest) => Ok(NetlinkAttributes::new(nest)),
    }
}

/// A single byte is the command's own result: a negative errno.
pub(super) fn refused(status: u8) -> NetlinkError {
    NetlinkError::Refused(errno_of(-i32::from(status.cast_signed())))
}

pub(super) fn describe(body: &[u8]) -> Result<Value, NetlinkError> {
    let ieee = ieee(body)?;
    let mut object = JsonObject::default();
    let flow = ieee.get(DCB_ATTR_IEEE_PFC);
    object.put_some("pfc", flow.and_then(flow_control));
    if let Some(table) = ieee.nested(DCB_ATTR_IEEE_APP_TABLE) {
        object.put("app", applications(table));
    }
    let shares = ieee.get(DCB_ATTR_IEEE_ETS);
    object.put_some("ets", shares.and_then(transmission));
    Ok(object.into())
}

/// `ieee_pfc`: capability u8, enabled u8, bypass u8, pad, delay u16, pad u16, requests u64×8, indications u64×8.
fn flow_control(pfc: &[u8]) -> Option<Value> {
    let (capability, enabled, bypass) = (*pfc.first()?, *pfc.get(1)?, *pfc.get(2)?);
    let on: Vec<bool> = (0..CLASSES)
        .map(|class| enabled & (1 << class) != 0)
        .collect();
    let counters = |start: usize| -> Option<Vec<u64>> {
        (0..CLASSES)
            .map(|class| u64_at(pfc, start + class * 8))
            .collect()
    };
    Some(json!({
        "pfc_cap": capability,
        "macsec_bypass": bypass != 0,
        "delay": u16_at(pfc, 4)?,
        "prio_pfc": on,
        "requests": counters(8)?,
        "indications": counters(72)?,
    }))
}

/// `dcb_app`: selector u8, priority u8, protocol u16.
pub(super) fn entries(table: NetlinkAttributes<'_>) -> impl Iterator<Item = (u8, u8, u16)> {
    let entries = table.iter().filter(|(kind, _)| *kind == DCB_ATTR_IEEE_APP);
    entries.filter_map(|(_, entry)| Some((*entry.first()?, *entry.get(1)?, u16_at(entry, 2)?)))
}

/// Each kind of mapping is a list of pairs.
fn applications(table: NetlinkAttributes<'_>) -> Value {
    let mut object = serde_json::Map::new();
    for (selector, priority, protocol) in entries(table) {
        let (key, value) = match (selector, protocol) {
            (1, 0) => ("default_prio", json!(priority)),
            (1, _) => ("ethtype_prio", json!([protocol, priority])),
            (2, _) => ("stream_port_prio", json!([protocol, priority])),
            (3, _) => ("dgram_port_prio", json!([protocol, priority])),
            (4, _) => ("port_prio", json!([protocol, priority])),
            (5, _) => ("dscp_prio", json!([protocol, priority])),
            (255, _) => ("pcp_prio", json!([protocol, priority])),
            _ => continue,
        };
        let list = object.entry(key).or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(value);
        }
    }
    object.into()
}

/// `ieee_ets`: willing, capability, cbs: u8 each, then seven tables of eight u8.
fn transmission(ets: &[u8]) -> Option<Value> {
    let (willing, capability, cbs) = (*ets.first()?, *ets.get(1)?, *ets.get(2)?);
    let table = |number: usize| ets.get(3 + number * CLASSES..3 + (number + 1) * CLASSES);
    let algorithms = |number: usize| -> Option<Vec<&str>> {
        Some(
            table(number)?
                .iter()
                .map(|number| algorithm(*number))
                .collect(),
        )
    };
    Some(json!({
        "willing": willing != 0,
        "ets_cap": capability,
        "cbs": cbs != 0,
        "tc_bw": table(0)?,
        "pg_bw": table(1)?,
        "tc_tsa": algorithms(2)?,
        "prio_tc": table(3)?,
        "reco_tc_bw": table(4)?,
        "reco_tc_tsa": algorithms(5)?,
        "reco_prio_tc": table(6)?,
    }))
}

/// `IEEE_8021QAZ_TSA_*`
fn algorithm(number: u8) -> &'static str {
    match number {
        0 => "strict",
        1 => "cbs",
        2 => "ets",
        255 => "vendor",
        _ => "???",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reply() -> Vec<u8> {
        let mut pfc = [0_u8; 136];
        pfc[0] = 8;
        pfc[1] = 0b1000;
        pfc[4..6].copy_from_slice(&7_u16.to_ne_bytes());
        pfc[8 + 24..8 + 32].copy_from_slice(&99_u64.to_ne_bytes());
        let mut ets = [0_u8; 59];
        ets[1] = 8;
        ets[3..11].copy_from_slice(&[50, 0, 0, 50, 0, 0, 0, 0]);
        ets[19..27].copy_from_slice(&[2, 0, 0, 2, 0, 0, 0, 255]);
        let app = |selector: u8, priority: u8, protocol: u16| {
            let mut entry = vec![selector, priority];
            entry.extend(protocol.to_ne_bytes());
            entry
        };
        let table = NetlinkRequest::attributes()
            .bytes(DCB_ATTR_IEEE_APP, &app(5, 3, 26))
            .bytes(DCB_ATTR_IEEE_APP, &app(1, 2, 0))
            .bytes(DCB_ATTR_IEEE_APP, &app(9, 2, 0))
            .bytes(DCB_ATTR_IEEE_APP, &app(3, 1, 5));
        let ieee = NetlinkRequest::attributes()
            .bytes(DCB_ATTR_IEEE_ETS, &ets)
            .bytes(DCB_ATTR_IEEE_PFC, &pfc)
            .nest(DCB_ATTR_IEEE_APP_TABLE, &table);
        let message = NetlinkRequest::new(RTM_GETDCB, &[0, DCB_CMD_IEEE_GET, 0, 0])
            .text(DCB_ATTR_IFNAME, "enp1s0f0np0")
            .nest(DCB_ATTR_IEEE, &ieee)
            .encode(0, 1);
        message[16..].to_vec()
    }

    #[test]
    fn a_port_with_roce_settings() {
        let qos = describe(&reply()).unwrap();
        assert_eq!(
            qos["pfc"]["prio_pfc"],
            json!([false, false, false, true, false, false, false, false])
        );
        assert_eq!(qos["pfc"]["delay"], 7);
        assert_eq!(qos["pfc"]["requests"][3], 99);
        assert_eq!(
            qos["app"],
            json!({ "dscp_prio": [[26, 3]], "default_prio": [2], "dgram_port_prio": [[5, 1]] })
        );
        assert_eq!(qos["ets"]["tc_bw"], json!([50, 0, 0, 50, 0, 0, 0, 0]));
        assert_eq!(qos["ets"]["tc_tsa"][0], "ets");
        assert_eq!(qos["ets"]["tc_tsa"][7], "vendor");
    }

    #[test]
    fn refusals_come_two_ways() {
        let body = |status: i8| {
            let message = NetlinkRequest::new(RTM_GETDCB, &[0, DCB_CMD_IEEE_GET, 0, 0])
                .bytes(DCB_ATTR_IEEE, &status.to_ne_bytes())
                .encode(0, 1);
            message[16..].to_vec()
        };
        let gap = |status| ReadGap::from(describe(&body(status)).unwrap_err());
        assert_eq!(gap(-95), ReadGap::Absent);
        assert_eq!(gap(-1), ReadGap::Denied);
        assert_eq!(qos("lo"), Err(ReadGap::Absent));
        assert_eq!(qos("no-such-port"), Err(ReadGap::Absent));
    }

    proptest! {
        #[test]
        fn damaged_replies_do_no_harm(at: u16, byte: u8, end: u16) {
            let mut body = reply();
            let length = body.len();
            body[usize::from(at) % length] = byte;
            let _ = describe(&body);
            let _ = describe(&body[..usize::from(end) % length]);
        }
    }
}
