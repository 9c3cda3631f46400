//! A port on a switch has no lossless priority.

use super::{priorities, switched};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode, word};

/// What switch makers' guides for RoCE use, where the cluster file does not say.
const DEFAULT_PRIORITY: u8 = 3;

pub(super) const CHECK: Check = Check {
    id: "pfc-off",
    title: "Priority flow control is off on a port that is on a switch",
    severity: "warning",
    fires: "A RoCE fabric port is on a switch, has priority flow control on no priority, and global pause is not on. \
        Silent where nodes are cabled directly or a switch is not proven.",
    reads: &["dcb pfc show dev IF", "ethtool --show-pause IF"],
    cause: "flow control was never configured on the host",
    meaning: "When several nodes send to one, the switch's buffer fills and frames are dropped. RoCE recovers from loss \
        slowly: bandwidth collapses under load while every idle test looks right. Priority flow control lets the switch \
        stop one class of traffic for a moment instead of dropping it. It has to be on, for the same priority, on the \
        host and on the switch.",
    fix: "Turn it on for the priority that carries RDMA, on each node and on each switch port.",
    verify: "`dcb pfc show dev IF` lists the priority as on, and the discard counters stay still under load.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let priority = node.spec.and_then(|spec| spec.qos.as_ref());
    let priority = priority.map_or(DEFAULT_PRIORITY, |qos| qos.priority);
    switched(node)
        .filter_map(|(_, netdev)| {
            let on = netdev.qos.pfc.known()?;
            let name = word(&netdev.name);
            let pause = match netdev.link.has_global_pause() {
                Some(_) => "off",
                None => "not read",
            };
            on.is_empty().then(|| {
                CheckHit::warning(&netdev.name)
                    .saw(
                        "priorities with flow control",
                        priorities(on),
                        format!("dcb pfc show dev {name}"),
                    )
                    .saw(
                        "global pause",
                        pause,
                        format!("ethtool --show-pause {name}"),
                    )
                    .command(format!(
                        "sudo dcb pfc set dev {name} prio-pfc {priority}:on"
                    ))
            })
        })
        .collect()
}
