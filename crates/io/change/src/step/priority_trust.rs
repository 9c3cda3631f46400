use crosstie_model::plan::PriorityTrust;
use crosstie_node::netlink::{
    NetlinkError,
    dcb_port::{DcbPort, DscpMapping},
};

use super::{
    ApplyStep, NodeRuntime, bad_value,
    dscp_priority::DSCPS,
    runtime::{check_interface, kernel_error},
};
use crate::error::StepError;

impl ApplyStep for PriorityTrust {
    /// By OFED's own file where there is one. Else mlx5 trusts DSCP from the first mapping on, until the last is gone.
    fn apply(&self, node: &mut NodeRuntime) -> Result<(), StepError> {
        let (interface, trust) = (&self.interface, self.trust.to.as_str());
        check_interface(interface)?;
        let by_dscp = match trust {
            "dscp" => true,
            "pcp" => false,
            _ => return Err(bad_value("trust", interface, trust)),
        };
        let file = format!("sys/class/net/{interface}/qos/trust");
        if node.read(&file).is_some() {
            return node.update(&file, trust, |found| found == trust);
        }
        set(DcbPort::new(&mut *node.kernel, interface), by_dscp)
            .map_err(kernel_error("trust", interface))
    }
}

fn set(mut port: DcbPort<'_>, by_dscp: bool) -> Result<(), NetlinkError> {
    let mappings = port.mappings()?;
    match (by_dscp, mappings.is_empty()) {
        (true, true) => port.add(&usual()),
        (true, false) => Ok(()),
        (false, _) => port.remove(&mappings),
    }
}

/// What `mlnx_qos --trust dscp` sets: the class selector of each DSCP.
fn usual() -> Vec<DscpMapping> {
    let mapping = |dscp| DscpMapping {
        dscp,
        priority: dscp >> 3,
    };
    (0..DSCPS).map(mapping).collect()
}
