//! The IOMMU of a Spark translates what its card reads.

use super::{cards, file};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "iommu-translating",
    title: "The IOMMU translates the card's memory accesses",
    severity: "warning",
    fires: "The GPU is a GB10 and the IOMMU group of a network card is of type `DMA` or `DMA-FQ` instead of `identity`, or \
        the kernel was started with `iommu.passthrough=0`.",
    reads: &["/sys/kernel/iommu_groups/GROUP/type", "/proc/cmdline"],
    cause: "a kernel parameter that turns address translation on, often left over from a virtualisation guide",
    meaning: "With translation on, the SMMU of a Spark looks up every page that the card reads. Reads fall to about 3 GB/s \
        while writes stay fast, so a test in one direction may look healthy, and only pairs with this node are slow.",
    fix: "Remove `iommu.passthrough=0` from the kernel command line, or set `iommu.passthrough=1` after it, and restart.",
    verify: "`/sys/kernel/iommu_groups/GROUP/type` of the card says `identity`.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    if !node.has_gb10() {
        return Vec::new();
    }
    let translated: Vec<_> = cards(node)
        .filter_map(|card| {
            let kind = card.iommu_type.known()?;
            matches!(kind.as_str(), "DMA" | "DMA-FQ").then_some((card, kind))
        })
        .collect();
    // The last one given is in force.
    let parameters = node.facts.host.command_line.known();
    let parameter = parameters
        .and_then(|list| {
            list.iter()
                .rfind(|word| word.starts_with("iommu.passthrough="))
        })
        .filter(|word| is_off(word));
    let subject = match (translated.first(), parameter) {
        (Some((card, _)), _) => card.address.to_string(),
        (None, Some(parameter)) => parameter.clone(),
        (None, None) => return Vec::new(),
    };
    let mut hit = CheckHit::warning(subject);
    for (card, kind) in translated {
        let source = card.iommu_group.known().map_or_else(
            || file(card.address, "iommu_group/type"),
            |group| format!("/sys/kernel/iommu_groups/{group}/type"),
        );
        hit = hit.saw(format!("IOMMU group of {}", card.address), kind, source);
    }
    if let Some(parameter) = parameter {
        hit = hit.saw("kernel parameter", parameter, "/proc/cmdline");
    }
    vec![hit.kernel_parameter(node, "iommu.passthrough=1")]
}

/// The kernel's own words for no (`kstrtobool`).
fn is_off(parameter: &str) -> bool {
    let value = parameter.split_once('=').map_or("", |(_, value)| value);
    value.starts_with(['0', 'n', 'N', 'f', 'F']) || value.eq_ignore_ascii_case("off")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_is_read_as_the_kernel_reads_it() {
        assert!(is_off("iommu.passthrough=0") && is_off("iommu.passthrough=off"));
        assert!(!is_off("iommu.passthrough=1") && !is_off("iommu.passthrough=on"));
    }
}
