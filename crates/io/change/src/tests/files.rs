//! Files that others write to, and disks that take nothing.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::atomic::Ordering,
};

use crosstie_durable::FileOperations;
use crosstie_model::change::{
    ChangeError, ChangeReply, ChangeRequest, NodeChangeStatus, TransactionState, TryRequest,
};

use super::{
    super::{handle_request_with, node_system::NodeSystem, system_access::SystemAccess},
    model::Model,
};

pub(super) fn ask(model: &Model, ask: &ChangeRequest) -> Result<ChangeReply, ChangeError> {
    handle_request_with(model, &model.state(), ask)
}

pub(super) fn configured(model: &Model) {
    let applied = ask(model, &ChangeRequest::Apply(Box::new(model.order()))).unwrap();
    let ChangeReply::Armed(armed) = applied else {
        panic!("{applied:?}");
    };
    let transaction = armed.transaction;
    ask(model, &ChangeRequest::Confirm { transaction }).unwrap();
}

pub(super) fn status(model: &Model) -> NodeChangeStatus {
    match ask(model, &ChangeRequest::Status).unwrap() {
        ChangeReply::Status(status) => status,
        other => panic!("{other:?}"),
    }
}

pub(super) fn rollback(force: bool) -> ChangeRequest {
    ChangeRequest::Rollback {
        transaction: None,
        only: None,
        force,
        why: None,
    }
}

#[test]
fn an_edit_of_a_managed_file_is_seen_and_never_lost() {
    let model = Model::new();
    let before = model.tree();
    configured(&model);
    assert_eq!(status(&model).drift, []);
    let path = model.path("/etc/netplan/90-crosstie.yaml");
    let text = fs::read_to_string(&path).unwrap() + "# mine\n";
    fs::write(&path, &text).unwrap();
    let drift = status(&model).drift;
    assert_eq!(drift.len(), 1);
    assert_eq!(drift[0].what, "/etc/netplan/90-crosstie.yaml");
    assert_eq!(drift[0].found, "edited by someone");
    let refused = ask(&model, &rollback(false)).unwrap_err();
    assert!(
        refused.to_string().contains("90-crosstie.yaml"),
        "{refused}"
    );
    let ChangeReply::RolledBack(outcome) = ask(&model, &rollback(true)).unwrap() else {
        panic!();
    };
    let kept = outcome.kept[0].split(" → ").nth(1).unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), text);
    assert_eq!(model.tree(), before);
}

#[test]
fn what_others_write_beside_our_block_stays() {
    let model = Model::new();
    configured(&model);
    let path = model.path("/etc/hosts");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("192.0.2.77 printer\n{text}")).unwrap();
    assert!(matches!(
        ask(&model, &rollback(false)).unwrap(),
        ChangeReply::RolledBack(_)
    ));
    let now = fs::read_to_string(&path).unwrap();
    assert!(
        now.starts_with("192.0.2.77 printer\n") && !now.contains("crosstie"),
        "{now}"
    );
}

#[test]
fn changes_are_rolled_back_newest_first_and_nothing_is_left() {
    let model = Model::new();
    let before = model.tree();
    configured(&model);
    let tried = trial(&model, &["write", "/etc/hosts", "127.0.0.1 localhost\n"]);
    let ChangeReply::Armed(armed) = tried else {
        panic!()
    };
    let transaction = armed.transaction;
    ask(&model, &ChangeRequest::Confirm { transaction }).unwrap();
    assert_eq!(status(&model).transactions.len(), 2);
    ask(&model, &rollback(false)).unwrap();
    let hosts = fs::read_to_string(model.path("/etc/hosts")).unwrap();
    assert!(hosts.contains("crosstie"));
    ask(&model, &ChangeRequest::Uninstall { force: false }).unwrap();
    assert_eq!(model.tree(), before);
    assert!(!model.path("/var/lib/crosstie").exists());
}

pub(super) fn trial(model: &Model, command: &[&str]) -> ChangeReply {
    let trial = TryRequest {
        force: false,
        run: "20261115T100000Z-00000002".to_owned(),
        command: command.iter().map(|&word| word.to_owned()).collect(),
        files: Vec::new(),
        guard_seconds: 60,
        command_seconds: 10,
    };
    ask(model, &ChangeRequest::Try(trial)).unwrap()
}

#[test]
fn a_trial_that_nobody_confirms_leaves_no_trace() {
    for command in [
        ["write", "/etc/netplan/99-new.yaml", "network: {}\n"],
        ["write", "/etc/netplan/40-fabric.yaml", "broken"],
        ["remove", "/etc/netplan/40-fabric.yaml", ""],
    ] {
        let model = Model::new();
        let before = model.tree();
        trial(&model, &command);
        assert_ne!(model.tree(), before);
        model.time_is_up();
        assert_eq!(model.tree(), before, "{command:?}");
        let states: Vec<TransactionState> = status(&model)
            .transactions
            .iter()
            .map(|found| found.state)
            .collect();
        assert_eq!(states, [TransactionState::RolledBack]);
    }
}

#[test]
fn a_disk_that_takes_nothing_changes_nothing() {
    for edge in 1..12 {
        let model = Model::new();
        let before = model.tree();
        let order = model.order();
        model.fill_disk_from(edge);
        let refused = ask(&model, &ChangeRequest::Apply(Box::new(order))).unwrap_err();
        assert!(
            refused.to_string().contains("nothing was changed"),
            "{refused}"
        );
        assert_eq!(model.tree(), before, "{edge}");
    }
}

#[test]
fn journals_are_for_root_alone() {
    use std::os::unix::fs::PermissionsExt;
    let model = Model::new();
    configured(&model);
    let mode = fs::metadata(model.state()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn plans_reach_no_further_than_etc() {
    let model = Model::new();
    let mut order = model.order();
    let text = serde_json::to_string(&order.plan).unwrap();
    let text = text.replace(
        "/etc/netplan/90-crosstie.yaml",
        "/etc/../root/.ssh/authorized_keys",
    );
    order.plan = serde_json::from_str(&text).unwrap();
    let refused = ask(&model, &ChangeRequest::Apply(Box::new(order))).unwrap_err();
    assert!(refused.to_string().contains("below /etc"), "{refused}");
}

/// The model has a `sync` of its own. Nothing on a running machine tells a file that was synced from one that was not, but the
/// kernel refuses to sync a device: whoever does not ask is not refused.
#[test]
fn a_sync_reaches_the_kernel() {
    let null = Path::new("/dev/null");
    let file = File::open(null).unwrap();
    for asked in [
        NodeSystem::default().sync(&file, null),
        NodeSystem::default().sync_folder(null),
    ] {
        let refused = asked.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{refused}");
    }
}

/// A trial that was kept is what the person wants: only what changes after it is drift, and what had changed before it.
#[test]
fn what_a_kept_trial_left_is_no_drift() {
    const FILE: &str = "/etc/netplan/90-crosstie.yaml";
    let keep = |model: &Model, text: &str| {
        let ChangeReply::Armed(armed) = trial(model, &["write", FILE, text]) else {
            panic!()
        };
        let transaction = armed.transaction;
        ask(model, &ChangeRequest::Confirm { transaction }).unwrap();
    };
    let model = Model::new();
    configured(&model);
    let ours = fs::read_to_string(model.path(FILE)).unwrap();
    fs::write(model.path("/etc/hosts"), "127.0.0.1 localhost\n").unwrap();
    let before = status(&model).drift;
    assert_eq!(before.len(), 1, "{before:?}");
    keep(&model, &format!("{ours}# mine\n"));
    assert_eq!(status(&model).drift, before);
    // Another edit is one, until another trial with it is kept.
    fs::write(model.path(FILE), format!("{ours}# another's\n")).unwrap();
    let drift = status(&model).drift;
    assert_eq!(drift.len(), 2, "{drift:?}");
    let edited = drift.iter().find(|drift| drift.what == FILE).unwrap();
    assert!(edited.wanted.contains("crosstie try"), "{edited:?}");
    keep(&model, &format!("{ours}# mine again\n"));
    assert_eq!(status(&model).drift, before);
    // What is rolled back is not kept any more.
    ask(&model, &rollback(true)).unwrap();
    ask(&model, &rollback(true)).unwrap();
    fs::write(model.path(FILE), format!("{ours}# mine\n")).unwrap();
    let drift = status(&model).drift;
    assert!(drift.iter().any(|drift| drift.what == FILE), "{drift:?}");
}

pub(super) fn kept(model: &Model, command: &[&str]) {
    let ChangeReply::Armed(armed) = trial(model, command) else {
        panic!()
    };
    let transaction = armed.transaction;
    ask(model, &ChangeRequest::Confirm { transaction }).unwrap();
}

/// What a trial did not touch is not its affair; what it did is guarded as a plan's files are.
#[test]
fn edits_since_a_kept_trial_are_refused_or_left_alone() {
    const TRIED: &str = "/etc/netplan/99-tried.yaml";
    let model = Model::new();
    let before = model.tree();
    kept(&model, &["write", TRIED, "network: {}\n"]);
    let hosts = model.path("/etc/hosts");
    fs::write(&hosts, "192.0.2.77 printer\n").unwrap();
    let mine = model.path("/etc/netplan/50-mine.yaml");
    fs::write(&mine, "network: {version: 2}\n").unwrap();
    fs::write(model.path(TRIED), "network: {version: 2}\n").unwrap();
    let refused = ask(&model, &rollback(false)).unwrap_err();
    assert!(
        matches!(&refused, ChangeError::Edited { files } if files == TRIED),
        "{refused}"
    );
    let ChangeReply::RolledBack(outcome) = ask(&model, &rollback(true)).unwrap() else {
        panic!();
    };
    assert_eq!(outcome.kept.len(), 1, "{outcome:?}");
    assert!(!model.path(TRIED).exists());
    assert_eq!(fs::read_to_string(&hosts).unwrap(), "192.0.2.77 printer\n");
    assert!(mine.exists());
    fs::remove_file(mine).unwrap();
    let mut after = model.tree();
    after.insert("/etc/hosts".to_owned(), before["/etc/hosts"].clone());
    assert_eq!(after, before);
}

#[test]
fn a_kept_trial_is_rolled_back_with_the_folders_that_it_made() {
    let model = Model::new();
    let before = model.tree();
    kept(&model, &["many", "/etc/netplan/x.d", "0"]);
    ask(&model, &rollback(false)).unwrap();
    assert_eq!(model.tree(), before);
}

/// Through the link every file looks as it was.
#[test]
fn a_kept_link_in_place_of_a_folder_is_rolled_back_to_the_folder_with_its_files() {
    let model = Model::new();
    fs::create_dir_all(model.path("/srv")).unwrap();
    fs::create_dir_all(model.path("/etc/netplan")).unwrap();
    fs::write(model.path("/etc/netplan/40.yaml"), "network: {}\n").unwrap();
    let before = model.tree();
    kept(&model, &["move", "/etc/netplan", "/srv/netplan"]);
    assert!(model.path("/etc/netplan").is_symlink());
    ask(&model, &rollback(false)).unwrap();
    assert_eq!(model.tree(), before);
}

/// A folder that the trial left alone belongs to whoever has changed it since.
#[test]
fn a_link_that_others_made_of_a_folder_since_a_kept_trial_stays() {
    let model = Model::new();
    fs::create_dir_all(model.path("/etc/netplan")).unwrap();
    fs::write(model.path("/etc/netplan/40.yaml"), "network: {}\n").unwrap();
    kept(&model, &["write", "/etc/hosts", "192.0.2.1 tried\n"]);
    fs::create_dir_all(model.path("/srv")).unwrap();
    let moved = model.path("/srv/netplan");
    fs::rename(model.path("/etc/netplan"), &moved).unwrap();
    std::os::unix::fs::symlink(&moved, model.path("/etc/netplan")).unwrap();
    ask(&model, &rollback(false)).unwrap();
    assert!(model.path("/etc/netplan").is_symlink());
    assert!(moved.join("40.yaml").exists());
}

/// What only the trial wrote is nobody's edit.
#[test]
fn a_file_that_a_kept_trial_made_goes_without_a_copy() {
    let model = Model::new();
    let before = model.tree();
    kept(
        &model,
        &["write", "/etc/netplan/99-tried.yaml", "network: {}\n"],
    );
    let ChangeReply::RolledBack(outcome) = ask(&model, &rollback(false)).unwrap() else {
        panic!();
    };
    assert_eq!((outcome.kept.len(), model.tree()), (0, before));
}

#[test]
fn links_and_files_of_others_are_written_over_by_no_plan() {
    const FOREIGN: &str = "/etc/sysctl.d/90-crosstie.conf";
    for file in ["/etc/hosts", "/etc/nccl.conf", FOREIGN] {
        let model = Model::new();
        let path = model.path(file);
        let order = model.order();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        if file == FOREIGN {
            fs::write(&path, "vm.swappiness = 1\n").unwrap();
        } else {
            link(&path);
        }
        let before = fs::read_to_string(&path).unwrap();
        let refused = ask(&model, &ChangeRequest::Apply(Box::new(order))).unwrap_err();
        let said = refused.to_string();
        assert!(said.starts_with(file), "{said}");
        assert!(said.contains("nothing was changed"), "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
    }
}

fn link(path: &Path) {
    let target = path.with_extension("site");
    fs::write(&target, "127.0.0.1 localhost\n").unwrap();
    std::os::unix::fs::symlink(target, path).unwrap();
}

#[test]
fn a_link_in_place_of_a_folder_is_rolled_back_and_what_it_leads_to_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let model = Model::new();
    let before = model.tree();
    let elsewhere = model.path("/srv/netplan");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o711)).unwrap();
    trial(&model, &["link", "/etc/netplan", "/srv/netplan"]);
    model.time_is_up();
    assert_eq!(model.tree(), before);
    assert!(
        model
            .path("/etc/netplan")
            .symlink_metadata()
            .unwrap()
            .is_dir()
    );
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    let mode = fs::metadata(&elsewhere).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o711);
}

#[test]
fn thousands_of_new_files_are_rolled_back() {
    let model = Model::new();
    let before = model.tree();
    trial(&model, &["many", "/etc/netplan/new.d", "5000"]);
    model.time_is_up();
    assert_eq!(model.tree(), before);
}

/// A profile that is a link is set aside as one.
#[test]
fn a_linked_profile_comes_back_as_a_link() {
    let model = Model::new();
    let path = model.path("/etc/netplan/40-fabric.yaml");
    let target = model.path("/srv/fabric.yaml");
    fs::create_dir_all(target.parent().unwrap()).unwrap();
    fs::rename(&path, &target).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    configured(&model);
    let was_set_aside = model.path("/etc/netplan/40-fabric.yaml.crosstie~");
    assert!(was_set_aside.is_symlink());
    ask(&model, &rollback(false)).unwrap();
    assert_eq!(fs::read_link(&path).unwrap(), target);
    assert!(!was_set_aside.is_symlink());
}

/// Somebody else's change is no interrupted one, only because systemd is slow.
#[test]
fn a_systemd_that_does_not_answer_ends_no_pending_change() {
    let model = Model::new();
    let applied = ask(&model, &ChangeRequest::Apply(Box::new(model.order()))).unwrap();
    let ChangeReply::Armed(armed) = applied else {
        panic!("{applied:?}");
    };
    let is_silent = |silent| model.systemd_is_silent.store(silent, Ordering::SeqCst);
    is_silent(true);
    let states = status(&model).transactions;
    assert_eq!(states[0].state, TransactionState::Applied, "{states:?}");
    is_silent(false);
    let transaction = armed.transaction;
    ask(&model, &ChangeRequest::Confirm { transaction }).unwrap();
}

/// Nothing was touched yet: no manager is asked for anything, and no interface is configured anew.
#[test]
fn what_was_cut_off_before_its_guard_is_ended_without_touching_the_node() {
    let model = Model::new();
    let order = model.order();
    model.dying(0, || {
        ask(&model, &ChangeRequest::Apply(Box::new(order.clone())))
    });
    let named = model
        .edges()
        .iter()
        .position(|edge| *edge == "a journal has its name");
    let model = Model::new();
    let edge = u32::try_from(named.unwrap() + 1).unwrap();
    let died = model.dying(edge, || ask(&model, &ChangeRequest::Apply(Box::new(order))));
    assert!(died.is_none());
    let before = (model.tree(), model.kernel());
    model.managers_fail.store(true, Ordering::SeqCst);
    let found = status(&model);
    assert_eq!(found.drift, []);
    assert_eq!(found.transactions[0].state, TransactionState::RolledBack);
    assert_eq!((model.tree(), model.kernel()), before);
}
