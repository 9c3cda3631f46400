//! Which host keys this machine sees at names and addresses. Nothing logs in anywhere.
//!
//! ssh itself looks, by the user's configuration less what we have written into it: a name is judged by where it leads
//! without us.

mod known_hosts;
mod shown_key;

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crosstie_trust::{
    AliasCheck, AliasRefusal, MachineName, PeerClaims, TrustFile, text::without_include,
};

use super::{HomeFolder, HomeTrustError, files};
use crate::{
    child_processes::{inherited, time_left},
    scratch_folder::ScratchFolder,
};

/// By the peer, and the name or address.
pub(super) type AliasChecks = BTreeMap<(MachineName, MachineName), AliasCheck>;

/// Connections at a time. sshd drops some of more than ten that have not logged in (`MaxStartups`), and its other peers look
/// too.
const MAX_CONCURRENT_CHECKS: usize = 6;
/// For all of it; what was not looked at by then was not seen.
pub(super) const ALIAS_CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// Looks at names and addresses with the user's own ssh.
struct AliasChecker {
    scratch: ScratchFolder,
    /// The user's configuration without us.
    config: PathBuf,
    /// The known hosts that every ssh of this user reads.
    known_hosts: Vec<PathBuf>,
    /// Our own, which is no evidence.
    ours: PathBuf,
    until: Instant,
    files_made: AtomicUsize,
}

/// Looks for every claim, several at once.
pub(super) fn check_aliases(
    home: &HomeFolder,
    claims: &[PeerClaims],
) -> Result<AliasChecks, HomeTrustError> {
    let jobs = jobs(claims);
    if jobs.is_empty() {
        return Ok(AliasChecks::new());
    }
    let checker = AliasChecker::open(home)?;
    let (next, found) = (AtomicUsize::new(0), Mutex::new(AliasChecks::new()));
    thread::scope(|scope| {
        for _ in 0..MAX_CONCURRENT_CHECKS.min(jobs.len()) {
            let work = inherited(|| {
                while let Some((claims, alias)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let check = checker.check(claims, alias);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.insert((claims.name.clone(), (*alias).clone()), check);
                }
            });
            // Without a thread there is one less at work; without any, nothing was seen.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
    });
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The first candidate of each peer, then the second of each: nobody's sshd is asked by all threads at once.
fn jobs(claims: &[PeerClaims]) -> Vec<(&PeerClaims, &MachineName)> {
    let mut jobs: Vec<(usize, &PeerClaims, &MachineName)> = Vec::new();
    for peer in claims {
        let candidates = peer.candidates().into_iter().enumerate();
        jobs.extend(candidates.map(|(place, alias)| (place, peer, alias)));
    }
    jobs.sort_by_key(|(place, ..)| *place);
    jobs.into_iter()
        .map(|(_, peer, alias)| (peer, alias))
        .collect()
}

impl AliasChecker {
    fn open(home: &HomeFolder) -> Result<Self, HomeTrustError> {
        let scratch = ScratchFolder::new().map_err(HomeTrustError::Scratch)?;
        let config = scratch.path().join("config");
        let own = files::read(&home.path.join(TrustFile::Config.path()))?;
        let mut text = own.map_or(Vec::new(), |own| without_include(&own.text));
        text.extend_from_slice(b"\nHost *\nInclude /etc/ssh/ssh_config\n");
        fs::write(&config, text).map_err(HomeTrustError::Scratch)?;
        let limit = time_left().map_or(ALIAS_CHECK_TIMEOUT, |left| {
            left.mul_f64(0.6).min(ALIAS_CHECK_TIMEOUT)
        });
        Ok(Self {
            scratch,
            config,
            known_hosts: vec![
                home.ssh().join("known_hosts"),
                home.ssh().join("known_hosts2"),
                "/etc/ssh/ssh_known_hosts".into(),
                "/etc/ssh/ssh_known_hosts2".into(),
            ],
            ours: home.ours(),
            until: Instant::now() + limit,
            files_made: AtomicUsize::new(0),
        })
    }

    fn check(&self, claims: &PeerClaims, alias: &MachineName) -> AliasCheck {
        let Some(route) = self.resolve(alias) else {
            return AliasCheck::refused(AliasRefusal::Unchecked);
        };
        let kind = claims.host_key.kind();
        let pinned = claims.host_key.fingerprint().to_string();
        let shown = self.shown(alias, claims.port, kind);
        let key_shown = shown.as_ref() == Some(&pinned);
        let port = claims.port.unwrap_or(route.port);
        let refusal = match self.is_known_otherwise(alias, &route, port, &claims.host_key) {
            None => Some(AliasRefusal::Unchecked),
            Some(true) => Some(AliasRefusal::KnownHosts),
            Some(false) if !key_shown => {
                Some(shown.map_or(AliasRefusal::NotSeen, |_| AliasRefusal::AnotherKey))
            }
            Some(false) if port != route.port && *alias != claims.name => {
                // A port that only the node speaks of must not lead away from whoever has the name now.
                let there_now = self.shown(alias, None, kind);
                there_now
                    .filter(|key| *key != pinned)
                    .map(|_| AliasRefusal::AnotherKey)
            }
            Some(false) => None,
        };
        AliasCheck { key_shown, refusal }
    }
}
