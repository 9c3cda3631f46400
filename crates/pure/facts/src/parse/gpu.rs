//! GPUs, in the shape of `nvidia-smi -q -x`.

use crosstie_model::{
    Bytes, Reading,
    facts::gpu::{Gpu, GpuFacts},
};
use roxmltree::{Document, Node, ParsingOptions};

use crate::RawCapture;

pub(super) fn gpus(raw: &RawCapture) -> GpuFacts {
    match raw.command("nvidia-smi.xml") {
        Reading::Value(text) => from_xml(text).unwrap_or_else(|| GpuFacts {
            devices: Reading::malformed(text),
            ..GpuFacts::default()
        }),
        gap => GpuFacts {
            devices: gap.map(|_| Vec::new()),
            ..GpuFacts::default()
        },
    }
}

/// `None` if the text is not nvidia-smi's XML.
pub(crate) fn from_xml(text: &str) -> Option<GpuFacts> {
    // The driver's own output names a DTD that is not there; only the declaration is allowed, and few nodes.
    let options = ParsingOptions {
        allow_dtd: true,
        nodes_limit: 1 << 20,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).ok()?;
    let log = document.root_element();
    if !log.has_tag_name("nvidia_smi_log") {
        return None;
    }
    let devices = log.children().filter(|node| node.has_tag_name("gpu"));
    Some(GpuFacts {
        devices: Reading::Value(devices.map(gpu).collect()),
        driver: known_text(log, &["driver_version"]).into(),
        cuda: known_text(log, &["cuda_version"]).into(),
    })
}

fn gpu(node: Node) -> Gpu {
    let bus = known_text(node, &["pci", "pci_bus_id"])
        .or_else(|| node.attribute("id").map(str::to_owned));
    Gpu {
        name: known_text(node, &["product_name"]).unwrap_or_else(|| "unnamed GPU".to_owned()),
        pci: Reading::from(bus).and_then(|bus| {
            bus.parse()
                .map_or_else(|_| Reading::malformed(&bus), Reading::Value)
        }),
        memory: Reading::from(known_text(node, &["fb_memory_usage", "total"]))
            .and_then(|text| mebibytes(&text)),
    }
}

/// The text at a path of elements; `N/A` and its like are absence.
fn known_text(node: Node, path: &[&str]) -> Option<String> {
    let found = path.iter().try_fold(node, |node, tag| {
        node.children().find(|child| child.has_tag_name(*tag))
    })?;
    let text = found.text()?.trim();
    let gap = text.is_empty()
        || text.starts_with("N/A")
        || text.starts_with('[')
        || text == "Not Supported";
    (!gap).then(|| text.to_owned())
}

/// `97887 MiB`.
fn mebibytes(text: &str) -> Reading<Bytes> {
    let number = text
        .strip_suffix("MiB")
        .and_then(|number| number.trim().parse::<u64>().ok());
    match number.and_then(|number| number.checked_mul(1 << 20)) {
        Some(bytes) => Reading::Value(Bytes(bytes)),
        None => Reading::malformed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::CaptureEntry;

    fn parse(xml: &str) -> GpuFacts {
        let mut raw = RawCapture::default();
        raw.insert_command(
            "nvidia-smi.xml",
            CaptureEntry::File(xml.as_bytes().to_vec()),
        );
        gpus(&raw)
    }

    #[test]
    fn a_unified_memory_part_reports_none_and_that_is_normal() {
        let gpus = parse(
            "<?xml version=\"1.0\" ?><!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\
             <nvidia_smi_log><gpu id=\"0000000F:01:00.0\"><product_name>NVIDIA GB10</product_name>\
             <fb_memory_usage><total>N/A</total></fb_memory_usage></gpu></nvidia_smi_log>",
        );
        let gpu = gpus.iter().next().unwrap();
        assert!(gpu.is_gb10());
        assert_eq!(gpu.memory, Reading::Absent);
        assert_eq!(gpu.pci.known().unwrap().to_string(), "000f:01:00.0");
    }

    #[test]
    fn entity_bombs_do_not_go_off() {
        let bomb = "<!DOCTYPE x [<!ENTITY a \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY b \"&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;\">\
                    <!ENTITY c \"&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;\"><!ENTITY d \"&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;\">\
                    <!ENTITY e \"&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;\"><!ENTITY f \"ffffffffff\">]><x>&a;</x>";
        assert!(matches!(parse(bomb).devices, Reading::Malformed(_)));
    }
}
