use proptest::prelude::*;

use super::*;
use crate::cabling::{FrameSender, FramesFrom, PortReception, SurveyedPort};

/// A cage: its number, how many twins it has.
type Ports = Vec<usize>;

/// Stations whose cages are called `p0`, `p1`, …, with as many twins as given, none of which heard anything yet.
fn surveys(nodes: &[Ports], known: impl Fn(usize) -> bool) -> Vec<SurveyedNode> {
    let survey = |(node, cages): (usize, &Ports)| SurveyedNode {
        name: format!("node-{node}"),
        ports: cages
            .iter()
            .enumerate()
            .flat_map(|(cage, twins)| {
                let known = known(node);
                (0..*twins).map(move |twin| SurveyedPort {
                    device: format!("roce{twin}f{cage}"),
                    interface: format!("en{twin}f{cage}np{cage}"),
                    cage: known.then(|| format!("p{cage}")),
                    heard: PortReception {
                        carrier: Some(false),
                        ..PortReception::default()
                    },
                })
            })
            .collect(),
    };
    nodes.iter().enumerate().map(survey).collect()
}

fn ports_of(survey: &SurveyedNode, cage: usize) -> Vec<usize> {
    let ending = format!("np{cage}");
    let ports = survey.ports.iter().enumerate();
    ports
        .filter(|(_, port)| port.interface.ends_with(&ending))
        .map(|(index, _)| index)
        .collect()
}

/// Every twin of every cage on the wire hears every other, its own twins too, unless `lost`.
fn plug(
    surveys: &mut [SurveyedNode],
    wire: &[(usize, usize)],
    lost: &mut impl FnMut((usize, usize), (usize, usize)) -> bool,
) {
    for &(node, cage) in wire {
        for port in ports_of(&surveys[node], cage) {
            let mut heard = Vec::new();
            for &(from, other) in wire {
                for sender in ports_of(&surveys[from], other) {
                    if (from, sender) != (node, port) && !lost((node, port), (from, sender)) {
                        let (node, port) = (from.try_into().unwrap(), sender.try_into().unwrap());
                        heard.push(FramesFrom {
                            sender: FrameSender { node, port },
                            frames: 3,
                        });
                    }
                }
            }
            let ear = &mut surveys[node].ports[port].heard;
            ear.carrier = Some(true);
            ear.heard.extend(heard);
        }
    }
}

fn found(surveys: &[SurveyedNode]) -> Vec<String> {
    shown(&detect_cabling(surveys, None))
}

fn shown(wiring: &DetectedCabling) -> Vec<String> {
    let cable = |cable: &Cable| match cable {
        Cable::Direct { a, b, .. } => format!("{a} {b}"),
        Cable::Switched { port, plane } => format!("{port} {plane}"),
    };
    wiring.cables.iter().map(cable).collect()
}

fn kinds(surveys: &[SurveyedNode]) -> Vec<String> {
    let notes = detect_cabling(surveys, None).notes;
    let text = |note: &CablingNote| {
        let ports: Vec<String> = note.ports().iter().map(ToString::to_string).collect();
        format!("{} {}", note.kind(), ports.join(" "))
    };
    notes
        .iter()
        .filter(|note| note.kind() != "twins-by-hearing")
        .map(text)
        .collect()
}

fn wired(nodes: &[Ports], known: bool, wires: &[&[(usize, usize)]]) -> Vec<SurveyedNode> {
    let mut surveys = surveys(nodes, |_| known);
    for wire in wires {
        plug(&mut surveys, wire, &mut |_, _| false);
    }
    surveys
}

#[test]
fn four_hearings_are_one_cable() {
    for known in [true, false] {
        let pair = wired(&[vec![2, 2], vec![2, 2]], known, &[&[(0, 0), (1, 0)]]);
        assert_eq!(found(&pair), ["node-0:p0 node-1:p0"]);
        let cages = &detect_cabling(&pair, None).cages[0];
        assert_eq!(cages[0].ports, [0, 1]);
        assert_eq!(cages[0].by_hearing, !known);
    }
}

#[test]
fn crossed_ports_rings_and_planes() {
    let crossed = wired(
        &[vec![2, 2], vec![2, 2]],
        true,
        &[&[(0, 0), (1, 1)], &[(0, 1), (1, 0)]],
    );
    assert_eq!(
        found(&crossed),
        ["node-0:p0 node-1:p1", "node-0:p1 node-1:p0"]
    );
    assert_eq!(kinds(&crossed).len(), 2);
    let ring = wired(
        &vec![vec![2, 2]; 3],
        false,
        &[&[(0, 1), (1, 0)], &[(1, 1), (2, 0)], &[(2, 1), (0, 0)]],
    );
    assert_eq!(found(&ring).len(), 3);
    assert_eq!(kinds(&ring), Vec::<String>::new());
    let planes = wired(
        &vec![vec![1, 1]; 3],
        true,
        &[&[(0, 0), (1, 0), (2, 0)], &[(0, 1), (1, 1), (2, 1)]],
    );
    assert_eq!(
        found(&planes),
        [
            "node-0:p0 plane-1",
            "node-1:p0 plane-1",
            "node-2:p0 plane-1",
            "node-0:p1 plane-2",
            "node-1:p1 plane-2",
            "node-2:p1 plane-2"
        ]
    );
}

#[test]
fn a_plane_keeps_its_name() {
    let text = "format = 1\nname = 'x'\n[[cable]]\nport = 'node-1:p0'\nplane = 'leaf'\n";
    let spec = ClusterSpec::from_toml(text).unwrap();
    let pair = wired(&[vec![1], vec![1]], true, &[&[(0, 0), (1, 0)]]);
    let found = shown(&detect_cabling(&pair, Some(&spec)));
    assert_eq!(found, ["node-0:p0 leaf", "node-1:p0 leaf"]);
    // A new one takes no name that is taken.
    let spec = ClusterSpec::from_toml(
        &text
            .replace("node-1:p0", "other:p0")
            .replace("leaf", "plane-1"),
    );
    let three = wired(&vec![vec![1]; 3], true, &[&[(0, 0), (1, 0), (2, 0)]]);
    let found = shown(&detect_cabling(&three, Some(&spec.unwrap())));
    assert_eq!(found[0], "node-0:p0 plane-2");
}

#[test]
fn what_is_odd_is_told() {
    let mut odd = wired(&[vec![2, 1, 1], vec![1]], true, &[&[(0, 0)], &[(0, 2)]]);
    odd[0].ports[3].heard.strangers = 7;
    assert_eq!(found(&odd), Vec::<String>::new());
    assert_eq!(
        kinds(&odd),
        [
            "nobody node-0:p0",
            "stranger node-0:p2",
            "no-carrier node-0:p1",
            "no-carrier node-1:p0"
        ]
    );
    let round = wired(&[vec![1, 1]], true, &[&[(0, 0), (0, 1)]]);
    assert_eq!(kinds(&round), ["loop node-0:p0 node-0:p1"]);

    let mut deaf = wired(&[vec![2], vec![2]], true, &[&[(0, 0), (1, 0)]]);
    for port in &mut deaf[1].ports {
        port.heard.heard.retain(|heard| heard.sender.node == 1);
    }
    assert_eq!(found(&deaf), ["node-0:p0 node-1:p0"]);
    assert_eq!(kinds(&deaf), ["one-way node-0:p0 node-1:p0"]);

    let mut apart = wired(&vec![vec![1]; 3], true, &[&[(0, 0), (1, 0), (2, 0)]]);
    apart[0].ports[0]
        .heard
        .heard
        .retain(|heard| heard.sender.node != 2);
    apart[2].ports[0]
        .heard
        .heard
        .retain(|heard| heard.sender.node != 0);
    assert_eq!(kinds(&apart), ["apart node-0:p0 node-2:p0"]);
}

#[test]
fn senders_that_there_are_none_of_are_passed_over() {
    let mut pair = surveys(&[vec![1], vec![1]], |_| true);
    pair[0].ports[0].heard.heard = vec![
        FramesFrom {
            sender: FrameSender { node: 9, port: 0 },
            frames: 1,
        },
        FramesFrom {
            sender: FrameSender {
                node: 1,
                port: u16::MAX,
            },
            frames: 1,
        },
    ];
    assert_eq!(found(&pair), Vec::<String>::new());
}

/// Nodes with cages of one or two twins, which nodes tell their twins, a shuffle, sizes of wires, and a seed for losses.
fn any_topology() -> impl Strategy<Value = (Vec<Ports>, Vec<bool>, Vec<u32>, Vec<usize>, u64)> {
    let nodes = proptest::collection::vec(proptest::collection::vec(1..3_usize, 1..4), 1..7);
    let known = proptest::collection::vec(any::<bool>(), 7);
    let order = proptest::collection::vec(any::<u32>(), 24);
    let sizes = proptest::collection::vec(1..6_usize, 24);
    (nodes, known, order, sizes, any::<u64>())
}

/// Wires of the given sizes over the shuffled cages. Software twins on one wire cannot be told from software cages on one.
fn wires(
    nodes: &[Ports],
    known: &[bool],
    order: &[u32],
    sizes: &[usize],
) -> Vec<Vec<(usize, usize)>> {
    let mut cages: Vec<(usize, usize)> = nodes
        .iter()
        .enumerate()
        .flat_map(|(node, cages)| (0..cages.len()).map(move |cage| (node, cage)))
        .collect();
    cages.sort_by_key(|(node, cage)| order[node * 3 + cage]);
    let mut wires = Vec::new();
    let mut rest = cages.as_slice();
    for size in sizes {
        let (wire, more) = rest.split_at((*size).min(rest.len()));
        let mut taken = BTreeSet::new();
        let wire = wire
            .iter()
            .filter(|(node, _)| known[*node] || taken.insert(*node));
        let mut wire: Vec<_> = wire.copied().collect();
        wire.sort_unstable();
        wires.push(wire);
        rest = more;
    }
    wires.retain(|wire| !wire.is_empty());
    wires.sort();
    wires
}

proptest! {
    #[test]
    fn any_cabling_is_found_again((nodes, known, order, sizes, seed) in any_topology()) {
        let mut surveys = surveys(&nodes, |node| known[node]);
        let wires = wires(&nodes, &known, &order, &sizes);
        let is_first = |port: &SurveyedPort| port.interface.starts_with("en0");
        let first: Vec<Vec<bool>> =
            surveys.iter().map(|survey| survey.ports.iter().map(is_first).collect()).collect();
        for wire in &wires {
            let mut state = seed;
            plug(&mut surveys, wire, &mut |(node, to), (sender, from)| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // What a first twin says to another node, or hears from there, is not lost; its own node's echo may be.
                let kept = node != sender && (first[node][to] || first[sender][from]);
                !kept && state >> 63 == 0
            });
        }
        let lone_twin = |wire: &Vec<(usize, usize)>| {
            let nodes: BTreeSet<usize> = wire.iter().map(|(node, _)| *node).collect();
            nodes.len() == 1
        };
        let mut expected = BTreeSet::new();
        for wire in wires.iter().filter(|wire| !lone_twin(wire)) {
            let ports: Vec<String> = wire.iter().map(|(node, cage)| format!("node-{node}:p{cage}")).collect();
            expected.insert(ports);
        }
        let mut planes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut actual = BTreeSet::new();
        for cable in detect_cabling(&surveys, None).cables {
            match cable {
                Cable::Direct { a, b, .. } => {
                    actual.insert(vec![a.to_string(), b.to_string()]);
                }
                Cable::Switched { port, plane } => planes.entry(plane).or_default().push(port.to_string()),
            }
        }
        actual.extend(planes.into_values());
        prop_assert_eq!(actual, expected);
    }
}
