use crosstie_model::plan::PriorityFlowControl;
use crosstie_node::netlink::dcb_port::DcbPort;

use super::{
    ApplyStep, NodeRuntime, PRIORITIES, check_below,
    runtime::{check_interface, kernel_error},
};
use crate::error::StepError;

const SETTING: &str = "priority flow control";

impl ApplyStep for PriorityFlowControl {
    fn apply(&self, node: &mut NodeRuntime) -> Result<(), StepError> {
        let interface = &self.interface;
        check_interface(interface)?;
        let mut mask = 0;
        for priority in &self.priorities.to {
            check_below(PRIORITIES, *priority, SETTING, interface)?;
            mask |= 1_u8 << priority;
        }
        DcbPort::new(&mut *node.kernel, interface)
            .set_flow_control(mask)
            .map_err(kernel_error(SETTING, interface))
    }
}
