//! What stands in the place of a file and cannot be read.

use std::{fs, path::PathBuf};

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
