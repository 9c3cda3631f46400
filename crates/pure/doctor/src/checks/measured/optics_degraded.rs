//! A link that lives on its error correction.

use crosstie_grade::FaultKind;

use crate::{Check, CheckFunctions, CheckHit, RunWithFaults};

pub(super) const CHECK: Check = Check {
    id: "optics-degraded",
    title: "A link has more bit errors than its error correction is made for",
    severity: "warning",
    fires: "During a measurement the corrected bit errors of a port, divided by the bits that it received, are above \
        2.4e-4, which is what the forward error correction of such links is made for.",
    reads: &[
        "a measurement",
        "ethtool -S IF (rx_corrected_bits_phy, rx_bytes_phy)",
    ],
    cause: "a dirty, ageing or badly seated transceiver or cable",
    meaning: "Fast links always have bit errors, and mend them. As long as the rate is within what the correction is made \
        for, nothing is lost. Beyond it packets are lost now and then, and more with every degree and every day.",
    fix: "Clean the connectors and seat them again. Swap the ends of the cable, and then the transceivers: what moves along is \
        the culprit.",
    verify: "A measurement (`prove`) shows fewer corrected bit errors.",
    explained_by: &[],
    run: CheckFunctions::stored(run),
};

fn run(measured: &RunWithFaults) -> Vec<CheckHit> {
    measured.hits(FaultKind::OpticsDegraded)
}
