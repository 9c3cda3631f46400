//! What is written to files.

use super::*;

#[test]
fn ofeds_files_are_written_where_they_are() {
    let files = [
        ("sys/class/net/eth1/qos/trust", "dscp\n"),
        ("sys/class/net/eth1/qos/dscp2prio", "dscp\tprio\n26 0\n"),
        ("sys/class/net/eth1/ecn/roce_np/enable/3", "0\n"),
        ("sys/class/net/eth1/ecn/roce_rp/enable/3", "1\n"),
        ("sys/class/infiniband/mlx5_0/tc/1/traffic_class", ""),
        (
            "sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode",
            "RoCE v2\n",
        ),
        (
            "sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos",
            "0\n",
        ),
    ];
    let root = tree(&files);
    let mut node = node(root.path(), &Script::default());
    for step in [
        trust("pcp"),
        dscp(26, Some(3)),
        ecn(EcnPoint::Notification, true),
        ecn(EcnPoint::Reaction, false),
        class(106),
        mode("IB/RoCE v1"),
    ] {
        apply(&step, &mut node).unwrap();
    }
    let read = |(path, _): &(&str, &str)| fs::read_to_string(root.path().join(path)).unwrap();
    let now: Vec<String> = files.iter().map(read).collect();
    assert_eq!(now, ["pcp", "26 3 ", "1", "0", "106", "IB/RoCE v1", "0\n"]);
}

#[test]
fn what_is_so_is_not_written() {
    let files = [
        ("sys/class/net/eth1/qos/trust", "dscp\n"),
        (
            "sys/class/net/eth1/qos/dscp2prio",
            "dscp\tprio\n26 3\n27 0\n",
        ),
        ("sys/class/net/eth1/ecn/roce_np/enable/3", "1\n"),
        (
            "sys/class/infiniband/mlx5_0/tc/1/traffic_class",
            "Global tclass=106\n",
        ),
        (
            "sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode",
            "RoCE v2\n",
        ),
    ];
    let root = tree(&files);
    let mut node = node(root.path(), &Script::default());
    for step in [
        trust("dscp"),
        dscp(26, Some(3)),
        dscp(27, None),
        ecn(EcnPoint::Notification, true),
        class(106),
        mode("RoCE v2"),
    ] {
        apply(&step, &mut node).unwrap();
    }
    for (path, text) in files {
        assert_eq!(fs::read_to_string(root.path().join(path)).unwrap(), text);
    }
}

#[test]
fn nothing_is_made_that_is_not_there() {
    let root = tree(&[("sys/class/net/eth1/mtu", "1500\n")]);
    let mut node = node(root.path(), &Script::default());
    for step in [ecn(EcnPoint::Reaction, true), class(106), mode("RoCE v2")] {
        let error = apply(&step, &mut node).unwrap_err();
        assert!(error.may_pass(), "{error}");
    }
    let made = |path: &str| root.path().join(path).exists();
    assert!(!made("sys/class/net/eth1/ecn") && !made("sys/kernel"));
    // Where the kernel has it, making the folder makes its files too; here it stays empty, and goes again.
    let manager = root.path().join("sys/kernel/config/rdma_cm");
    fs::create_dir_all(&manager).unwrap();
    apply(&mode("RoCE v2"), &mut node).unwrap_err();
    assert_eq!(fs::read_dir(&manager).unwrap().count(), 0);
}
