//! Faults on demand. On the cable: cut, loss, delay, rate, mtu, reorder. On the machine: pause, kill, power cut.

use rustix::process::Signal;

use super::{Lab, LabKind};
use crate::error::LabError;
use crate::hub::{CableFault, FaultDirection, HubStatus};
use crate::profile::LabNode;
use crate::qemu::NodeFilePaths;
use crate::state;

impl Lab {
    /// Adds a fault to the cable at `NODE[:PORT]`; without a port, to every cable of the node.
    pub fn fault(&self, place: &str, fault: CableFault) -> Result<(), LabError> {
        self.fault_one_way(place, fault, FaultDirection::Both)
    }

    /// For the frames that the node sends alone, or for those that are meant for it.
    pub fn fault_one_way(
        &self,
        place: &str,
        fault: CableFault,
        way: FaultDirection,
    ) -> Result<(), LabError> {
        for attachment in self.attachments(place)? {
            match self.record.kind {
                LabKind::Machines => self.hub().add(&attachment, fault, way)?,
                LabKind::Containers => self.add_container_fault(&attachment, fault, way)?,
            }
        }
        if matches!(fault, CableFault::Cut) || self.record.kind == LabKind::Containers {
            self.refresh_carriers()?;
        }
        Ok(())
    }

    /// As a person names it: `loss` of `1%`; `restore` takes all faults away there.
    pub fn fault_in_words(
        &self,
        place: &str,
        kind: &str,
        value: Option<&str>,
        way: FaultDirection,
    ) -> Result<(), LabError> {
        if kind == "restore" && value.is_none() {
            return self.restore(place);
        }
        self.fault_one_way(place, CableFault::parse(kind, value)?, way)
    }

    /// Takes all faults at `NODE[:PORT]` away.
    pub fn restore(&self, place: &str) -> Result<(), LabError> {
        for attachment in self.attachments(place)? {
            self.clear_faults(Some(&attachment))?;
        }
        self.refresh_carriers()
    }

    pub fn restore_all(&self) -> Result<(), LabError> {
        self.clear_faults(None)?;
        self.refresh_carriers()
    }

    fn clear_faults(&self, attachment: Option<&str>) -> Result<(), LabError> {
        match self.record.kind {
            LabKind::Machines => Ok(self.hub().clear(attachment)?),
            LabKind::Containers => self.clear_container_faults(attachment),
        }
    }

    pub fn faults(&self) -> Result<HubStatus, LabError> {
        match self.record.kind {
            LabKind::Machines => Ok(self.hub().status()?),
            LabKind::Containers => self.container_faults(),
        }
    }

    /// Where the hub knows the place: `node:cage`, or `node:interface` for the management network.
    fn attachments(&self, place: &str) -> Result<Vec<String>, LabError> {
        let (name, port) = match place.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (place, None),
        };
        let (_, node) = self.find(name)?;
        match port {
            None => Ok(node
                .cages
                .iter()
                .map(|cage| node.cage_ref(cage))
                .filter(|end| self.record.profile.segment_of(end).is_some())
                .map(|end| end.to_string())
                .collect()),
            Some(port) if port == node.management => Ok(vec![format!("{name}:{port}")]),
            Some(port) => {
                let cage = node
                    .cage_of(port)
                    .filter(|cage| {
                        let end = node.cage_ref(cage);
                        self.record.profile.segment_of(&end).is_some()
                    })
                    .ok_or_else(|| no_port(node, port))?;
                Ok(vec![node.cage_ref(cage).to_string()])
            }
        }
    }

    /// Stops the node's CPUs: it keeps its links and its connections, and answers nothing.
    pub fn pause(&self, node: &str) -> Result<(), LabError> {
        let (_, node) = self.find_on(node)?;
        if self.record.kind == LabKind::Containers {
            return self.freeze(node, true);
        }
        self.monitor(node, super::STATUS_TIMEOUT)?
            .stop()
            .map_err(LabError::monitor(&node.name))
    }

    pub fn resume(&self, node: &str) -> Result<(), LabError> {
        let (_, node) = self.find_on(node)?;
        if self.record.kind == LabKind::Containers {
            return self.freeze(node, false);
        }
        self.monitor(node, super::STATUS_TIMEOUT)?
            .resume()
            .map_err(LabError::monitor(&node.name))
    }

    /// Takes the node's power away; what it had not written is lost, and its peers lose the link.
    pub fn kill(&self, node: &str) -> Result<(), LabError> {
        let (index, node) = self.find(node)?;
        self.hang_up(&node.name);
        if self.record.kind == LabKind::Containers {
            // Before its sockets are closed: a machine without power says nothing any more.
            self.cables()?.disconnect_node(index, node);
        }
        let name = NodeFilePaths(&node.name).process();
        if let Some(process) = state::process(&self.directory, &name) {
            process.signal(Signal::KILL);
            process.wait_gone(super::node::KILL_TIMEOUT);
        }
        if self.record.kind == LabKind::Containers {
            self.end_container(node)?;
        }
        self.refresh_carriers()
    }

    fn find_on(&self, name: &str) -> Result<(usize, &LabNode), LabError> {
        let (index, node) = self.find(name)?;
        if self.is_on(node) {
            Ok((index, node))
        } else {
            Err(LabError::Off {
                node: name.to_owned(),
                options: self.options(),
            })
        }
    }
}

fn no_port(node: &LabNode, port: &str) -> LabError {
    let mut known = vec![node.management.clone()];
    for cage in &node.cages {
        known.push(cage.name.clone());
        known.extend(cage.nics.iter().map(|nic| nic.netdev.clone()));
    }
    LabError::NoPort {
        node: node.name.clone(),
        port: port.to_owned(),
        known,
    }
}
