//! Kernel parameters, as the distribution sets them.

use crate::{Hit, Node};

impl Hit {
    /// The commands that add a kernel parameter for every later start.
    #[must_use]
    pub fn kernel_parameter(self, node: &Node, parameter: &str) -> Self {
        let add = node.facts.distribution().add_kernel_parameter;
        let hit = add(parameter).into_iter().fold(self, Hit::command);
        hit.command("sudo systemctl reboot")
    }
}
