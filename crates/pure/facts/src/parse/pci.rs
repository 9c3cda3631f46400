//! PCI functions: ids, links, and the bridges above them.

use std::str::FromStr;

use crosstie_model::{
    PciAddress, Reading,
    facts::pci::{LinkSpeed, PciDevice, PciLink, Sensor},
};

use super::hex;
use crate::RawCapture;

const DEVICES: &str = "sys/bus/pci/devices";

pub(super) fn devices(raw: &RawCapture) -> Vec<PciDevice> {
    let mut devices: Vec<PciDevice> = raw
        .names(DEVICES)
        .into_iter()
        .filter_map(|name| Some(device(raw, name, name.parse().ok()?)))
        .collect();
    devices.sort_by_key(|device| device.address);
    devices.dedup_by_key(|device| device.address);
    devices
}

fn device(raw: &RawCapture, name: &str, address: PciAddress) -> PciDevice {
    let at = |attribute: &str| format!("{DEVICES}/{name}/{attribute}");
    let id = |attribute| hex_value(raw, &at(attribute));
    let iommu_group: Reading<u32> = raw.link_name(&at("iommu_group")).and_then(parse);
    let iommu_type = iommu_group
        .as_ref()
        .and_then(|group| raw.word(&format!("sys/kernel/iommu_groups/{group}/type")));
    PciDevice {
        address,
        vendor: id("vendor"),
        device: id("device"),
        subsystem_vendor: id("subsystem_vendor"),
        subsystem_device: id("subsystem_device"),
        class: raw.text(&at("class")).and_then(|text| match hex(text) {
            Some(class) => Reading::Value(class),
            None => Reading::malformed(text),
        }),
        link: link(raw, &at),
        upstream: upstream(raw, name),
        numa_node: raw
            .value::<i32>(&at("numa_node"))
            .map(|node| u32::try_from(node).ok()),
        iommu_group,
        iommu_type,
        driver: raw.link_name(&at("driver")).map(str::to_owned),
        physical_function: raw.link_name(&at("physfn")).and_then(parse),
        sensors: sensors(raw, &at("hwmon")),
    }
}

fn parse<T: FromStr>(text: &str) -> Reading<T> {
    text.parse()
        .map_or_else(|_| Reading::malformed(text), Reading::Value)
}

fn hex_value(raw: &RawCapture, path: &str) -> Reading<u16> {
    raw.text(path)
        .and_then(|text| match hex(text).and_then(|id| id.try_into().ok()) {
            Some(id) => Reading::Value(id),
            None => Reading::malformed(text),
        })
}

fn link(raw: &RawCapture, at: &impl Fn(&str) -> String) -> PciLink {
    let speed = |attribute| raw.text(&at(attribute)).and_then(link_speed);
    let width = |attribute| raw.value::<u32>(&at(attribute)).and_then(link_width);
    PciLink {
        speed: speed("current_link_speed"),
        width: width("current_link_width"),
        max_speed: speed("max_link_speed"),
        max_width: width("max_link_width"),
    }
}

/// `32.0 GT/s PCIe`; the kernel writes `Unknown` for what it could not read.
fn link_speed(text: &str) -> Reading<LinkSpeed> {
    let word = text.split_whitespace().next().unwrap_or("");
    if word.eq_ignore_ascii_case("unknown") {
        return Reading::Absent;
    }
    match word.parse::<f64>() {
        Ok(speed) if speed.is_finite() && speed > 0.0 && text.contains("GT/s") => {
            Reading::Value(LinkSpeed(speed))
        }
        _ => Reading::malformed(text),
    }
}

/// 0 is no link, 255 is a register that read as all ones.
fn link_width(width: u32) -> Reading<u32> {
    match width {
        0 | 255 => Reading::Absent,
        1..=32 => Reading::Value(width),
        _ => Reading::malformed(&width.to_string()),
    }
}

/// The bridges above a function are the directories that its own stands in.
fn upstream(raw: &RawCapture, name: &str) -> Vec<PciAddress> {
    let Some(path) = raw.real_path(&format!("{DEVICES}/{name}")) else {
        return Vec::new();
    };
    path.rsplit('/')
        .skip(1)
        .map_while(|part| part.parse().ok())
        .collect()
}

fn sensors(raw: &RawCapture, hwmon: &str) -> Vec<Sensor> {
    let mut sensors = Vec::new();
    for chip in raw.names(hwmon) {
        let directory = format!("{hwmon}/{chip}");
        let inputs = raw.names(&directory).into_iter();
        for number in inputs.filter_map(|file| file.strip_suffix("_input")) {
            let milli = |suffix: &str| {
                raw.value::<i32>(&format!("{directory}/{number}_{suffix}"))
                    .map(|milli| f64::from(milli) / 1000.0)
            };
            let label = raw
                .word(&format!("{directory}/{number}_label"))
                .or_else(|| raw.word(&format!("{directory}/name")))
                .into_known();
            sensors.push(Sensor {
                label: label.unwrap_or_else(|| number.to_owned()),
                celsius: milli("input"),
                critical: milli("crit"),
            });
        }
    }
    sensors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_links_are_gaps_not_faults() {
        assert_eq!(link_speed("Unknown"), Reading::Absent);
        assert_eq!(link_speed("Unknown speed"), Reading::Absent);
        assert_eq!(
            link_speed("32.0 GT/s PCIe"),
            Reading::Value(LinkSpeed(32.0))
        );
        assert!(matches!(link_speed("NaN GT/s"), Reading::Malformed(_)));
        assert_eq!(link_width(255), Reading::Absent);
        assert_eq!(link_width(0), Reading::Absent);
        assert!(matches!(link_width(77), Reading::Malformed(_)));
    }
}
