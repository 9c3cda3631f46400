//! Channels by RDMA go through host memory.

use crosstie_doctor::CheckHit;
use crosstie_model::{Facts, Severity};

use crate::{
    report::NcclTransport,
    run::NcclRun,
    state::{HostId, ObservationKind},
};

pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    let seen = run.seen(|kind| match kind {
        ObservationKind::NetChannel {
            network,
            gdr: false,
        } => NcclTransport::of(run.state.names.get(network)) == NcclTransport::Ib,
        _ => false,
    });
    if seen.is_empty() {
        return Vec::new();
    }
    let mut hosts: Vec<HostId> = seen.iter().map(|(_, host, _)| *host).collect();
    hosts.dedup();
    let able = hosts.iter().find_map(|host| gpu_that_can(run, *host));
    let Some((host, name)) = able else {
        return vec![run.hit(Severity::Info, &seen)];
    };
    let hit = run
        .hit(Severity::Warning, &seen)
        .command("modprobe nvidia_peermem");
    vec![hit.saw(format!("GPU of {host}"), name, "the node's facts").cause(
        "this GPU can do GPUDirect RDMA, but nvidia_peermem is not loaded and DMA-BUF is not usable, NCCL_NET_GDR_LEVEL \
         forbids it, or the card and the GPU are too far apart",
    )]
}

/// A GPU of the host that has memory of its own and is no consumer's card, by the host's facts.
fn gpu_that_can<'a>(run: &NcclRun<'a>, host: HostId) -> Option<(&'a str, &'a str)> {
    let name = run.state.hosts.get(host);
    let facts: &'a Facts = run.facts.iter().find(|facts| facts.host.name == name)?;
    let mut able = facts.gpus.iter().filter(|gpu| gpu.can_gpudirect());
    able.next().map(|gpu| (name, gpu.name.as_str()))
}
