use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use crosstie_trust::{
    AliasCheck, AuthorizedKey, InstalledAgent, KeyOwner, MachineName, PeerClaims, PublicKey,
};
use tempfile::TempDir;

use super::*;

/// Every file and folder below: its mode, and its text or where it leads.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn tree(path: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let status = fs::symlink_metadata(&path).unwrap();
        let text = if status.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            Vec::new()
        } else if status.is_symlink() {
            fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes()
        } else {
            fs::read(&path).unwrap()
        };
        tree.insert(path, (status.mode() & 0o7777, text));
    }
    tree
}

fn home() -> (TempDir, HomeFolder) {
    let folder = tempfile::tempdir().unwrap();
    let home = HomeFolder {
        path: folder.path().join("home"),
        user: "alice".parse().unwrap(),
    };
    fs::create_dir(&home.path).unwrap();
    set_mode(&home.path, 0o755);
    (folder, home)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn name(text: &str) -> MachineName {
    text.parse().unwrap()
}

const KEYS: [&str; 2] = [
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxN8LDhNjGhbFOLZjVCCVVLlxr5eFpW9iVRCEdVNfoB",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxN8LDhNjGhbFOLZjVCCVVLlxr5eFpW9iVRCEdVNfoC",
];

fn key(index: usize) -> PublicKey {
    KEYS[index].parse().unwrap()
}

fn authorized(text: &str, index: usize) -> AuthorizedKey {
    AuthorizedKey {
        owner: KeyOwner {
            user: "bob".parse().unwrap(),
            name: name(text),
        },
        key: Some(key(index)),
    }
}

fn peer(text: &str) -> PeerClaims {
    PeerClaims {
        name: name(text),
        name_seen: false,
        host_names: Vec::new(),
        addresses: Vec::new(),
        user: None,
        port: None,
        host_key: key(0),
    }
}

fn wanted(dry_run: bool) -> WantedTrust {
    WantedTrust {
        own: name("spark-a"),
        authorize: vec![authorized("desk", 0), authorized("spark-b", 1)],
        peers: vec![peer("spark-b"), peer("spark-c")],
        reached: Vec::new(),
        dry_run,
    }
}

/// Where every name leads to whoever claims it.
#[expect(clippy::unnecessary_wraps, reason = "it stands for one that can fail")]
fn all_seen(_: &HomeFolder, claims: &[PeerClaims]) -> Result<AliasChecks, HomeTrustError> {
    let seen = claims.iter().flat_map(|peer| {
        let candidates = peer.candidates().into_iter();
        candidates.map(|alias| ((peer.name.clone(), alias.clone()), AliasCheck::SEEN))
    });
    Ok(seen.collect())
}

fn answer(
    home: &HomeFolder,
    ask: &TrustRequest,
    pushed: Option<&InstalledAgent>,
) -> Result<TrustReply, HomeTrustError> {
    handle_request_with(home, ask, pushed, &all_seen)
}

fn settle(home: &HomeFolder, wanted: WantedTrust) -> TrustReply {
    answer(home, &TrustRequest::Settle(wanted), None).unwrap()
}

fn undo(home: &HomeFolder, only: Option<Vec<MachineName>>) -> TrustReply {
    let dry_run = false;
    answer(home, &TrustRequest::Undo { only, dry_run }, None).unwrap()
}

fn read(home: &HomeFolder, path: &str) -> String {
    fs::read_to_string(home.path.join(path)).unwrap()
}

/// Each way that a home directory may be, and back.
#[test]
fn an_undo_leaves_every_byte_and_mode_as_it_was() {
    let furnishings: [fn(&HomeFolder); 5] = [
        |_| (),
        |home| {
            fs::create_dir(home.ssh()).unwrap();
            set_mode(&home.ssh(), 0o775);
            set_mode(&home.path, 0o777);
        },
        |home| {
            fs::create_dir(home.ssh()).unwrap();
            fs::write(
                home.ssh().join("authorized_keys"),
                "ssh-rsa AAAA mine, without an end",
            )
            .unwrap();
            set_mode(&home.ssh().join("authorized_keys"), 0o664);
            fs::write(home.ssh().join("config"), "Host *\n  User bob").unwrap();
            set_mode(&home.ssh().join("config"), 0o640);
        },
        |home| {
            fs::create_dir(home.ssh()).unwrap();
            fs::write(home.ssh().join("authorized_keys"), "").unwrap();
            fs::write(home.ssh().join("config"), "").unwrap();
        },
        |home| {
            fs::create_dir(home.ssh()).unwrap();
            fs::create_dir(home.path.join("dotfiles")).unwrap();
            fs::write(home.path.join("dotfiles/config"), b"# \xff\r\nHost a\r\n").unwrap();
            symlink("../dotfiles/config", home.ssh().join("config")).unwrap();
        },
    ];
    for furnish in furnishings {
        let (_folder, home) = home();
        furnish(&home);
        let before = tree(&home.path);
        let rehearsed = settle(&home, wanted(true));
        assert_eq!(tree(&home.path), before, "a rehearsal changes nothing");
        assert_eq!(rehearsed.key, None);

        let settled = settle(&home, wanted(false));
        assert_eq!(settled.changed, rehearsed.changed);
        assert!(settled.key.is_some());
        for path in [
            home.path.clone(),
            home.ssh(),
            home.ssh().join("authorized_keys"),
            home.ssh().join("config"),
        ] {
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o022, 0, "{path:?}");
        }
        assert_eq!(fs::metadata(home.ours()).unwrap().mode() & 0o7777, 0o700);
        assert_eq!(
            fs::metadata(home.identity()).unwrap().mode() & 0o7777,
            0o600
        );
        let keys = read(&home, ".ssh/authorized_keys");
        assert!(
            keys.ends_with(&format!("{} crosstie:bob@spark-b\n", KEYS[1])),
            "{keys}"
        );

        let done = tree(&home.path);
        let again = settle(&home, wanted(false));
        assert_eq!(again.changed, []);
        assert_eq!(again.key, settled.key);
        assert_eq!(settle(&home, wanted(true)).changed, []);
        assert_eq!(tree(&home.path), done, "a second run changes nothing");

        let dry_run = true;
        let rehearsed = answer(
            &home,
            &TrustRequest::Undo {
                only: None,
                dry_run,
            },
            None,
        )
        .unwrap();
        assert_eq!(tree(&home.path), done);
        let undone = undo(&home, None);
        assert_eq!(undone.changed, rehearsed.changed);
        assert_eq!(tree(&home.path), before);
        assert_eq!(undo(&home, None).changed, []);
    }
}

#[test]
fn what_a_person_did_since_is_kept() {
    let (_folder, home) = home();
    fs::create_dir(home.ssh()).unwrap();
    settle(&home, wanted(false));
    let keys = home.ssh().join("authorized_keys");
    fs::write(
        &keys,
        read(&home, ".ssh/authorized_keys") + "ssh-rsa AAAA theirs\n",
    )
    .unwrap();
    let config = home.ssh().join("config");
    fs::write(&config, read(&home, ".ssh/config") + "Host mine\n").unwrap();
    undo(&home, None);
    assert_eq!(read(&home, ".ssh/authorized_keys"), "ssh-rsa AAAA theirs\n");
    assert_eq!(read(&home, ".ssh/config"), "Host mine\n");
    assert!(!home.ours().exists());
}

#[test]
fn one_goes_and_the_others_stay() {
    let (_folder, home) = home();
    let before = tree(&home.path);
    settle(&home, wanted(false));
    let gone = undo(&home, Some(vec![name("spark-b")]));
    assert!(gone.key.is_some() && !gone.changed.is_empty());
    assert!(!read(&home, ".ssh/authorized_keys").contains("spark-b"));
    assert!(read(&home, ".ssh/authorized_keys").contains("bob@desk"));
    let config = read(&home, ".ssh/crosstie/config");
    assert!(!config.contains("spark-b") && config.contains("spark-c"));
    assert!(!read(&home, ".ssh/crosstie/known_hosts").contains("spark-b"));
    undo(&home, Some(vec![name("spark-c")]));
    // The last one takes everything along.
    undo(&home, Some(vec![name("desk")]));
    assert_eq!(tree(&home.path), before);
}

/// A key that was there before is not ours to remove; one that was made anew replaces the old.
#[test]
fn keys_are_told_apart_by_what_they_are() {
    let (_folder, home) = home();
    fs::create_dir(home.ssh()).unwrap();
    let mine = format!("{} my own words\n", KEYS[0]);
    fs::write(home.ssh().join("authorized_keys"), &mine).unwrap();
    settle(&home, wanted(false));
    let keys = read(&home, ".ssh/authorized_keys");
    assert_eq!(keys, format!("{mine}{} crosstie:bob@spark-b\n", KEYS[1]));
    let mut other = wanted(false);
    let third = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxN8LDhNjGhbFOLZjVCCVVLlxr5eFpW9iVRCEdVNfoD";
    other.authorize[1].key = Some(third.parse().unwrap());
    settle(&home, other);
    let keys = read(&home, ".ssh/authorized_keys");
    assert_eq!(keys, format!("{mine}{third} crosstie:bob@spark-b\n"));
    undo(&home, None);
    assert_eq!(read(&home, ".ssh/authorized_keys"), mine);
}

/// What a kill may leave, at each point where one may come.
#[test]
fn a_run_that_was_cut_off_is_finished_or_undone() {
    let (_folder, home) = home();
    let before = tree(&home.path);
    let cut = |keep: &[&str]| {
        settle(&home, wanted(false));
        fs::write(home.path.join(".crosstie-new"), "half").unwrap();
        fs::write(home.ssh().join(".crosstie-new"), "half").unwrap();
        for path in [
            ".ssh/config",
            ".ssh/authorized_keys",
            ".ssh/crosstie/config",
            ".ssh/crosstie/known_hosts",
            ".ssh/crosstie/id_ed25519",
            ".ssh/crosstie/id_ed25519.pub",
        ] {
            if !keep.contains(&path) {
                let _ = fs::remove_file(home.path.join(path));
            }
        }
    };
    for keep in [
        &[][..],
        &[".ssh/crosstie/id_ed25519.pub"],
        &[".ssh/crosstie/id_ed25519"],
        &[".ssh/authorized_keys", ".ssh/crosstie/config"],
    ] {
        cut(keep);
        settle(&home, wanted(false)).key.unwrap();
        assert_eq!(settle(&home, wanted(false)).changed, []);
        cut(keep);
        undo(&home, None);
        assert_eq!(tree(&home.path), before, "{keep:?}");
    }
}

#[test]
fn the_agent_goes_with_the_last_of_it() {
    let (_folder, home) = home();
    let before = tree(&home.path);
    let folder = home.path.join(".cache/crosstie/bin");
    let made = InstalledAgent {
        folder: folder.display().to_string(),
        outermost: home.path.join(".cache").display().to_string(),
    };
    let push = || {
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("ab".repeat(32)), "agent").unwrap();
    };
    push();
    answer(&home, &TrustRequest::Settle(wanted(true)), Some(&made)).unwrap();
    assert_eq!(tree(&home.path), before);
    push();
    answer(&home, &TrustRequest::Settle(wanted(false)), Some(&made)).unwrap();
    fs::write(home.path.join(".cache/mine"), "").unwrap();
    undo(&home, None);
    assert!(!home.path.join(".cache/crosstie").exists());
    fs::remove_file(home.path.join(".cache/mine")).unwrap();
    fs::remove_dir(home.path.join(".cache")).unwrap();
    assert_eq!(tree(&home.path), before);
}

/// A run that is cut off before it has written anything down has nobody who would remove its agent.
#[test]
fn an_agent_that_no_journal_knows_of_goes_with_its_session() {
    let (_folder, home) = home();
    let before = tree(&home.path);
    let folder = home.path.join(".cache/crosstie/bin");
    let made = InstalledAgent {
        folder: folder.display().to_string(),
        outermost: home.path.join(".cache").display().to_string(),
    };
    let push = || {
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("ab".repeat(32)), "agent").unwrap();
    };
    push();
    agent::leave_unrecorded(&home, &made);
    assert_eq!(tree(&home.path), before);
    push();
    answer(&home, &TrustRequest::Settle(wanted(false)), Some(&made)).unwrap();
    agent::leave_unrecorded(&home, &made);
    assert!(folder.exists());
    undo(&home, None);
    assert_eq!(tree(&home.path), before);
}

#[test]
fn what_is_not_ours_to_write_is_left_alone() {
    let (_folder, home) = home();
    fs::create_dir(home.ssh()).unwrap();
    symlink("nowhere", home.ssh().join("config")).unwrap();
    let before = tree(&home.path);
    let error = answer(&home, &TrustRequest::Settle(wanted(false)), None).unwrap_err();
    assert!(error.to_string().contains("leads nowhere"), "{error}");
    assert_eq!(tree(&home.path), before);
    fs::remove_file(home.ssh().join("config")).unwrap();
    fs::create_dir(home.ours()).unwrap();
    fs::write(home.ours().join("journal.json"), "{\"format\": 2}").unwrap();
    let error = answer(&home, &TrustRequest::Settle(wanted(false)), None).unwrap_err();
    assert!(matches!(error, HomeTrustError::Journal { .. }));
}

/// Somebody has given a line another comment, and conditions: the access that it gave goes all the same.
#[test]
fn an_edited_line_goes_with_the_key_that_it_lets_in() {
    let (_folder, home) = home();
    fs::create_dir(home.ssh()).unwrap();
    let keys = home.ssh().join("authorized_keys");
    // One of the keys was let in on conditions before: that line is not ours.
    let before = format!(
        "ssh-rsa AAAA mine\nfrom=\"10.0.0.1\" {} mine too\n",
        KEYS[0]
    );
    fs::write(&keys, &before).unwrap();
    settle(&home, wanted(false));
    let text = read(&home, ".ssh/authorized_keys");
    let edited = text.replace("crosstie:bob@desk", "desk of bob").replace(
        KEYS[1],
        &format!("no-pty,command=\"ls \\\"a b\\\"\" {}", KEYS[1]),
    );
    assert_ne!(edited, text);
    fs::write(&keys, &edited).unwrap();
    undo(&home, Some(vec![name("spark-b")]));
    assert!(!read(&home, ".ssh/authorized_keys").contains(KEYS[1]));
    undo(&home, None);
    assert_eq!(read(&home, ".ssh/authorized_keys"), before);
}

/// Another machine that shares the home directory holds the lock: it is waited for, and what it writes stays.
#[test]
fn authorized_keys_are_read_and_written_under_one_lock() {
    let (_folder, home) = home();
    fs::create_dir(home.ssh()).unwrap();
    let keys = home.ssh().join("authorized_keys");
    fs::write(&keys, "").unwrap();
    let other = fs::File::create(home.path.join(".crosstie-trust.lock")).unwrap();
    rustix::fs::flock(&other, rustix::fs::FlockOperation::LockExclusive).unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| settle(&home, wanted(false)));
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert!(!run.is_finished(), "it did not wait for the lock");
        fs::write(&keys, "ssh-rsa AAAA theirs\n").unwrap();
        drop(other);
    });
    let text = read(&home, ".ssh/authorized_keys");
    assert!(text.starts_with("ssh-rsa AAAA theirs\n"), "{text}");
    assert!(text.contains("bob@desk") && text.contains("bob@spark-b"));
    assert!(!home.path.join(".crosstie-trust.lock").exists());
}

/// Each lets another one in, all at once.
#[test]
fn runs_at_the_same_time_lose_nothing() {
    let (_folder, home) = home();
    let blobs: Vec<String> = ('C'..='J')
        .map(|last| format!("{}{last}", &KEYS[0][..KEYS[0].len() - 1]))
        .collect();
    std::thread::scope(|scope| {
        for (index, key) in blobs.iter().enumerate() {
            let home = &home;
            scope.spawn(move || {
                let mut wanted = wanted(false);
                let mut line = authorized(&format!("node-{index}"), 0);
                line.key = Some(key.parse().unwrap());
                wanted.authorize = vec![line];
                settle(home, wanted);
            });
        }
    });
    let text = read(&home, ".ssh/authorized_keys");
    for blob in &blobs {
        assert!(text.contains(blob), "{text}");
    }
    assert_eq!(text.lines().count(), blobs.len(), "{text}");
}

#[test]
fn what_is_seen_no_more_is_taken_out() {
    let (_folder, home) = home();
    let mut claims = wanted(false);
    claims.peers[0].host_names.push(name("nas"));
    claims.peers[0].addresses.push(name("192.0.2.7"));
    let settled = settle(&home, claims.clone());
    let changed: Vec<String> = settled.changed.iter().map(ToString::to_string).collect();
    assert!(
        changed.contains(&"~/.ssh/crosstie/config: nas is spark-b".to_owned()),
        "{changed:?}"
    );
    assert_eq!(settled.aliases.len(), 4);
    assert!(read(&home, ".ssh/crosstie/config").contains("Host spark-b nas 192.0.2.7\n"));
    let none = |_: &HomeFolder, _: &[PeerClaims]| Ok(AliasChecks::new());
    let settled = handle_request_with(&home, &TrustRequest::Settle(claims), None, &none).unwrap();
    assert_eq!(settled.aliases, []);
    assert_eq!(settled.unwritten.len(), 4);
    assert!(!read(&home, ".ssh/crosstie/config").contains("Host "));
    assert_eq!(read(&home, ".ssh/crosstie/known_hosts"), "");
}

#[test]
fn one_run_is_at_work_in_a_home_directory_and_another_is_told() {
    let (_folder, home) = home();
    let lease = home.lease("first").unwrap();
    assert!(lease.is_some());
    // Another session of the same run, or another machine that shares the folder.
    assert!(home.lease("first").unwrap().is_none());
    let error = home.lease("second").unwrap_err();
    assert!(matches!(error, HomeTrustError::Busy { .. }), "{error}");
    drop(lease);
    assert!(home.lease("second").unwrap().is_some());
    assert_eq!(fs::read_dir(&home.path).unwrap().count(), 0);
}
