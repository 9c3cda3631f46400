//! Whether a port sees its link: a cable in it, not cut, and a powered machine at the other end.

use super::{Lab, LabKind};
use crate::error::LabError;
use crate::hub::{AttachmentFaults, HubStatus};
use crate::profile::{LabCageRef, LabNode, ProfileSegment, SegmentKind};
use crate::qemu::QmpClient;

impl Lab {
    /// Gives every NIC of every powered node the carrier that it should have.
    pub(crate) fn refresh_carriers(&self) -> Result<(), LabError> {
        let status = self.faults()?;
        if self.record.kind == LabKind::Containers {
            return self.set_container_carriers(&status);
        }
        for node in &self.record.profile.nodes {
            if self.is_on(node) {
                let mut monitor = self.monitor(node, super::STATUS_TIMEOUT)?;
                self.set_carriers(node, &mut monitor, &status)?;
            }
        }
        Ok(())
    }

    pub(super) fn set_carriers(
        &self,
        node: &LabNode,
        monitor: &mut QmpClient,
        status: &HubStatus,
    ) -> Result<(), LabError> {
        let mut set = |interface: &str, up: bool| {
            monitor
                .set_link(interface, up)
                .map_err(LabError::monitor(&node.name))
        };
        let management = format!("{}:{}", node.name, node.management);
        set(&node.management, !is_cut(status, &management))?;
        for cage in &node.cages {
            let end = node.cage_ref(cage);
            let up = self
                .record
                .profile
                .segment_of(&end)
                .is_some_and(|segment| self.has_light(segment, &end, status));
            for nic in &cage.nics {
                set(&nic.netdev, up)?;
            }
        }
        Ok(())
    }

    pub(super) fn has_light(
        &self,
        segment: &ProfileSegment,
        end: &LabCageRef,
        status: &HubStatus,
    ) -> bool {
        if is_cut(status, &end.to_string()) {
            return false;
        }
        match segment.kind {
            SegmentKind::Switch => true,
            SegmentKind::Cable => segment
                .ends
                .iter()
                .filter(|other| *other != end)
                .all(|other| {
                    let powered = self
                        .record
                        .profile
                        .node(&other.node)
                        .is_some_and(|node| self.is_on(node));
                    powered && !is_cut(status, &other.to_string())
                }),
        }
    }
}

pub(super) fn is_cut(status: &HubStatus, attachment: &str) -> bool {
    status
        .faults
        .get(attachment)
        .is_some_and(AttachmentFaults::is_cut)
}
