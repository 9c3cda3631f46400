//! A lab as a cluster file would have it: which ports share a cage, and what is plugged in where.

use std::net::Ipv4Addr;

use crosstie_model::{
    Cable, Mtu, PortRef,
    spec::{self, Cage, PortMatch, Spec},
};
use ipnet::{IpNet, Ipv4Net};

use crate::{
    Lab,
    profile::{CageRef, Node, Segment, SegmentKind},
};

impl Lab {
    /// Soft-RoCE has no ids that tell twins, so the profile does; and it knows what is plugged in where.
    pub fn spec(&self) -> Spec {
        let profile = self.profile();
        Spec {
            format: spec::FORMAT,
            name: self.name().to_owned(),
            fabric: fabric(),
            qos: None,
            nodes: profile.nodes.iter().map(node_spec).collect(),
            cables: profile.segments.iter().flat_map(cables).collect(),
            planes: Vec::new(),
        }
    }
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
