//! A setting names a network interface that is not there.

use crosstie_fabric::nccl::NcclNameFilter;
use crosstie_model::facts::{nccl::NcclSetting, net::Interface};

use super::{FILES, saw, setting};
use crate::{
    Check, CheckFunctions, CheckHit, ExaminedNode,
    terms::{addresses_known, listed},
};

const NCCL: &str = "NCCL_SOCKET_IFNAME";
const GLOO: &str = "GLOO_SOCKET_IFNAME";

pub(super) const CHECK: Check = Check {
    id: "nccl-ifname-unknown",
    title: "NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME matches no interface",
    severity: "fault",
    fires: "`NCCL_SOCKET_IFNAME` takes, by NCCL's rules, no interface that has an address; or `GLOO_SOCKET_IFNAME` has a \
        name that no interface has. NCCL's names are prefixes, `=` makes them exact, `^` excludes; Gloo's are plain.",
    reads: FILES,
    cause: "the value was copied from another node, or the interface was renamed",
    meaning: "NCCL opens its first connections over these interfaces, also when the data goes over RDMA. With none to \
        choose it stops with `no socket interface found`. Gloo stops where any of its names is unknown; it takes neither \
        `=` nor `^`.",
    fix: "Name an interface that every node can be reached on, usually the management network's.",
    verify: "With `NCCL_DEBUG=INFO` the log says `Bootstrap : Using` and names the interface.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let interfaces = &node.facts.network.interfaces;
    if interfaces.is_empty() {
        return Vec::new();
    }
    // NCCL takes a value of one character as none.
    let nccl = setting(node, NCCL).filter(|setting| setting.value.len() > 1);
    let nccl = nccl.and_then(|setting| of_nccl(node, setting));
    // Gloo does not read NCCL's files.
    let gloo = setting(node, GLOO).filter(|setting| !is_nccl_file(setting));
    nccl.into_iter()
        .chain(gloo.and_then(|setting| of_gloo(node, setting)))
        .collect()
}

fn of_nccl(node: &ExaminedNode, setting: &NcclSetting) -> Option<CheckHit> {
    let interfaces = &node.facts.network.interfaces;
    let choice = NcclNameFilter::parse(&setting.value);
    let taken: Vec<&Interface> = interfaces
        .iter()
        .filter(|found| choice.takes(&found.name, None))
        .collect();
    let hit = saw(CheckHit::fault(NCCL), setting);
    if taken.is_empty() {
        return Some(with_names(hit, interfaces));
    }
    let bare = taken.iter().all(|interface| interface.addresses.is_empty());
    (bare && addresses_known(node.facts)).then(|| {
        hit.saw(
            "interfaces that it takes, all without an address",
            listed(taken.iter().map(|interface| &interface.name)),
            "ip addr show",
        )
        .cause("NCCL uses only interfaces that have an address, and those that the setting takes have none")
    })
}

fn of_gloo(node: &ExaminedNode, setting: &NcclSetting) -> Option<CheckHit> {
    let interfaces = &node.facts.network.interfaces;
    let is_there = |name: &&str| node.facts.network.interface(name).is_some();
    let names = setting.value.split(',').filter(|name| !name.is_empty());
    let unknown: Vec<&str> = names.filter(|name| !is_there(name)).collect();
    (!unknown.is_empty()).then(|| {
        let hit = saw(CheckHit::fault(GLOO), setting);
        with_names(
            hit.saw(
                "names that no interface has",
                listed(&unknown),
                "ip link show",
            ),
            interfaces,
        )
    })
}

fn with_names(hit: CheckHit, interfaces: &[Interface]) -> CheckHit {
    let names = interfaces.iter().map(|interface| &interface.name);
    hit.saw(
        "interfaces",
        listed(names.filter(|name| *name != "lo").take(32)),
        "ip link show",
    )
}

fn is_nccl_file(setting: &NcclSetting) -> bool {
    setting.source.ends_with("nccl.conf") || setting.source == "NCCL_CONF_FILE"
}
