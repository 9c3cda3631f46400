//! GPUs, in the part of `nvidia-smi -q -x` that facts are read from. Serial numbers, UUIDs and processes are not
//! part of it.

use std::fmt::Write;

use crosstie_model::{Reading, facts::GpuFacts};

use crate::{
    collect::{
        filter::{is_description, leading},
        secret::is_secret,
    },
    parse::gpus_from_xml,
    raw::ReadGap,
};

pub(super) fn reduce(text: &str) -> Result<String, ReadGap> {
    let gpus = gpus_from_xml(text).ok_or_else(|| super::refused("nvidia-smi"))?;
    Ok(to_xml(&gpus))
}

pub fn to_xml(gpus: &GpuFacts) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n");
    // Writing to a String cannot fail.
    for (element, text) in [
        ("driver_version", &gpus.driver),
        ("cuda_version", &gpus.cuda),
    ] {
        if let Reading::Value(text) = text {
            let text = leading(text, 1, |word| is_description(word) && !is_secret(word));
            let _ = writeln!(xml, " <{element}>{}</{element}>", escaped(text));
        }
    }
    for gpu in gpus.iter() {
        let name = name(&gpu.name);
        let bus = gpu
            .pci
            .known()
            .map_or_else(|| "N/A".to_owned(), ToString::to_string);
        let total = gpu.memory.known().map_or_else(
            || "N/A".to_owned(),
            |bytes| format!("{} MiB", bytes.0 >> 20),
        );
        let _ = writeln!(
            xml,
            " <gpu><product_name>{name}</product_name><pci><pci_bus_id>{bus}</pci_bus_id></pci>\
             <fb_memory_usage><total>{total}</total></fb_memory_usage></gpu>"
        );
    }
    xml.push_str("</nvidia_smi_log>\n");
    xml
}

/// A product has a name of some words.
fn name(text: &str) -> String {
    let name = leading(text.trim(), usize::MAX, is_description);
    escaped(if is_secret(name) { "" } else { name })
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // XML has no way to write them.
            control if control.is_control() => {}
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two GPUs as the tool prints them, with much that must not be kept.
    const PRINTED: &str = r#"<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Sat Nov  1 00:00:00 2026</timestamp>
	<driver_version>580.142</driver_version>
	<cuda_version>13.0</cuda_version>
	<gpu id="0000000F:01:00.0">
		<product_name>NVIDIA GB10</product_name>
		<serial>1320000000000</serial>
		<uuid>GPU-00000000-0000-0000-0000-000000000001</uuid>
		<pci><pci_bus>01</pci_bus><pci_bus_id>0000000F:01:00.0</pci_bus_id></pci>
		<fb_memory_usage><total>Not Supported</total></fb_memory_usage>
	</gpu>
	<gpu id="00000000:41:00.0">
		<product_name>NVIDIA RTX &lt;PRO&gt; &amp; 6000</product_name>
		<pci><pci_bus_id>00000000:41:00.0</pci_bus_id></pci>
		<fb_memory_usage><total>97887 MiB</total><used>1 MiB</used></fb_memory_usage>
		<processes><process_info><pid>7</pid><process_name>secret</process_name></process_info></processes>
	</gpu>
</nvidia_smi_log>"#;

    #[test]
    fn only_what_facts_need_is_kept() {
        let kept = reduce(PRINTED).unwrap();
        for word in ["secret", "GPU-0", "132000", "Sat Nov"] {
            assert!(!kept.contains(word), "{word}");
        }
        assert_eq!(gpus_from_xml(&kept), gpus_from_xml(PRINTED));
        assert_eq!(reduce(&kept).unwrap(), kept);
        assert!(reduce("NVIDIA-SMI has failed").is_err());
        assert!(reduce("<html/>").is_err());
    }
}
