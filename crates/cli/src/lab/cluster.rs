//! A running lab as a cluster: where its nodes are, and which ports share a cage.

use std::{net::Ipv4Addr, path::PathBuf, sync::Arc};

use anyhow::Result;
use crosstie_lab::{
    Lab, Paths,
    profile::{CageRef, Node, Segment, SegmentKind},
};
use crosstie_model::{
    Cable, Mtu, PortRef,
    spec::{self, Cage, PortMatch, Spec},
};
use crosstie_reach::secret::Secret;
use ipnet::{IpNet, Ipv4Net};

/// What `--lab NAME` stands for.
pub(crate) struct LabCluster {
    pub(crate) nodes: Vec<String>,
    pub(crate) ssh_config: PathBuf,
    pub(crate) password: Arc<Secret>,
    /// Soft-RoCE has no ids that tell twins, so the profile does; and it knows what is plugged in where.
    pub(crate) spec: Spec,
}

pub(crate) fn cluster(name: &str) -> Result<LabCluster> {
    let lab = Lab::open(&Paths::new(None), name)?;
    let nodes = &lab.profile().nodes;
    Ok(LabCluster {
        nodes: nodes.iter().map(|node| node.name.clone()).collect(),
        ssh_config: lab.ssh_config(),
        password: Arc::new(Secret::new(lab.password())),
        spec: Spec {
            format: spec::FORMAT,
            name: name.to_owned(),
            fabric: fabric(),
            qos: None,
            nodes: nodes.iter().map(node_spec).collect(),
            cables: lab.profile().segments.iter().flat_map(cables).collect(),
            planes: Vec::new(),
        },
    })
}

/// What a lab's nodes are planned with where no cluster file says otherwise. Nothing in a lab has such an address.
fn fabric() -> spec::Fabric {
    spec::Fabric {
        mtu: Some(Mtu(9000)),
        pool: Ipv4Net::new(Ipv4Addr::new(10, 99, 0, 0), 16)
            .ok()
            .map(IpNet::V4),
        ..spec::Fabric::default()
    }
}

/// A cable joins two cages; whatever has more ends is a switch.
fn cables(segment: &Segment) -> Vec<Cable> {
    let port = |end: &CageRef| PortRef {
        node: end.node.clone(),
        cage: end.cage.clone(),
    };
    match (segment.kind, segment.ends.as_slice()) {
        (SegmentKind::Cable, [a, b]) => vec![Cable::Direct {
            a: port(a),
            b: port(b),
            number: None,
        }],
        (_, ends) => ends
            .iter()
            .map(|end| Cable::Switched {
                port: port(end),
                plane: segment.name.clone(),
            })
            .collect(),
    }
}

fn node_spec(node: &Node) -> spec::Node {
    let cages = node.cages.iter().map(|cage| Cage {
        id: cage.name.clone(),
        ports: cage
            .nics
            .iter()
            .filter_map(|nic| nic.rdma.clone())
            .map(PortMatch::Name)
            .collect(),
    });
    spec::Node {
        name: node.name.clone(),
        number: None,
        ssh: None,
        cages: cages.collect(),
    }
}
