use crosstie_facts::dscp_table;
use crosstie_model::plan::DscpPriority;
use crosstie_node::netlink::{
    NetlinkError,
    dcb_port::{DcbPort, DscpMapping},
};

use super::{
    ApplyStep, NodeRuntime, PRIORITIES, check_below,
    runtime::{check_interface, kernel_error},
};
use crate::error::StepError;

pub(super) const DSCPS: u8 = 64;

impl ApplyStep for DscpPriority {
    /// Without a priority the mapping goes; in OFED's table, which has one for every DSCP, the driver's default is set.
    fn apply(&self, node: &mut NodeRuntime) -> Result<(), StepError> {
        let (interface, dscp, priority) = (&self.interface, self.dscp, self.priority.to);
        check_interface(interface)?;
        check_below(DSCPS, dscp, "a DSCP", interface)?;
        if let Some(priority) = priority {
            check_below(PRIORITIES, priority, "a DSCP's priority", interface)?;
        }
        let file = format!("sys/class/net/{interface}/qos/dscp2prio");
        if node.read(&file).is_some() {
            let priority = priority.unwrap_or_default();
            let is_so = |found: &str| {
                let table = dscp_table(found).into_known();
                table.is_some_and(|table| table.get(&dscp) == Some(&priority))
            };
            // The driver cuts words at blanks, and the last needs one too.
            return node.update(&file, &format!("{dscp} {priority} "), is_so);
        }
        map(DcbPort::new(&mut *node.kernel, interface), dscp, priority)
            .map_err(kernel_error("the priority of a DSCP", interface))
    }
}

/// The new mapping comes before the old one goes: without any, mlx5 would trust PCP meanwhile. mlx5 takes the old one
/// away itself; other drivers keep both.
fn map(mut port: DcbPort<'_>, dscp: u8, priority: Option<u8>) -> Result<(), NetlinkError> {
    let wanted = priority.map(|priority| DscpMapping { dscp, priority });
    let mut found = port.mappings()?;
    if let Some(wanted) = wanted.filter(|wanted| !found.contains(wanted)) {
        port.add(&[wanted])?;
        found = port.mappings()?;
    }
    found.retain(|mapping| mapping.dscp == dscp && Some(*mapping) != wanted);
    port.remove(&found)
}
