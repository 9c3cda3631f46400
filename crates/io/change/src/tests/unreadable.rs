//! What stands in the place of a file and cannot be read.

use std::{fs, path::PathBuf, sync::atomic::Ordering};

use crosstie_model::change::{ChangeReply, ChangeRequest, RollbackReport};

use super::{
    super::{journal::StoredTransaction, system_access::SystemAccess},
    files::{ask, kept, rollback, status, trial},
    model::Model,
};

const HOSTS: &str = "/etc/hosts";

fn rolled_back(model: &Model, request: &ChangeRequest) -> RollbackReport {
    match ask(model, request).unwrap() {
        ChangeReply::RolledBack(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

fn places(outcome: &RollbackReport) -> Vec<PathBuf> {
    let places = outcome.kept.iter().map(|line| line.split(" → ").nth(1));
    places.map(|place| PathBuf::from(place.unwrap())).collect()
}

/// The disk is full of it, and nobody wants it.
#[test]
fn a_file_that_a_trial_made_too_large_to_read_is_written_over() {
    let model = Model::new();
    let before = model.tree();
    trial(&model, &["grow", HOSTS]);
    let outcome = rolled_back(&model, &rollback(false));
    assert_eq!((outcome.left, outcome.kept), (Vec::new(), Vec::new()));
    assert!(model.tree() == before);
}

#[test]
fn a_folder_in_place_of_a_file_is_kept_with_what_is_in_it() {
    let model = Model::new();
    let before = model.tree();
    trial(&model, &["folder", HOSTS]);
    let outcome = rolled_back(&model, &rollback(false));
    assert_eq!(outcome.left, [""; 0]);
    assert!(model.tree() == before);
    let mine = places(&outcome)[0].join("mine");
    assert_eq!(fs::read(mine).unwrap(), b"mine\n");
}

/// Nobody can tell any more whether it is the trial's alone.
#[test]
fn what_became_too_large_to_read_under_a_kept_trial_is_kept() {
    for path in [HOSTS, "/etc/netplan/99-new.yaml"] {
        let model = Model::new();
        let before = model.tree();
        kept(&model, &["grow", path]);
        let outcome = rolled_back(&model, &rollback(false));
        assert_eq!(outcome.left, [""; 0], "{path}");
        assert!(model.tree() == before, "{path}");
        assert!(fs::metadata(&places(&outcome)[0]).unwrap().len() > 16 << 20);
    }
}

/// Each try keeps what it finds, and none writes over what another kept.
#[test]
fn what_was_kept_is_not_lost_to_another_try() {
    let model = Model::new();
    trial(&model, &["folder", HOSTS]);
    let found = StoredTransaction::all(&model.state()).unwrap().remove(0);
    let mut images = found.journal.images.iter();
    let hosts = images.position(|image| image.path == HOSTS).unwrap();
    let copy = found.folder.join(format!("before-{hosts}"));
    let original = fs::read(&copy).unwrap();
    fs::write(&copy, "damaged").unwrap();
    let first = places(&rolled_back(&model, &rollback(false)));
    assert_eq!(status(&model).drift[0].what, HOSTS);
    fs::write(&copy, &original).unwrap();
    fs::create_dir(model.path(HOSTS)).unwrap();
    let uninstall = ChangeRequest::Uninstall { force: false };
    let second = places(&rolled_back(&model, &uninstall));
    assert_ne!(first, second);
    assert!(first[0].join("mine").exists() && second[0].is_dir());
    assert_eq!(fs::read(model.path(HOSTS)).unwrap(), original);
}

const PORT: &str = "enp1s0f1np1";

fn uninstalled(model: &Model) -> Vec<String> {
    rolled_back(model, &ChangeRequest::Uninstall { force: false }).left
}

/// Until they can be read, nothing says that all is well, and nothing is forgotten.
#[test]
fn addresses_that_cannot_be_read_now_are_restored_once_they_can_be() {
    let model = Model::new();
    let before = model.kernel();
    kept(&model, &["address", PORT, "192.0.2.9/24"]);
    let after = model.kernel();
    assert!(after != before);
    model.addresses_are_unread.store(true, Ordering::SeqCst);
    let left = rolled_back(&model, &rollback(false)).left;
    let why = ["the addresses stay as they are: they could not be read now"];
    assert_eq!(left, why);
    assert_eq!(uninstalled(&model)[0], why[0]);
    assert_eq!(status(&model).drift[0].what, why[0]);
    assert!(model.kernel() == after);
    model.addresses_are_unread.store(false, Ordering::SeqCst);
    assert_eq!(uninstalled(&model), [""; 0]);
    assert!(model.kernel() == before);
    assert!(!model.state().exists());
}

/// Nobody can tell them from what others have set since.
#[test]
fn addresses_that_could_not_be_read_when_a_trial_was_kept_are_told_and_their_journal_stays() {
    let model = Model::new();
    let ChangeReply::Armed(armed) = trial(&model, &["address", PORT, "192.0.2.9/24"]) else {
        panic!();
    };
    model.addresses_are_unread.store(true, Ordering::SeqCst);
    let transaction = armed.transaction;
    ask(&model, &ChangeRequest::Confirm { transaction }).unwrap();
    model.addresses_are_unread.store(false, Ordering::SeqCst);
    let after = model.kernel();
    let why = "the addresses stay as they are: they could not be read after the change";
    assert_eq!(rolled_back(&model, &rollback(false)).left, [why]);
    assert_eq!(uninstalled(&model)[0], why);
    assert_eq!(StoredTransaction::all(&model.state()).unwrap().len(), 1);
    assert!(model.kernel() == after);
}
