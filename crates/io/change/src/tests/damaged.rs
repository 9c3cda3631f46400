//! Journals and copies that somebody, a disk or another build has changed.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use crosstie_model::change::{ChangeReply, ChangeRequest};

use super::{
    super::{
        guard_run,
        journal::{FORMAT, StoredTransaction},
        rollback::RollbackMoment,
        system_access::SystemAccess,
    },
    files::{ask, configured, rollback, status, trial},
    model::Model,
};

/// The journal's first and only folder, and a file in it.
fn in_journal(model: &Model, name: &str) -> PathBuf {
    let folder = StoredTransaction::all(&model.state()).unwrap().remove(0);
    folder.folder.join(name)
}

#[test]
fn a_journal_that_lost_its_program_is_rolled_back() {
    let model = Model::new();
    let before = model.tree();
    configured(&model);
    fs::remove_file(in_journal(&model, "crosstie")).unwrap();
    ask(&model, &rollback(false)).unwrap();
    assert_eq!(model.tree(), before);
}

/// Nothing that is not the file as it was becomes the file, not even through a link.
#[test]
fn a_damaged_copy_is_told_and_restores_nothing() {
    let damages: [fn(&Path); 2] = [
        |copy| fs::write(copy, "").unwrap(),
        |copy| {
            fs::remove_file(copy).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", copy).unwrap();
        },
    ];
    for damage in damages {
        let model = Model::new();
        configured(&model);
        let journal = StoredTransaction::all(&model.state()).unwrap().remove(0);
        let images = &journal.journal.images;
        let hosts = images.iter().position(|image| image.path == "/etc/hosts");
        damage(&in_journal(&model, &format!("before-{}", hosts.unwrap())));
        let text = fs::read(model.path("/etc/hosts")).unwrap();
        let ChangeReply::RolledBack(outcome) = ask(&model, &rollback(false)).unwrap() else {
            panic!();
        };
        assert!(outcome.left[0].contains("/etc/hosts"), "{outcome:?}");
        assert_eq!(fs::read(model.path("/etc/hosts")).unwrap(), text);
        assert_eq!(status(&model).drift[0].what, "/etc/hosts");
    }
}

#[test]
fn an_unreadable_journal_is_named_with_a_way_out() {
    let model = Model::new();
    configured(&model);
    let journal = in_journal(&model, "journal.json");
    let copy = in_journal(&model, "before-0");
    fs::write(&journal, "{").unwrap();
    for ask_for in [ChangeRequest::Status, rollback(true)] {
        let said = ask(&model, &ask_for).unwrap_err().to_string();
        assert!(said.contains("journal.json"), "{said}");
        assert!(said.contains("uninstall --force"), "{said}");
    }
    for _ in 0..2 {
        let removed = ask(&model, &ChangeRequest::Uninstall { force: true }).unwrap();
        let ChangeReply::RolledBack(outcome) = removed else {
            panic!()
        };
        assert!(outcome.left[0].contains("cannot be read"), "{outcome:?}");
        assert!(copy.exists());
    }
    let status = status(&model);
    assert_eq!(status.transactions, []);
    assert!(
        status.drift[0].found.contains("cannot be read"),
        "{status:?}"
    );
}

/// A state that cannot be read says nothing of what is in force, and a reading command rolls nothing back.
#[test]
fn a_damaged_state_of_a_confirmed_change_rolls_nothing_back() {
    let model = Model::new();
    configured(&model);
    let before = (model.tree(), model.kernel());
    fs::write(in_journal(&model, "state.json"), "").unwrap();
    let said = ask(&model, &ChangeRequest::Status).unwrap_err().to_string();
    assert!(said.contains("state.json"), "{said}");
    assert_eq!((model.tree(), model.kernel()), before);
}

/// It is no damage, and `uninstall --force` does not throw it away.
#[test]
fn a_journal_of_another_build_is_left_to_that_build() {
    for format in [1, FORMAT, FORMAT + 1] {
        let model = Model::new();
        configured(&model);
        let journal = in_journal(&model, "journal.json");
        let text = fs::read_to_string(&journal).unwrap();
        let mut changed: serde_json::Value = serde_json::from_str(&text).unwrap();
        changed["format"] = format.into();
        changed["news"] = true.into();
        fs::write(&journal, changed.to_string()).unwrap();
        for ask_for in [
            ChangeRequest::Status,
            ChangeRequest::Uninstall { force: true },
        ] {
            let said = ask(&model, &ask_for).unwrap_err().to_string();
            assert!(said.contains("is of another build"), "{said}");
            assert!(!said.contains("--force"), "{said}");
        }
        assert!(journal.exists());
    }
}

/// The advice to use the build that wrote it would lead nowhere: it is this one.
#[test]
fn a_journal_that_this_very_program_wrote_and_cannot_read_is_damaged() {
    let model = Model::new();
    configured(&model);
    let journal = in_journal(&model, "journal.json");
    fs::copy("/proc/self/exe", in_journal(&model, "crosstie")).unwrap();
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replace("\"steps\"", "\"stepq\"")).unwrap();
    let said = ask(&model, &ChangeRequest::Status).unwrap_err().to_string();
    assert!(said.contains("uninstall --force"), "{said}");
    ask(&model, &ChangeRequest::Uninstall { force: true }).unwrap();
    assert_eq!(status(&model).transactions, []);
}

/// It could do nothing, and would be started again for ever.
#[test]
fn a_guard_whose_journal_is_set_aside_goes() {
    let model = Model::new();
    trial(&model, &["write", "/etc/hosts", "192.0.2.1 tried\n"]);
    assert!(model.armed().is_some());
    fs::write(in_journal(&model, "journal.json"), "{").unwrap();
    ask(&model, &ChangeRequest::Uninstall { force: true }).unwrap();
    assert_eq!(model.armed(), None);
    let (system, state) = (&model as &dyn SystemAccess, model.state());
    let folders = fs::read_dir(&state).unwrap().flatten();
    let mut names = folders.map(|folder| folder.file_name().into_string().unwrap());
    let id = names.find(|name| name.contains('-')).unwrap();
    let done = guard_run::run_guard(system, &state, &id, RollbackMoment::Running).unwrap();
    assert_eq!(done, None);
}

/// Whoever has mended it by hand does not lose that.
#[test]
fn what_was_repaired_after_a_rollback_is_kept_beside_what_uninstall_restores() {
    let model = Model::new();
    trial(&model, &["write", "/etc/hosts", "192.0.2.1 tried\n"]);
    let journal = StoredTransaction::all(&model.state()).unwrap().remove(0);
    let images = &journal.journal.images;
    let hosts = images.iter().position(|image| image.path == "/etc/hosts");
    let copy = in_journal(&model, &format!("before-{}", hosts.unwrap()));
    let original = fs::read(&copy).unwrap();
    fs::write(&copy, "damaged").unwrap();
    model.time_is_up();
    assert_eq!(status(&model).drift[0].what, "/etc/hosts");
    fs::write(&copy, original).unwrap();
    fs::write(model.path("/etc/hosts"), "192.0.2.2 repaired\n").unwrap();
    let ask_for = ChangeRequest::Uninstall { force: false };
    let ChangeReply::RolledBack(outcome) = ask(&model, &ask_for).unwrap() else {
        panic!();
    };
    let kept = outcome.kept[0].split(" → ").nth(1).unwrap();
    assert_eq!(fs::read(kept).unwrap(), b"192.0.2.2 repaired\n");
}

/// Nothing says any more that all is well.
#[test]
fn a_change_that_deleted_its_own_journal_is_told_until_it_is_uninstalled() {
    let model = Model::new();
    trial(&model, &["write", "/etc/hosts", "192.0.2.1 tried\n"]);
    fs::remove_dir_all(model.state()).unwrap();
    let found = &status(&model).drift[0].found;
    assert!(found.contains("deleted"), "{found}");
    let said = ask(&model, &rollback(false)).unwrap_err().to_string();
    assert!(said.contains("was deleted"), "{said}");
    let ask_for = ChangeRequest::Uninstall { force: false };
    let ChangeReply::RolledBack(outcome) = ask(&model, &ask_for).unwrap() else {
        panic!();
    };
    assert!(outcome.left[0].contains("not rolled back"), "{outcome:?}");
    assert_eq!((status(&model).drift.len(), model.armed()), (0, None));
}

#[test]
fn what_a_rollback_left_of_the_network_is_tried_again_by_uninstall() {
    let model = Model::new();
    let before = (model.tree(), model.kernel());
    configured(&model);
    model.network_refused.store(true, Ordering::SeqCst);
    let ChangeReply::RolledBack(outcome) = ask(&model, &rollback(false)).unwrap() else {
        panic!();
    };
    assert!(outcome.left[0].contains("enp1s0f0np0"), "{outcome:?}");
    let uninstall = || {
        let ask_for = ChangeRequest::Uninstall { force: false };
        let ChangeReply::RolledBack(outcome) = ask(&model, &ask_for).unwrap() else {
            panic!();
        };
        outcome.left
    };
    let left = uninstall();
    assert!(left[0].contains("enp1s0f0np0"), "{left:?}");
    let drift = status(&model).drift;
    assert!(drift[0].found.contains("tries again"), "{drift:?}");
    model.network_refused.store(false, Ordering::SeqCst);
    assert_eq!(uninstall(), [""; 0]);
    assert_eq!((model.tree(), model.kernel()), before);
}

/// A cut leaves nothing behind that is not tried again.
#[test]
fn what_is_left_of_the_network_is_not_forgotten_where_another_try_is_cut_off() {
    let uninstall = || ChangeRequest::Uninstall { force: false };
    for edge in 1.. {
        let model = Model::new();
        configured(&model);
        model.network_refused.store(true, Ordering::SeqCst);
        ask(&model, &rollback(false)).unwrap();
        let died = model.dying(edge, || ask(&model, &uninstall())).is_none();
        let found = StoredTransaction::all(&model.state()).unwrap().remove(0);
        let left = found.progress.unrestored_network;
        assert!(left[0].contains("enp1s0f0np0"), "at {edge}: {left:?}");
        if !died {
            break;
        }
    }
}
