//! A fabric port's own settings and counters.

use crosstie_facts::Gap;

use super::{Answer, Answers, json};
use crate::{
    command::{Bounds, run},
    netlink::{Ethtool, qos},
};

pub(super) fn settings(interfaces: &[&str]) -> Answers {
    let mut ethtool = Ethtool::open();
    let mut entries = Answers::new();
    for interface in interfaces {
        let mut ask = |question: fn(&mut Ethtool, &str) -> Result<String, Gap>| {
            let ethtool = ethtool.as_mut().map_err(|gap| gap.clone())?;
            question(ethtool, interface).map(String::into_bytes)
        };
        let link = ask(Ethtool::settings);
        let correction = ask(Ethtool::error_correction);
        let pause = ask(Ethtool::pause);
        entries.push((format!("ethtool-{interface}.txt"), link));
        entries.push((format!("ethtool-fec-{interface}.txt"), correction));
        entries.push((format!("ethtool-pause-{interface}.txt"), pause));
        entries.push((format!("dcb-{interface}.json"), json(qos(interface))));
    }
    entries
}

/// The driver's own statistics, which only an ioctl gives.
pub(super) fn driver_counters(interface: &str) -> Answer {
    let output = run("ethtool", &["-S", interface], Bounds::default());
    let output = match output {
        Err(Gap::Failed(text)) if text.contains("no stats available") => Err(Gap::Absent),
        other => other,
    };
    (format!("ethtool-S-{interface}.txt"), output)
}
