//! `crosstie init` and `crosstie plan` on the kinds of lab that `make test` leaves out.

use crate::common::profiles::finds_the_profile;

#[test]
fn full_init_finds_a_ring() {
    finds_the_profile("three-ring");
}

#[test]
fn full_init_finds_a_mixed_pair() {
    finds_the_profile("spark-and-workstation");
}
