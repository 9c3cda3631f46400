//! The collective loses what the pairs have.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "collective-below-pairs",
    title: "Collectives are slower than the pairs they are made of",
    severity: "warning",
    fires: "The bus bandwidth of a ring collective is below 80 % of the slowest pair of the ring.",
    reads: &["a measurement"],
    cause: "the engine: a rail it does not use, a fallback to TCP, few channels, or a ring in a bad order",
    meaning: "A ring is as fast as its slowest pair. If the pairs are good and the ring is not, the network is fine \
        and what runs on it is set up badly.",
    fix: "Read the NCCL log with `crosstie explain --nccl-log`: transport, devices and channels. Use the settings \
        that `crosstie up` prints.",
    verify: "Bus bandwidth of the ring is 80 % or more of the slowest pair.",
    explained_by: &[],
    run: CheckFunctions::measured(),
};
