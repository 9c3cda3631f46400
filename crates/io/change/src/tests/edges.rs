//! Every edge of every operation × everything that can cut it off.

use std::{fmt::Write, fs, path::Path, sync::atomic::Ordering, thread};

use crosstie_model::{
    PlanStep,
    change::{ChangeError, ChangeReply, ChangeRequest, TryRequest},
    plan::{Packages, ValueChange},
};
use crosstie_plan::simulated_node::SimulatedNode;

use super::{
    super::{handle_request_with, journal::StoredTransaction},
    model::{Model, Tree},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The guard's time comes.
    Killed,
    PowerLost,
    /// With what was not synced lost.
    TornWrite,
}

const CUTS: [Cut; 3] = [Cut::Killed, Cut::PowerLost, Cut::TornWrite];

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/edges.md");
const INTRODUCTION: &str = "\
# Cut off at every edge

An edge is a moment at which something has just reached the disk or the kernel. Here each operation is cut off at each of
its edges, in each of three ways, on a copy of a Spark's files in a temporary root; then the node is left to itself.
**rolled back**: files, modes, owners and kernel values are what they were. **kept**: they are what was planned, as confirmed.
**next**: nothing was changed yet and no guard was armed, and the next command clears away what is left. Afterwards the
node takes a change and rolls it back. There is no fourth outcome.

**killed**: the agent dies, by itself or with its controller, and the guard's time comes. **power cut**: the machine starts anew with
what was synced to its disk and whatever else reached it. **torn write**: likewise, and every file that was written and not
synced holds garbage.

`make check` makes this table and compares it with this page; `make docs` writes it.
";

type Shape = (Tree, SimulatedNode);

fn shape(model: &Model) -> Shape {
    (model.tree(), model.kernel())
}

fn ask(model: &Model, ask: &ChangeRequest) -> Result<ChangeReply, ChangeError> {
    handle_request_with(model, &model.state(), ask)
}

fn apply(model: &Model) -> String {
    match ask(model, &ChangeRequest::Apply(Box::new(model.order()))).unwrap() {
        ChangeReply::Armed(armed) => armed.transaction,
        other => panic!("{other:?}"),
    }
}

fn confirm(model: &Model, transaction: &str) {
    let transaction = transaction.to_owned();
    let confirmed = ask(model, &ChangeRequest::Confirm { transaction }).unwrap();
    assert_eq!(confirmed, ChangeReply::Confirmed);
}

fn rollback(model: &Model) {
    let asked = ask(
        model,
        &ChangeRequest::Rollback {
            transaction: None,
            only: None,
            force: false,
            why: None,
        },
    );
    assert!(
        matches!(asked, Ok(ChangeReply::RolledBack(_) | ChangeReply::Nothing)),
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

/// Cuts `work` off at every edge; afterwards the node is in one of the two ends, and can be changed again. The table says
/// in which.
fn at_every_edge(title: &str, prepare: fn(&Model), work: fn(&Model)) -> String {
    let (before, after) = ends();
    let counting = Model::new();
    prepare(&counting);
    counting.dying(0, || work(&counting)).unwrap();
    let edges = counting.edges();
    let mut table = format!(
        "\n## {title}\n\n| | edge | killed | power cut | torn write |\n|--:|---|---|---|---|\n"
    );
    for (number, name) in (1..).zip(&edges) {
        write!(table, "| {number} | {name} |").unwrap();
        for cut in CUTS {
            let place = format!("{cut:?} at edge {number} of {}", edges.len());
            let model = Model::new();
            prepare(&model);
            let survived = model.dying(number, || work(&model));
            assert!(survived.is_none(), "{place} was not passed");
            match cut {
                Cut::Killed => model.time_is_up(),
                Cut::PowerLost => model.lose_power(),
                Cut::TornWrite => {
                    model.tear_writes();
                    model.lose_power();
                }
            }
            assert_eq!(model.armed(), None, "{place}: a guard is left");
            let left = finish_unarmed(&model);
            let found = shape(&model);
            let outcome = match (found == before, found == after) {
                (true, _) if left => "next",
                (true, _) => "rolled back",
                (false, true) => "kept",
                (false, false) => panic!("{place}: {}", difference(&found, &before)),
            };
            write!(table, " {outcome} |").unwrap();
            assert_usable(&model, &before, &after, &place);
        }
        table.push('\n');
    }
    table
}

/// What was cut off before a guard was armed, or while it went, is settled by the next command. Whether there was any.
fn finish_unarmed(model: &Model) -> bool {
    let open = StoredTransaction::all(&model.state()).unwrap();
    let left = open.iter().any(|found| found.progress.state.is_open());
    if left {
        rollback(model);
    }
    left
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

fn apply_and_confirm(model: &Model) {
    let transaction = apply(model);
    confirm(model, &transaction);
}

fn apply_only(model: &Model) {
    apply(model);
}

#[test]
fn whatever_is_cut_off_is_kept_or_rolled_back() {
    let tables = thread::scope(|scope| {
        [
            scope.spawn(|| {
                at_every_edge("A change and its confirmation", |_| (), apply_and_confirm)
            }),
            scope.spawn(|| at_every_edge("A rollback", apply_and_confirm, rollback)),
            scope.spawn(|| {
                at_every_edge(
                    "The guard, once its time has come",
                    apply_only,
                    Model::time_is_up,
                )
            }),
        ]
        .map(|table| table.join().unwrap())
    });
    let page = format!("{INTRODUCTION}{}", tables.concat());
    if std::env::var_os("CROSSTIE_WRITE_PAGES").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let kept = fs::read_to_string(Path::new(PAGE)).unwrap_or_default();
    assert!(
        kept == page,
        "docs/edges.md is not this table any more: make docs"
    );
}

#[test]
fn an_unconfirmed_change_is_rolled_back_at_its_time() {
    let (before, _) = ends();
    let model = Model::new();
    let transaction = apply(&model);
    model.time_is_up();
    assert!(
        shape(&model) == before,
        "{}",
        difference(&shape(&model), &before)
    );
    let late = ask(&model, &ChangeRequest::Confirm { transaction }).unwrap_err();
    assert!(late.to_string().contains("rolled back"), "{late}");
}

#[test]
fn a_second_change_waits_and_a_repeated_one_is_nothing() {
    let model = Model::new();
    let order = model.order();
    let transaction = apply(&model);
    let second = ask(&model, &ChangeRequest::Apply(Box::new(order.clone()))).unwrap_err();
    assert!(matches!(second, ChangeError::Open { .. }), "{second}");
    confirm(&model, &transaction);
    let stale = ask(&model, &ChangeRequest::Apply(Box::new(order))).unwrap_err();
    let ChangeError::Stale { what } = stale else {
        panic!("{stale}");
    };
    assert!(what.contains("managed"), "{what}");
    let again = ask(&model, &ChangeRequest::Apply(Box::new(model.order()))).unwrap();
    assert_eq!(again, ChangeReply::Nothing);
}

/// What stands in the way is told, and is not there for good.
#[test]
fn a_rollback_ends_whatever_stands_in_its_way() {
    let (before, _) = ends();
    let vanished = ["enP2p1s0f1np1", "enp1s0f1np1"];
    for failing in ["managers", "interfaces"] {
        let model = Model::new();
        apply_and_confirm(&model);
        if failing == "managers" {
            model.managers_fail.store(true, Ordering::SeqCst);
        } else {
            for name in vanished {
                assert!(model.kernel().interfaces.contains_key(name));
                model.vanished.lock().unwrap().insert(name.to_owned());
            }
        }
        let asked = ChangeRequest::Rollback {
            transaction: None,
            only: None,
            force: false,
            why: None,
        };
        let Ok(ChangeReply::RolledBack(outcome)) = ask(&model, &asked) else {
            panic!("{failing}: it did not end");
        };
        assert!(!outcome.left.is_empty(), "{failing}: nothing is said");
        let is_told = |name: &str| outcome.left.iter().any(|line| line.contains(name));
        assert!(
            failing == "managers" || vanished.into_iter().all(is_told),
            "{outcome:?}"
        );
        assert_eq!(model.armed(), None, "{failing}: a guard is left");
        assert_eq!(model.tree(), before.0, "{failing}");
        if failing == "managers" {
            // Whatever they left half done on their way out.
            assert_eq!(model.kernel(), before.1, "{failing}");
        }
        let open = StoredTransaction::all(&model.state()).unwrap();
        assert!(open.iter().all(|found| !found.progress.state.is_open()));
        // The next change is not held up.
        model.managers_fail.store(false, Ordering::SeqCst);
        model.vanished.lock().unwrap().clear();
        apply_and_confirm(&model);
    }
}

#[test]
fn a_guard_says_why_it_acted() {
    let model = Model::new();
    apply(&model);
    model.time_is_up();
    let found = StoredTransaction::all(&model.state()).unwrap();
    let why = found[0].progress.why.clone().unwrap();
    assert_eq!(why, "it was not confirmed within 120 s");
}

const SYSCTLS: [&str; 2] = [
    "net.ipv4.conf.enP2p1s0f1np1.arp_ignore",
    "net.ipv4.conf.enp1s0f1np1.arp_ignore",
];

#[test]
fn kernel_values_are_restored_and_one_that_is_not_holds_up_no_other() {
    for refused in [None, Some(SYSCTLS[1])] {
        let model = Model::with_sysctls(&SYSCTLS, "0");
        let before = shape(&model);
        apply_and_confirm(&model);
        let values = |model: &Model| {
            let kernel = model.kernel();
            SYSCTLS.map(|name| kernel.facts.sysctls[name].clone())
        };
        assert_eq!(values(&model), ["1", "1"]);
        model
            .refused
            .lock()
            .unwrap()
            .extend(refused.map(str::to_owned));
        let left = left_by_rollback(&model);
        match refused {
            None => assert!(
                shape(&model) == before,
                "{}",
                difference(&shape(&model), &before)
            ),
            Some(name) => {
                assert!(left.iter().any(|line| line.contains(name)), "{left:?}");
                assert_eq!(values(&model), ["0", "1"]);
                assert_eq!(model.tree(), before.0);
            }
        }
    }
}

/// What could not be restored.
fn left_by_rollback(model: &Model) -> Vec<String> {
    let asked = ChangeRequest::Rollback {
        transaction: None,
        only: None,
        force: false,
        why: None,
    };
    match ask(model, &asked) {
        Ok(ChangeReply::RolledBack(outcome)) => outcome.left,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_that_cannot_be_restored_holds_up_no_other() {
    const PATH: &str = "/etc/hosts";
    let (mut before, after) = ends();
    let model = Model::new();
    apply_and_confirm(&model);
    let journal = StoredTransaction::all(&model.state()).unwrap().remove(0);
    let mut images = journal.journal.images.iter();
    let index = images.position(|image| image.path == PATH).unwrap();
    fs::write(journal.folder.join(format!("before-{index}")), "damaged").unwrap();
    let left = left_by_rollback(&model);
    assert!(left.iter().any(|line| line.contains(PATH)), "{left:?}");
    assert_eq!(model.armed(), None);
    before.0.insert(PATH.to_owned(), after.0[PATH].clone());
    assert!(
        shape(&model) == before,
        "{}",
        difference(&shape(&model), &before)
    );
    let all = StoredTransaction::all(&model.state()).unwrap();
    assert!(all.iter().all(|found| !found.progress.state.is_open()));
}

/// No rollback removes packages, and one at a boot says so, too.
#[test]
fn packages_that_stay_are_told_whenever_it_is_rolled_back() {
    for ends in [Model::time_is_up, Model::lose_power] {
        let model = Model::new();
        let mut order = model.order();
        let packages = PlanStep::from(Packages {
            names: vec!["rdma-core".to_owned()],
            installed: ValueChange {
                from: false,
                to: true,
            },
        });
        order.plan.steps.insert(0, packages);
        ask(&model, &ChangeRequest::Apply(Box::new(order))).unwrap();
        ends(&model);
        let found = StoredTransaction::all(&model.state()).unwrap();
        let left = &found[0].progress.left;
        assert_eq!(left[..], ["the packages rdma-core stay installed"]);
    }
}

#[test]
fn managers_that_do_not_read_the_old_files_are_told_of() {
    let why = "the manager does not answer";
    let told = |left: &[String]| left.iter().any(|line| line.contains(why));
    // At early boot.
    let model = Model::new();
    apply(&model);
    model.managers_fail.store(true, Ordering::SeqCst);
    model.lose_power();
    let found = StoredTransaction::all(&model.state()).unwrap();
    assert!(told(&found[0].progress.left), "{:?}", found[0].progress);
    // After a person's own command.
    let model = Model::new();
    let trial = TryRequest {
        force: false,
        run: "20261115T100000Z-00000002".to_owned(),
        command: ["write", "/etc/hosts", "127.0.0.1 localhost\n"]
            .map(str::to_owned)
            .into(),
        files: Vec::new(),
        guard_seconds: 60,
        command_seconds: 10,
    };
    ask(&model, &ChangeRequest::Try(trial)).unwrap();
    model.managers_fail.store(true, Ordering::SeqCst);
    let left = left_by_rollback(&model);
    assert!(told(&left), "{left:?}");
}
