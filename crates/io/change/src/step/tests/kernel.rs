//! What goes over netlink.

use rustix::io::Errno;

use super::*;

/// The nest that tells DCB's attributes.
fn ieee(inside: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + inside.len()).unwrap();
    let mut nest = length.to_ne_bytes().to_vec();
    nest.extend([13, 0x80]);
    nest.extend(inside);
    nest
}

#[test]
fn flow_control_keeps_the_cables_delay() {
    let script = Script::default().flow_control(0).dcbx(1).status(0);
    set_over(&script, &flow_control(&[3])).unwrap();
    let mut inside = vec![140, 0, 2, 0];
    inside.extend(pfc(0b1000));
    assert_eq!(script.changes(), [(20, ieee(&inside))]);
}

/// It would take the link down.
#[test]
fn flow_control_that_is_so_is_left_alone() {
    let script = Script::default().flow_control(0b1000);
    set_over(&script, &flow_control(&[3])).unwrap();
    assert_eq!(script.changes(), []);
}

#[test]
fn the_firmware_hands_over_first() {
    let script = Script::default()
        .flow_control(0)
        .dcbx(0b1100)
        .dcbx(0)
        .status(0);
    set_over(&script, &flow_control(&[3])).unwrap();
    let changes = script.changes();
    assert_eq!(changes[0], (23, vec![5, 0, 14, 0, 0b1101, 0, 0, 0]));
    assert_eq!(changes[1].0, 20);
    let script = Script::default().flow_control(0).dcbx(0).dcbx(1);
    let error = set_over(&script, &flow_control(&[3])).unwrap_err();
    assert!(matches!(error, StepError::Kernel { .. }));
    // A driver without DCBX.
    let script = Script::default()
        .flow_control(0)
        .then(Err(NetlinkError::Refused(Errno::OPNOTSUPP)))
        .status(0);
    set_over(&script, &flow_control(&[3])).unwrap();
}

#[test]
fn refusals_come_two_ways() {
    let refused = |script: Script| match set_over(&script, &flow_control(&[3])) {
        Err(error @ StepError::Kernel { source, .. }) => (source, error.may_pass()),
        other => panic!("{other:?}"),
    };
    let no = |errno| NetlinkError::Refused(errno);
    let message = Script::default().then(Err(no(Errno::OPNOTSUPP)));
    assert_eq!(refused(message), (no(Errno::OPNOTSUPP), false));
    let gone = Script::default().then(Err(no(Errno::NODEV)));
    assert_eq!(refused(gone), (no(Errno::NODEV), true));
    let byte = || Script::default().flow_control(0).dcbx(1).status(-22);
    assert_eq!(refused(byte()), (no(Errno::INVAL), false));
    let error = set_over(&byte(), &flow_control(&[3])).unwrap_err();
    let told = crosstie_node::with_causes(&error);
    assert!(
        told.ends_with(" cannot be set: Invalid argument (os error 22)"),
        "{told}"
    );
    let reading = Script::default().status(-95);
    assert_eq!(refused(reading), (no(Errno::OPNOTSUPP), false));
    let no_flow_control = Script::default().mappings(&[]);
    assert_eq!(refused(no_flow_control), (no(Errno::OPNOTSUPP), false));
}

/// As `dcb app add dev eth1 dscp-prio 26:3` sends it.
#[test]
fn a_mapping_is_set_byte_for_byte() {
    let captured = [
        0x0c, 0x00, 0x03, 0x80, 0x08, 0x00, 0x01, 0x00, 0x05, 0x03, 0x1a, 0x00,
    ];
    let script = Script::default()
        .mappings(&[])
        .dcbx(1)
        .status(0)
        .mappings(&[(26, 3)]);
    set_over(&script, &dscp(26, Some(3))).unwrap();
    assert_eq!(script.changes(), [(20, ieee(&captured))]);
    let script = Script::default()
        .mappings(&[(26, 3), (27, 1)])
        .dcbx(1)
        .status(0);
    set_over(&script, &dscp(26, None)).unwrap();
    assert_eq!(script.changes(), [(27, ieee(&captured))]);
    for (found, wanted) in [(&[(26, 3)][..], Some(3)), (&[(27, 3)], None)] {
        let script = Script::default().mappings(found);
        set_over(&script, &dscp(26, wanted)).unwrap();
        assert_eq!(script.changes(), []);
    }
}

#[test]
fn an_old_mapping_goes_after_the_new_one_came() {
    let script = Script::default()
        .mappings(&[(26, 2)])
        .dcbx(1)
        .status(0)
        .mappings(&[(26, 2), (26, 3)])
        .dcbx(1)
        .status(0);
    set_over(&script, &dscp(26, Some(3))).unwrap();
    let changes = script.changes();
    assert_eq!((changes[0].0, changes[1].0), (20, 27));
    assert_eq!(changes[1].1[12..], [5, 2, 26, 0]);
}

#[test]
fn trust_without_a_file_is_a_table() {
    let script = Script::default().mappings(&[]).dcbx(1).status(0);
    set_over(&script, &trust("dscp")).unwrap();
    let changes = script.changes();
    let [(20, content)] = &changes[..] else {
        panic!("{changes:?}")
    };
    assert_eq!(content.len(), 8 + 64 * 8);
    assert_eq!(content[8 + 26 * 8..][..8], [8, 0, 1, 0, 5, 3, 26, 0]);
    assert_eq!(content[8 + 63 * 8..], [8, 0, 1, 0, 5, 7, 63, 0]);
    let script = Script::default()
        .mappings(&[(26, 3), (46, 5)])
        .dcbx(1)
        .status(0);
    set_over(&script, &trust("pcp")).unwrap();
    let changes = script.changes();
    assert_eq!((changes[0].0, changes[0].1.len()), (27, 8 + 2 * 8));
    for (found, wanted) in [(&[(26, 3)][..], "dscp"), (&[], "pcp")] {
        let script = Script::default().mappings(found);
        set_over(&script, &trust(wanted)).unwrap();
        assert_eq!(script.changes(), []);
    }
}

/// `ifinfomsg` of interface 7.
fn link(up: bool) -> Vec<u8> {
    vec![0, 0, 1, 0, 7, 0, 0, 0, u8::from(up), 0, 0, 0, 0, 0, 0, 0]
}

#[test]
fn links_go_up_and_down_when_they_are_not() {
    let step = |up: bool| {
        PlanStep::from(InterfaceUp {
            interface: "eth1".to_owned(),
            up: change(!up, up),
        })
    };
    let find = |up| Script::default().then(Ok(link(up)));
    let script = find(true).then(Ok(Vec::new()));
    set_over(&script, &step(false)).unwrap();
    let (kind, body) = script.asked.borrow()[1].clone();
    assert_eq!(
        (kind, body),
        (16, vec![0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])
    );
    set_over(&find(true), &step(true)).unwrap();
    let gone = Script::default().then(Err(NetlinkError::Refused(Errno::NODEV)));
    let error = set_over(&gone, &step(true)).unwrap_err();
    assert!(matches!(error, StepError::NoInterface { .. }) && error.may_pass());
}
