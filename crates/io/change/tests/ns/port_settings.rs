//! Settings of a port on a real kernel, in a network namespace made for the test.

use crosstie_change::port_settings::{PortSettingsError, set};
use crosstie_model::{Step, plan::Change};

use crate::namespace::Namespace;

#[test]
fn a_link_goes_down_and_the_kernels_refusals_come_through() {
    let namespace = Namespace::new("settings");
    namespace.ip("link add left type veth peer name right");
    namespace.ip("link set left up");
    let link = |up: bool| Step::Link {
        interface: "left".to_owned(),
        up: Change { from: !up, to: up },
    };
    let is_up = || namespace.ip("-j link show left");
    for up in [false, false, true] {
        namespace
            .enter(|| set(&link(up)))
            .expect("the link's state");
        assert_eq!(is_up().contains("\"UP\""), up);
    }
    let flow_control = |interface: &str| Step::Pfc {
        interface: interface.to_owned(),
        priorities: Change {
            from: Vec::new(),
            to: vec![3],
        },
    };
    let refused = |interface| namespace.enter(|| set(&flow_control(interface)).err());
    let error = refused("left").expect("veth has no flow control");
    assert!(matches!(error, PortSettingsError::Kernel { .. }) && !error.may_pass());
    let error = refused("gone").expect("there is no such port");
    assert!(matches!(error, PortSettingsError::Kernel { .. }) && error.may_pass());
}
