//! A fabric port's own settings and counters.

use std::fmt::Write as _;

use crosstie_facts::ReadGap;

use super::{Answer, Answers, json};
use crate::netlink::{EthtoolSocket, qos};

pub(super) fn settings(interfaces: &[&str]) -> Answers {
    let mut ethtool = EthtoolSocket::open();
    let mut entries = Answers::new();
    for interface in interfaces {
        let mut ask = |question: fn(&mut EthtoolSocket, &str) -> Result<String, ReadGap>| {
            let ethtool = ethtool.as_mut().map_err(|gap| gap.clone())?;
            question(ethtool, interface).map(String::into_bytes)
        };
        let link = ask(EthtoolSocket::settings);
        let correction = ask(EthtoolSocket::error_correction);
        let pause = ask(EthtoolSocket::pause);
        entries.push((format!("ethtool-{interface}.txt"), link));
        entries.push((format!("ethtool-fec-{interface}.txt"), correction));
        entries.push((format!("ethtool-pause-{interface}.txt"), pause));
        entries.push((format!("dcb-{interface}.json"), json(qos(interface))));
    }
    entries
}

/// The driver's own statistics, as `ethtool -S` prints them.
pub(super) fn driver_counters(interface: &str) -> Answer {
    let text = match crosstie_ethtool::statistics(interface) {
        Ok(statistics) if statistics.is_empty() => Err(ReadGap::Absent),
        Ok(statistics) => {
            let mut text = "NIC statistics:\n".to_owned();
            for (name, value) in statistics {
                let _ = writeln!(text, "     {name}: {value}");
            }
            Ok(text.into_bytes())
        }
        Err(error) => Err(ReadGap::Failed(error.to_string())),
    };
    (format!("ethtool-S-{interface}.txt"), text)
}
