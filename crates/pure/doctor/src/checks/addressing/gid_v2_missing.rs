//! An address has no RoCE v2 entry in the GID table.

use crosstie_model::facts::rdma::GidKind;

use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, ExaminedPort, explains,
    terms::{address_source, listed, roce},
    word,
};

pub(super) const CHECK: Check = Check {
    id: "gid-v2-missing",
    title: "An address of a RoCE port has no RoCE v2 entry in its GID table",
    severity: "fault",
    fires: "An active RoCE fabric port has an IPv4 or global IPv6 address, and no GID of type RoCE v2 stands for it.",
    reads: &[
        "/sys/class/infiniband/DEV/ports/P/gids/N",
        "/sys/class/infiniband/DEV/ports/P/gid_attrs/types/N",
        "ip addr show",
    ],
    cause: "the driver missed the address (often after a link loss or a renamed interface), or the card offers RoCE v1 \
        only",
    meaning: "A queue pair names its own end by an entry of the port's GID table. Every address should be there twice, as \
        RoCE v1 and as RoCE v2. Without the v2 entry NCCL and perftest find no GID to use and fail, or fall back on the \
        link-local one.",
    fix: "Take the link down and up again. If the entry stays away, see that the RDMA device belongs to the interface \
        that holds the address (`rdma link`).",
    verify: "`grep -r . /sys/class/infiniband/DEV/ports/1/gid_attrs/types` shows RoCE v2 for the address's index.",
    explained_by: &[explains("bonded-rdma", CauseScope::Cage)],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    roce(node).filter_map(hit).collect()
}

fn hit(port: &ExaminedPort) -> Option<CheckHit> {
    // An empty table, or one without types, was not read: even a bare port has its link-local entries.
    let typed = port
        .port
        .gids
        .iter()
        .any(|entry| entry.kind.known().is_some());
    if !port.port.is_active() || !typed {
        return None;
    }
    let has_v2 = |address: std::net::IpAddr| {
        let mut entries = port.port.gids.iter();
        entries.any(|entry| {
            let v1 = entry
                .kind
                .known()
                .is_some_and(|kind| *kind != GidKind::RoceV2);
            entry.gid.address() == address && !v1
        })
    };
    let mut missing = port.lasting_addresses();
    missing.retain(|(_, address)| !has_v2(address.net.addr()));
    let (netdev, _) = missing.first()?;
    let mut hit = CheckHit::fault(&port.device.name);
    for (netdev, address) in &missing {
        hit = hit.saw("address", address.net, address_source(&netdev.name));
    }
    let entries = port.port.gids.iter().map(|entry| {
        let kind = entry
            .kind
            .known()
            .map_or_else(|| "?".to_owned(), ToString::to_string);
        format!("{}: {} {kind}", entry.index, entry.gid.address())
    });
    let name = word(&netdev.name);
    Some(
        hit.saw("GID table", listed(entries.take(8)), port.file("gids"))
            .command(format!(
                "sudo ip link set dev {name} down && sudo ip link set dev {name} up"
            )),
    )
}
