use crate::common::{boots::unused_ports_stay_down, lab::containers};

#[test]
fn unused_ports_stay_down_after_a_boot() {
    unused_ports_stay_down(&containers("two-sparks"));
}
