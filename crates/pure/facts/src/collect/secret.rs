//! The last line of defence: what looks like a secret is kept out, wherever an allow-list let it through.
//!
//! It is applied to every value on its way into a capture. A line that holds a secret goes as a whole, so that cutting
//! down twice changes nothing.

use std::borrow::Cow;

use super::is_uuid;
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

/// Parts of names whose values are secrets: `wpa-psk`.
const NAME_PARTS: [&str; 4] = ["psk", "pwd", "pass", "cookie"];
/// In any part of such a name: `WIREGUARD_KEY`, `NCCL_SSHKEY`, `tcp_fastopen_key`.
const KEY: &str = "key";
/// Of RDMA, and no secrets: `NCCL_IB_PKEY`.
const RDMA_KEYS: [&str; 5] = ["pkey", "qkey", "lkey", "rkey", "mkey"];
/// The same, as NetworkManager writes it.
const PARTITION_KEY: &str = "p-key";

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
    let is_key = |part: &str| part.contains(KEY) && !RDMA_KEYS.contains(&part);
    name != PARTITION_KEY
        && name
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .any(|part| NAME_PARTS.contains(&part) || is_key(part))
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
        || (run.len() >= MIN_TOKEN_LENGTH && is_base64(run) && mixes(run))
}

/// Base64 has slashes, and so do paths: `net/ipv4/conf/enP2p1s0f0np0/arp_announce`. A part of a path is a word, which one of base64
/// hardly ever is.
fn is_base64(run: &str) -> bool {
    let is_word =
        |part: &str| part.len() >= 3 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    run.contains(['/', '+']) && !run.split('/').any(is_word)
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
    // `90-NM-6ba7b810-9dad-11d1-80b4-00c04fd430c8`
    let part = without_uuid(part);
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
        || is_scrambled(part)
        || (unbroken && count(u8::is_ascii_digit) >= 6 && count(u8::is_ascii_alphabetic) >= 6)
}

/// Letters alone, with a capital behind every fifth or more often: words that are written together have fewer.
fn is_scrambled(part: &str) -> bool {
    let letters = part.as_bytes();
    let rises = letters
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    letters.iter().all(u8::is_ascii_alphabetic) && 5 * rises.count() >= letters.len()
}

/// Capitals, small letters and digits.
fn mixes(text: &str) -> bool {
    let has = |test: fn(&u8) -> bool| text.as_bytes().iter().any(test);
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
}

/// What stands before a UUID at the end of a name.
fn without_uuid(name: &str) -> &str {
    const LENGTH: usize = 36;
    let split = name.len().checked_sub(LENGTH);
    let parts = split.and_then(|at| name.split_at_checked(at));
    let before = parts.and_then(|(before, uuid)| is_uuid(uuid).then_some(before));
    before
        .and_then(|before| before.strip_suffix('-'))
        .unwrap_or(name)
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
            "NCCL_X=q7Zr/8Kx+2LmN9/aB3cD4eF5gH6iJ7kL",
            "NCCL_X=/q7Zr8Kx+2LmN9/aB3cD4eF5gH6iJ7kL",
            "NCCL_X=qRzTbVxKwPmNcLdFgHjSkAyUeIoQtWxZ",
            "q7Zr8Kx2LmN9aB3cD4eF5gH6iJ7kLs9Q-6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "NCCL_SSHKEY=hunter2",
            "NCCL_ACMEKEY=x",
            "NCCL_KEYRING=x",
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
            "90-NM-6ba7b810-9dad-11d1-80b4-00c04fd430c8.yaml",
            "netplan-NM-6ba7b810-9dad-11d1-80b4-00c04fd430c8.nmconnection",
            "00:00:10:29:fe:80:00:00:00:00:00:00:4e:10:20:03:00:30:0b:11",
            "../../../0000:01:00.0/infiniband/rocep1s0f1",
            "/sys/devices/pci0000:00/0000:00:01.0/net/enP2p1s0f1np1",
            "200000baseLR4_ER4_FR4/Full",
            "[    1.0] nvidia: module verification failed: signature and/or required key missing - tainting kernel",
            "NCCL_IB_PKEY=0",
            "p-key=0x8001",
            "mlx5_0: lkey=0x1234 rkey=0x1234",
            "ConfigureWithoutCarrierAndIgnoreCarrierLoss=yes",
            "BOOT_IMAGE=/boot/vmlinuz-6.17.0-1008-nvidia-64k",
            "/usr/lib/aarch64-linux-gnu/libnccl.so.2.28.9",
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
