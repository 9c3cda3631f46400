//! Which packets get which priority, and which priorities are lossless.

use crosstie_facts::dscp_table;
use crosstie_model::plan::EcnPoint;

use super::{PortSettingsError, Ports, checked_interface, kernel_error};
use crosstie_node::netlink::{
    NetlinkError,
    dcb_port::{DcbPort, Mapping},
};

const PRIORITIES: u8 = 8;
const DSCPS: u8 = 64;

impl Ports {
    pub(super) fn set_flow_control(
        &mut self,
        interface: &str,
        priorities: &[u8],
    ) -> Result<(), PortSettingsError> {
        const WHAT: &str = "priority flow control";
        checked_interface(interface)?;
        let mut mask = 0;
        for priority in priorities {
            below(PRIORITIES, *priority, WHAT, interface)?;
            mask |= 1_u8 << priority;
        }
        DcbPort::new(&mut *self.kernel, interface)
            .set_flow_control(mask)
            .map_err(|source| kernel_error(WHAT, interface, source))
    }

    /// By OFED's own file where there is one. Else mlx5 trusts DSCP from the first mapping on, until the last is gone.
    pub(super) fn set_trust(
        &mut self,
        interface: &str,
        trust: &str,
    ) -> Result<(), PortSettingsError> {
        checked_interface(interface)?;
        let by_dscp = match trust {
            "dscp" => true,
            "pcp" => false,
            _ => return Err(bad_value("trust", interface, trust)),
        };
        let file = format!("sys/class/net/{interface}/qos/trust");
        if self.read(&file).is_some() {
            return self.update(&file, trust, |found| found == trust);
        }
        let set = |mut port: DcbPort<'_>| -> Result<(), NetlinkError> {
            let mappings = port.mappings()?;
            match (by_dscp, mappings.is_empty()) {
                (true, true) => port.add(&usual()),
                (true, false) => Ok(()),
                (false, _) => port.remove(&mappings),
            }
        };
        set(DcbPort::new(&mut *self.kernel, interface))
            .map_err(|source| kernel_error("trust", interface, source))
    }

    /// `None` takes the mapping away; in OFED's table, which has one for every DSCP, the driver's default comes back.
    pub(super) fn set_dscp(
        &mut self,
        interface: &str,
        dscp: u8,
        priority: Option<u8>,
    ) -> Result<(), PortSettingsError> {
        checked_interface(interface)?;
        below(DSCPS, dscp, "a DSCP", interface)?;
        if let Some(priority) = priority {
            below(PRIORITIES, priority, "a DSCP's priority", interface)?;
        }
        let file = format!("sys/class/net/{interface}/qos/dscp2prio");
        if self.read(&file).is_some() {
            let priority = priority.unwrap_or_default();
            let is_so = |found: &str| {
                let table = dscp_table(found).into_known();
                table.is_some_and(|table| table.get(&dscp) == Some(&priority))
            };
            // The driver cuts words at blanks, and the last needs one too.
            return self.update(&file, &format!("{dscp} {priority} "), is_so);
        }
        map(DcbPort::new(&mut *self.kernel, interface), dscp, priority)
            .map_err(|source| kernel_error("the priority of a DSCP", interface, source))
    }

    pub(super) fn set_ecn(
        &self,
        interface: &str,
        point: EcnPoint,
        priority: u8,
        enabled: bool,
    ) -> Result<(), PortSettingsError> {
        checked_interface(interface)?;
        below(PRIORITIES, priority, "ECN's priority", interface)?;
        let point = match point {
            EcnPoint::Notification => "roce_np",
            EcnPoint::Reaction => "roce_rp",
        };
        let value = if enabled { "1" } else { "0" };
        let file = format!("sys/class/net/{interface}/ecn/{point}/enable/{priority}");
        self.update(&file, value, |found| found == value)
    }
}

/// The new mapping comes before the old one goes: without any, mlx5 would trust PCP meanwhile. mlx5 takes the old one
/// away itself; other drivers keep both.
fn map(mut port: DcbPort<'_>, dscp: u8, priority: Option<u8>) -> Result<(), NetlinkError> {
    let wanted = priority.map(|priority| Mapping { dscp, priority });
    let mut found = port.mappings()?;
    if let Some(wanted) = wanted.filter(|wanted| !found.contains(wanted)) {
        port.add(&[wanted])?;
        found = port.mappings()?;
    }
    found.retain(|mapping| mapping.dscp == dscp && Some(*mapping) != wanted);
    port.remove(&found)
}

/// What `mlnx_qos --trust dscp` sets: the class selector of each DSCP.
fn usual() -> Vec<Mapping> {
    let mapping = |dscp| Mapping {
        dscp,
        priority: dscp >> 3,
    };
    (0..DSCPS).map(mapping).collect()
}

fn below(
    limit: u8,
    value: u8,
    what: &'static str,
    interface: &str,
) -> Result<(), PortSettingsError> {
    if value < limit {
        return Ok(());
    }
    Err(bad_value(what, interface, &value.to_string()))
}

fn bad_value(what: &'static str, of: &str, value: &str) -> PortSettingsError {
    PortSettingsError::Value {
        what,
        of: of.to_owned(),
        value: value.to_owned(),
    }
}
