//! What a lab of containers does otherwise than one of machines.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{HUB_PROCESS, Lab, LabNodeState, LabProgram};
use crate::arch::Arch;
use crate::container::{self, CableNamespace, ContainerDisk, LabCgroups, NicCableEnd};
use crate::error::LabError;
use crate::hub::{AttachmentFaults, CableFault, FaultDirection, HubStatus};
use crate::process;
use crate::profile::LabNode;
use crate::qemu::NodeFilePaths;
use crate::snapshots::READY;
use crate::state::{self, LabRecord};

const FAULTS: &str = "faults.json";
/// The program that supervises nodes, written down so that any later command can start one.
const PROGRAM: &str = "program.json";

impl Lab {
    /// The lab at a directory, ready or not.
    pub(crate) fn at(directory: &std::path::Path) -> Result<Self, LabError> {
        Ok(Self {
            directory: directory.to_owned(),
            record: LabRecord::read(directory).map_err(LabError::disk("read", directory))?,
            option: String::new(),
        })
    }

    pub(crate) fn cables(&self) -> Result<CableNamespace, LabError> {
        state::process(&self.directory, HUB_PROCESS)
            .map(CableNamespace)
            .ok_or_else(|| self.died("the lab's network namespace", "cables.log"))
    }

    /// What every node's file system lies over.
    pub(crate) fn tree(&self) -> Result<PathBuf, LabError> {
        Ok(self.record.image(Arch::HOST).tree()?)
    }

    fn groups(&self) -> Result<LabCgroups, LabError> {
        LabCgroups::of(&self.directory).map_err(LabError::disk(
            "look for control groups of",
            &self.directory,
        ))
    }

    pub(super) fn write_program(&self, program: &LabProgram) -> Result<(), LabError> {
        let path = self.directory.join(PROGRAM);
        let text = serde_json::to_vec(program).unwrap_or_default();
        state::write_atomic(&path, &text).map_err(LabError::disk("write", &path))
    }

    fn program(&self) -> Result<LabProgram, LabError> {
        let path = self.directory.join(PROGRAM);
        std::fs::read(&path)
            .and_then(|text| Ok(serde_json::from_slice(&text)?))
            .map_err(LabError::disk("read", &path))
    }

    pub(super) fn start_container(&self, node: &LabNode) -> Result<(), LabError> {
        let files = NodeFilePaths(&node.name);
        let role = self.program()?.role("node");
        let mut command = container::node_command(role, &self.directory, &node.name);
        let id = process::spawn(&mut command, &self.directory, &files.log())
            .map_err(|_| self.died(&node.name, &files.log()))?;
        state::write_process(&self.directory, &files.process(), id)
            .map_err(LabError::disk("write into", &self.directory))
    }

    pub(super) fn end_container(&self, node: &LabNode) -> Result<(), LabError> {
        self.groups()?
            .end(&node.name)
            .map_err(LabError::disk("end the control group of", &self.directory))
    }

    pub(super) fn container_state(&self, node: &LabNode) -> LabNodeState {
        match self.groups() {
            Ok(groups) if groups.is_frozen(&node.name) => LabNodeState::Paused,
            _ => LabNodeState::Running,
        }
    }

    pub(super) fn freeze(&self, node: &LabNode, frozen: bool) -> Result<(), LabError> {
        self.groups()?
            .freeze(&node.name, frozen)
            .map_err(LabError::disk(
                "freeze the control group of",
                &self.directory,
            ))
    }

    /// Keeps the node's disk; what is in its memory alone is not in it.
    pub(super) fn save_container(&self, node: &LabNode, snapshot: &str) -> Result<(), LabError> {
        if node.container.disk_mib.is_some() {
            return Err(LabError::MachinesOnly {
                what: "a snapshot of a disk that is limited".to_owned(),
            });
        }
        self.freeze(node, true)?;
        let saved = ContainerDisk::of(&self.directory, &node.name).save(snapshot);
        self.freeze(node, false)?;
        saved
    }

    /// The node starts anew from what was kept.
    pub(super) fn reset_container(&self, node: &LabNode, snapshot: &str) -> Result<(), LabError> {
        self.kill(&node.name)?;
        let disk = ContainerDisk::of(&self.directory, &node.name);
        if snapshot == READY {
            disk.clear()?;
            self.power_on(&node.name)?;
            return self.set_password(&node.name);
        }
        disk.load(snapshot)?;
        self.power_on(&node.name)
    }

    pub(super) fn container_faults(&self) -> Result<HubStatus, LabError> {
        let path = self.directory.join(FAULTS);
        let faults = match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|error| LabError::disk("read", &path)(error.into()))?,
            Err(_) => BTreeMap::new(),
        };
        Ok(HubStatus {
            faults,
            ..HubStatus::default()
        })
    }

    fn write_faults(&self, faults: &BTreeMap<String, AttachmentFaults>) -> Result<(), LabError> {
        let path = self.directory.join(FAULTS);
        let text = serde_json::to_vec(faults).unwrap_or_default();
        state::write_atomic(&path, &text).map_err(LabError::disk("write", &path))
    }

    pub(super) fn add_container_fault(
        &self,
        attachment: &str,
        fault: CableFault,
        way: FaultDirection,
    ) -> Result<(), LabError> {
        let what = match fault {
            _ if way != FaultDirection::Both => Some("a fault of one way"),
            CableFault::Cut | CableFault::Mtu(_) => None,
            CableFault::Loss(_) => Some("loss"),
            CableFault::DelayMicros(_) => Some("delay"),
            CableFault::RateBits(_) => Some("rate"),
            CableFault::Reorder(_) => Some("reorder"),
        };
        if let Some(what) = what {
            return Err(LabError::MachinesOnly {
                what: format!("the fault \"{what}\""),
            });
        }
        let mut faults = self.container_faults()?.faults;
        faults
            .entry(attachment.to_owned())
            .or_default()
            .add(fault, way);
        self.write_faults(&faults)
    }

    pub(super) fn clear_container_faults(&self, attachment: Option<&str>) -> Result<(), LabError> {
        let mut faults = self.container_faults()?.faults;
        faults.retain(|name, _| attachment.is_some_and(|cleared| cleared != name));
        self.write_faults(&faults)
    }

    pub(super) fn set_container_carriers(&self, status: &HubStatus) -> Result<(), LabError> {
        let mtu = |attachment: &str| {
            status
                .faults
                .get(attachment)
                .and_then(|faults| faults.sent.mtu)
        };
        let mut ends = Vec::new();
        for (index, node) in self.record.profile.nodes.iter().enumerate() {
            let management = format!("{}:{}", node.name, node.management);
            ends.push((
                index,
                NicCableEnd {
                    nic: None,
                    up: !super::carrier::is_cut(status, &management),
                    mtu: mtu(&management),
                },
            ));
            let mut bright = Vec::new();
            for (nic, (cage, interface)) in node.nics().enumerate() {
                let place = node.cage_ref(cage);
                let segment = self.record.profile.segment_of(&place);
                let up = segment.is_some_and(|segment| self.has_light(segment, &place, status));
                if up {
                    bright.push(interface.netdev.as_str());
                }
                ends.push((
                    index,
                    NicCableEnd {
                        nic: Some(nic),
                        up,
                        mtu: mtu(&place.to_string()),
                    },
                ));
            }
            container::set_states(&self.directory, node, |netdev| bright.contains(&netdev))
                .map_err(LabError::disk("write into", &self.directory))?;
        }
        self.cables()?.set_ends(&ends)
    }
}
