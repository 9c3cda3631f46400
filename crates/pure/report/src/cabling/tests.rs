use super::*;

fn nodes(names: &[&str], cages: usize) -> Vec<DrawnNode> {
    let cages = |_: &&str| {
        (0..cages)
            .map(|cage| (format!("p{cage}"), CageConnection::Cabled))
            .collect()
    };
    let node = |name: &&str| DrawnNode {
        name: (*name).to_owned(),
        cages: cages(name),
    };
    names.iter().map(node).collect()
}

fn direct(number: u32, a: &str, b: &str) -> Cable {
    Cable::Direct {
        a: a.parse().unwrap(),
        b: b.parse().unwrap(),
        number: Some(number),
    }
}

fn switched(port: &str, plane: &str) -> Cable {
    Cable::Switched {
        port: port.parse().unwrap(),
        plane: plane.to_owned(),
    }
}

fn drawn(nodes: &[DrawnNode], cables: &[Cable]) -> String {
    draw(nodes, cables, Palette::Plain)
}

#[test]
fn two_nodes_with_one_cable() {
    let mut nodes = nodes(&["spark-a", "spark-b"], 2);
    nodes[0].cages[1].1 = CageConnection::NoCarrier;
    nodes[1].cages[1].1 = CageConnection::Stranger;
    insta::assert_snapshot!(drawn(&nodes, &[direct(1, "spark-a:p0", "spark-b:p0")]));
}

#[test]
fn two_nodes_with_two_cables_crossed() {
    let nodes = nodes(&["a", "workstation-in-the-corner"], 2);
    let cables = [
        direct(1, "a:p0", "workstation-in-the-corner:p1"),
        direct(2, "a:p1", "workstation-in-the-corner:p0"),
    ];
    insta::assert_snapshot!(drawn(&nodes, &cables));
}

#[test]
fn a_ring_of_three() {
    let nodes = nodes(&["ring-a", "ring-b", "ring-c"], 2);
    let cables = [
        direct(1, "ring-a:p1", "ring-b:p0"),
        direct(2, "ring-b:p1", "ring-c:p0"),
        direct(3, "ring-c:p1", "ring-a:p0"),
    ];
    insta::assert_snapshot!(drawn(&nodes, &cables));
}

#[test]
fn a_mesh_of_four() {
    let nodes = nodes(&["a", "b", "c", "d"], 3);
    let cables = [
        direct(1, "a:p0", "b:p0"),
        direct(2, "a:p1", "c:p0"),
        direct(3, "a:p2", "d:p0"),
        direct(4, "b:p1", "c:p1"),
        direct(5, "b:p2", "d:p1"),
        direct(6, "c:p2", "d:p2"),
    ];
    insta::assert_snapshot!(drawn(&nodes, &cables));
}

#[test]
fn a_switch_of_four() {
    let names = ["node-a", "node-b", "node-c", "node-d"];
    let cables: Vec<Cable> = names
        .iter()
        .map(|name| switched(&format!("{name}:p0"), "plane-1"))
        .collect();
    insta::assert_snapshot!(drawn(&nodes(&names, 1), &cables));
}

#[test]
fn sixteen_nodes_on_two_planes() {
    let names: Vec<String> = (1..=16).map(|number| format!("gpu-{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut cables = Vec::new();
    for (cage, plane) in [("mlx5_0", "plane-1"), ("mlx5_1", "plane-2")] {
        cables.extend(
            names
                .iter()
                .map(|name| switched(&format!("{name}:{cage}"), plane)),
        );
    }
    insta::assert_snapshot!(drawn(&nodes(&names, 0), &cables));
}

#[test]
fn a_switch_and_a_cable_beside_it() {
    let nodes = nodes(&["a", "b", "c"], 2);
    let mut cables = vec![direct(1, "a:p1", "c:p1")];
    cables.extend(["a", "b", "c"].map(|name| switched(&format!("{name}:p0"), "leaf")));
    insta::assert_snapshot!(drawn(&nodes, &cables));
}

#[test]
fn names_do_not_talk_to_the_terminal() {
    let nodes = nodes(&["\x1b[2J", "b"], 1);
    let shown = drawn(&nodes, &[direct(1, "b:p0", "b:p0")]);
    assert!(!shown.contains('\x1b'), "{shown}");
    assert_eq!(drawn(&[], &[]), "0 nodes, no cable between them\n");
}

#[test]
fn a_drawing_that_does_not_fit_is_a_list() {
    let nodes = nodes(&["spark-a", "spark-b"], 1);
    let cables = [direct(1, "spark-a:p0", "spark-b:p0")];
    let narrow = draw(&nodes, &cables, Palette::Plain.within(30));
    assert_eq!(narrow, "2 nodes, 1 cable\n\n  1  spark-a:p0 – spark-b:p0\n");
    let wide = draw(&nodes, &cables, Palette::Plain.within(80));
    assert!(wide.contains('╭'), "{wide}");
}
