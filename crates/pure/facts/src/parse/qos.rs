//! Priority flow control, trust, ECN: from the driver's sysfs where it has one, else from DCB.

use std::collections::BTreeMap;

use crosstie_model::{Reading, facts::link::PortQos};
use serde_json::Value;

use crate::RawCapture;

pub(super) fn port(raw: &RawCapture, interface: &str) -> PortQos {
    let dcb: Reading<Value> = raw
        .command(&format!("dcb-{interface}.json"))
        .and_then(|text| {
            serde_json::from_str(text).map_or_else(|_| Reading::malformed(text), Reading::Value)
        });
    let map = dcb.as_ref().and_then(|dcb| dscp_map(dcb).into());
    PortQos {
        pfc: dcb.as_ref().and_then(|dcb| pfc(dcb).into()),
        trust: raw
            .word(&format!("sys/class/net/{interface}/qos/trust"))
            .or_else(|| {
                // Without the driver's own file, mlx5 trusts DSCP once any DSCP is mapped.
                map.as_ref()
                    .map(|map| if map.is_empty() { "pcp" } else { "dscp" }.to_owned())
            }),
        dscp_to_priority: raw
            .text(&format!("sys/class/net/{interface}/qos/dscp2prio"))
            .and_then(dscp_table)
            .or_else(|| map),
        ecn_notify: ecn(raw, interface, "roce_np"),
        ecn_react: ecn(raw, interface, "roce_rp"),
    }
}

/// `"prio_pfc": [false, …, true, …]` or an object `{"3": true}`: priorities that are on.
fn pfc(dcb: &Value) -> Option<Vec<u8>> {
    let pfc = dcb.get("pfc")?;
    let table = pfc.get("prio_pfc").or_else(|| pfc.get("prio-pfc"))?;
    let on = |value: &Value| value == &Value::Bool(true) || value == "on";
    match table {
        Value::Array(items) => Some(
            (0..8)
                .zip(items)
                .filter(|(_, item)| on(item))
                .map(|(prio, _)| prio)
                .collect(),
        ),
        Value::Object(fields) => Some(
            fields
                .iter()
                .filter(|(_, value)| on(value))
                .filter_map(|(prio, _)| prio.parse().ok().filter(|prio| *prio < 8))
                .collect(),
        ),
        _ => None,
    }
}

/// `"dscp_prio": [[26, 3], …]`.
fn dscp_map(dcb: &Value) -> Option<BTreeMap<u8, u8>> {
    let app = dcb.get("app")?;
    let Some(pairs) = app.get("dscp_prio").or_else(|| app.get("dscp-prio")) else {
        return Some(BTreeMap::new());
    };
    let byte = |value: &Value| value.as_u64().and_then(|number| u8::try_from(number).ok());
    let pairs = pairs.as_array()?.iter().filter_map(|pair| {
        let pair = pair.as_array()?;
        Some((byte(pair.first()?)?, byte(pair.get(1)?)?))
    });
    Some(pairs.collect())
}

/// OFED's `qos/dscp2prio`: a heading, then a line `DSCP PRIORITY` for each.
pub fn dscp_table(text: &str) -> Reading<BTreeMap<u8, u8>> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let (dscp, priority) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        (words.next().is_none() && dscp < 64 && priority < 8).then_some((dscp, priority))
    };
    let table: BTreeMap<u8, u8> = text.lines().filter_map(row).collect();
    if table.is_empty() {
        return Reading::malformed(text);
    }
    Reading::Value(table)
}

fn ecn(raw: &RawCapture, interface: &str, point: &str) -> Reading<BTreeMap<u8, bool>> {
    let directory = format!("sys/class/net/{interface}/ecn/{point}/enable");
    let names = raw.names(&directory);
    if names.is_empty() {
        return Reading::Absent;
    }
    let enabled = names.into_iter().filter_map(|name| {
        let on: u8 = raw.value(&format!("{directory}/{name}")).into_known()?;
        Some((name.parse().ok()?, on != 0))
    });
    Reading::Value(enabled.collect())
}

#[cfg(test)]
mod tests {
    use crate::CaptureEntry;

    use super::*;

    #[test]
    fn ofeds_table_comes_before_dcb() {
        let mut raw = RawCapture::default();
        let dcb = br#"{"app": {"dscp_prio": [[26, 1]]}}"#;
        raw.insert_command("dcb-eth1.json", CaptureEntry::File(dcb.to_vec()));
        assert_eq!(
            port(&raw, "eth1").dscp_to_priority,
            Reading::Value([(26, 1)].into())
        );
        let table = "dscp\tprio\n 25 3\n 26 3\n 64 1\n";
        raw.insert(
            "sys/class/net/eth1/qos/dscp2prio",
            CaptureEntry::File(table.into()),
        );
        assert_eq!(
            port(&raw, "eth1").dscp_to_priority,
            Reading::Value([(25, 3), (26, 3)].into())
        );
        assert!(matches!(dscp_table("none"), Reading::Malformed(_)));
    }
}
