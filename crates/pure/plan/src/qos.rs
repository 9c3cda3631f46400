//! RoCE quality of service: only where a switch is in the path, and only what differs.

use crosstie_model::{
    ClusterSpec, Facts, PlanStep,
    facts::{net::Interface, rdma::RdmaPort},
    plan::{
        BootPortSettings, CongestionNotification, DscpPriority, EcnPoint, PlanRefusal,
        PriorityFlowControl, PriorityTrust, RoceMode, SwitchSettings, TrafficClass, ValueChange,
    },
    spec::QosSpec,
};

use crate::wiring::{CableTarget, WiredNode, WiredPort};

/// The IPv6 traffic class or IPv4 TOS of a DSCP, with ECN-capable transport, ECT(0).
pub(crate) fn traffic_class(qos: &QosSpec) -> u8 {
    qos.dscp << 2 | 2
}

#[derive(Default)]
pub(crate) struct QosSteps {
    pub(crate) steps: Vec<PlanStep>,
    /// What the boot unit sets again.
    pub(crate) boot: Vec<BootPortSettings>,
    pub(crate) notes: Vec<String>,
    pub(crate) refusals: Vec<PlanRefusal>,
}

pub(crate) fn node(spec: &ClusterSpec, node: &WiredNode) -> QosSteps {
    let mut outcome = QosSteps::default();
    let switched: Vec<&WiredPort> = node
        .ports
        .iter()
        .filter(|port| matches!(port.joined, CableTarget::Plane(_)) && !port.infiniband)
        .collect();
    let Some(qos) = spec.qos.as_ref() else {
        if !switched.is_empty() {
            let warning = "a switch is in the path and the cluster file has no [qos]: under load it drops packets, which RoCE \
                        bears badly";
            outcome.notes.push(warning.to_owned());
        }
        return outcome;
    };
    if switched.is_empty() {
        return outcome;
    }
    let lldpad = |unit: &String| unit == "lldpad";
    if node.facts.software.services.iter().any(lldpad) {
        outcome.refusals.push(PlanRefusal::Lldpad);
    }
    for port in switched {
        port_steps(&mut outcome, qos, node.facts, port);
    }
    outcome
}

fn port_steps(outcome: &mut QosSteps, qos: &QosSpec, facts: &Facts, port: &WiredPort) {
    let Some(interface) = port
        .interface
        .as_ref()
        .and_then(|name| facts.network.interface(name))
    else {
        return;
    };
    let mut boot = BootPortSettings {
        interface: interface.name.clone(),
        device: port.device.clone(),
        port: port.number,
        ..BootPortSettings::default()
    };
    let before = outcome.steps.len();
    priorities(&mut outcome.steps, &mut boot, qos, interface);
    if interface.qos.pfc.known().is_none() {
        outcome.notes.push(format!(
            "{}: the driver tells nothing of priority flow control, so it is left as it is",
            interface.name
        ));
    }
    ecn(&mut outcome.steps, &mut boot, qos, interface);
    let device = facts.rdma_device(&port.device);
    let found = device.and_then(|device| {
        let mut ports = device.ports.iter();
        ports.find(|found| found.number == port.number)
    });
    if let Some(found) = found {
        classes(&mut outcome.steps, &mut boot, qos, (&port.device, found));
    }
    if outcome.steps[before..].iter().any(PlanStep::disrupts) {
        outcome.notes.push(format!(
            "{}: setting priority flow control takes the link down for a moment",
            interface.name
        ));
    }
    let empty = BootPortSettings {
        interface: boot.interface.clone(),
        device: boot.device.clone(),
        port: boot.port,
        ..BootPortSettings::default()
    };
    if boot != empty {
        outcome.boot.push(boot);
    }
}

fn priorities(
    steps: &mut Vec<PlanStep>,
    boot: &mut BootPortSettings,
    qos: &QosSpec,
    interface: &Interface,
) {
    let name = || interface.name.clone();
    if let Some(from) = interface.qos.pfc.known() {
        boot.pfc = Some(vec![qos.priority]);
        if let Some(priorities) = ValueChange::between(from.clone(), vec![qos.priority]) {
            let interface = name();
            steps.push(PlanStep::from(PriorityFlowControl {
                interface,
                priorities,
            }));
        }
    }
    if let Some(from) = interface.qos.trust.known() {
        boot.trust = Some("dscp".to_owned());
        if let Some(trust) = ValueChange::between(from.clone(), "dscp".to_owned()) {
            let interface = name();
            steps.push(PlanStep::from(PriorityTrust { interface, trust }));
        }
    }
    if let Some(map) = interface.qos.dscp_to_priority.known() {
        boot.dscp = Some([(qos.dscp.to_string(), qos.priority)].into());
        let from = map.get(&qos.dscp).copied();
        if let Some(priority) = ValueChange::between(from, Some(qos.priority)) {
            steps.push(PlanStep::from(DscpPriority {
                interface: name(),
                dscp: qos.dscp,
                priority,
            }));
        }
    }
}

fn ecn(
    steps: &mut Vec<PlanStep>,
    boot: &mut BootPortSettings,
    qos: &QosSpec,
    interface: &Interface,
) {
    if !qos.ecn {
        return;
    }
    for point in [EcnPoint::Notification, EcnPoint::Reaction] {
        let Some(from) = point.of(interface, qos.priority) else {
            continue;
        };
        boot.ecn = Some(vec![qos.priority]);
        if let Some(enabled) = ValueChange::between(from, true) {
            steps.push(PlanStep::from(CongestionNotification {
                interface: interface.name.clone(),
                point,
                priority: qos.priority,
                enabled,
            }));
        }
    }
}

fn classes(
    steps: &mut Vec<PlanStep>,
    boot: &mut BootPortSettings,
    qos: &QosSpec,
    (device, port): (&str, &RdmaPort),
) {
    const ROCE_V2: &str = "RoCE v2";
    if let Some(from) = port.traffic_class.known() {
        let wanted = traffic_class(qos);
        boot.traffic_class = Some(wanted);
        if let Some(class) = ValueChange::between(*from, wanted) {
            steps.push(PlanStep::from(TrafficClass {
                device: device.to_owned(),
                port: port.number,
                class,
            }));
        }
    }
    if let Some(from) = port.cm_roce_mode.known() {
        boot.roce_mode = Some(ROCE_V2.to_owned());
        if let Some(mode) = ValueChange::between(from.clone(), ROCE_V2.to_owned()) {
            steps.push(PlanStep::from(RoceMode {
                device: device.to_owned(),
                port: port.number,
                mode,
            }));
        }
    }
}

/// What each switch must do, so that both ends of a cable mean the same.
pub(crate) fn switches(spec: &ClusterSpec) -> Vec<SwitchSettings> {
    let Some(qos) = &spec.qos else {
        return Vec::new();
    };
    let QosSpec {
        priority,
        dscp,
        ecn,
    } = qos;
    let mtu = spec
        .fabric
        .mtu
        .map_or(9216, |mtu| mtu.0.saturating_add(216));
    let mut summary = vec![
        format!("trust DSCP, and map {dscp} to priority {priority}"),
        format!("make priority {priority} lossless: priority flow control on it and on no other"),
        format!("pass frames of {mtu} bytes"),
    ];
    if *ecn {
        summary.push(format!(
            "mark ECN on priority {priority} before flow control begins"
        ));
    }
    let cumulus = vec![
        "nv set qos roce mode lossless".to_owned(),
        format!("nv set qos mapping default-global dscp {dscp} switch-priority {priority}"),
        format!("nv set qos pfc default-global switch-priority {priority}"),
        "nv config apply".to_owned(),
    ];
    let sonic = vec![
        format!("sonic-db-cli CONFIG_DB hset 'DSCP_TO_TC_MAP|AZURE' {dscp} {priority}"),
        format!(
            "sonic-db-cli CONFIG_DB hset 'PORT_QOS_MAP|EthernetN' dscp_to_tc_map AZURE pfc_enable {priority}"
        ),
        format!("config interface mtu EthernetN {mtu}"),
        "config save -y".to_owned(),
    ];
    spec.plane_numbers()
        .into_iter()
        .map(|(plane, _)| SwitchSettings {
            plane: plane.to_owned(),
            summary: summary.clone(),
            cumulus: cumulus.clone(),
            sonic: sonic.clone(),
        })
        .collect()
}
