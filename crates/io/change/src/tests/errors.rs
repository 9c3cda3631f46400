//! What a refusal says is true where it is said.

use std::{fs, path::PathBuf, sync::atomic::Ordering};

use crosstie_model::change::{ChangeError, ChangeReply, ChangeRequest, TryRequest};

use super::{
    super::{handle_request_with, system_access::SystemAccess},
    model::Model,
};

const NOTHING_CHANGED: &str = "nothing was changed";

fn ask(model: &Model, ask: &ChangeRequest) -> Result<ChangeReply, ChangeError> {
    handle_request_with(model, &model.state(), ask)
}

fn apply(model: &Model) -> String {
    match ask(model, &ChangeRequest::Apply(Box::new(model.order()))).unwrap() {
        ChangeReply::Armed(armed) => armed.transaction,
        other => panic!("{other:?}"),
    }
}

fn confirm(model: &Model, transaction: &str) -> Result<ChangeReply, ChangeError> {
    let transaction = transaction.to_owned();
    ask(model, &ChangeRequest::Confirm { transaction })
}

fn uninstall(model: &Model) -> Result<ChangeReply, ChangeError> {
    ask(model, &ChangeRequest::Uninstall { force: false })
}

/// No file can be written beside the journal.
fn in_the_way(model: &Model, transaction: &str) -> PathBuf {
    let path = model.state().join(transaction).join("state.json");
    crosstie_durable::temporary_name(&path)
}

#[test]
fn a_confirmation_that_cannot_be_written_leaves_the_change_to_its_guard() {
    let model = Model::new();
    let before = (model.tree(), model.kernel());
    let transaction = apply(&model);
    fs::create_dir(in_the_way(&model, &transaction)).unwrap();
    let refused = confirm(&model, &transaction).unwrap_err().to_string();
    assert!(!refused.contains(NOTHING_CHANGED), "{refused}");
    assert!(refused.contains("the change was made"), "{refused}");
    assert!((model.tree(), model.kernel()) != before);
    fs::remove_dir(in_the_way(&model, &transaction)).unwrap();
    assert_eq!(confirm(&model, &transaction), Ok(ChangeReply::Confirmed));
}

/// Planning again would find the same.
#[test]
fn a_file_that_cannot_be_read_is_told_as_that() {
    let model = Model::new();
    let order = model.order();
    let path = "/etc/sysctl.d/90-crosstie.conf";
    fs::create_dir_all(model.path(path)).unwrap();
    let before = model.tree();
    let refused = ask(&model, &ChangeRequest::Apply(Box::new(order))).unwrap_err();
    let wanted = ChangeError::NotBegun {
        what: format!("{path} cannot be read"),
        why: "it is neither a file nor a link".to_owned(),
    };
    assert_eq!(refused, wanted);
    assert!(refused.to_string().ends_with(NOTHING_CHANGED), "{refused}");
    assert_eq!(model.tree(), before);
}

#[test]
fn an_uninstall_tells_what_it_has_rolled_back_before_it_failed() {
    let changed = || {
        let model = Model::new();
        let transaction = apply(&model);
        confirm(&model, &transaction).unwrap();
        (model, transaction)
    };
    let (counting, _) = changed();
    counting.dying(0, || uninstall(&counting)).unwrap().unwrap();
    let edges = counting.edges();
    let rolled_back = edges.iter().position(|edge| *edge == "the guard is gone");
    let rolled_back = u32::try_from(rolled_back.unwrap() + 1).unwrap();
    let (model, transaction) = changed();
    // From then on there are no journals.
    model.fill_disk_from(rolled_back);
    let Ok(ChangeReply::RolledBack(outcome)) = uninstall(&model) else {
        panic!();
    };
    assert_eq!(outcome.transactions, [transaction]);
    let said = outcome.left.concat();
    assert!(said.contains("a journal cannot be read"), "{said}");
    assert!(!said.contains(NOTHING_CHANGED), "{said}");
}

#[test]
fn a_rollback_without_a_guard_says_what_was_not_rolled_back() {
    let model = Model::new();
    let transaction = apply(&model);
    confirm(&model, &transaction).unwrap();
    model.systemctl_fails.store(true, Ordering::SeqCst);
    let refused = uninstall(&model).unwrap_err().to_string();
    assert!(!refused.contains(NOTHING_CHANGED), "{refused}");
    let wanted = format!("change {transaction} was not rolled back");
    assert!(refused.ends_with(&wanted), "{refused}");
}

#[test]
fn what_is_left_of_a_guard_is_no_guard_that_cannot_be_set_up() {
    let model = Model::new();
    model.guard_stays.store(true, Ordering::SeqCst);
    let asked = ChangeRequest::Apply(Box::new(model.order()));
    let refused = ask(&model, &asked).unwrap_err();
    assert!(
        matches!(refused, ChangeError::GuardStays { .. }),
        "{refused}"
    );
}

#[test]
fn a_path_that_a_trial_cannot_watch_is_told_without_a_write() {
    let model = Model::new();
    let trial = TryRequest {
        run: "20261115T100000Z-00000002".to_owned(),
        command: vec!["true".to_owned()],
        files: vec!["etc/hosts".to_owned()],
        guard_seconds: 60,
        command_seconds: 10,
        force: false,
    };
    let refused = ask(&model, &ChangeRequest::Try(trial)).unwrap_err();
    let wanted = "etc/hosts: it is no absolute path; nothing was changed";
    assert_eq!(refused.to_string(), wanted);
}
