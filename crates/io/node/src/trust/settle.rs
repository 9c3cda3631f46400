//! Makes it so.

use crosstie_trust::{
    AuthorizedKey, FileModeChange, InstalledAgent, KeyOwner, PublicKey, TrustFile, TrustJournal,
    config, known_hosts,
    text::{append, is_unterminated, lets_in, lines_with, remove_keys, with_include},
};

use super::{
    AliasChecks, HomeFolder, HomeTrustError, TrustReply, WantedTrust, agent,
    files::{self, HomeFile},
    home::ssh_port,
    home_writer::HomeWriter,
    key, peers,
};

pub(super) const JOURNAL: &str = "journal.json";
pub(super) const KNOWN_HOSTS: &str = "known_hosts";
pub(super) const CONFIG: &str = "config";

/// sshd and ssh trust no file that others may write (`StrictModes`).
const WRITABLE_BY_OTHERS: u32 = 0o022;

pub(super) fn load(home: &HomeFolder) -> Result<Option<TrustJournal>, HomeTrustError> {
    let path = home.ours().join(JOURNAL);
    let found = files::read(&path)?;
    let parsed = found.map(|found| TrustJournal::parse(&found.text));
    parsed
        .transpose()
        .map_err(|source| HomeTrustError::Journal { path, source })
}

pub(super) fn save(home: &HomeFolder, journal: &TrustJournal) -> Result<(), HomeTrustError> {
    let path = home.ours().join(JOURNAL);
    let text = journal
        .to_text()
        .map_err(|source| HomeTrustError::Journal {
            path: path.clone(),
            source,
        })?;
    if home.ours().is_dir() {
        let found = files::read(&path)?;
        return files::write(&path, found.as_ref(), text.as_bytes());
    }
    // The folder and the journal in it appear at once, so there is no change that no journal knows of.
    if home.ssh().is_dir() {
        files::make_folder(&home.ours(), (JOURNAL, &text))
    } else {
        let inside = format!("crosstie/{JOURNAL}");
        files::make_folder(&home.ssh(), (&inside, &text))
    }
}

/// What is there, and what will be.
struct Plan {
    before: Option<TrustJournal>,
    journal: TrustJournal,
    authorized_keys: Option<HomeFile>,
    authorized_text: Vec<u8>,
}

pub(super) fn apply_wanted(
    home: &HomeFolder,
    wanted: &WantedTrust,
    seen: &AliasChecks,
    pushed: Option<&InstalledAgent>,
) -> Result<TrustReply, HomeTrustError> {
    let mut hand = HomeWriter::new(home, wanted.dry_run);
    let before = load(home)?;
    // One that cannot be written is found out before anything is.
    files::read(&home.path.join(TrustFile::Config.path()))?;
    let mut plan = Plan {
        journal: before.clone().unwrap_or_default(),
        before,
        authorized_keys: files::read(&home.path.join(TrustFile::AuthorizedKeys.path()))?,
        authorized_text: Vec::new(),
    };
    plan.journal.reach(&wanted.reached);
    let unwritten = peers::write_peers(&mut hand, &mut plan.journal, wanted, seen);
    authorize(&mut hand, &mut plan, &wanted.authorize);
    check_modes(home, &mut plan, !wanted.authorize.is_empty())?;
    if let Some(made) = pushed
        && !wanted.dry_run
        && !plan.journal.agents.contains(made)
    {
        plan.journal.agents.push(made.clone());
    }
    if !wanted.dry_run && plan.before.as_ref() != Some(&plan.journal) {
        save(home, &plan.journal)?;
    }
    let owner = KeyOwner {
        user: home.user.clone(),
        name: wanted.own.clone(),
    };
    let key = write_changes(&mut hand, &mut plan, wanted, &owner)?;
    if wanted.dry_run {
        // Whoever came to look leaves nothing behind, and says nothing of it.
        let mut sweeping = HomeWriter::new(home, false);
        agent::remove_agents(&mut sweeping, pushed);
    }
    Ok(TrustReply {
        user: home.user.clone(),
        port: ssh_port(),
        key,
        aliases: peers::aliases(&plan.journal, wanted),
        unwritten,
        reached: plan.journal.reached,
        changed: hand.changed,
    })
}

/// Lines of ours are kept, come back if they were lost, and are replaced if their owner has another key.
fn authorize(hand: &mut HomeWriter<'_>, plan: &mut Plan, wanted: &[AuthorizedKey]) {
    let path = hand.home.path.join(TrustFile::AuthorizedKeys.path());
    let mut text = plan
        .authorized_keys
        .as_ref()
        .map(|found| found.text.clone())
        .unwrap_or_default();
    let journal = &mut plan.journal;
    for new in wanted {
        let Some(key) = &new.key else {
            let mut known = journal.authorized.iter();
            if !known.any(|known| known.owner == new.owner) {
                hand.note(&path, format!("key of {}", new.owner));
            }
            continue;
        };
        let old = journal.authorized.iter();
        let old: Vec<&PublicKey> = old
            .filter(|known| known.owner == new.owner)
            .filter_map(|known| known.key.as_ref())
            .filter(|old| *old != key)
            .collect();
        text = remove_keys(&text, &old, &journal.kept, false);
        journal
            .authorized
            .retain(|known| known.owner != new.owner || known.key.as_ref() == Some(key));
        let ours = journal
            .authorized
            .iter()
            .any(|known| known.key.as_ref() == Some(key));
        if !ours && !lets_in(&text, key) {
            journal.kept.extend(lines_with(&text, key));
            journal.authorized.push(new.clone());
        }
    }
    for line in &journal.authorized {
        let (Some(key), Some(text_line)) = (&line.key, line.line()) else {
            continue;
        };
        if !lets_in(&text, key) {
            hand.note(&path, format!("key of {}", line.owner));
            journal.unterminated |= is_unterminated(&text);
            text = append(&text, &[text_line]);
        }
    }
    plan.authorized_text = text;
}

/// What is missing and will be made; what others may write and shall not.
fn check_modes(home: &HomeFolder, plan: &mut Plan, lets_in: bool) -> Result<(), HomeTrustError> {
    let journal = &mut plan.journal;
    for place in TrustFile::ALL {
        let needed = match place {
            TrustFile::Home | TrustFile::Ssh => true,
            TrustFile::AuthorizedKeys => lets_in || !journal.authorized.is_empty(),
            TrustFile::Config => !journal.peers.is_empty(),
        };
        match files::mode(&home.path.join(place.path()))? {
            None if needed => {
                journal.made.insert(place);
            }
            Some(before) if needed && before & WRITABLE_BY_OTHERS != 0 => {
                let after = before & !WRITABLE_BY_OTHERS;
                if !journal.modes.iter().any(|change| change.place == place) {
                    journal.modes.push(FileModeChange {
                        place,
                        before,
                        after,
                    });
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn write_changes(
    hand: &mut HomeWriter<'_>,
    plan: &mut Plan,
    wanted: &WantedTrust,
    owner: &KeyOwner,
) -> Result<Option<PublicKey>, HomeTrustError> {
    let home = hand.home;
    if plan.before.is_none() && plan.journal.made.contains(&TrustFile::Ssh) {
        hand.note(&home.ssh(), "made");
    }
    for place in TrustFile::ALL {
        let path = home.path.join(place.path());
        if let Some(before) = files::mode(&path)?
            && before & WRITABLE_BY_OTHERS != 0
            && plan
                .journal
                .modes
                .iter()
                .any(|change| change.place == place)
        {
            hand.set_mode(&path, before, before & !WRITABLE_BY_OTHERS)?;
        }
    }
    let identity = home.identity();
    let mut key = key::public(&identity)?;
    if key.is_none() {
        hand.note(&identity, "a key of its own");
        if !hand.dry_run {
            key = Some(key::make(&identity, owner)?);
        }
    }
    write_authorized(hand, plan, wanted)?;
    // Names that lead to nobody any more are taken out of a file that has them.
    if !plan.journal.peers.is_empty() || home.ours().join(CONFIG).exists() {
        for (name, text) in [
            (KNOWN_HOSTS, known_hosts(&plan.journal.peers)),
            (CONFIG, config(&plan.journal.peers)),
        ] {
            let path = home.ours().join(name);
            let found = files::read(&path)?;
            hand.write(&path, found.as_ref(), text.as_bytes())?;
        }
        let path = home.path.join(TrustFile::Config.path());
        // Read again: its mode may be another now.
        let found = files::read(&path)?;
        let text = found.as_ref().map_or(&[][..], |found| &found.text);
        let text = with_include(text);
        if found.as_ref().is_none_or(|found| found.text != text) {
            hand.note(&path, "Include of ~/.ssh/crosstie/config");
        }
        hand.write(&path, found.as_ref(), &text)?;
    }
    Ok(key)
}

/// Since the plan was made, a key pair was: what others have written meanwhile is kept.
fn write_authorized(
    hand: &mut HomeWriter<'_>,
    plan: &mut Plan,
    wanted: &WantedTrust,
) -> Result<(), HomeTrustError> {
    let home = hand.home;
    let path = home.path.join(TrustFile::AuthorizedKeys.path());
    let text_of = |found: &Option<HomeFile>| found.as_ref().map(|found| found.text.clone());
    let found = files::read(&path)?;
    let edited = text_of(&found) != text_of(&plan.authorized_keys);
    plan.authorized_keys = found;
    if edited && !hand.dry_run {
        let before = plan.journal.clone();
        // What it means was noted before.
        authorize(&mut HomeWriter::new(home, false), plan, &wanted.authorize);
        if plan.journal != before {
            save(home, &plan.journal)?;
        }
    }
    if plan.authorized_keys.is_some() || !plan.authorized_text.is_empty() {
        hand.write(&path, plan.authorized_keys.as_ref(), &plan.authorized_text)?;
    }
    Ok(())
}
