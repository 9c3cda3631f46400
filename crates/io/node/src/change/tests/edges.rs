//! Every edge of every operation × killed and power cut.

use crosstie_model::change::{Ask, ChangeError, Changed};
use crosstie_plan::memory::Memory;

use super::{
    super::{answer_by, journal::Transaction},
    model::{Model, Tree},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Killed,
    PowerLost,
}

type Shape = (Tree, Memory);

fn shape(model: &Model) -> Shape {
    (model.tree(), model.kernel())
}

fn ask(model: &Model, ask: &Ask) -> Result<Changed, ChangeError> {
    answer_by(model, &model.state(), ask)
}

fn apply(model: &Model) -> String {
    match ask(model, &Ask::Apply(Box::new(model.order()))).unwrap() {
        Changed::Armed(armed) => armed.transaction,
        other => panic!("{other:?}"),
    }
}

fn confirm(model: &Model, transaction: &str) {
    let transaction = transaction.to_owned();
    let confirmed = ask(model, &Ask::Confirm { transaction }).unwrap();
    assert_eq!(confirmed, Changed::Confirmed);
}

fn rollback(model: &Model) {
    let asked = ask(
        model,
        &Ask::Rollback {
            transaction: None,
            force: false,
        },
    );
    assert!(
        matches!(asked, Ok(Changed::RolledBack(_) | Changed::Nothing)),
        "{asked:?}"
    );
}

/// The node as it was, and as the plan makes it.
fn ends() -> (Shape, Shape) {
    let model = Model::new();
    let before = shape(&model);
    let transaction = apply(&model);
    confirm(&model, &transaction);
    (before, shape(&model))
}

/// Cuts `work` off at every edge; afterwards the node is in one of the two ends, and can be changed again.
fn at_every_edge(prepare: impl Fn(&Model), work: impl Fn(&Model)) -> u32 {
    let (before, after) = ends();
    let counting = Model::new();
    prepare(&counting);
    counting.dying(0, || work(&counting)).unwrap();
    let edges = counting.edges();
    for cut in [Cut::Killed, Cut::PowerLost] {
        for edge in 1..=edges {
            let model = Model::new();
            prepare(&model);
            let survived = model.dying(edge, || work(&model));
            assert!(survived.is_none(), "edge {edge} of {edges} was not passed");
            match cut {
                Cut::Killed => model.time_is_up(),
                Cut::PowerLost => model.lose_power(),
            }
            assert_eq!(model.armed(), None, "{cut:?} at {edge}: a guard is left");
            finish_unarmed(&model);
            let found = shape(&model);
            let place = format!("{cut:?} at edge {edge} of {edges}");
            assert!(
                found == before || found == after,
                "{place}: {}",
                difference(&found, &before)
            );
            assert_usable(&model, &before, &after, &place);
        }
    }
    edges
}

/// What was cut off before a guard was armed, or while it went, is settled by the next command.
fn finish_unarmed(model: &Model) {
    let open = Transaction::all(&model.state()).unwrap();
    if open.iter().any(|found| found.progress.state.is_open()) {
        rollback(model);
    }
}

fn assert_usable(model: &Model, before: &Shape, after: &Shape, place: &str) {
    if shape(model) == *before {
        let transaction = apply(model);
        confirm(model, &transaction);
    }
    assert!(
        shape(model) == *after,
        "{place}: {}",
        difference(&shape(model), after)
    );
    rollback(model);
    assert!(
        shape(model) == *before,
        "{place}: {}",
        difference(&shape(model), before)
    );
}

fn difference(found: &Shape, wanted: &Shape) -> String {
    let mut lines = Vec::new();
    for (path, file) in &wanted.0 {
        if found.0.get(path) != Some(file) {
            lines.push(format!("{path} is changed or gone"));
        }
    }
    let new = found.0.keys().filter(|path| !wanted.0.contains_key(*path));
    lines.extend(new.map(|path| format!("{path} is new")));
    if found.1 != wanted.1 {
        lines.push(format!("kernel: {:?}\nwanted: {:?}", found.1, wanted.1));
    }
    lines.join("\n")
}

#[test]
fn a_change_that_is_cut_off_is_kept_or_undone() {
    let edges = at_every_edge(
        |_| (),
        |model| {
            let transaction = apply(model);
            confirm(model, &transaction);
        },
    );
    assert!(edges > 60, "{edges}");
}

#[test]
fn a_way_back_that_is_cut_off_goes_on() {
    at_every_edge(
        |model| {
            let transaction = apply(model);
            confirm(model, &transaction);
        },
        rollback,
    );
}

#[test]
fn a_guard_that_is_cut_off_begins_again() {
    at_every_edge(
        |model| {
            apply(model);
        },
        Model::time_is_up,
    );
}

#[test]
fn an_unconfirmed_change_goes_back_at_its_time() {
    let (before, _) = ends();
    let model = Model::new();
    let transaction = apply(&model);
    model.time_is_up();
    assert!(
        shape(&model) == before,
        "{}",
        difference(&shape(&model), &before)
    );
    let late = ask(&model, &Ask::Confirm { transaction }).unwrap_err();
    assert!(late.to_string().contains("rolled back"), "{late}");
}

#[test]
fn a_second_change_waits_and_a_repeated_one_is_nothing() {
    let model = Model::new();
    let order = model.order();
    let transaction = apply(&model);
    let second = ask(&model, &Ask::Apply(Box::new(order.clone()))).unwrap_err();
    assert!(matches!(second, ChangeError::Open { .. }), "{second}");
    confirm(&model, &transaction);
    let stale = ask(&model, &Ask::Apply(Box::new(order))).unwrap_err();
    assert!(matches!(stale, ChangeError::Stale { .. }), "{stale}");
    let again = ask(&model, &Ask::Apply(Box::new(model.order()))).unwrap();
    assert_eq!(again, Changed::Nothing);
}
