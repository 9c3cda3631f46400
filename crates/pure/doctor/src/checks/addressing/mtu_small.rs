//! The interface's MTU is too small for RoCE packets of 4096 bytes.

use crosstie_fabric::wire::roce_path_mtu;
use crosstie_model::Mtu;

use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, explains,
    terms::{dedicated, netdev_file},
    word,
};

/// The largest payload of a RoCE packet.
const MAX_ROCE_PAYLOAD: Mtu = Mtu(4096);

pub(super) const CHECK: Check = Check {
    id: "mtu-small",
    title: "A fabric interface's MTU is too small for full RoCE packets",
    severity: "warning",
    fires: "The MTU of a RoCE fabric port's interface is below 4192, or below the `mtu` of the cluster file. \
        A port with the default route counts only where a cluster file names it.",
    reads: &["/sys/class/net/IF/mtu", "cluster.toml"],
    cause: "the interface still has Ethernet's default MTU of 1500, or a value chosen for something else",
    meaning: "RoCE packets carry 256, 512, 1024, 2048 or 4096 bytes: the largest size that fits the interface's MTU \
        with 96 bytes to spare for headers. 4096 needs an MTU of 4192 or more; 1500 leaves 1024. Smaller packets work, \
        but more of them are needed, and a few per cent of the bandwidth go to headers.",
    fix: "Set an MTU of 9000 on the interface, on its peer, and on every switch port in between, and write it down in \
        netplan or the like.",
    verify: "`ip link show dev IF` says mtu 9000 on both ends, and `ping -M do -s 8972 PEER` gets its answers.",
    explained_by: &[
        explains("twin-down", CauseScope::Port),
        explains("cable-dead", CauseScope::Cable),
        explains("fabric-port-down", CauseScope::Port),
    ],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    dedicated(node)
        .filter_map(|port| {
            let netdev = port.netdev?;
            let mtu = *netdev.mtu.known()?;
            let path = roce_path_mtu(mtu);
            let carries = path.map_or_else(|| "none".to_owned(), |path| path.to_string());
            let planned = node.planned_mtu(port);
            let below_plan = planned.is_some_and(|planned| mtu < planned);
            (path < Some(MAX_ROCE_PAYLOAD) || below_plan).then(|| {
                let hit = CheckHit::warning(&netdev.name)
                    .saw("MTU", mtu, netdev_file(&netdev.name, "mtu"))
                    .saw(
                        "bytes in a RoCE packet",
                        carries,
                        "the largest of 256 … 4096 that fits MTU - 96",
                    );
                let hit = match planned {
                    Some(planned) if below_plan => hit
                        .saw("MTU that is planned", planned, "cluster.toml")
                        .cause("it was changed by hand after the plan was applied, or the plan was never applied"),
                    Some(planned) => hit.saw("MTU that is planned", planned, "cluster.toml"),
                    None => hit,
                };
                hit.command(format!(
                    "sudo ip link set dev {} mtu {}",
                    word(&netdev.name),
                    planned.filter(|_| below_plan).unwrap_or(Mtu(9000))
                ))
            })
        })
        .collect()
}
