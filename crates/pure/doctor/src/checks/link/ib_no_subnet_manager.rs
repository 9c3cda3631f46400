//! An InfiniBand link that nobody manages.

use crosstie_model::facts::rdma::{LinkLayer, PhysicalState, PortState, RdmaDevice, RdmaPort};

use super::{label, states};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode, port_file};

pub(super) const CHECK: Check = Check {
    id: "ib-no-subnet-manager",
    title: "No subnet manager runs on this InfiniBand fabric",
    severity: "fault",
    fires: "A port's link layer is InfiniBand, it is physically up, its state is `INIT`, and it knows no subnet manager \
        (`sm_lid` 0).",
    reads: &["/sys/class/infiniband/DEVICE/ports/PORT/{link_layer,state,phys_state,sm_lid}"],
    cause: "no switch or node on this fabric runs a subnet manager",
    meaning: "An InfiniBand port carries nothing until a subnet manager has given it an address. Managed switches bring \
        one; with two nodes on one cable, or an unmanaged switch, one of the nodes has to run it. One is enough for \
        the whole fabric.",
    fix: "Switch the subnet manager on in the switch, or run `opensm` on one node (of each fabric, where there are several).",
    verify: "The port's state is `ACTIVE` and `sm_lid` is not 0.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let here = node
        .facts
        .software
        .services
        .iter()
        .find(|service| service.starts_with("opensm"));
    let distribution = node.facts.distribution();
    let cages = (0..node.cages.len()).flat_map(|cage| node.members(cage));
    let waiting = cages.filter(|(_, port)| is_waiting(port));
    waiting
        .map(|(device, port)| {
            let hit = evidence(device, port);
            match here {
                Some(service) => hit
                    .saw("service", format!("{service} runs here"), "/sys/fs/cgroup/system.slice")
                    .cause("the subnet manager of this node serves another port")
                    .advice("Start a further opensm for this port's GUID (`opensm -g GUID`; `ibstat -p` lists them)."),
                None => hit
                    .command(distribution.install_typed(&[distribution.packages.subnet_manager]))
                    .command("sudo systemctl enable --now opensm"),
            }
        })
        .collect()
}

fn is_waiting(port: &RdmaPort) -> bool {
    port.link_layer.known() == Some(&LinkLayer::InfiniBand)
        && port.physical_state.known() == Some(&PhysicalState::LinkUp)
        && port.state.known() == Some(&PortState::Init)
        && port.sm_lid.known() == Some(&0)
}

fn evidence(device: &RdmaDevice, port: &RdmaPort) -> CheckHit {
    let hit = states(CheckHit::fault(label(device, port)), device, port);
    hit.saw("sm_lid", 0, port_file(device, port, "sm_lid"))
}
