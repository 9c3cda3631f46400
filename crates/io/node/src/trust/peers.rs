//! What a machine knows of its peers: the pinned keys, and the names and addresses at which it has seen them.

use crosstie_trust::{
    AliasCheck, AliasRefusal, MachineName, PeerAlias, PeerClaims, TrustJournal, TrustedPeer,
    UnwrittenAlias,
};

use super::{
    AliasChecks, WantedTrust,
    home_writer::HomeWriter,
    settle::{CONFIG, KNOWN_HOSTS},
};

/// Replaces what is known of these peers by what was seen of them. The answer is what was not.
pub(super) fn write_peers(
    hand: &mut HomeWriter<'_>,
    journal: &mut TrustJournal,
    wanted: &WantedTrust,
    seen: &AliasChecks,
) -> Vec<UnwrittenAlias> {
    if wanted.dry_run {
        preview_peers(hand, journal, &wanted.peers);
        return Vec::new();
    }
    let mut unwritten = Vec::new();
    let named: Vec<MachineName> = wanted.peers.iter().map(|peer| peer.name.clone()).collect();
    let others = journal
        .peers
        .iter()
        .filter(|peer| !named.contains(&peer.name));
    let taken: Vec<MachineName> = others.map(|peer| peer.name.clone()).collect();
    for claims in &wanted.peers {
        let (peer, refused) = claims.verified_peer(|alias| {
            if taken.contains(alias) {
                return AliasCheck::refused(AliasRefusal::Taken);
            }
            let found = seen.get(&(claims.name.clone(), alias.clone()));
            found
                .copied()
                .unwrap_or(AliasCheck::refused(AliasRefusal::Unchecked))
        });
        unwritten.extend(refused);
        let known = journal.peers.iter().find(|known| known.name == claims.name);
        note(hand, &claims.name, known, peer.as_ref());
        match peer {
            Some(peer) => journal.know(&[peer]),
            None => journal.peers.retain(|known| known.name != claims.name),
        }
    }
    unwritten
}

/// A rehearsal looks for nobody, so it has no names and addresses yet.
fn preview_peers(hand: &mut HomeWriter<'_>, journal: &mut TrustJournal, peers: &[PeerClaims]) {
    let foreseen = |claims: &PeerClaims| {
        let name_seen = true;
        let claims = PeerClaims {
            name_seen,
            host_names: Vec::new(),
            addresses: Vec::new(),
            ..claims.clone()
        };
        claims.verified_peer(|_| AliasCheck::SEEN).0
    };
    let foreseen: Vec<TrustedPeer> = peers.iter().filter_map(foreseen).collect();
    for peer in &foreseen {
        let known = journal.peers.iter().find(|known| known.name == peer.name);
        if known.is_none_or(|known| known.host_key != peer.host_key) {
            note(hand, &peer.name, known, Some(peer));
        }
    }
    if journal.peers.is_empty() {
        journal.peers = foreseen;
    }
}

fn note(
    hand: &mut HomeWriter<'_>,
    name: &MachineName,
    before: Option<&TrustedPeer>,
    after: Option<&TrustedPeer>,
) {
    let ours = hand.home.ours();
    let config = ours.join(CONFIG);
    let Some(after) = after else {
        if before.is_some() {
            hand.note(&config, format!("the way to {name} removed"));
        }
        return;
    };
    if before == Some(after) {
        return;
    }
    if before.is_none_or(|before| before.host_key != after.host_key) {
        hand.note(&ours.join(KNOWN_HOSTS), format!("host key of {name}"));
    }
    hand.note(&config, format!("the way to {name}"));
    let aliases_before = before.map_or(&[][..], |before| &before.aliases);
    for alias in &after.aliases {
        if !aliases_before.contains(alias) {
            hand.note(&config, format!("{alias} is {name}"));
        }
    }
    for alias in aliases_before {
        if !after.aliases.contains(alias) {
            hand.note(&config, format!("{alias} is {name} no more"));
        }
    }
}

/// What leads to the peers that were asked for.
pub(super) fn aliases(journal: &TrustJournal, wanted: &WantedTrust) -> Vec<PeerAlias> {
    let named = |peer: &&TrustedPeer| wanted.peers.iter().any(|claims| claims.name == peer.name);
    let peers = journal
        .peers
        .iter()
        .filter(|_| !wanted.dry_run)
        .filter(named);
    let aliases = peers.flat_map(|peer| {
        peer.patterns().map(|alias| PeerAlias {
            peer: peer.name.clone(),
            alias: alias.clone(),
        })
    });
    aliases.collect()
}
