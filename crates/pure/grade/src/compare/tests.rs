use crosstie_model::Mtu;

use super::*;
use crate::sample_runs::{SPARK, back, both_ways, pair, write};

fn said(before: &StoredRun, after: &StoredRun) -> Vec<(DifferenceKind, String, String, String)> {
    let changes = compare(before, after).into_iter();
    changes
        .map(|change| (change.what, change.subject, change.before, change.after))
        .collect()
}

#[test]
fn what_was_changed_and_what_came_of_it() {
    let mut before = pair(SPARK);
    both_ways(&mut before, 110.0, 0);
    let mut after = before.clone();
    assert_eq!(said(&before, &after), []);
    after.header.nodes[1].kernel = Some("6.17.0-1012".to_owned());
    after.header.nodes[0].ports[0].interface_mtu = Some(Mtu(1500));
    after.header.nodes[0].nccl = vec!["2.28.9".to_owned()];
    after.header.nodes[0].ports[1].firmware = Some("28.47".to_owned());
    after.header.cabling[0] = crosstie_model::Cable::Direct {
        a: "a:p1".parse().unwrap(),
        b: "b:p0".parse().unwrap(),
        number: None,
    };
    after.measurements = vec![write(97.0, 0), back(write(111.0, 0))];
    let text = |text: &str| text.to_owned();
    let expected = [
        (
            DifferenceKind::Kernel,
            text("b"),
            text("6.17.0-1008"),
            text("6.17.0-1012"),
        ),
        (
            DifferenceKind::Nccl,
            text("a"),
            text("none"),
            text("2.28.9"),
        ),
        (
            DifferenceKind::Firmware,
            text("a mlx5_1"),
            text("28.45"),
            text("28.47"),
        ),
        (
            DifferenceKind::Mtu,
            text("a mlx5_0"),
            text("9000"),
            text("1500"),
        ),
        (
            DifferenceKind::Cabling,
            text("a:p0 – b:p0"),
            text("there"),
            text("none"),
        ),
        (
            DifferenceKind::Cabling,
            text("a:p1 – b:p0"),
            text("none"),
            text("there"),
        ),
        (
            DifferenceKind::Slower,
            text("a → b, rdma-write"),
            text("110.0 Gb/s"),
            text("97.0 Gb/s"),
        ),
    ];
    assert_eq!(said(&before, &after), expected);
}

#[test]
fn figures_that_wander_are_compared_by_their_spread() {
    let mut before = pair(SPARK);
    before.measurements.push(write(100.0, 0));
    let mut after = pair(SPARK);
    after.measurements.push(write(92.0, 0));
    assert_eq!(said(&before, &after).len(), 1);
    for run in [&mut before, &mut after] {
        if let crosstie_model::run::MeasurementOutcome::Measured(
            crosstie_model::run::MeasurementFigures::Bandwidth(figures),
        ) = &mut run.measurements[0].outcome
        {
            figures.windows = (0..10)
                .map(|window| 1_000_000_000 + window * 100_000_000)
                .collect();
        }
    }
    assert_eq!(said(&before, &after), []);
}
