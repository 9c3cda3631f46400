//! Clusters, with what is wrong with them.

use super::*;

const TWINS: [(&str, &str, &str); 4] = [
    ("rocep1s0f0", "enp1s0f0np0", "p0"),
    ("roceP2p1s0f0", "enP2p1s0f0np0", "p0"),
    ("rocep1s0f1", "enp1s0f1np1", "p1"),
    ("roceP2p1s0f1", "enP2p1s0f1np1", "p1"),
];

/// Two Sparks with two cables; the second may be slow.
pub(crate) fn two_sparks(slow_cable: bool) -> StoredRun {
    let hosts = ["spark-a", "spark-b"];
    let node = |host: &str| RunNode {
        host: host.to_owned(),
        arch: Some("aarch64".to_owned()),
        distro: Some("Ubuntu 24.04.4 LTS".to_owned()),
        machine: Some("NVIDIA DGX Spark".to_owned()),
        kernel: Some("6.17.0-1014-nvidia".to_owned()),
        rdma_core: Some("50.0-2ubuntu0.2".to_owned()),
        gpu_driver: Some("580.142".to_owned()),
        gpus: vec!["NVIDIA GB10".to_owned()],
        nccl: vec!["2.28.9".to_owned()],
        ports: TWINS
            .iter()
            .map(|(device, interface, cage)| {
                port(device, interface, cage, 200.0, (4, 112.8), "ConnectX-7")
            })
            .collect(),
        ..RunNode::default()
    };
    let cable = |cage: &str| Cable::Direct {
        a: format!("spark-a:{cage}").parse().unwrap(),
        b: format!("spark-b:{cage}").parse().unwrap(),
        number: None,
    };
    let cables = vec![cable("p0"), cable("p1")];
    let mut maker = Maker::new(
        header("sparks", hosts.map(node).to_vec(), cables.clone()),
        7,
    );
    for from in 0..2_usize {
        let mut rails = Vec::new();
        for (rail, (device, interface, cage)) in TWINS.iter().enumerate() {
            let cable = &cables[usize::from(*cage == "p1")];
            let end = |node: usize| {
                let address = [192, 168, 176 + rail as u8, 11 + node as u8];
                measured_end(hosts[node], device, interface, address, rail as u32, cable)
            };
            let slow = slow_cable && *cage == "p1";
            let path = Path {
                gbps: if slow { 41.0 } else { 109.6 },
                tcp_gbps: if slow { 21.0 } else { 36.5 },
                rdma_us: 1.62,
                tcp_us: 24.0,
                paused: slow,
            };
            maker.path(&end(from), &end(1 - from), path, &SIZES);
            rails.push((end(from), end(1 - from), if slow { 20.6 } else { 96.3 }));
        }
        maker.all_rails(&rails);
    }
    maker.end()
}

/// Sixteen nodes with two cards each, on two planes; the cable of `gpu-07` to the second plane is slow, and `gpu-12` has
/// an MTU of 1500.
pub(crate) fn sixteen() -> StoredRun {
    switched(16)
}

pub(crate) fn switched(count: usize) -> StoredRun {
    let hosts: Vec<String> = (1..=count).map(|index| format!("gpu-{index:02}")).collect();
    let cards = [
        ("mlx5_0", "ens1f0np0", "p0", "leaf-a"),
        ("mlx5_1", "ens2f0np0", "p1", "leaf-b"),
    ];
    let small = 11;
    let node = |(index, host): (usize, &String)| RunNode {
        host: host.clone(),
        arch: Some("x86_64".to_owned()),
        distro: Some("Ubuntu 22.04.5 LTS".to_owned()),
        machine: Some("Supermicro SYS-821GE-TNHR".to_owned()),
        kernel: Some("5.15.0-130-generic".to_owned()),
        rdma_driver: Some("24.10-1.1.4".to_owned()),
        rdma_core: Some("2410mlnx54".to_owned()),
        gpu_driver: Some("570.124.06".to_owned()),
        gpus: vec!["NVIDIA H100 80GB HBM3".to_owned(); 2],
        nccl: vec!["2.26.2".to_owned()],
        ports: cards
            .iter()
            .map(|(device, interface, cage, _)| {
                let mut port = port(device, interface, cage, 400.0, (16, 451.0), "ConnectX-7");
                if index == small {
                    (port.interface_mtu, port.path_mtu) = (Some(Mtu(1500)), Some(Mtu(1024)));
                }
                port
            })
            .collect(),
        ..RunNode::default()
    };
    let cable = |host: &str, cage: &str, plane: &str| Cable::Switched {
        port: format!("{host}:{cage}").parse().unwrap(),
        plane: plane.to_owned(),
    };
    let nodes = hosts.iter().enumerate().map(node).collect();
    let cabling = hosts
        .iter()
        .flat_map(|host| cards.map(|(_, _, cage, plane)| cable(host, cage, plane)));
    let mut maker = Maker::new(header("rack-4", nodes, cabling.collect()), 11);
    for from in 0..count {
        for to in (0..count).filter(|to| *to != from) {
            let mut rails = Vec::new();
            for (rail, (device, interface, cage, plane)) in cards.iter().enumerate() {
                let end = |node: usize| {
                    let address = [10, 77, rail as u8, 1 + node as u8];
                    measured_end(
                        &hosts[node],
                        device,
                        interface,
                        address,
                        rail as u32,
                        &cable(&hosts[node], cage, plane),
                    )
                };
                let slow = rail == 1 && [from, to].contains(&6);
                let reduced = [from, to].contains(&small);
                let gbps = match (slow, reduced) {
                    (true, _) => 197.0,
                    (_, true) => 364.0,
                    _ => 386.5,
                };
                let path = Path {
                    gbps,
                    tcp_gbps: 58.0,
                    rdma_us: 1.74,
                    tcp_us: 19.0,
                    paused: false,
                };
                maker.path(&end(from), &end(to), path, &SIZES[5..8]);
                rails.push((end(from), end(to), gbps));
            }
            if to == (from + 1) % count {
                maker.all_rails(&rails);
            }
        }
    }
    maker.end()
}

/// Nodes in a ring, a cable from each to the next; that of the second to the third is slow in one direction.
pub(crate) fn ring(count: usize) -> StoredRun {
    let hosts: Vec<String> = (0..count).map(|index| format!("spark-{index}")).collect();
    let node = |host: &String| RunNode {
        host: host.clone(),
        ports: vec![
            port(
                "rocep1s0f0",
                "enp1s0f0np0",
                "p0",
                200.0,
                (8, 225.6),
                "ConnectX-7",
            ),
            port(
                "rocep1s0f1",
                "enp1s0f1np1",
                "p1",
                200.0,
                (8, 225.6),
                "ConnectX-7",
            ),
        ],
        ..RunNode::default()
    };
    let cable = |index: usize| Cable::Direct {
        a: format!("{}:p1", hosts[index]).parse().unwrap(),
        b: format!("{}:p0", hosts[(index + 1) % count])
            .parse()
            .unwrap(),
        number: None,
    };
    let cables = (0..count).map(cable).collect();
    let mut maker = Maker::new(header("ring", hosts.iter().map(node).collect(), cables), 3);
    for index in 0..count {
        let next = (index + 1) % count;
        let (rail, plugged) = (index as u32, cable(index));
        let near = measured_end(
            &hosts[index],
            "rocep1s0f1",
            "enp1s0f1np1",
            [10, 3, rail as u8, 1],
            rail,
            &plugged,
        );
        let far = measured_end(
            &hosts[next],
            "rocep1s0f0",
            "enp1s0f0np0",
            [10, 3, rail as u8, 2],
            rail,
            &plugged,
        );
        for (from, to, gbps) in [
            (&near, &far, if index == 1 { 171.0 } else { 193.0 }),
            (&far, &near, 192.5),
        ] {
            let path = Path {
                gbps,
                tcp_gbps: 40.0,
                rdma_us: 1.6,
                tcp_us: 22.0,
                paused: false,
            };
            maker.path(from, to, path, &SIZES);
        }
    }
    maker.end()
}
