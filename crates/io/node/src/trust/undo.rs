//! Takes it back.

use std::fs;

use crosstie_trust::{
    AuthorizedKey, InstalledAgent, MachineName, PublicKey, TrustFile, TrustJournal, config,
    known_hosts,
    text::{remove_keys, without_include},
};

use super::{
    HomeFolder, HomeTrustError, TrustReply, agent, files,
    home::ssh_port,
    home_writer::HomeWriter,
    key,
    settle::{CONFIG, JOURNAL, KNOWN_HOSTS, load, save},
};

pub(super) fn undo(
    home: &HomeFolder,
    only: Option<&[MachineName]>,
    dry_run: bool,
    pushed: Option<&InstalledAgent>,
) -> Result<TrustReply, HomeTrustError> {
    let mut hand = HomeWriter::new(home, dry_run);
    let mut left = Vec::new();
    let mut key = None;
    let mut stays = false;
    if let Some(whole) = load(home)? {
        let mut journal = whole.clone();
        let gone = only.map(|names| journal.forget(names));
        stays = gone.is_some() && !journal.is_idle();
        if stays {
            key = key::public(&home.identity())?;
            left.clone_from(&journal.reached);
            journal.agents.extend(pushed.cloned());
            forget_peers(
                &mut hand,
                &whole,
                &journal,
                gone.as_deref().unwrap_or_default(),
            )?;
        } else {
            agent::remove_agents(&mut hand, &whole.agents);
            restore(&mut hand, &whole)?;
        }
    } else if !dry_run {
        remove_temporary(home)?;
    }
    if !stays || dry_run {
        // This session's own goes without a word: it came a moment ago.
        agent::remove_agents(&mut HomeWriter::new(home, false), pushed);
    }
    Ok(TrustReply {
        user: home.user.clone(),
        port: ssh_port(),
        key,
        reached: left,
        changed: hand.changed,
        aliases: Vec::new(),
        unwritten: Vec::new(),
    })
}

/// Some go, the others stay.
fn forget_peers(
    hand: &mut HomeWriter<'_>,
    before: &TrustJournal,
    journal: &TrustJournal,
    gone: &[AuthorizedKey],
) -> Result<(), HomeTrustError> {
    let home = hand.home;
    remove_key_lines(hand, gone, before, false, false)?;
    if before.peers != journal.peers {
        for (name, text) in [
            (KNOWN_HOSTS, known_hosts(&journal.peers)),
            (CONFIG, config(&journal.peers)),
        ] {
            let path = home.ours().join(name);
            let found = files::read(&path)?;
            hand.write(&path, found.as_ref(), text.as_bytes())?;
        }
        for peer in before
            .peers
            .iter()
            .filter(|peer| !journal.peers.contains(peer))
        {
            hand.note(
                &home.ours().join(CONFIG),
                format!("the way to {} removed", peer.name),
            );
        }
    }
    if hand.dry_run || before == journal {
        return Ok(());
    }
    save(home, journal)
}

/// The lines that let us in go after everything else but the journal, so that an undo that was cut off can go on.
fn restore(hand: &mut HomeWriter<'_>, journal: &TrustJournal) -> Result<(), HomeTrustError> {
    let home = hand.home;
    let path = home.path.join(TrustFile::Config.path());
    if let Some(found) = files::read(&path)? {
        let text = without_include(&found.text);
        if text != found.text {
            hand.note(&path, "Include removed");
        }
        if text.is_empty() && journal.made.contains(&TrustFile::Config) {
            hand.remove_file(&found.path, "removed");
        } else {
            hand.write(&path, Some(&found), &text)?;
        }
    }
    for name in key::FILES.into_iter().chain([KNOWN_HOSTS, CONFIG]) {
        hand.remove_file(&home.ours().join(name), "removed");
    }
    let made = journal.made.contains(&TrustFile::AuthorizedKeys);
    let unterminated = journal.unterminated;
    remove_key_lines(hand, &journal.authorized, journal, unterminated, made)?;
    for change in &journal.modes {
        let path = home.path.join(change.place.path());
        // Somebody's own change since is kept.
        if files::mode(&path)? == Some(change.after) {
            hand.set_mode(&path, change.after, change.before)?;
        }
    }
    if !hand.dry_run {
        remove_temporary(home)?;
    }
    hand.remove_file(&home.ours().join(JOURNAL), "removed");
    hand.remove_folder(&home.ours());
    if journal.made.contains(&TrustFile::Ssh) {
        hand.remove_folder(&home.ssh());
    }
    Ok(())
}

/// Every line that lets one of these keys in, also one that somebody has edited. `made`: the file was not there before, so
/// an empty one goes.
fn remove_key_lines(
    hand: &mut HomeWriter<'_>,
    lines: &[AuthorizedKey],
    journal: &TrustJournal,
    unterminated: bool,
    made: bool,
) -> Result<(), HomeTrustError> {
    let path = hand.home.path.join(TrustFile::AuthorizedKeys.path());
    let Some(found) = files::read(&path)? else {
        return Ok(());
    };
    let mut keys: Vec<&PublicKey> = Vec::new();
    for line in lines {
        if let Some(key) = &line.key {
            hand.note(&path, format!("key of {} removed", line.owner));
            keys.push(key);
        }
    }
    let text = remove_keys(&found.text, &keys, &journal.kept, unterminated);
    if made && text.is_empty() {
        hand.remove_file(&found.path, "removed");
        return Ok(());
    }
    hand.write(&path, Some(&found), &text)
}

fn remove_temporary(home: &HomeFolder) -> Result<(), HomeTrustError> {
    for folder in [home.path.clone(), home.ssh(), home.ours()] {
        if fs::symlink_metadata(&folder).is_ok() {
            files::remove_temporary(&folder).map_err(HomeTrustError::io("tidy up", &folder))?;
        }
    }
    Ok(())
}
