//! Which transactions are rolled back, and which change a process may end.

use std::{fs, sync::atomic::Ordering, time::Duration};

use crosstie_model::{
    Reading,
    change::{ChangeError, ChangeReply, ChangeRequest, TransactionState, TryRequest},
    facts::rdma::QueuePairFacts,
};

use super::{
    super::{
        handle_request_with,
        journal::StoredTransaction,
        session::{INTERRUPTED_REASON, is_guard_of},
        system_access::SystemAccess,
    },
    model::Model,
};
use crosstie_node::child_processes::StoppableWork;

fn ask(model: &Model, ask: &ChangeRequest) -> Result<ChangeReply, ChangeError> {
    handle_request_with(model, &model.state(), ask)
}

fn begin(model: &Model, change: &ChangeRequest) -> String {
    match ask(model, change).unwrap() {
        ChangeReply::Armed(armed) => armed.transaction,
        other => panic!("{other:?}"),
    }
}

fn confirm(model: &Model, transaction: &str) {
    let transaction = transaction.to_owned();
    ask(model, &ChangeRequest::Confirm { transaction }).unwrap();
}

fn trial() -> ChangeRequest {
    let command = ["write", "/etc/hosts", "127.0.0.1 localhost\n"];
    ChangeRequest::Try(TryRequest {
        force: false,
        run: "20261115T110000Z-00000002".to_owned(),
        command: command.map(str::to_owned).into(),
        files: Vec::new(),
        guard_seconds: 60,
        command_seconds: 10,
    })
}

/// Every transaction that is not rolled back, with its run.
fn in_force(model: &Model) -> Vec<(String, Option<String>)> {
    let ChangeReply::Status(status) = ask(model, &ChangeRequest::Status).unwrap() else {
        panic!()
    };
    let found = status.transactions.into_iter();
    found
        .filter(|one| one.state != TransactionState::RolledBack)
        .map(|one| (one.id, one.run))
        .collect()
}

#[test]
fn a_change_that_nobody_has_seen_is_not_rolled_back_along_with_another() {
    let model = Model::new();
    let first = begin(&model, &ChangeRequest::Apply(Box::new(model.order())));
    confirm(&model, &first);
    let second = begin(&model, &trial());
    confirm(&model, &second);
    let run = |run: &str| Some(run.to_owned());
    let both = [
        (first.clone(), run("20261115T100000Z-00000001")),
        (second.clone(), run("20261115T110000Z-00000002")),
    ];
    assert_eq!(in_force(&model), both);
    let rollback = |only: &[&String]| ChangeRequest::Rollback {
        transaction: Some(first.clone()),
        only: Some(only.iter().map(|&id| id.clone()).collect()),
        force: false,
        why: None,
    };
    let newer = ChangeError::Newer {
        transaction: second.clone(),
    };
    assert_eq!(ask(&model, &rollback(&[&first])), Err(newer));
    assert_eq!(in_force(&model), both);
    let ChangeReply::RolledBack(back) = ask(&model, &rollback(&[&first, &second])).unwrap() else {
        panic!()
    };
    assert_eq!(back.transactions, [second, first]);
}

/// As builds before runs wrote it.
#[test]
fn a_journal_without_a_run_is_read_and_rolled_back() {
    let model = Model::new();
    let before = model.tree();
    let id = begin(&model, &ChangeRequest::Apply(Box::new(model.order())));
    confirm(&model, &id);
    let path = model.state().join(&id).join("journal.json");
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().filter(|line| !line.contains("\"run\""));
    let old: String = lines.flat_map(|line| [line, "\n"]).collect();
    assert_ne!(old, text.clone() + "\n");
    fs::write(&path, old).unwrap();
    assert_eq!(in_force(&model), [(id.clone(), None)]);
    let rollback = ChangeRequest::Rollback {
        transaction: Some(id.clone()),
        only: Some(vec![id]),
        force: false,
        why: None,
    };
    ask(&model, &rollback).unwrap();
    assert_eq!(model.tree(), before);
}

/// A process that ends starts the guard, which by then may be that of another change.
#[test]
fn a_guard_is_a_processes_own_unless_another_has_begun_a_change_since() {
    let model = Model::new();
    let state = model.state();
    let first = begin(&model, &ChangeRequest::Apply(Box::new(model.order())));
    let is_own = |own: &str| [false, true].map(|is_alone| is_guard_of(&state, own, is_alone));
    assert_eq!(is_own(&first), [true; 2]);
    assert_eq!(is_own("0009-20261115T100000Z"), [false; 2]);
    confirm(&model, &first);
    // Who is at work now may be about to begin.
    assert_eq!(is_own(&first), [false, true]);
    let second = begin(&model, &trial());
    assert_eq!(model.is_guard_waiting(), Some(true));
    assert_eq!(is_own(&first), [false; 2]);
    assert_eq!(is_own(&second), [true; 2]);
    model.time_is_up();
    assert_eq!(is_own(&first), [false, true]);
}

/// Ctrl-C ends the programs of a rollback, not what it is for: nothing says that it is done, and the guard does it.
#[test]
fn a_rollback_that_is_cut_off_is_left_to_its_guard() {
    let model = Model::new();
    let before = (model.tree(), model.kernel());
    let transaction = begin(&model, &ChangeRequest::Apply(Box::new(model.order())));
    confirm(&model, &transaction);
    let work = StoppableWork::within(Duration::from_secs(60));
    work.stop();
    let asked = ChangeRequest::Rollback {
        transaction: None,
        only: None,
        force: false,
        why: None,
    };
    work.run(|| ask(&model, &asked)).unwrap();
    assert_eq!(model.armed().as_ref(), Some(&transaction));
    assert_eq!(in_force(&model).len(), 1);
    model.time_is_up();
    assert_eq!(model.armed(), None);
    assert!(in_force(&model).is_empty());
    assert!((model.tree(), model.kernel()) == before);
}

/// Ctrl-C while the guard is being armed: its units are there, and cannot be removed. What they start is there as well.
#[test]
fn a_guard_that_stays_has_its_program() {
    let model = Model::new();
    let before = (model.tree(), model.kernel());
    model.arming_fails.store(true, Ordering::SeqCst);
    let asked = ask(&model, &ChangeRequest::Apply(Box::new(model.order())));
    assert!(
        matches!(asked, Err(ChangeError::NoGuard { .. })),
        "{asked:?}"
    );
    assert!(model.armed().is_some());
    model.arming_fails.store(false, Ordering::SeqCst);
    model.systemctl_fails.store(false, Ordering::SeqCst);
    model.time_is_up();
    assert_eq!(model.armed(), None);
    assert!(in_force(&model).is_empty());
    assert!((model.tree(), model.kernel()) == before);
}

/// Ctrl-C in an uninstall: the guard of its rollback cannot be removed, and its program stays with it. Once more removes both.
#[test]
fn a_guard_that_outlives_an_uninstall_has_its_program() {
    let model = Model::new();
    let before = (model.tree(), model.kernel());
    let transaction = begin(&model, &ChangeRequest::Apply(Box::new(model.order())));
    confirm(&model, &transaction);
    model.guard_stays.store(true, Ordering::SeqCst);
    ask(&model, &ChangeRequest::Uninstall { force: false }).unwrap();
    assert_eq!(model.armed(), Some(transaction));
    model.guard_stays.store(false, Ordering::SeqCst);
    model.systemctl_fails.store(false, Ordering::SeqCst);
    model.time_is_up();
    assert_eq!(model.armed(), None, "it went when it found nothing to do");
    assert!((model.tree(), model.kernel()) == before);
    ask(&model, &ChangeRequest::Uninstall { force: false }).unwrap();
    assert!(!model.path(super::super::HOME_FOLDER).exists());
}

/// What was left and which files were not restored are two lists: no text is searched for paths.
#[test]
fn what_was_left_is_shown_beside_a_file_whose_path_it_names() {
    let model = Model::new();
    let id = begin(&model, &trial());
    model.time_is_up();
    let mut transaction = StoredTransaction::open(&model.state().join(&id)).unwrap();
    let left = "the rule for /etc/hosts.allow is not undone";
    transaction.progress.left = vec![left.to_owned()];
    transaction.progress.unrestored = vec!["/etc/hosts".to_owned()];
    transaction
        .enter(&model, TransactionState::RolledBack, None)
        .unwrap();
    let ChangeReply::Status(status) = ask(&model, &ChangeRequest::Status).unwrap() else {
        panic!()
    };
    let mut what: Vec<&str> = status.drift.iter().map(|one| one.what.as_str()).collect();
    what.sort_unstable();
    assert_eq!(what, ["/etc/hosts", left]);
}

/// What `status` says of a change whose step failed, for `abandoned` or by itself.
fn why_it_was_rolled_back(abandoned: Option<&'static str>) -> String {
    const SYSCTL: &str = "net.ipv4.conf.enP2p1s0f1np1.arp_ignore";
    let model = Model::with_sysctls(&[SYSCTL], "0");
    model.refused.lock().unwrap().insert(SYSCTL.to_owned());
    *model.abandoned.lock().unwrap() = abandoned;
    let refused = ask(&model, &ChangeRequest::Apply(Box::new(model.order())));
    assert!(refused.is_err(), "{refused:?}");
    let ChangeReply::Status(status) = ask(&model, &ChangeRequest::Status).unwrap() else {
        panic!()
    };
    let [one] = &status.transactions[..] else {
        panic!("{status:?}")
    };
    assert_eq!(one.state, TransactionState::RolledBack);
    one.why.clone().unwrap()
}

/// Programs that are ended with the call fail as well as those that cannot do their work.
#[test]
fn status_tells_a_step_that_failed_from_a_controller_that_was_interrupted() {
    assert_eq!(
        why_it_was_rolled_back(None),
        "setting net.ipv4.conf.enP2p1s0f1np1.arp_ignore: '1' cannot be written to /proc/sys/net/ipv4/conf/enP2p1s0f1np1/arp_ignore: Read-only file system (os error 30)"
    );
    assert_eq!(
        why_it_was_rolled_back(Some(INTERRUPTED_REASON)),
        "its controller was interrupted before it was done"
    );
}

/// A change that is kept, and a trial after it, which is kept too.
fn two_in_force(model: &Model, trial: &ChangeRequest) -> [String; 2] {
    [ChangeRequest::Apply(Box::new(model.order())), trial.clone()].map(|change| {
        let id = begin(model, &change);
        confirm(model, &id);
        id
    })
}

fn rollback_from(first: &str) -> ChangeRequest {
    ChangeRequest::Rollback {
        transaction: Some(first.to_owned()),
        only: None,
        force: false,
        why: None,
    }
}

/// A new file of the change, which nothing else writes.
fn new_file(model: &Model, id: &str) -> String {
    let found = StoredTransaction::open(&model.state().join(id)).unwrap();
    let mut images = found.journal.images.into_iter();
    images.find(|image| image.before.is_none()).unwrap().path
}

/// Ctrl-C in a rollback of several: the guard finishes the one that was begun, and no other is begun.
#[test]
fn of_several_changes_a_rollback_that_is_cut_off_begins_no_other() {
    let model = Model::new();
    let before = (model.tree(), model.kernel());
    let [first, second] = two_in_force(&model, &trial());
    let work = StoppableWork::within(Duration::from_secs(60));
    work.stop();
    work.run(|| ask(&model, &rollback_from(&first))).unwrap();
    assert_eq!(model.armed(), Some(second));
    model.time_is_up();
    assert_eq!(model.armed(), None);
    let left: Vec<String> = in_force(&model).into_iter().map(|(id, _)| id).collect();
    assert_eq!(left, std::slice::from_ref(&first));
    ask(&model, &rollback_from(&first)).unwrap();
    assert!((model.tree(), model.kernel()) == before);
}

#[test]
fn an_edit_of_an_older_changes_file_is_told_before_anything_is_rolled_back() {
    let model = Model::new();
    let [first, second] = two_in_force(&model, &trial());
    let path = new_file(&model, &first);
    fs::write(model.path(&path), "by hand\n").unwrap();
    let before = model.tree();
    let refused = ask(&model, &rollback_from(&first));
    assert_eq!(refused, Err(ChangeError::Edited { files: path }));
    assert_eq!(model.tree(), before);
    let left: Vec<String> = in_force(&model).into_iter().map(|(id, _)| id).collect();
    assert_eq!(left, [first, second]);
}

/// A file that was edited between two changes of it: nobody knows before the newer one is rolled back.
#[test]
fn what_is_rolled_back_before_a_refusal_is_told() {
    let model = Model::new();
    let first = begin(&model, &ChangeRequest::Apply(Box::new(model.order())));
    confirm(&model, &first);
    let path = new_file(&model, &first);
    fs::write(model.path(&path), "by hand\n").unwrap();
    let ChangeRequest::Try(mut trial) = trial() else {
        panic!()
    };
    trial.command = ["write", &path, "by the trial\n"].map(str::to_owned).into();
    trial.files = vec![path.clone()];
    let second = begin(&model, &ChangeRequest::Try(trial));
    confirm(&model, &second);
    let ChangeReply::RolledBack(back) = ask(&model, &rollback_from(&first)).unwrap() else {
        panic!()
    };
    assert_eq!(back.transactions, [second]);
    let next = back.still_in_force.unwrap();
    assert_eq!(next.transaction, first);
    assert!(next.why.contains(&path), "{}", next.why);
    let text = fs::read_to_string(model.path(&path)).unwrap();
    assert_eq!(text, "by hand\n");
    // What is in force keeps its journal.
    ask(&model, &ChangeRequest::Uninstall { force: false }).unwrap_err();
    assert_eq!(in_force(&model).len(), 1);
}

#[test]
fn an_uninstall_leaves_nothing_but_the_journals_that_are_needed() {
    let model = Model::new();
    let first = begin(&model, &ChangeRequest::Apply(Box::new(model.order())));
    confirm(&model, &first);
    let path = new_file(&model, &first);
    fs::write(model.path(&path), "by hand\n").unwrap();
    let home = model.path(super::super::HOME_FOLDER);
    fs::create_dir_all(home.join("bin")).unwrap();
    fs::write(home.join("bin/agent"), "").unwrap();
    ask(&model, &ChangeRequest::Uninstall { force: true }).unwrap();
    let names = |folder: &std::path::Path| {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&home), ["changes"]);
    assert_eq!(names(&model.state()), [first, "lock".to_owned()]);
}

/// What becomes of a change of ports whose users are read like this.
fn begun_with_users(users: &Reading<Vec<QueuePairFacts>>) -> Result<ChangeReply, ChangeError> {
    let model = Model::with_facts(|facts| {
        for device in &mut facts.rdma {
            device.queue_pairs = users.clone();
        }
    });
    let mut order = model.order();
    order.force = false;
    let begun = ask(&model, &ChangeRequest::Apply(Box::new(order.clone())));
    if begun.is_err() {
        order.force = true;
        ask(&model, &ChangeRequest::Apply(Box::new(order))).unwrap();
    }
    begun
}

#[test]
fn a_port_whose_users_cannot_be_read_is_not_changed_unless_forced() {
    // No users, and a kernel that is too old to tell.
    for users in [Reading::Value(Vec::new()), Reading::Absent] {
        begun_with_users(&users).unwrap();
    }
    for (users, reason) in [
        (Reading::Denied, "not permitted"),
        (
            Reading::malformed("gave no answer within 2 s"),
            "gave no answer within 2 s",
        ),
    ] {
        match begun_with_users(&users) {
            Err(ChangeError::UsersUnread { why, .. }) => assert_eq!(why, reason),
            other => panic!("{other:?}"),
        }
    }
}

/// Packages are installed before the guard is armed, and a rollback does not remove them.
#[test]
fn a_guard_that_cannot_be_set_up_does_not_hide_that_packages_were_installed() {
    let none = ChangeError::NoGuard {
        why: "x".to_owned(),
        installed: Vec::new(),
    };
    assert!(none.to_string().ends_with("; nothing was changed"));
    let some = ChangeError::NoGuard {
        why: "x".to_owned(),
        installed: vec!["rdma-core perftest".to_owned()],
    };
    let told = some.to_string();
    assert!(
        told.ends_with("but rdma-core perftest stay installed"),
        "{told}"
    );
}
