use crosstie_facts::traffic_class;
use crosstie_model::{Reading, plan::TrafficClass};

use super::{ApplyStep, NodeRuntime, runtime::check_device};
use crate::error::StepError;

impl ApplyStep for TrafficClass {
    /// OFED's class, which overrides every queue pair's own. RDMA-CM's `default_roce_tos` is left alone where there are
    /// both: it is another value, a plan does not know what it was, and OFED's wins over it.
    fn apply(&self, node: &mut NodeRuntime) -> Result<(), StepError> {
        let (device, port, class) = (&self.device, self.port, self.class.to);
        check_device(device)?;
        let file = format!("sys/class/infiniband/{device}/tc/{port}/traffic_class");
        node.update(&file, &class.to_string(), |found| {
            traffic_class(found) == Reading::Value(class)
        })
    }
}
