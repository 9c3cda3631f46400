//! What the guard of one change leaves to others, and how it ends on a disk that takes nothing.

use std::{
    fs,
    io::Read,
    os::unix::fs::symlink,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::Ordering,
    time::Duration,
};

use crosstie_model::change::{
    ChangeError, ChangeReply, ChangeRequest, NodeChangeStatus, TransactionState,
};
use crosstie_node::child_processes::StoppableWork;

use super::{
    super::{
        error::GuardRunError, guard_run::run_guard, journal::StoredTransaction,
        rollback::RollbackMoment, system_access::SystemAccess,
    },
    files::{ask, configured, rollback, status, trial},
    model::Model,
};

const TRIAL: [&str; 3] = ["write", "/etc/hosts", "192.0.2.1 tried\n"];

/// Changes on disk, oldest first.
fn ids(model: &Model) -> Vec<String> {
    let found = StoredTransaction::all(&model.state()).unwrap();
    found.into_iter().map(|found| found.journal.id).collect()
}

/// One that was rolled back and left something, so that its journal stays, and a newer one that is open.
fn ended_and_open(model: &Model) -> [String; 2] {
    configured(model);
    ask(model, &rollback(false)).unwrap();
    let mut ended = StoredTransaction::all(&model.state()).unwrap().remove(0);
    ended.progress.left = vec!["something".to_owned()];
    ended
        .enter(model, TransactionState::RolledBack, None)
        .unwrap();
    trial(model, &TRIAL);
    let [ended, open] = ids(model).try_into().unwrap();
    assert_eq!(model.armed(), Some(open.clone()));
    [ended, open]
}

/// At work on a change, as the lock's file says.
fn holder(state: &Path) -> Child {
    let script = r#"exec 9>>"$1"; flock 9; echo $$ > "$1"; echo held; read -r _"#;
    let mut holder = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(state.join("lock"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 5];
    holder.stdout.take().unwrap().read_exact(&mut said).unwrap();
    holder
}

/// The guard came too late, and waits for the lock that a newer change has.
#[test]
fn a_guard_ends_nobody_who_works_on_another_change() {
    let model = Model::new();
    let [ended, open] = ended_and_open(&model);
    let mut holder = holder(&model.state());
    let done = run_guard(&model, &model.state(), &ended, RollbackMoment::Running);
    assert_eq!(done.unwrap(), None);
    assert!(holder.try_wait().unwrap().is_none(), "it was killed");
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(model.armed(), Some(open));
}

#[test]
fn a_guard_that_finds_nothing_to_do_leaves_the_guard_of_another_change() {
    let model = Model::new();
    let [ended, open] = ended_and_open(&model);
    for gone in [false, true] {
        if gone {
            fs::remove_dir_all(model.state().join(&ended)).unwrap();
        }
        let done = run_guard(&model, &model.state(), &ended, RollbackMoment::Running);
        assert_eq!(done.unwrap(), None);
        assert_eq!(model.armed().as_ref(), Some(&open));
    }
    model.time_is_up();
    assert_eq!(model.armed(), None, "its own goes");
}

/// It could not be removed when its change had ended.
#[test]
fn a_rollback_has_a_guard_of_its_own_beside_one_that_waits_for_another() {
    let model = Model::new();
    configured(&model);
    fs::write(model.path("/armed"), "0009-20261115T100000Z").unwrap();
    let work = StoppableWork::within(Duration::from_secs(60));
    work.stop();
    work.run(|| ask(&model, &rollback(false))).unwrap();
    assert_eq!(model.armed().as_ref(), ids(&model).first());
}

/// It may be at work although its agent was killed.
#[test]
fn a_rollback_ends_the_command_of_a_trial_first() {
    let model = Model::new();
    configured(&model);
    trial(&model, &TRIAL);
    model.time_is_up();
    assert_eq!(*model.ended_commands.lock().unwrap(), ids(&model)[1..]);
}

/// A change that waits for its confirmation on a disk that takes nothing any more, and whose time has come.
fn rolled_back_without_a_disk() -> (Model, impl Fn(&Model) -> bool) {
    let model = Model::new();
    let (files, kernel) = (model.tree(), model.kernel());
    let order = ChangeRequest::Apply(Box::new(model.order()));
    ask(&model, &order).unwrap();
    model.is_read_only.store(true, Ordering::SeqCst);
    model.time_is_up();
    assert!(model.kernel() == kernel, "the network goes first");
    (model, move |model| {
        (model.tree(), model.kernel()) == (files.clone(), kernel.clone())
    })
}

fn says_that_it_is_unwritten(status: &NodeChangeStatus) {
    assert_eq!(status.transactions[0].state, TransactionState::RolledBack);
    let why = status.transactions[0].why.as_deref().unwrap();
    assert!(why.contains("not confirmed within 120 s"), "{why}");
    let mut lines = status.drift.iter().map(|one| &one.what);
    assert!(
        lines.any(|line| line.contains("state.json") && line.contains("Read-only")),
        "{status:?}"
    );
    let mut files = status.drift.iter();
    assert!(files.any(|one| one.what == "/etc/hosts" && one.found.contains("not restored")));
}

/// It is not begun again every few seconds, nor with each look at it; the next boot does it once more, and then all of it.
#[test]
fn a_guard_ends_on_a_disk_that_takes_nothing_and_a_boot_does_the_rest() {
    let (model, is_as_before) = rolled_back_without_a_disk();
    assert!(model.armed().is_some(), "the boot's unit stays");
    says_that_it_is_unwritten(&status(&model));
    // A look changes nothing of what somebody does to the node meanwhile.
    let interface = "enp1s0f1np1";
    model.set_mtu(interface, 1400);
    let by_hand = model.kernel();
    says_that_it_is_unwritten(&status(&model));
    assert!(model.kernel() == by_hand);
    model.is_read_only.store(false, Ordering::SeqCst);
    model.lose_power();
    assert!(is_as_before(&model));
    assert_eq!(model.armed(), None);
    assert_eq!(status(&model).drift, []);
}

#[test]
fn a_disk_that_can_be_written_again_takes_the_rest_of_a_rollback() {
    for ask_for in [rollback(false), ChangeRequest::Uninstall { force: false }] {
        let (model, is_as_before) = rolled_back_without_a_disk();
        let refused = ask(&model, &ask_for).unwrap_err();
        assert!(
            matches!(refused, ChangeError::UnfinishedRollback { .. }),
            "{refused}"
        );
        says_that_it_is_unwritten(&status(&model));
        model.is_read_only.store(false, Ordering::SeqCst);
        let done = ask(&model, &ask_for).unwrap();
        assert!(
            matches!(done, ChangeReply::RolledBack(_) | ChangeReply::Nothing),
            "{done:?}"
        );
        assert!(is_as_before(&model));
        assert_eq!(model.armed(), None);
        assert_eq!(status(&model).drift, []);
    }
}

/// Files of `/etc` are left, and told; nobody tries again every few seconds.
#[test]
fn a_guard_ends_where_etc_alone_takes_nothing() {
    let model = Model::new();
    let (files, kernel) = (model.tree(), model.kernel());
    ask(&model, &ChangeRequest::Apply(Box::new(model.order()))).unwrap();
    model.is_etc_read_only.store(true, Ordering::SeqCst);
    model.time_is_up();
    assert!(model.kernel() == kernel);
    let found = status(&model);
    assert_eq!(found.transactions[0].state, TransactionState::RolledBack);
    let mut drift = found.drift.iter();
    assert!(drift.any(|one| one.what == "/etc/hosts" && one.found.contains("not restored")));
    model.is_etc_read_only.store(false, Ordering::SeqCst);
    ask(&model, &ChangeRequest::Uninstall { force: false }).unwrap();
    assert!((model.tree(), model.kernel()) == (files, kernel));
    assert_eq!(model.armed(), None);
}

/// It was in force, so its state says nothing of a rollback that the disk did not take.
#[test]
fn a_confirmed_change_that_was_rolled_back_without_a_disk_is_told_so() {
    let model = Model::new();
    let before = (model.tree(), model.kernel());
    configured(&model);
    model.is_read_only.store(true, Ordering::SeqCst);
    let refused = ask(&model, &rollback(false)).unwrap_err();
    assert!(
        matches!(refused, ChangeError::UnfinishedRollback { .. }),
        "{refused}"
    );
    let found = status(&model);
    assert_eq!(found.transactions[0].state, TransactionState::RolledBack);
    model.is_read_only.store(false, Ordering::SeqCst);
    // Whatever is begun next finishes it first.
    trial(&model, &TRIAL);
    let states = status(&model).transactions.into_iter();
    let states: Vec<TransactionState> = states.map(|one| one.state).collect();
    assert!(!states.contains(&TransactionState::Confirmed), "{states:?}");
    ask(&model, &rollback(false)).unwrap();
    assert!((model.tree(), model.kernel()) == before);
}

/// Nobody can do what a damaged journal says; it is told, and not looked at again and again.
#[test]
fn a_guard_whose_journal_is_damaged_ends() {
    let model = Model::new();
    ask(&model, &ChangeRequest::Apply(Box::new(model.order()))).unwrap();
    let transaction = ids(&model).remove(0);
    let journal = model.state().join(&transaction).join("journal.json");
    fs::write(journal, "{").unwrap();
    model.time_is_up();
    let said = ask(&model, &ChangeRequest::Status).unwrap_err().to_string();
    assert!(said.contains("uninstall --force"), "{said}");
    ask(&model, &ChangeRequest::Uninstall { force: true }).unwrap();
    assert_eq!(model.armed(), None);
}

/// A guard that was started before its time, and a disk that can be written again by now.
#[test]
fn a_change_whose_rollback_was_not_written_is_not_confirmed() {
    let model = Model::new();
    let order = ChangeRequest::Apply(Box::new(model.order()));
    ask(&model, &order).unwrap();
    let transaction = ids(&model).remove(0);
    model.is_read_only.store(true, Ordering::SeqCst);
    run_guard(
        &model,
        &model.state(),
        &transaction,
        RollbackMoment::Running,
    )
    .unwrap();
    model.is_read_only.store(false, Ordering::SeqCst);
    let refused = ask(&model, &ChangeRequest::Confirm { transaction }).unwrap_err();
    assert!(refused.to_string().contains("rolled back"), "{refused}");
}

/// Nobody waits for a confirmation any more, so the next change begins by settling it.
#[test]
fn nothing_is_changed_while_a_rollback_cannot_be_written() {
    let (model, _) = rolled_back_without_a_disk();
    fs::remove_file(model.path("/armed")).unwrap();
    let order = ChangeRequest::Apply(Box::new(model.order()));
    let refused = ask(&model, &order).unwrap_err().to_string();
    assert!(refused.contains("cannot be finished now"), "{refused}");
    assert!(refused.contains("Read-only"), "{refused}");
    says_that_it_is_unwritten(&status(&model));
}

/// The root may be read-only until it is mounted anew.
#[test]
fn a_boot_tries_again_while_the_disk_takes_nothing() {
    let model = Model::new();
    let order = ChangeRequest::Apply(Box::new(model.order()));
    ask(&model, &order).unwrap();
    model.is_read_only.store(true, Ordering::SeqCst);
    let id = ids(&model).remove(0);
    let done = run_guard(&model, &model.state(), &id, RollbackMoment::EarlyBoot);
    assert!(
        matches!(done, Err(GuardRunError::Unfinished { .. })),
        "{done:?}"
    );
}

/// As a disk that does not say whether there is one: a link to itself is neither there nor absent.
#[test]
fn a_journal_that_cannot_be_looked_at_is_not_taken_for_none() {
    let model = Model::new();
    trial(&model, &TRIAL);
    let id = ids(&model).remove(0);
    let journal = model.state().join(&id).join("journal.json");
    fs::remove_file(&journal).unwrap();
    symlink(&journal, &journal).unwrap();
    let all = StoredTransaction::all(&model.state());
    assert!(all.is_err(), "it is lost");
    let done = run_guard(&model, &model.state(), &id, RollbackMoment::Running);
    assert!(matches!(done, Err(GuardRunError::Journal(_))), "{done:?}");
    assert_eq!(model.armed(), Some(id));
}
