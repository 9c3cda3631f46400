//! A boot of a real kernel, whose drivers bring ports up before anybody asks.

use crate::common::{boots::unused_ports_stay_down, lab::machines};

#[test]
fn full_unused_ports_stay_down_after_a_boot() {
    unused_ports_stay_down(&machines("two-sparks"));
}
