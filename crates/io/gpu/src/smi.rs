//! nvidia-smi's XML, cut down to what may stand in a capture.

use roxmltree::{Document, Node, ParsingOptions};

use crate::{Gpu, Inventory};

/// Eight GPUs take about 20,000.
const MAX_NODES: u32 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum SmiError {
    #[error("the output of `nvidia-smi -q -x` is not XML")]
    Xml(#[from] roxmltree::Error),
    #[error("the output of `nvidia-smi -q -x` has no `nvidia_smi_log`")]
    NotALog,
}

/// What `nvidia-smi -q -x` says of the GPUs.
pub fn from_smi(xml: &str) -> Result<Inventory, SmiError> {
    let options = ParsingOptions {
        // nvidia-smi names a DTD; nothing is fetched for it.
        allow_dtd: true,
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(xml, options)?;
    let log = document.root_element();
    if !log.has_tag_name("nvidia_smi_log") {
        return Err(SmiError::NotALog);
    }
    let gpus: Vec<Gpu> = log
        .children()
        .filter(|node| node.has_tag_name("gpu"))
        .filter_map(gpu)
        .collect();
    let attached = text(log, &["attached_gpus"]).and_then(|count| count.parse().ok());
    Ok(Inventory {
        driver: text(log, &["driver_version"]).map(str::to_owned),
        cuda: text(log, &["cuda_version"]).map(str::to_owned),
        attached: attached.unwrap_or_else(|| u32::try_from(gpus.len()).unwrap_or(u32::MAX)),
        gpus,
    })
}

fn gpu(node: Node<'_, '_>) -> Option<Gpu> {
    let total = text(node, &["fb_memory_usage", "total"]);
    let pci = text(node, &["pci", "pci_bus_id"]).or_else(|| node.attribute("id"))?;
    Some(Gpu {
        name: text(node, &["product_name"]).unwrap_or("N/A").to_owned(),
        pci: pci.to_owned(),
        memory_mib: total
            .and_then(|total| total.strip_suffix(" MiB"))
            .and_then(|mib| mib.parse().ok()),
    })
}

fn text<'a>(node: Node<'a, '_>, path: &[&str]) -> Option<&'a str> {
    let found = path.iter().try_fold(node, |node, name| {
        node.children().find(|child| child.has_tag_name(*name))
    })?;
    found.text().map(str::trim).filter(|text| !text.is_empty())
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
	<attached_gpus>2</attached_gpus>
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
    fn only_what_is_listed_is_kept() {
        let inventory = from_smi(PRINTED).unwrap();
        assert_eq!(inventory.driver.as_deref(), Some("580.142"));
        assert_eq!(inventory.gpus[0].memory_mib, None);
        assert_eq!(inventory.gpus[1].memory_mib, Some(97_887));
        let xml = inventory.to_xml();
        for word in ["secret", "GPU-0", "132000", "Sat Nov"] {
            assert!(!xml.contains(word), "{word}");
        }
        assert!(xml.contains("<total>N/A</total>"));
        assert!(xml.contains("<product_name>NVIDIA RTX &lt;PRO&gt; &amp; 6000</product_name>"));
        assert_eq!(from_smi(&xml).unwrap(), inventory);
    }

    #[test]
    fn hostile_text_stays_text() {
        let inventory = Inventory {
            driver: Some("</driver_version><x>\u{0}\u{1b}".to_owned()),
            cuda: None,
            attached: 1,
            gpus: vec![Gpu {
                name: "a\"b".to_owned(),
                pci: "x\" y=\"z".to_owned(),
                memory_mib: Some(1),
            }],
        };
        let read = from_smi(&inventory.to_xml()).unwrap();
        assert_eq!(read.driver.as_deref(), Some("</driver_version><x>"));
        assert_eq!(read.gpus, inventory.gpus);
    }

    #[test]
    fn what_is_no_log_is_refused() {
        assert!(matches!(
            from_smi("NVIDIA-SMI has failed"),
            Err(SmiError::Xml(_))
        ));
        assert!(matches!(from_smi("<html/>"), Err(SmiError::NotALog)));
        assert!(from_smi("<nvidia_smi_log/>").unwrap().gpus.is_empty());
        let bomb = r#"<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
            <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">
            <!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;">]><nvidia_smi_log>&e;&e;&e;&e;</nvidia_smi_log>"#;
        let _ = from_smi(bomb);
    }
}
