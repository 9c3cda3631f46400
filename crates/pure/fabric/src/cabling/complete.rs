//! Whether listening any longer could tell more.

use std::collections::{BTreeMap, BTreeSet};

use super::{FrameSender, PortReception};

/// Every port that can hear somebody has, and of the nodes on one wire every port hears every other node's. What each
/// node's ports heard so far, by the node's number.
pub fn is_complete(nodes: &[Vec<PortReception>]) -> bool {
    let ports = || nodes.iter().enumerate().flat_map(numbered);
    if !ports().all(|(_, port)| is_settled(port)) {
        return false;
    }
    let heard: BTreeMap<FrameSender, BTreeSet<FrameSender>> = ports()
        .map(|(sender, port)| {
            (
                sender,
                port.heard.iter().map(|heard| heard.sender).collect(),
            )
        })
        .collect();
    wires(&heard).iter().all(|wire| {
        let pairs = wire.iter().flat_map(|a| wire.iter().map(move |b| (a, b)));
        let mut others = pairs.filter(|(a, b)| a.node != b.node);
        others.all(|(a, b)| heard.get(a).is_some_and(|heard| heard.contains(b)))
    })
}

fn numbered(
    (node, ports): (usize, &Vec<PortReception>),
) -> impl Iterator<Item = (FrameSender, &PortReception)> {
    let number = |index: usize| u16::try_from(index).ok();
    let ports = ports.iter().enumerate();
    ports.filter_map(move |(port, heard)| {
        let sender = FrameSender {
            node: number(node)?,
            port: number(port)?,
        };
        Some((sender, heard))
    })
}

/// It heard somebody, or it never will: nothing is plugged in, or it takes no part. A link that was brought up for this may
/// still get its carrier.
fn is_settled(port: &PortReception) -> bool {
    let is_empty = port.carrier_before == Some(false) && port.carrier != Some(true);
    !port.heard.is_empty() || port.problem.is_some() || (is_empty && !port.raised)
}

/// Ports that are joined by hearing, in either direction.
fn wires(heard: &BTreeMap<FrameSender, BTreeSet<FrameSender>>) -> Vec<BTreeSet<FrameSender>> {
    let mut wires: Vec<BTreeSet<FrameSender>> = Vec::new();
    for (sender, others) in heard {
        let mut joined: BTreeSet<FrameSender> = others.clone();
        joined.insert(*sender);
        let (same, apart) = wires
            .into_iter()
            .partition::<Vec<_>, _>(|wire| !wire.is_disjoint(&joined));
        joined.extend(same.into_iter().flatten());
        wires = apart;
        wires.push(joined);
    }
    wires
}

#[cfg(test)]
mod tests {
    use super::super::FramesFrom;
    use super::*;

    fn port(heard: &[(u16, u16)]) -> PortReception {
        let heard = heard.iter().map(|(node, port)| FramesFrom {
            sender: FrameSender {
                node: *node,
                port: *port,
            },
            frames: 3,
        });
        PortReception {
            carrier_before: Some(true),
            carrier: Some(true),
            heard: heard.collect(),
            ..PortReception::default()
        }
    }

    #[test]
    fn twins_of_two_nodes_hear_each_other_and_not_themselves() {
        let here = port(&[(1, 0), (1, 1)]);
        let there = port(&[(0, 0), (0, 1)]);
        let all = [vec![here.clone(), here.clone()], vec![there.clone(), there]];
        assert!(is_complete(&all));
        let mut one_missing = all.clone();
        one_missing[0][1] = port(&[(1, 0)]);
        assert!(!is_complete(&one_missing));
    }

    #[test]
    fn one_direction_alone_is_not_all() {
        assert!(!is_complete(&[vec![port(&[(1, 0)])], vec![port(&[])]]));
        assert!(is_complete(&[vec![port(&[(1, 0)])], vec![port(&[(0, 0)])]]));
    }

    #[test]
    fn a_switch_is_heard_through_when_each_hears_each() {
        let three = [
            vec![port(&[(1, 0), (2, 0)])],
            vec![port(&[(0, 0), (2, 0)])],
            vec![port(&[(0, 0), (1, 0)])],
        ];
        assert!(is_complete(&three));
        let mut late = three;
        late[2][0] = port(&[(0, 0)]);
        assert!(!is_complete(&late));
    }

    #[test]
    fn an_empty_cage_is_not_waited_for_and_a_silent_or_a_rising_one_is() {
        let cabled = [vec![port(&[(1, 0)])], vec![port(&[(0, 0)])]];
        let with = |extra: PortReception| {
            let mut nodes = cabled.clone();
            nodes[0].push(extra);
            is_complete(&nodes)
        };
        let without_carrier = PortReception {
            carrier_before: Some(false),
            carrier: Some(false),
            ..PortReception::default()
        };
        assert!(with(without_carrier.clone()));
        let rising = PortReception {
            carrier_before: None,
            raised: true,
            ..without_carrier.clone()
        };
        assert!(!with(rising));
        assert!(!with(port(&[])));
        let refused = PortReception {
            problem: Some("the node is managed over it".to_owned()),
            ..PortReception::default()
        };
        assert!(with(refused));
    }
}
