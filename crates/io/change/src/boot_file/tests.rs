//! What a boot restores.

#![allow(clippy::unwrap_used)] // a test says what went wrong by panicking

use std::fs;

use super::*;
use crate::step::tests::{Script, node, tree};

fn boot() -> BootUnitSettings {
    BootUnitSettings {
        format: 1,
        down: vec!["../eth2".to_owned()],
        ports: vec![BootPortSettings {
            interface: "eth1".to_owned(),
            device: "mlx5_0".to_owned(),
            port: 1,
            trust: Some("dscp".to_owned()),
            ecn: Some(vec![3]),
            traffic_class: Some(106),
            dscp: Some([("26".to_owned(), 3)].into()),
            ..BootPortSettings::default()
        }],
    }
}

#[test]
fn a_boot_waits_for_ports_and_does_the_rest() {
    const NOTIFICATION: &str = "sys/class/net/eth1/ecn/roce_np/enable/3";
    const REACTION: &str = "sys/class/net/eth1/ecn/roce_rp/enable/3";
    let root = tree(&[
        ("sys/class/net/eth1/qos/trust", "pcp\n"),
        ("sys/class/net/eth1/qos/dscp2prio", "dscp\tprio\n26 3\n"),
        (REACTION, "0\n"),
        ("sys/class/infiniband/mlx5_0/tc/1/traffic_class", ""),
    ]);
    let path = root.path().to_owned();
    let late = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        let half_made = path.join("3");
        fs::write(&half_made, "0\n").unwrap();
        fs::create_dir_all(path.join(NOTIFICATION).parent().unwrap()).unwrap();
        fs::rename(half_made, path.join(NOTIFICATION)).unwrap();
    });
    let mut node = node(root.path(), &Script::default());
    let failed = set_all(&mut node, &boot(), Duration::from_secs(30));
    late.join().unwrap();
    assert!(matches!(failed[..], [StepError::Name { .. }]), "{failed:?}");
    let read = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
    assert_eq!(read("sys/class/net/eth1/qos/trust"), "dscp");
    assert_eq!(
        (read(NOTIFICATION), read(REACTION)),
        ("1".into(), "1".into())
    );
    assert_eq!(
        read("sys/class/infiniband/mlx5_0/tc/1/traffic_class"),
        "106"
    );
}

#[test]
fn a_boot_does_not_wait_for_ever() {
    let root = tree(&[
        ("sys/class/net/eth1/qos/trust", "dscp\n"),
        ("sys/class/net/eth1/qos/dscp2prio", "26 3\n"),
        ("sys/class/infiniband/mlx5_0/tc/1/traffic_class", "106\n"),
    ]);
    let began = Instant::now();
    let mut node = node(root.path(), &Script::default());
    let failed = set_all(&mut node, &boot(), Duration::from_millis(600));
    assert!((600..5000).contains(&began.elapsed().as_millis()));
    let missing = |error: &StepError| matches!(error, StepError::NoFile { .. });
    assert_eq!(failed.iter().filter(|error| missing(error)).count(), 2);
    assert_eq!(failed.len(), 3, "{failed:?}");
}

/// A card whose firmware hangs takes 10 seconds for each request.
#[test]
fn a_port_that_gives_no_answer_keeps_no_other_waiting() {
    const CLASS: &str = "sys/class/infiniband/mlx5_0/tc/1/traffic_class";
    let root = tree(&[(CLASS, "")]);
    let boot = BootUnitSettings {
        format: 1,
        down: Vec::new(),
        ports: vec![BootPortSettings {
            interface: "eth1".to_owned(),
            device: "mlx5_0".to_owned(),
            port: 1,
            pfc: Some(vec![3]),
            traffic_class: Some(106),
            dscp: Some([("26".to_owned(), 3), ("27".to_owned(), 3)].into()),
            ..BootPortSettings::default()
        }],
    };
    // It panics when it is asked once more.
    let silence = Script::default().then(Err(NetlinkError::Silent(Duration::from_secs(10))));
    let mut node = node(root.path(), &silence);
    let failed = set_all(&mut node, &boot, Duration::ZERO);
    assert!(
        matches!(failed[..], [StepError::Kernel { .. }]),
        "{failed:?}"
    );
    assert_eq!(fs::read_to_string(root.path().join(CLASS)).unwrap(), "106");
}
