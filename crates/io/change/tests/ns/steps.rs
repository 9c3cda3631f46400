//! Steps on a real kernel, in a network namespace made for the test.

use crosstie_change::{
    StepError,
    step::{NodeRuntime, apply},
};
use crosstie_model::{
    PlanStep,
    plan::{InterfaceUp, PriorityFlowControl, ValueChange},
};

use crate::namespace::Namespace;

#[test]
fn a_link_goes_down_and_the_kernels_refusals_come_through() {
    let namespace = Namespace::new("settings");
    namespace.ip("link add left type veth peer name right");
    namespace.ip("link set left up");
    let set = |step: &PlanStep| apply(step, &mut NodeRuntime::machine());
    let link = |up: bool| {
        PlanStep::from(InterfaceUp {
            interface: "left".to_owned(),
            up: ValueChange { from: !up, to: up },
        })
    };
    let is_up = || namespace.ip("-j link show left");
    for up in [false, false, true] {
        namespace
            .enter(|| set(&link(up)))
            .expect("the link's state");
        assert_eq!(is_up().contains("\"UP\""), up);
    }
    let flow_control = |interface: &str| {
        PlanStep::from(PriorityFlowControl {
            interface: interface.to_owned(),
            priorities: ValueChange {
                from: Vec::new(),
                to: vec![3],
            },
        })
    };
    let refused = |interface| namespace.enter(|| set(&flow_control(interface)).err());
    let error = refused("left").expect("veth has no flow control");
    assert!(matches!(error, StepError::Kernel { .. }) && !error.may_pass());
    let error = refused("gone").expect("there is no such port");
    assert!(matches!(error, StepError::Kernel { .. }) && error.may_pass());
}
