//! The GPUs that the driver knows, and the XML that stands for them in a capture.

use std::fmt::Write as _;

/// What NVIDIA's driver says of itself and of each GPU. Serial numbers, UUIDs and processes are not part of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    pub driver: Option<String>,
    /// The newest CUDA that the driver supports.
    pub cuda: Option<String>,
    /// GPUs that the driver counts; one that fell off the bus is counted and not listed.
    pub attached: u32,
    pub gpus: Vec<Gpu>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    pub name: String,
    /// In the driver's own form, with a domain of eight digits: `0000000F:01:00.0`.
    pub pci: String,
    /// `None` where CPU and GPU share one memory, as on the GB10.
    pub memory_mib: Option<u64>,
}

impl Inventory {
    /// The part of `nvidia-smi -q -x` that facts are read from.
    pub fn to_xml(&self) -> String {
        let mut xml = String::from("<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n");
        for (element, text) in [
            ("driver_version", &self.driver),
            ("cuda_version", &self.cuda),
        ] {
            if let Some(text) = text {
                let _ = writeln!(xml, " <{element}>{}</{element}>", escaped(text));
            }
        }
        let _ = writeln!(xml, " <attached_gpus>{}</attached_gpus>", self.attached);
        for gpu in &self.gpus {
            let (name, pci) = (escaped(&gpu.name), escaped(&gpu.pci));
            let total = match gpu.memory_mib {
                Some(mib) => format!("{mib} MiB"),
                None => "N/A".to_owned(),
            };
            let _ = writeln!(
                xml,
                " <gpu id=\"{pci}\"><product_name>{name}</product_name>\
                 <pci><pci_bus_id>{pci}</pci_bus_id></pci>\
                 <fb_memory_usage><total>{total}</total></fb_memory_usage></gpu>"
            );
        }
        xml.push_str("</nvidia_smi_log>\n");
        xml
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no way to write them.
            control if control.is_control() => {}
            other => escaped.push(other),
        }
    }
    escaped
}
