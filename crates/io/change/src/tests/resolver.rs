//! `/etc/resolv.conf`, which often is a link to what a program writes below `/run`.

use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::PathBuf,
};

use crosstie_model::change::{ChangeReply, ChangeRequest};

use super::{
    super::system_access::SystemAccess,
    files::{ask, rollback, trial},
    model::Model,
};

const LINK: &str = "/etc/resolv.conf";
const TARGET: &str = "../run/systemd/resolve/stub-resolv.conf";
const BEFORE: &str = "nameserver 127.0.0.53\n";

/// A model with that link, and the file that it leads to.
fn resolved() -> (Model, PathBuf) {
    let model = Model::new();
    let file = model.path("/run/systemd/resolve/stub-resolv.conf");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, BEFORE).unwrap();
    symlink(TARGET, model.path(LINK)).unwrap();
    (model, file)
}

fn leads_to(model: &Model) -> Option<PathBuf> {
    fs::read_link(model.path(LINK)).ok()
}

#[test]
fn a_trial_of_another_resolver_is_rolled_back_to_the_link_and_to_what_it_leads_to() {
    for command in [
        // Through the link.
        ["write", LINK, "nameserver 192.0.2.1\n"],
        ["remove", LINK, ""],
        ["replace", LINK, "nameserver 192.0.2.1\n"],
    ] {
        let (model, file) = resolved();
        trial(&model, &command);
        assert_ne!(
            (leads_to(&model), fs::read_to_string(&file).ok()),
            (Some(TARGET.into()), Some(BEFORE.to_owned()))
        );
        model.time_is_up();
        assert_eq!(leads_to(&model), Some(TARGET.into()), "{command:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), BEFORE, "{command:?}");
    }
}

#[test]
fn a_plain_file_of_the_resolver_is_rolled_back() {
    let model = Model::new();
    fs::write(model.path(LINK), BEFORE).unwrap();
    trial(&model, &["write", LINK, "nameserver 192.0.2.1\n"]);
    model.time_is_up();
    assert_eq!(fs::read_to_string(model.path(LINK)).unwrap(), BEFORE);
}

/// It is written anew with every lease: nobody has edited it, and what was in it then is of no use.
#[test]
fn what_the_resolver_writes_after_a_kept_trial_is_left_to_it() {
    let (model, file) = resolved();
    let ChangeReply::Armed(armed) = trial(&model, &["write", LINK, "nameserver 192.0.2.1\n"])
    else {
        panic!()
    };
    let transaction = armed.transaction;
    ask(&model, &ChangeRequest::Confirm { transaction }).unwrap();
    fs::write(&file, "nameserver 192.0.2.2\n").unwrap();
    ask(&model, &rollback(false)).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "nameserver 192.0.2.2\n");
}

/// The resolver, which starts later, finds a folder and a file that are its own to make.
#[test]
fn after_a_boot_the_resolver_makes_its_own_file() {
    let (model, file) = resolved();
    trial(&model, &["remove", LINK, ""]);
    fs::remove_file(&file).unwrap();
    model.lose_power();
    let link = fs::symlink_metadata(model.path(LINK)).unwrap();
    assert_eq!(link.mode() & 0o170_000, 0o120_000);
    assert!(!file.exists());
}
