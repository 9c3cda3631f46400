use crosstie_model::plan::InterfaceUp;
use crosstie_node::netlink::link_client::LinkClient;

use super::{
    ApplyStep, NodeRuntime,
    runtime::{check_interface, kernel_error},
};
use crate::error::StepError;

impl ApplyStep for InterfaceUp {
    fn apply(&self, node: &mut NodeRuntime) -> Result<(), StepError> {
        const SETTING: &str = "the link";
        let interface = &self.interface;
        check_interface(interface)?;
        let mut links = LinkClient(&mut *node.kernel);
        let link = links.find(interface);
        let link = link.map_err(kernel_error(SETTING, interface))?;
        let link = link.ok_or_else(|| StepError::NoInterface {
            interface: interface.clone(),
        })?;
        if link.is_up == self.up.to {
            return Ok(());
        }
        let set = links.set_up(link.index, self.up.to);
        set.map_err(kernel_error(SETTING, interface))
    }
}
