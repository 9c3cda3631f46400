//! Negotiated link settings, in the wording of `ethtool`.

use crosstie_model::{
    Reading,
    facts::{NamedCounters, link::LinkSettings},
};

use crate::RawCapture;

pub(super) fn settings(raw: &RawCapture, interface: &str) -> LinkSettings {
    let link = raw.command(&format!("ethtool-{interface}.txt"));
    let fec = raw.command(&format!("ethtool-fec-{interface}.txt"));
    let pause = raw.command(&format!("ethtool-pause-{interface}.txt"));
    LinkSettings {
        autoneg: switch(&link, "Auto-negotiation"),
        fec_active: read(&fec, "Active FEC encoding")
            .or_else(|| read(&fec, "Active FEC encodings"))
            .map(|values| values.join(" ")),
        pause_receive: switch(&pause, "RX"),
        pause_send: switch(&pause, "TX"),
        driver_counters: raw
            .command(&format!("ethtool-S-{interface}.txt"))
            .map(counters),
    }
}

fn read<'a>(text: &Reading<&'a str>, key: &str) -> Reading<Vec<&'a str>> {
    text.clone().and_then(|text| field(text, key).into())
}

fn switch(text: &Reading<&str>, key: &str) -> Reading<bool> {
    read(text, key).and_then(|values| match values[0] {
        "on" => Reading::Value(true),
        "off" => Reading::Value(false),
        other => Reading::malformed(other),
    })
}

/// The value of a `KEY: VALUE` line and of the bare lines that continue it.
fn field<'a>(text: &'a str, key: &str) -> Option<Vec<&'a str>> {
    let mut lines = text.lines();
    let first = lines.find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == key).then_some(value.trim())
    })?;
    let more = lines.take_while(|line| !line.contains(':')).map(str::trim);
    let values: Vec<&str> = std::iter::once(first)
        .chain(more)
        .filter(|value| !value.is_empty())
        .collect();
    (!values.is_empty()).then_some(values)
}

/// `     rx_prio0_pause: 12`.
fn counters(text: &str) -> NamedCounters {
    text.lines()
        .filter_map(|line| {
            let (name, value) = line.rsplit_once(':')?;
            Some((name.trim().to_owned(), value.trim().parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::CaptureEntry;

    #[test]
    fn ethtool_output_is_understood() {
        let mut raw = RawCapture::default();
        let mut put = |name: &str, text: &str| {
            raw.insert_command(name, CaptureEntry::File(text.as_bytes().to_vec()));
        };
        put(
            "ethtool-e.txt",
            "Settings for e:\n\tSupported link modes:   100000baseCR4/Full\n\t                        200000baseCR4/Full\n\tSupported pause frame use: Symmetric\n\tLink partner advertised link modes:  Not reported\n\tAuto-negotiation: on\n",
        );
        put(
            "ethtool-fec-e.txt",
            "FEC parameters for e:\nSupported/Configured FEC encodings: Auto RS\nActive FEC encoding: RS\n",
        );
        put(
            "ethtool-S-e.txt",
            "NIC statistics:\n     rx_prio0_pause: 12\n     bad: x\n",
        );
        put(
            "ethtool-pause-e.txt",
            "Pause parameters for e:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n",
        );
        let link = settings(&raw, "e");
        assert_eq!(link.pause_receive, Reading::Value(true));
        assert_eq!(link.has_global_pause(), Some(true));
        assert_eq!(link.autoneg, Reading::Value(true));
        assert_eq!(link.fec_active, Reading::Value("RS".to_owned()));
        assert_eq!(link.driver_counters.known().unwrap()["rx_prio0_pause"], 12);
    }
}
