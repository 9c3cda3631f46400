//! Kernel parameters, as the distribution sets them.

use crate::{CheckHit, ExaminedNode};

impl CheckHit {
    /// The commands that add a kernel parameter for every later start.
    #[must_use]
    pub fn kernel_parameter(self, node: &ExaminedNode, parameter: &str) -> Self {
        let add = node.facts.distribution().add_kernel_parameter;
        let hit = add(parameter).into_iter().fold(self, CheckHit::command);
        hit.command("sudo systemctl reboot")
    }
}
