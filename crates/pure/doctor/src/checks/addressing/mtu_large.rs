//! A fabric port's MTU is above what the cluster file plans.

use crate::{
    Check, CheckFunctions, CheckHit, ExaminedNode,
    terms::{netdev_file, roce},
    word,
};

pub(super) const CHECK: Check = Check {
    id: "mtu-large",
    title: "A fabric port's MTU is above what the cluster file plans",
    severity: "warning",
    fires: "The MTU of an interface that the cluster file cables is above its `mtu`. One that is below it is mtu-small.",
    reads: &["/sys/class/net/IF/mtu", "cluster.toml"],
    cause: "it was changed by hand, or by a tool that does not know the cluster file",
    meaning: "Everything on a cable or a switch has to take the largest frame that any port sends. A port that sends larger \
        frames than the others were set up for loses them without a word: small packets and ping pass, and transfers stall.",
    fix: "Set the MTU that is planned, or change the plan for all ports: `mtu` in the cluster file, then `crosstie apply`.",
    verify: "`ip link show dev IF` shows the MTU of the cluster file.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    roce(node)
        .filter_map(|port| {
            let netdev = port.netdev?;
            let mtu = *netdev.mtu.known()?;
            let planned = node.planned_mtu(port)?;
            (mtu > planned).then(|| {
                CheckHit::warning(&netdev.name)
                    .saw("MTU", mtu, netdev_file(&netdev.name, "mtu"))
                    .saw("MTU that is planned", planned, "cluster.toml")
                    .command(format!(
                        "sudo ip link set dev {} mtu {planned}",
                        word(&netdev.name)
                    ))
            })
        })
        .collect()
}
