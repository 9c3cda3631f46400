//! A lab as a cluster file would have it: which ports share a cage, and what is plugged in where.

use std::net::Ipv4Addr;

use crosstie_model::{
    Cable, Mtu, PortRef,
    spec::{self, CageSpec, ClusterSpec, PortMatch},
};
use ipnet::{IpNet, Ipv4Net};

use crate::{
    Lab,
    profile::{LabCageRef, LabNode, ProfileSegment, SegmentKind},
};

impl Lab {
    /// Soft-RoCE has no ids that tell twins, so the profile does; and it knows what is plugged in where.
    pub fn spec(&self) -> ClusterSpec {
        let profile = self.profile();
        ClusterSpec {
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
fn fabric() -> spec::FabricSpec {
    spec::FabricSpec {
        mtu: Some(Mtu(9000)),
        pool: Ipv4Net::new(Ipv4Addr::new(10, 99, 0, 0), 16)
            .ok()
            .map(IpNet::V4),
        ..spec::FabricSpec::default()
    }
}

/// A cable joins two cages; whatever has more ends is a switch.
fn cables(segment: &ProfileSegment) -> Vec<Cable> {
    let port = |end: &LabCageRef| PortRef {
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

fn node_spec(node: &LabNode) -> spec::NodeSpec {
    let cages = node.cages.iter().map(|cage| CageSpec {
        id: cage.name.clone(),
        ports: cage
            .nics
            .iter()
            .filter_map(|nic| nic.rdma.clone())
            .map(PortMatch::Name)
            .collect(),
    });
    spec::NodeSpec {
        name: node.name.clone(),
        number: None,
        ssh: None,
        cages: cages.collect(),
    }
}
