use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use proptest::prelude::*;

use super::{
    text::{
        append, is_unterminated, lets_in, lines_with, remove_keys, with_include, without_include,
    },
    *,
};

const ED25519: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxN8LDhNjGhbFOLZjVCCVVLlxr5eFpW9iVRCEdVNfoB";

fn key(byte: u8) -> PublicKey {
    let mut blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20".to_vec();
    blob.extend([byte; 32]);
    format!("ssh-ed25519 {}", STANDARD.encode(&blob))
        .parse()
        .unwrap()
}

fn name(text: &str) -> MachineName {
    text.parse().unwrap()
}

fn authorized(text: &str, byte: u8) -> AuthorizedKey {
    AuthorizedKey {
        owner: KeyOwner {
            user: "alice".parse().unwrap(),
            name: name(text),
        },
        key: Some(key(byte)),
    }
}

fn party(text: &str, byte: u8, addresses: &[&str]) -> TrustParty {
    TrustParty {
        name: name(text),
        host: Some(name(&format!("{text}-host"))),
        user: "alice".parse().unwrap(),
        port: Some(22),
        addresses: addresses.iter().map(|net| net.parse().unwrap()).collect(),
        host_key: key(byte),
    }
}

#[test]
fn a_key_is_what_ssh_keygen_says() {
    let key: PublicKey = format!("{ED25519} alice@spark-a\n").parse().unwrap();
    assert_eq!(key.to_string(), ED25519);
    assert_eq!(key.kind(), KeyKind::Ed25519);
    let shown = key.fingerprint().to_string();
    assert_eq!(shown, "SHA256:67XcRkPO/HytkJdWkqoM8F2+4kLeRsor2J4GvpzNkF8");
    assert_eq!(shown.parse::<Fingerprint>().unwrap(), key.fingerprint());
    for odd in ["SHA256:", "MD5:00", "SHA256:AAAA", ""] {
        assert!(odd.parse::<Fingerprint>().is_err(), "{odd}");
    }
    for odd in [
        "",
        "ssh-ed25519",
        "ssh-ed25519 AAAA",
        "command=\"x\" ssh-ed25519 AAAA",
        &ED25519.replace("ssh-ed25519", "ssh-rsa"),
        &ED25519.replace("ssh-ed25519 ", "ssh-ed25519\n"),
        &ED25519[..ED25519.len() - 1],
        &format!("{ED25519}AAAA"),
        &format!(" {ED25519}"),
    ] {
        assert!(odd.parse::<PublicKey>().is_err(), "{odd}");
    }
}

#[test]
fn names_are_names_alone() {
    for plain in ["spark-a", "10.0.0.1", "fd00::1", "a_b.local", "::1"] {
        assert!(plain.parse::<MachineName>().is_ok(), "{plain}");
    }
    for odd in [
        "", "-a", "a b", "a\nb", "*", "a*", "!a", "%h", "a,b", "|1|x", "@a", "[a]", "none", "a#b",
        "\"a\"", "..", "é",
    ] {
        assert!(odd.parse::<MachineName>().is_err(), "{odd}");
        assert!(serde_json::from_value::<MachineName>(odd.into()).is_err());
    }
    for odd in ["", "-l", "a b", "a\n", ":a", "a:b", "a;b", "$USER"] {
        assert!(odd.parse::<UserName>().is_err(), "{odd}");
    }
}

#[test]
fn each_is_told_of_the_others() {
    let parties = [
        party("a", 1, &["10.0.0.1/24", "172.17.0.1/16", "192.168.1.1/30"]),
        party("b", 2, &["10.1.0.2/24", "172.17.0.1/16", "192.168.1.2/30"]),
    ];
    let claims = peers_of(0, &parties);
    assert_eq!(claims.len(), 1);
    // The one that is on a network of ours comes first.
    assert_eq!(
        claims[0].candidates(),
        ["b", "b-host", "192.168.1.2", "10.1.0.2"]
            .map(name)
            .each_ref()
    );
    assert_eq!(claims[0].port, None);
    let (peer, unwritten) = claims[0].verified_peer(|_| AliasCheck::SEEN);
    assert_eq!(unwritten, []);
    let peers: Vec<TrustedPeer> = peer.into_iter().collect();
    let config = config(&peers);
    assert!(config.contains("\nHost b\n  HostName 192.168.1.2\n\nHost b b-host 192.168.1.2 10.1.0.2\n  HostKeyAlias b\n  User alice\n"), "{config}");
    assert_eq!(known_hosts(&peers), format!("b {}\n", key(2)));
}

fn known(parties: &[TrustParty]) -> Vec<TrustedPeer> {
    let claims = peers_of(0, parties);
    let peers = claims
        .iter()
        .map(|claims| claims.verified_peer(|_| AliasCheck::SEEN).0);
    peers.flatten().collect()
}

/// What is refused, and what is left of the configuration.
#[test]
fn only_what_was_seen_is_believed() {
    let parties = [
        party("a", 1, &["10.0.0.1/24"]),
        party("b", 2, &["10.0.0.2/24", "10.9.0.2/24"]),
    ];
    let claims = &peers_of(0, &parties)[0];
    let hosts = |seen: &[(&str, AliasCheck)]| {
        let found = |alias: &MachineName| {
            let mut seen = seen.iter();
            let found = seen.find(|(text, _)| *text == alias.as_str());
            found.map_or(AliasCheck::refused(AliasRefusal::NotSeen), |(_, found)| {
                *found
            })
        };
        let (peer, unwritten) = claims.verified_peer(found);
        let text = config(&peer.into_iter().collect::<Vec<_>>());
        let hosts: Vec<String> = text
            .lines()
            .filter(|line| line.contains("Host ") || line.contains("HostName "))
            .map(|line| line.trim().to_owned())
            .collect();
        let reasons: Vec<String> = unwritten
            .iter()
            .map(|claim| format!("{}: {}", claim.alias, claim.reason))
            .collect();
        (hosts.join("; "), reasons.join("; "))
    };
    let other = AliasCheck::refused(AliasRefusal::AnotherKey);
    let (config, reasons) = hosts(&[]);
    assert_eq!(config, "");
    assert_eq!(reasons.matches("not seen there").count(), 4, "{reasons}");
    // Nobody has the name, and the key is at an address.
    let (config, _) = hosts(&[("10.9.0.2", AliasCheck::SEEN)]);
    assert_eq!(config, "Host b; HostName 10.9.0.2; Host b 10.9.0.2");
    // Somebody else has the name.
    let (config, reasons) = hosts(&[("b", other), ("10.0.0.2", AliasCheck::SEEN)]);
    assert_eq!(config, "Host 10.0.0.2");
    assert!(
        reasons.starts_with("b: another key is shown there"),
        "{reasons}"
    );
    let (config, _) = hosts(&[("b", AliasCheck::SEEN), ("b-host", other)]);
    assert_eq!(config, "Host b");
    // An address that known_hosts has with another key leads to the node, but is not the node.
    let taken = AliasCheck {
        key_shown: true,
        refusal: Some(AliasRefusal::KnownHosts),
    };
    let (config, reasons) = hosts(&[("10.0.0.2", taken)]);
    assert_eq!(config, "Host b; HostName 10.0.0.2; Host b");
    assert!(
        reasons.contains("10.0.0.2: known_hosts has another key"),
        "{reasons}"
    );
}

#[test]
fn a_journal_keeps_forgets_and_has_a_version() {
    let mut journal = TrustJournal::default();
    assert!(journal.is_idle());
    let parties = [party("a", 1, &[]), party("b", 2, &[]), party("c", 3, &[])];
    journal.know(&known(&parties));
    journal.know(&known(&parties[..2]));
    assert_eq!(journal.peers.len(), 2);
    journal.authorized = vec![authorized("b", 2), authorized("c", 3)];
    journal.reach(&[TrustedNode {
        name: name("b"),
        destination: "b".into(),
        host_key: key(2),
        peers: BTreeSet::from([name("c")]),
    }]);
    let text = journal.to_text().unwrap();
    assert_eq!(TrustJournal::parse(text.as_bytes()).unwrap(), journal);
    let newer = text.replace("\"format\": 1", "\"format\": 2");
    assert!(matches!(
        TrustJournal::parse(newer.as_bytes()),
        Err(TrustJournalError::Format(2))
    ));
    let gone = journal.forget(&[name("c")]);
    assert_eq!(gone, [authorized("c", 3)]);
    assert!(journal.reached[0].peers.is_empty() && !journal.is_idle());
    journal.forget(&[name("b")]);
    assert!(journal.is_idle());
}

#[test]
fn what_a_person_wrote_below_ours_is_kept() {
    let line = authorized("b", 2).line().unwrap();
    let with = append(b"mine", std::slice::from_ref(&line));
    let edited = [with.as_slice(), b"theirs\n"].concat();
    let without = |text: &[u8]| remove_keys(text, &[&key(2)], &[], true);
    assert_eq!(without(&edited), b"mine\ntheirs\n");
    assert_eq!(without(&with), b"mine");
    assert!(lets_in(&with, &key(2)) && !lets_in(&with, &key(3)));
    let conditional = format!("command=\"x\" {}\n#{}\n", key(2), key(2));
    assert!(!lets_in(conditional.as_bytes(), &key(2)));
}

/// A line is known by its key: no comment and no option hides it.
#[test]
fn a_key_is_found_however_its_line_was_edited() {
    let ours = key(2);
    let line = ours.to_string();
    let tabbed = line.replace(' ', "\t  ");
    for edited in [
        line.clone(),
        format!("{line} of bob's, renamed"),
        format!("{line} crosstie:alice@b\r"),
        format!("  {tabbed}\tx"),
        format!("no-pty {line}"),
        format!("from=\"10.0.0.0/8\",command=\"echo \\\"a b\\\" c\" {line} x"),
    ] {
        let text = format!("ssh-rsa AAAA above\n{edited}\nbelow");
        let left = remove_keys(text.as_bytes(), &[&ours], &[], false);
        assert_eq!(left, b"ssh-rsa AAAA above\nbelow", "{edited}");
        // One that stood there before us stays.
        let kept = lines_with(text.as_bytes(), &ours);
        assert_eq!(kept.len(), 1);
        let left = remove_keys(text.as_bytes(), &[&ours], &kept, false);
        assert_eq!(left, text.as_bytes());
    }
    for other in [
        format!("# {line}"),
        format!("{} {line}", key(3)),
        format!("command=\"{line}\" {}", key(3)),
        format!("command=\"{line}"),
        String::new(),
    ] {
        let left = remove_keys(other.as_bytes(), &[&ours], &[], false);
        assert_eq!(left, other.as_bytes());
    }
}

proptest! {
    #[test]
    fn what_was_added_is_taken_away_to_the_byte(
        text in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
        count in 0u8..4,
    ) {
        let keys: Vec<PublicKey> = (0..count).map(key).collect();
        let lines: Vec<String> = (0..count).filter_map(|byte| authorized("b", byte).line()).collect();
        let with = append(&text, &lines);
        let keys: Vec<&PublicKey> = keys.iter().collect();
        prop_assert_eq!(remove_keys(&with, &keys, &[], is_unterminated(&text)), text.clone());
        prop_assert_eq!(without_include(&with_include(&text)), text);
    }

    /// Whatever a node says of itself is refused, or stays where it was put: no line and no option more.
    #[test]
    fn a_node_cannot_write_lines(
        host in "[ -~\n\r\t]{0,20}|[a-z][a-z0-9.-]{0,9}[\n *,%]?[a-z]{0,5}",
        user in "[ -~\n\r\t]{0,20}|[a-z][a-z0-9.-]{0,9}[\n *,%]?[a-z]{0,5}",
        key_text in ".{0,80}|ssh-ed25519 [A-Za-z0-9+/=\n ]{0,90}",
        comment in "[ -~\n]{0,40}",
    ) {
        if let Ok(parsed) = key_text.parse::<PublicKey>() {
            prop_assert!(parsed.to_string().bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '));
        }
        let commented: PublicKey = format!("{ED25519} {comment}").parse().unwrap_or_else(|_| key(0));
        let (Ok(host), Ok(user)) = (host.parse::<MachineName>(), user.parse::<UserName>()) else {
            return Ok(());
        };
        let owner = KeyOwner { user: user.clone(), name: host.clone() };
        let line = AuthorizedKey { owner, key: Some(commented.clone()) }.line().unwrap();
        prop_assert_eq!(line.split(' ').count(), 3);
        prop_assert!(line.starts_with("ssh-ed25519 ") && line.is_ascii() && !line.contains(char::is_control));
        let peer = TrustedPeer {
            name: host.clone(), name_withheld: false, aliases: vec![host.clone()], address: Some(host),
            user: Some(user), port: Some(22), host_key: commented,
        };
        let hosts = known_hosts(std::slice::from_ref(&peer));
        prop_assert_eq!(hosts.lines().count(), 1);
        prop_assert_eq!(hosts.split_whitespace().count(), 3);
        let config = config(&[peer]);
        let words: Vec<&str> = config.lines().filter_map(|line| line.split_whitespace().next()).collect();
        prop_assert_eq!(words, ["#", "Host", "HostName", "Host", "HostKeyAlias", "User", "Port", "IdentityFile", "IdentitiesOnly",
            "UserKnownHostsFile", "GlobalKnownHostsFile", "StrictHostKeyChecking", "UpdateHostKeys", "CheckHostIP",
            "KnownHostsCommand", "VerifyHostKeyDNS"]);
        let values = config.lines().filter(|line| line.starts_with("  "));
        prop_assert!(values.into_iter().all(|line| line.split_whitespace().count() == 2));
    }
}
