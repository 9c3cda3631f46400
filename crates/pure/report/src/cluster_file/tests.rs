use crosstie_fabric::{
    cabling::{CageConnection, FoundCage},
    init::{CagePort, ProposedCage, ProposedNode, QOS},
};
use crosstie_model::{Mtu, spec::PortMatch};

use super::*;

fn cage(id: &str, mac: &str) -> ProposedCage {
    ProposedCage {
        id: id.to_owned(),
        by_hearing: id == "p0",
        ports: vec![CagePort {
            matches: PortMatch::Mac {
                mac: mac.parse().unwrap(),
            },
            device: format!("roce{id}"),
            interface: Some(format!("en{id}")),
        }],
    }
}

fn node(name: &str, last: u8) -> ProposedNode {
    ProposedNode {
        name: name.to_owned(),
        ssh: (name == "spark-b").then(|| "admin@10.0.0.2".to_owned()),
        cages: vec![cage("p0", &format!("02:00:00:00:00:{last:02x}"))],
        unknown: vec!["rocep1s0f1".to_owned(), "roceP2p1s0f1".to_owned()],
    }
}

fn direct(a: &str, b: &str) -> Cable {
    Cable::Direct {
        a: a.parse().unwrap(),
        b: b.parse().unwrap(),
        number: None,
    }
}

fn proposal(nodes: Vec<ProposedNode>, cables: Vec<Cable>) -> ClusterProposal {
    let is_switched = cables
        .iter()
        .any(|cable| matches!(cable, Cable::Switched { .. }));
    ClusterProposal {
        mtu: Some(Mtu(9000)),
        pool: Some("10.77.0.0/16".parse().unwrap()),
        qos: is_switched.then_some(QOS),
        nodes,
        cables,
    }
}

/// Every cage in the state.
fn wiring(proposal: &ClusterProposal, state: CageConnection) -> DetectedCabling {
    let cages = |node: &ProposedNode| {
        let found = |cage: &ProposedCage| FoundCage {
            id: cage.id.clone(),
            ports: vec![0],
            by_hearing: false,
            connection: state,
        };
        node.cages.iter().map(found).collect()
    };
    DetectedCabling {
        cages: proposal.nodes.iter().map(cages).collect(),
        cables: proposal.cables.clone(),
        notes: Vec::new(),
    }
}

fn pair() -> ClusterProposal {
    proposal(
        vec![node("spark-a", 1), node("spark-b", 2)],
        vec![direct("spark-a:p0", "spark-b:p0")],
    )
}

fn made(
    existing: Option<&str>,
    proposal: &ClusterProposal,
    state: CageConnection,
) -> MergedClusterFile {
    let existing = existing.map(|text| ExistingClusterFile::read(text.to_owned()).unwrap());
    merge(
        existing.as_ref(),
        "sparks",
        proposal,
        &wiring(proposal, state),
    )
    .unwrap()
}

fn texts(merged: &MergedClusterFile) -> Vec<String> {
    merged.notes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_new_file_is_commented_and_reads_back() {
    let merged = made(None, &pair(), CageConnection::Cabled);
    insta::assert_snapshot!(merged.text);
    assert_eq!(merged.added.len(), 3);
    assert_eq!(merged.spec.cables.len(), 1);
}

#[test]
fn quality_of_service_comes_with_a_switch() {
    let port = |name: &str| Cable::Switched {
        port: name.parse().unwrap(),
        plane: "plane-1".to_owned(),
    };
    let cables = ["spark-a:p0", "spark-b:p0"].map(port).to_vec();
    let proposal = proposal(pair().nodes, cables);
    let merged = made(None, &proposal, CageConnection::Cabled);
    assert_eq!(merged.spec.qos, Some(QOS));
    assert_eq!(made(None, &pair(), CageConnection::Cabled).spec.qos, None);
}

#[test]
fn again_nothing_changes() {
    let first = made(None, &pair(), CageConnection::Cabled);
    let edited = first
        .text
        .replace("mtu = 9000", "mtu = 4200 # the old switch")
        .replace("number = 1\n", "number = 1 # mine\n");
    let again = made(Some(&edited), &pair(), CageConnection::Cabled);
    assert_eq!(again.text, edited);
    assert_eq!((again.added.len(), again.notes.len()), (0, 0));
}

#[test]
fn what_is_new_is_added_behind_a_persons_edits() {
    let first = made(None, &pair(), CageConnection::Cabled);
    let edited = format!("# by hand\n{}\n# the end\n", first.text);
    let mut more = pair();
    more.nodes[0].cages.push(cage("p1", "02:00:00:00:00:11"));
    more.nodes.push(node("spark-c", 3));
    more.cables.push(direct("spark-a:p1", "spark-c:p0"));
    let merged = made(Some(&edited), &more, CageConnection::Cabled);
    insta::assert_snapshot!(merged.text);
    assert_eq!(
        merged.added,
        [
            "cage spark-a:p1",
            "node spark-c",
            "cable 2, spark-a:p1 – spark-c:p0"
        ]
    );
    assert_eq!(merged.spec.node("spark-a").unwrap().cages.len(), 2);
    assert_eq!(merged.spec.node("spark-c").unwrap().number, Some(3));
}

#[test]
fn what_is_gone_is_told_and_stays() {
    let first = made(None, &pair(), CageConnection::Cabled);
    let mut cut = pair();
    cut.cables.clear();
    let merged = made(Some(&first.text), &cut, CageConnection::NoCarrier);
    assert_eq!(merged.text, first.text);
    assert_eq!(
        texts(&merged),
        [
            "cable 1, spark-a:p0 – spark-b:p0 is in the cluster file, and it is dead or unplugged: no carrier at either end"
        ]
    );
    // Of a node that was not asked nothing is said.
    cut.nodes.truncate(1);
    assert_eq!(
        texts(&made(Some(&first.text), &cut, CageConnection::NoCarrier)),
        [""; 0]
    );
    cut.nodes[0].cages.clear();
    let merged = made(Some(&first.text), &cut, CageConnection::NoCarrier);
    assert!(texts(&merged)[0].starts_with("spark-a:p0 is in the cluster file"));
}

#[test]
fn a_moved_cable_is_a_persons_to_change() {
    let first = made(None, &pair(), CageConnection::Cabled);
    let mut moved = pair();
    moved.nodes[1].cages = vec![cage("p1", "02:00:00:00:00:22")];
    moved.cables = vec![direct("spark-a:p0", "spark-b:p1")];
    let merged = made(Some(&first.text), &moved, CageConnection::Cabled);
    assert!(
        texts(&merged)[0].starts_with("found spark-a:p0 – spark-b:p1, and the cluster file has")
    );
    assert_eq!(merged.spec.cables.len(), 1);
}

#[test]
fn files_that_cannot_be_read_and_names_that_cannot_be_written_are_refused() {
    assert!(ExistingClusterFile::read("format = 1\nname = 'x'\nnoed = 1".to_owned()).is_err());
    let inline =
        ExistingClusterFile::read("format = 1\nname = 'x'\nnode = []\n".to_owned()).unwrap();
    let wiring = wiring(&pair(), CageConnection::Cabled);
    let error = merge(Some(&inline), "x", &pair(), &wiring).unwrap_err();
    assert!(matches!(error, ClusterFileEditError::Inline("node")));
    let mut hostile = pair();
    hostile.nodes[0].name = "a\"\n[x]\u{1b}".to_owned();
    hostile.nodes[0].unknown = vec!["x\nname = 'y'".to_owned()];
    hostile.cables.clear();
    let merged = made(None, &hostile, CageConnection::Cabled);
    assert_eq!(merged.spec.nodes[0].name, "a\"\n[x]\u{1b}");
}

#[test]
fn the_mtu_comes_with_the_first_cable() {
    let uncabled = ClusterProposal {
        mtu: None,
        ..proposal(pair().nodes, Vec::new())
    };
    let first = made(None, &uncabled, CageConnection::Cabled);
    assert_eq!(first.spec.fabric.mtu, None);
    let second = made(Some(&first.text), &pair(), CageConnection::Cabled);
    assert_eq!(second.spec.fabric.mtu, Some(Mtu(9000)), "{}", second.text);
    assert!(second.added.contains(&"mtu 9000".to_owned()));
    // A person who takes it out has cables by then.
    let without = second.text.replace("mtu = 9000\n", "");
    let third = made(Some(&without), &pair(), CageConnection::Cabled);
    assert_eq!(third.spec.fabric.mtu, None);
}
