//! A plugin for the network is in use.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-plugin-foreign",
    title: "A network plugin was loaded in place of NCCL's own",
    severity: "info",
    fires: "A `libnccl-net` plugin was loaded, or the network in use is neither `IB` nor `Socket`. `IBext` and its \
        kin still count as RDMA.",
    reads: &[
        "NET/Plugin: Loaded net plugin …",
        "Successfully loaded external network plugin …",
        "Using network …",
    ],
    cause: "the image ships a plugin (HPC-X, AWS OFI, a cloud's own), or NCCL_NET_PLUGIN names one",
    meaning: "A plugin replaces NCCL's network. It may be right, as in a cloud, or left over in an image; an unfit \
        one ends jobs without a line of log.",
    fix: "Where no plugin is wanted, set NCCL_NET_PLUGIN=none (NCCL 2.21 or newer), or remove `libnccl-net*.so` from \
        the image.",
    verify: "The log says `Using network IB` and names no plugin.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
