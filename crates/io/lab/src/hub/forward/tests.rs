#![allow(clippy::unwrap_used)]

use super::*;
use crate::hub::{CableFault, FaultDirection, HubAttachment as Plug, HubSegment as Wire};

/// Two cages of two twins on a cable; ports 0, 1 and 2, 3.
fn cable() -> FrameForwarder {
    fabric(SegmentMedium::Repeat, &["a:p0", "b:p0"])
}

fn fabric(medium: SegmentMedium, cages: &[&str]) -> FrameForwarder {
    let plug = |name: &&str| Plug {
        name: (*name).to_owned(),
        sockets: vec![format!("{name}.0"), format!("{name}.1")],
        only_for: None,
    };
    FrameForwarder::new(&HubConfig {
        seed: 1,
        control: String::new(),
        segments: vec![Wire {
            name: "wire".to_owned(),
            medium,
            attachments: cages.iter().map(plug).collect(),
        }],
    })
}

fn frame(target: u8, source: u8) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[0] = 2;
    frame[5] = target;
    frame[6] = 2;
    frame[11] = source;
    frame
}

fn heard(
    fabric: &mut FrameForwarder,
    from: HubPortIndex,
    frame: &[u8],
    now: Duration,
) -> Vec<HubPortIndex> {
    let mut ports = Vec::new();
    fabric.forward(from, frame, now, |port, _| ports.push(port));
    ports
}

#[test]
fn a_cable_is_heard_by_both_far_twins_and_the_own_one() {
    assert_eq!(
        heard(&mut cable(), 0, &frame(9, 1), Duration::ZERO),
        [1, 2, 3]
    );
}

#[test]
fn a_cut_at_either_end_stops_both_directions() {
    let mut fabric = cable();
    fabric
        .faults_mut("b:p0")
        .unwrap()
        .add(CableFault::Cut, FaultDirection::Both);
    assert_eq!(heard(&mut fabric, 0, &frame(9, 1), Duration::ZERO), [1]);
    assert_eq!(heard(&mut fabric, 3, &frame(9, 1), Duration::ZERO), [2]);
    assert_eq!(lost(&fabric, "b:p0"), (1, 1));
    assert_eq!(lost(&fabric, "a:p0"), (0, 0));
}

fn lost(fabric: &FrameForwarder, name: &str) -> (u64, u64) {
    let mut all = fabric.lost();
    let (_, lost) = all.find(|(found, _)| *found == name).unwrap();
    (lost.sent, lost.received)
}

#[test]
fn a_fault_of_one_way_leaves_the_other_alone_and_is_counted_where_it_is() {
    let now = Duration::ZERO;
    let mut fabric = cable();
    let faults = fabric.faults_mut("a:p0").unwrap();
    faults.add(CableFault::Loss(1.0), FaultDirection::Sent);
    assert!(!faults.none() && !faults.is_cut());
    assert_eq!(heard(&mut fabric, 0, &frame(9, 1), now), [1]);
    assert_eq!(heard(&mut fabric, 2, &frame(9, 1), now), [3, 0, 1]);
    assert_eq!(lost(&fabric, "a:p0"), (1, 0));
    fabric.clear_faults();
    let faults = fabric.faults_mut("a:p0").unwrap();
    faults.add(CableFault::Cut, FaultDirection::Received);
    assert!(!faults.is_cut(), "light still comes out");
    assert_eq!(heard(&mut fabric, 2, &frame(9, 1), now), [3]);
    assert_eq!(heard(&mut fabric, 0, &frame(9, 1), now), [1, 2, 3]);
    assert_eq!(lost(&fabric, "a:p0"), (1, 1));
}

#[test]
fn a_switch_learns_the_cage_and_floods_the_unknown() {
    let mut fabric = fabric(SegmentMedium::Learn, &["a:p0", "b:p0", "c:p0"]);
    let now = Duration::ZERO;
    assert_eq!(heard(&mut fabric, 0, &frame(9, 1), now), [1, 2, 3, 4, 5]);
    assert_eq!(heard(&mut fabric, 2, &frame(1, 2), now), [3, 0, 1]);
    let mut group = frame(1, 2);
    group[0] = 0xff;
    assert_eq!(heard(&mut fabric, 2, &group, now), [3, 0, 1, 4, 5]);
}

#[test]
fn delayed_frames_come_out_in_order_when_due() {
    let mut fabric = cable();
    fabric
        .faults_mut("a:p0")
        .unwrap()
        .add(CableFault::DelayMicros(2000), FaultDirection::Both);
    assert_eq!(heard(&mut fabric, 0, &frame(9, 1), Duration::ZERO), [1]);
    assert_eq!(heard(&mut fabric, 1, &frame(9, 2), Duration::ZERO), [0]);
    let mut out = Vec::new();
    let next = fabric.release(Duration::from_micros(1999), |_, _| ());
    assert_eq!(next, Some(Duration::from_millis(2)));
    let next = fabric.release(Duration::from_millis(2), |port, frame| {
        out.push((port, frame[11]));
    });
    assert_eq!(next, None);
    assert_eq!(out, [(2, 1), (3, 1), (2, 2), (3, 2)]);
}

#[test]
fn runts_are_ignored_and_neighbours_are_of_the_segment() {
    let mut fabric = cable();
    assert!(heard(&mut fabric, 0, &[0; 11], Duration::ZERO).is_empty());
    assert_eq!(fabric.neighbours(2).collect::<Vec<_>>(), [0, 1, 3]);
}
