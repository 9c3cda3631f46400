#![allow(clippy::unwrap_used, clippy::panic)] // a test says what went wrong by panicking

mod files;
mod kernel;

use std::{cell::RefCell, collections::VecDeque, fs, os::unix::fs::symlink, path::Path, rc::Rc};

use crosstie_model::plan::{
    CongestionNotification, DscpPriority, EcnPoint, InterfaceUp, PriorityFlowControl,
    PriorityTrust, RoceMode, TrafficClass, ValueChange,
};
use crosstie_node::netlink::{
    NetlinkError,
    message::NetlinkRequest,
    socket::{NetlinkReply, NetlinkTransport},
};

use super::*;

const DCB_SET: u16 = 79;
const LINK_GET: u16 = 18;
const LINK: u16 = 16;

type Shared<T> = Rc<RefCell<T>>;

/// A kernel that answers as told, and what it was asked, without netlink's own header.
#[derive(Default, Clone)]
pub(crate) struct Script {
    answers: Shared<VecDeque<Result<Vec<u8>, NetlinkError>>>,
    asked: Shared<Vec<(u16, Vec<u8>)>>,
}

impl Script {
    pub(crate) fn then(self, answer: Result<Vec<u8>, NetlinkError>) -> Self {
        self.answers.borrow_mut().push_back(answer);
        self
    }

    /// A reply to a DCB request: `dcbmsg`, then the attributes.
    fn says(self, attributes: &NetlinkRequest) -> Self {
        let mut body = vec![0; 4];
        body.extend(&attributes.encode(0, 0)[16..]);
        self.then(Ok(body))
    }

    /// One byte as the driver's answer.
    fn status(self, status: i8) -> Self {
        self.says(&NetlinkRequest::attributes().bytes(13, &status.to_ne_bytes()))
    }

    /// DCBX's mode: 1 is the host's.
    fn dcbx(self, mode: u8) -> Self {
        self.says(&NetlinkRequest::attributes().bytes(14, &[mode]))
    }

    /// Flow control as it is.
    fn flow_control(self, mask: u8) -> Self {
        self.says(
            &NetlinkRequest::attributes()
                .nest(13, &NetlinkRequest::attributes().bytes(2, &pfc(mask))),
        )
    }

    /// DSCP and priority.
    fn mappings(self, mappings: &[(u8, u8)]) -> Self {
        let entry = |table: NetlinkRequest, (dscp, priority): &(u8, u8)| {
            table.bytes(1, &[5, *priority, *dscp, 0])
        };
        // A mapping by something else than DSCP, which is never touched.
        let other = NetlinkRequest::attributes().bytes(1, &[1, 2, 0, 0]);
        let table = mappings.iter().fold(other, entry);
        self.says(
            &NetlinkRequest::attributes().nest(13, &NetlinkRequest::attributes().nest(3, &table)),
        )
    }

    /// What was asked to be changed: command, and the attributes behind the interface's name.
    fn changes(&self) -> Vec<(u8, Vec<u8>)> {
        assert_eq!(
            self.answers.borrow().len(),
            0,
            "not everything was asked for"
        );
        let asked = self.asked.borrow();
        let changes = asked.iter().filter(|(kind, _)| *kind == DCB_SET);
        changes
            .map(|(_, body)| {
                assert_eq!(body[4..16], *b"\x09\0\x01\0eth1\0\0\0\0");
                (body[1], body[16..].to_vec())
            })
            .collect()
    }
}

impl NetlinkTransport for Script {
    fn ask(&mut self, request: &NetlinkRequest) -> Result<NetlinkReply, NetlinkError> {
        let bytes = request.encode(0, 0);
        let kind = u16::from_ne_bytes([bytes[4], bytes[5]]);
        self.asked.borrow_mut().push((kind, bytes[16..].to_vec()));
        let answer = self.answers.borrow_mut().pop_front();
        let body = answer.unwrap_or_else(|| panic!("asked too much: {request:?}"))?;
        let kind = if kind == LINK_GET { LINK } else { kind };
        Ok(NetlinkReply::of(kind, &body))
    }
}

/// `ieee_pfc` with a cable's delay of 7.
fn pfc(mask: u8) -> [u8; 136] {
    let mut pfc = [0; 136];
    pfc[..6].copy_from_slice(&[8, mask, 0, 0, 7, 0]);
    pfc[100] = 99;
    pfc
}

pub(crate) fn node(root: &Path, script: &Script) -> NodeRuntime {
    NodeRuntime {
        root: root.to_owned(),
        kernel: Box::new(script.clone()),
    }
}

/// On a machine that has no files.
fn set_over(script: &Script, step: &PlanStep) -> Result<(), StepError> {
    let root = tempfile::tempdir().unwrap();
    apply(step, &mut node(root.path(), script))
}

/// As in sysfs, classes hold links to devices.
pub(crate) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (class, name) in [("net", "eth1"), ("infiniband", "mlx5_0")] {
        let device = format!("devices/pci0000:00/0000:01:00.0/{class}/{name}");
        let folder = root.path().join("sys/class").join(class);
        fs::create_dir_all(root.path().join("sys").join(&device)).unwrap();
        fs::create_dir_all(&folder).unwrap();
        symlink(format!("../../{device}"), folder.join(name)).unwrap();
    }
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn change<T>(from: T, to: T) -> ValueChange<T> {
    ValueChange { from, to }
}

fn flow_control(to: &[u8]) -> PlanStep {
    PlanStep::from(PriorityFlowControl {
        interface: "eth1".to_owned(),
        priorities: change(Vec::new(), to.to_vec()),
    })
}

fn trust(to: &str) -> PlanStep {
    PlanStep::from(PriorityTrust {
        interface: "eth1".to_owned(),
        trust: change(String::new(), to.to_owned()),
    })
}

fn dscp(dscp: u8, to: Option<u8>) -> PlanStep {
    PlanStep::from(DscpPriority {
        interface: "eth1".to_owned(),
        dscp,
        priority: change(None, to),
    })
}

fn ecn(point: EcnPoint, to: bool) -> PlanStep {
    PlanStep::from(CongestionNotification {
        interface: "eth1".to_owned(),
        point,
        priority: 3,
        enabled: change(!to, to),
    })
}

fn class(to: u8) -> PlanStep {
    PlanStep::from(TrafficClass {
        device: "mlx5_0".to_owned(),
        port: 1,
        class: change(0, to),
    })
}

fn mode(to: &str) -> PlanStep {
    PlanStep::from(RoceMode {
        device: "mlx5_0".to_owned(),
        port: 1,
        mode: change(String::new(), to.to_owned()),
    })
}

#[test]
fn a_name_is_checked_before_it_is_a_path() {
    let outside = tree(&[("trust", "pcp\n"), ("root/sys/class/net/x", "")]);
    let root = outside.path().join("root");
    let mut node = node(&root, &Script::default());
    for bad in ["../../../..", "a/b", "..", "", "/", "-x", "a\0b", "a b"] {
        let name = || bad.to_owned();
        for mut step in [
            flow_control(&[3]),
            trust("dscp"),
            dscp(26, Some(3)),
            ecn(EcnPoint::Reaction, true),
            class(106),
            mode("RoCE v2"),
            PlanStep::from(InterfaceUp {
                interface: String::new(),
                up: change(true, false),
            }),
        ] {
            match &mut step {
                PlanStep::TrafficClass(step) => step.device = name(),
                PlanStep::RoceMode(step) => step.device = name(),
                PlanStep::PriorityFlowControl(step) => step.interface = name(),
                PlanStep::PriorityTrust(step) => step.interface = name(),
                PlanStep::DscpPriority(step) => step.interface = name(),
                PlanStep::CongestionNotification(step) => step.interface = name(),
                PlanStep::InterfaceUp(step) => step.interface = name(),
                // What they name is no part of a path.
                PlanStep::Configure(_)
                | PlanStep::Sysctl(_)
                | PlanStep::KernelModule(_)
                | PlanStep::Packages(_)
                | PlanStep::SystemdUnit(_)
                | PlanStep::TimeService(_) => unreachable!("{step:?} is not in the list"),
            }
            let error = apply(&step, &mut node).unwrap_err();
            assert!(matches!(error, StepError::Name { .. }), "{error}");
            assert!(!error.may_pass());
        }
    }
}

#[test]
fn values_that_no_port_has_are_refused() {
    for step in [
        flow_control(&[3, 8]),
        trust("both"),
        dscp(64, Some(3)),
        dscp(26, Some(8)),
        mode("RoCE v2\n"),
    ] {
        let error = set_over(&Script::default(), &step).unwrap_err();
        assert!(matches!(error, StepError::Value { .. }), "{error}");
    }
}
