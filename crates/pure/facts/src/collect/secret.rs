//! The last line of defence: what looks like a secret is kept out, wherever an allow-list let it through.
//!
//! It is applied to every value on its way into a capture. A line that holds a secret goes as a whole, so that cutting
//! down twice changes nothing.

use std::borrow::Cow;

use crate::raw::{CaptureEntry, ReadGap};

/// In place of a value that is part of something else.
pub(crate) const WITHHELD: &str = "withheld";

/// Words that go with a secret, in lower case, wherever they stand on a line.
const SECRET_WORDS: [&str; 20] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "bearer",
    "authorization",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "access-key",
    "accesskey",
    "private_key",
    "private-key",
    "privatekey",
    "presharedkey",
    "preshared-key",
    "private key",
];

/// Parts of names whose values are secrets: `WIREGUARD_KEY`, `tcp_fastopen_key`, `wpa-psk`; not `NCCL_IB_PKEY`.
const NAME_PARTS: [&str; 6] = ["key", "keys", "psk", "pwd", "pass", "cookie"];

/// How tokens of well-known services begin.
const TOKENS: [&str; 34] = [
    "hf_",
    "sk-",
    "sk_live_",
    "sk_test_",
    "pk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "xoxa-",
    "xoxb-",
    "xoxc-",
    "xoxd-",
    "xoxe-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "nvapi-",
    "npm_",
    "pypi-",
    "dop_v1_",
    "dckr_pat_",
    "dckr_oat_",
    "tskey-",
    "AIza",
    "ya29",
    "eyJ",
    "AGE-SECRET-KEY-",
];
/// The same, with a dot inside: of Vault and Slack.
const DOTTED_TOKENS: [&str; 4] = ["hvs.", "hvb.", "hvr.", "xoxe."];
/// A shorter rest is a name that happens to begin so.
const TOKEN_REST: usize = 8;

/// Identifiers of AWS: four letters, then sixteen capitals and digits.
const AWS: [&str; 5] = ["AKIA", "ASIA", "AIDA", "AROA", "AGPA"];

/// Longer than any identifier of hardware: a GUID has 16 digits, and hashes of ours 16, or 32 behind a mark.
const MIN_TOKEN_LENGTH: usize = 32;
/// Base64 has slashes, and so do paths: only the longer ones are taken for it.
const LONG_WITH_SLASHES: usize = 40;

const KEY_BEGIN: &str = "-----BEGIN";
const KEY_END: &str = "-----END";

/// The entry without what looks like a secret; `None` if nothing else was in it.
pub(super) fn guarded(entry: CaptureEntry) -> Option<CaptureEntry> {
    match entry {
        CaptureEntry::File(bytes) => {
            let text = super::rules::text(&bytes);
            match without_secrets(&text) {
                Cow::Borrowed(_) => Some(CaptureEntry::File(bytes)),
                Cow::Owned(kept) => {
                    (!kept.is_empty()).then(|| CaptureEntry::File(kept.into_bytes()))
                }
            }
        }
        CaptureEntry::Link(target) => {
            (!is_secret_path(&target)).then_some(CaptureEntry::Link(target))
        }
        CaptureEntry::Gap(gap) => Some(CaptureEntry::Gap(guarded_gap(gap))),
        CaptureEntry::Directory => Some(CaptureEntry::Directory),
    }
}

/// A reason may quote what another program said.
pub(super) fn guarded_gap(gap: ReadGap) -> ReadGap {
    match gap {
        ReadGap::Failed(reason) => ReadGap::Failed(guarded_reason(reason)),
        gap => gap,
    }
}

pub(super) fn guarded_reason(reason: String) -> String {
    if is_secret(&reason) {
        WITHHELD.to_owned()
    } else {
        reason
    }
}

/// The lines that hold no secret. A key's block goes from its first line to its last.
pub(super) fn without_secrets(text: &str) -> Cow<'_, str> {
    let mut in_key = false;
    let mut is_kept = |line: &str| {
        let starts = line.contains(KEY_BEGIN);
        let ends = line.contains(KEY_END);
        let inside = in_key || starts || ends;
        in_key = (in_key || starts) && !ends;
        !inside && !is_secret(line)
    };
    let lines: Vec<(&str, bool)> = text
        .split_inclusive('\n')
        .map(|line| (line, is_kept(line)))
        .collect();
    if lines.iter().all(|(_, kept)| *kept) {
        return Cow::Borrowed(text);
    }
    let kept = lines.into_iter().filter(|(_, kept)| *kept);
    Cow::Owned(kept.map(|(line, _)| line).collect())
}

/// Whether a line of text holds a secret, or names one.
pub(crate) fn is_secret(line: &str) -> bool {
    names_secret(line) || holds_token(line) || has_login(line)
}

fn names_secret(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    if SECRET_WORDS.iter().any(|word| lower.contains(word)) {
        return true;
    }
    let names = lower.match_indices('=').filter_map(|(at, _)| {
        let name = lower[..at].trim_end();
        name.rsplit(|letter: char| letter.is_whitespace()).next()
    });
    names.into_iter().any(is_secret_name)
}

fn is_secret_name(name: &str) -> bool {
    name.split(|letter: char| !letter.is_ascii_alphanumeric())
        .any(|part| NAME_PARTS.contains(&part))
}

/// `https://user:password@host`
fn has_login(line: &str) -> bool {
    line.split_whitespace().any(|word| {
        let after = word.split_once("://").map(|(_, rest)| rest);
        let host = after.and_then(|rest| rest.split('/').next());
        host.is_some_and(|host| host.contains('@'))
    })
}

/// Whether a name in a path is a token. A path as a whole may well be as long and as mixed as one.
pub(super) fn is_secret_path(path: &str) -> bool {
    path.split('/').any(holds_token)
}

/// Whether a word of the text is a token, by its beginning or its looks.
pub(super) fn holds_token(text: &str) -> bool {
    let is_part =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '+' | '/');
    text.split(|letter| !is_part(letter))
        .filter(|run| run.len() >= TOKEN_REST)
        .any(is_token)
        || holds_dotted_token(text)
}

fn holds_dotted_token(text: &str) -> bool {
    let is_inner = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    DOTTED_TOKENS.iter().any(|start| {
        text.match_indices(start).any(|(at, _)| {
            let is_begin = !text[..at].ends_with(|letter: char| letter.is_ascii_alphanumeric());
            let rest = &text[at + start.len()..];
            let length = rest.find(|letter| !is_inner(letter)).unwrap_or(rest.len());
            is_begin && length >= TOKEN_REST
        })
    })
}

fn is_token(run: &str) -> bool {
    run.split(['/', '+'])
        .any(|part| begins_as_token(part) || looks_random(part))
        || (run.len() >= LONG_WITH_SLASHES && !is_path(run) && mixes(run))
}

/// `net/ipv4/conf/enP2p1s0f0np0/arp_announce`: a part of a path is a word, which one of base64 hardly ever is.
fn is_path(run: &str) -> bool {
    let is_word =
        |part: &str| part.len() >= 3 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    run.starts_with('/') || run.split('/').any(is_word)
}

/// Also behind a hyphen or an underscore.
fn begins_as_token(part: &str) -> bool {
    let inner = part
        .match_indices(['-', '_'])
        .map(|(at, _)| &part[at + 1..]);
    std::iter::once(part).chain(inner).any(is_service_token)
}

fn is_service_token(part: &str) -> bool {
    let by_service = TOKENS.iter().any(|start| {
        part.strip_prefix(start)
            .is_some_and(|rest| rest.len() >= TOKEN_REST)
    });
    let by_aws = AWS.iter().any(|start| {
        part.strip_prefix(start).is_some_and(|rest| {
            rest.len() == 16
                && rest
                    .bytes()
                    .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        })
    });
    by_service || by_aws
}

fn looks_random(part: &str) -> bool {
    let digits = part.strip_prefix("0x").unwrap_or(part);
    let plain: String = digits.chars().filter(|letter| *letter != '-').collect();
    if plain.len() < MIN_TOKEN_LENGTH {
        return false;
    }
    let is_hex = plain.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex {
        return !is_uuid(digits);
    }
    let count = |test: fn(&u8) -> bool| part.bytes().filter(test).count();
    let unbroken = part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    mixes(part)
        || (unbroken && count(u8::is_ascii_digit) >= 6 && count(u8::is_ascii_alphabetic) >= 6)
}

/// Capitals, small letters and digits.
fn mixes(text: &str) -> bool {
    let has = |test: fn(&u8) -> bool| text.as_bytes().iter().any(test);
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_told_from_what_hardware_is_called() {
        for secret in [
            "hf_abcdefghijkl",
            "x=sk-proj-0123456789",
            "\"ghp_0123456789abcdef\"",
            "AKIAIOSFODNN7EXAMPLE",
            "ASIAIOSFODNN7EXAMPLE",
            "NCCL_NET=dckr_pat_0123456789",
            "x: hvs.canary0123",
            "(hvb.canary-0123)",
            "glpat-canary0123",
            "xoxe-canary0123",
            "npm_canary0123",
            "pypi-canary0123",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "0123456789abcdef0123456789abcdef01234567",
            "6f1d2a3b-00112233-44556677-8899aabb",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x",
            "NCCL_NET=https://me:pw@host/x",
            "Authorization: x",
            "export WANDB_API_KEY=x",
            "net.ipv4.tcp_fastopen_key = 1-2-3-4",
            "wpa-psk=x",
            "net.ipv6.conf.all.stable_secret = fe80::1",
        ] {
            assert!(is_secret(secret), "{secret}");
        }
        for plain in [
            "fe80:0000:0000:0000:4e10:20ff:fe30:0b11",
            "4e10:2003:0030:0b11",
            "net/ipv4/conf/enP2p1s0f0np0/arp_announce = 2",
            "hashed-0123456789abcdef0123456789abcdef",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "00:00:10:29:fe:80:00:00:00:00:00:00:4e:10:20:03:00:30:0b:11",
            "../../../0000:01:00.0/infiniband/rocep1s0f1",
            "/sys/devices/pci0000:00/0000:00:01.0/net/enP2p1s0f1np1",
            "200000baseLR4_ER4_FR4/Full",
            "[    1.0] nvidia: module verification failed: signature and/or required key missing - tainting kernel",
            "NCCL_IB_PKEY=0",
            "archvs.conf.d.example",
            "hvs.conf",
            "NCCL_IB_HCA==rocep1s0f1,roceP2p1s0f1",
            "(dvs-builder@U22-I3-AE18-23-3)",
            "# Written by crosstie, 0123456789abcdef. Change the cluster file instead",
        ] {
            assert!(!is_secret(plain), "{plain}");
        }
    }

    #[test]
    fn a_key_goes_with_all_its_lines() {
        let text =
            "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb\n-----END OPENSSH PRIVATE KEY-----\nc\n";
        assert_eq!(without_secrets(text), "a\nc\n");
        assert_eq!(without_secrets("a\n-----BEGIN X-----\nb\n"), "a\n");
        assert!(matches!(without_secrets("a\nc"), Cow::Borrowed("a\nc")));
    }
}
