use crosstie_model::plan::{CongestionNotification, EcnPoint};

use super::{ApplyStep, NodeRuntime, PRIORITIES, check_below, runtime::check_interface};
use crate::error::StepError;

impl ApplyStep for CongestionNotification {
    fn apply(&self, node: &mut NodeRuntime) -> Result<(), StepError> {
        let Self {
            interface,
            point,
            priority,
            enabled,
        } = self;
        check_interface(interface)?;
        check_below(PRIORITIES, *priority, "ECN's priority", interface)?;
        let point = match point {
            EcnPoint::Notification => "roce_np",
            EcnPoint::Reaction => "roce_rp",
        };
        let value = if enabled.to { "1" } else { "0" };
        let file = format!("sys/class/net/{interface}/ecn/{point}/enable/{priority}");
        node.update(&file, value, |found| found == value)
    }
}
