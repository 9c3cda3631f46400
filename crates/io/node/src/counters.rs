//! Counters of a port, all of them at once and without a process.

use crosstie_counters::{CounterGroup, CounterPort, CounterReading};
use crosstie_facts::FileTree;

use crate::LocalFileTree;

/// Of `/proc/net/snmp`'s Tcp line: what tells of trouble, and of how much there was.
const TCP_COUNTERS: [&str; 4] = ["RetransSegs", "InErrs", "InSegs", "OutSegs"];

/// What this machine counts at the port now. What it does not count, or does not tell, is left out.
pub fn counters(port: &CounterPort) -> CounterReading {
    let mut reading = of_tree(&LocalFileTree::machine(), port);
    let interface = port.interface.as_deref().filter(|name| is_name(name));
    if let Some(interface) = interface {
        match crosstie_ethtool::statistics(interface) {
            Ok(statistics) => {
                for (name, value) in statistics {
                    reading.insert(CounterGroup::Driver, name, value);
                }
            }
            Err(error) => tracing::debug!(interface, %error, "no driver statistics"),
        }
    }
    reading
}

/// Those that are files.
fn of_tree(source: &impl FileTree, port: &CounterPort) -> CounterReading {
    let mut reading = CounterReading::default();
    if let Some((device, number)) = &port.device
        && is_name(device)
    {
        let port = format!("sys/class/infiniband/{device}/ports/{number}");
        for (folder, group) in [
            ("counters", CounterGroup::Port),
            ("hw_counters", CounterGroup::Hardware),
        ] {
            files(source, &format!("{port}/{folder}"), group, &mut reading);
        }
    }
    if let Some(interface) = &port.interface
        && is_name(interface)
    {
        let folder = format!("sys/class/net/{interface}/statistics");
        files(source, &folder, CounterGroup::Interface, &mut reading);
    }
    tcp(source, &mut reading);
    reading
}

/// A controller's word: a name, and no path.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

fn files(source: &impl FileTree, folder: &str, group: CounterGroup, reading: &mut CounterReading) {
    for name in source.list(folder).unwrap_or_default() {
        // `lifespan` is how long the driver keeps values, not a counter.
        if name == "lifespan" {
            continue;
        }
        let value = source.read(&format!("{folder}/{name}")).ok();
        let value = value.and_then(|bytes| String::from_utf8(bytes).ok()?.trim().parse().ok());
        if let Some(value) = value {
            reading.insert(group, name, value);
        }
    }
}

/// A line of names, then a line of values (net/ipv4/proc.c).
fn tcp(source: &impl FileTree, reading: &mut CounterReading) {
    let text = source.read("proc/net/snmp").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return;
    };
    for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
        if let Ok(value) = value.parse()
            && TCP_COUNTERS.contains(&name)
        {
            reading.insert(CounterGroup::Tcp, name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use crosstie_facts::{CaptureEntry, RawCapture};

    use super::*;

    #[test]
    fn every_group_is_read_and_no_path_is_followed() {
        let mut raw = RawCapture::default();
        let mut file = |path: &str, text: &str| {
            raw.insert(path, CaptureEntry::File(text.as_bytes().to_vec()));
        };
        let port = "sys/class/infiniband/rxe0/ports/1";
        file(&format!("{port}/hw_counters/sent_pkts"), "12\n");
        file(&format!("{port}/hw_counters/lifespan"), "10\n");
        file(&format!("{port}/counters/port_xmit_data"), "34\n");
        file(&format!("{port}/counters/odd"), "many\n");
        file("sys/class/net/eth1/statistics/tx_bytes", "56\n");
        file(
            "proc/net/snmp",
            "Ip: A B\nIp: 1 2\nTcp: RtoMin RetransSegs InErrs\nTcp: 200 7 0\n",
        );
        let wanted = CounterPort {
            device: Some(("rxe0".to_owned(), 1)),
            interface: Some("eth1".to_owned()),
        };
        let reading = of_tree(&raw, &wanted);
        assert_eq!(reading.get(CounterGroup::Hardware, "sent_pkts"), Some(12));
        assert_eq!(reading.get(CounterGroup::Port, "port_xmit_data"), Some(34));
        assert_eq!(reading.get(CounterGroup::Interface, "tx_bytes"), Some(56));
        assert_eq!(reading.get(CounterGroup::Tcp, "RetransSegs"), Some(7));
        assert_eq!(reading.values.len(), 5, "{reading:?}");
        let path = CounterPort {
            device: Some(("../net/eth1/..".to_owned(), 1)),
            interface: Some("eth1/../eth1".to_owned()),
        };
        let reading = of_tree(&raw, &path);
        assert_eq!(reading.values.len(), 2, "TCP's alone: {reading:?}");
    }

    #[test]
    fn this_machine_counts_at_its_loopback_interface() {
        let lo = CounterPort {
            device: None,
            interface: Some("lo".to_owned()),
        };
        let reading = counters(&lo);
        assert!(reading.get(CounterGroup::Interface, "rx_bytes").is_some());
        assert!(reading.get(CounterGroup::Tcp, "RetransSegs").is_some());
    }
}
