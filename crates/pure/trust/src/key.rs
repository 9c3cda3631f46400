//! Public keys, of users and of hosts.

use std::{fmt, str::FromStr};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// A 16384-bit RSA key has 2 KiB.
const MAX_BLOB: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    Ed25519,
    Ecdsa256,
    Ecdsa384,
    Ecdsa521,
    Rsa,
}

impl KeyKind {
    pub const ALL: [Self; 5] = [
        Self::Ed25519,
        Self::Ecdsa256,
        Self::Ecdsa384,
        Self::Ecdsa521,
        Self::Rsa,
    ];

    /// As it stands before the key in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ssh-ed25519",
            Self::Ecdsa256 => "ecdsa-sha2-nistp256",
            Self::Ecdsa384 => "ecdsa-sha2-nistp384",
            Self::Ecdsa521 => "ecdsa-sha2-nistp521",
            Self::Rsa => "ssh-rsa",
        }
    }

    /// As ssh-keygen shows it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ed25519 => "ED25519",
            Self::Ecdsa256 | Self::Ecdsa384 | Self::Ecdsa521 => "ECDSA",
            Self::Rsa => "RSA",
        }
    }

    /// What `HostKeyAlgorithms` has to offer to be shown a key of this kind.
    pub fn algorithms(self) -> &'static str {
        match self {
            Self::Rsa => "rsa-sha2-512,rsa-sha2-256",
            other => other.name(),
        }
    }
}

/// A key whose every byte was looked at; written from what was understood, never from the text that came.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey {
    kind: KeyKind,
    blob: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PublicKeyError {
    #[error("a key of a kind that is not used here: {0:?}")]
    Kind(String),
    #[error("a key that is not whole")]
    Malformed,
}

impl PublicKey {
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// The key of a line of `authorized_keys`, as sshd reads it: with whatever options and comment
    /// (`auth_check_authkey_line`, `sshkey_read`). A line that is commented out has none.
    pub fn of_authorized_line(line: &[u8]) -> Option<Self> {
        let line = trim_start(line);
        if line.is_empty() || line.starts_with(b"#") {
            return None;
        }
        let at_start = Self::read(line);
        at_start.or_else(|| Self::read(past_options(line)?))
    }

    /// `TYPE BASE64`, with any blanks between, and whatever behind.
    fn read(text: &[u8]) -> Option<Self> {
        let (kind, rest) = text.split_at(text.iter().position(|byte| is_blank(*byte))?);
        let rest = trim_start(rest);
        let end = rest
            .iter()
            .position(|byte| is_blank(*byte))
            .unwrap_or(rest.len());
        let (kind, blob) = (
            str::from_utf8(kind).ok()?,
            str::from_utf8(&rest[..end]).ok()?,
        );
        format!("{kind} {}", blob.trim()).parse().ok()
    }

    pub fn fingerprint(&self) -> Fingerprint {
        let sum = Sha256::digest(&self.blob);
        Fingerprint(STANDARD_NO_PAD.encode(sum))
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_blank(*byte));
    &text[start.unwrap_or(text.len())..]
}

/// What stands behind the options, which may hold blanks between quotes (`sshkey_advance_past_options`).
fn past_options(line: &[u8]) -> Option<&[u8]> {
    let (mut quoted, mut index) = (false, 0);
    while let Some(byte) = line.get(index) {
        match byte {
            b'\\' if line.get(index + 1) == Some(&b'"') => index += 1,
            b'"' => quoted = !quoted,
            byte if !quoted && is_blank(*byte) => return Some(trim_start(&line[index..])),
            _ => {}
        }
        index += 1;
    }
    None
}

/// `TYPE BASE64` and, after another space, whatever comment: it is dropped.
impl FromStr for PublicKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        let mut words = text.trim_end_matches(['\n', '\r']).splitn(3, ' ');
        let name = words.next().unwrap_or_default();
        let kind = KeyKind::ALL.into_iter().find(|kind| kind.name() == name);
        let kind = kind.ok_or_else(|| PublicKeyError::Kind(name.chars().take(40).collect()))?;
        let words = words.next().filter(|word| word.len() <= 2 * MAX_BLOB);
        let blob = words.and_then(|word| STANDARD.decode(word).ok());
        let blob = blob.ok_or(PublicKeyError::Malformed)?;
        if blob.len() > MAX_BLOB || !is_whole(kind, &blob) {
            return Err(PublicKeyError::Malformed);
        }
        Ok(Self { kind, blob })
    }
}

/// RFC 4253, section 6.6; RFC 5656, section 3.1; RFC 8709, section 4.
fn is_whole(kind: KeyKind, blob: &[u8]) -> bool {
    let Some(fields) = fields(blob) else {
        return false;
    };
    if fields.first() != Some(&kind.name().as_bytes()) {
        return false;
    }
    match (kind, &fields[1..]) {
        (KeyKind::Ed25519, [key]) => key.len() == 32,
        (KeyKind::Rsa, [exponent, modulus]) => !exponent.is_empty() && modulus.len() >= 128,
        (KeyKind::Ecdsa256, [curve, point]) => *curve == b"nistp256" && point.len() == 65,
        (KeyKind::Ecdsa384, [curve, point]) => *curve == b"nistp384" && point.len() == 97,
        (KeyKind::Ecdsa521, [curve, point]) => *curve == b"nistp521" && point.len() == 133,
        _ => false,
    }
}

fn fields(mut blob: &[u8]) -> Option<Vec<&[u8]>> {
    let mut fields = Vec::new();
    while !blob.is_empty() {
        let (length, rest) = blob.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (field, rest) = rest.split_at_checked(length)?;
        fields.push(field);
        blob = rest;
    }
    Some(fields)
}

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = STANDARD.encode(&self.blob);
        write!(formatter, "{} {text}", self.kind.name())
    }
}

impl TryFrom<String> for PublicKey {
    type Error = PublicKeyError;

    fn try_from(text: String) -> Result<Self, PublicKeyError> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

/// SHA-256 of a key, as `ssh-keygen -l` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint(String);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a fingerprint is SHA256: and 43 characters, as ssh-keygen -lf prints it; this is {0:?}")]
pub struct FingerprintError(String);

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let sum = text.strip_prefix("SHA256:").and_then(|sum| {
            let bytes = STANDARD_NO_PAD.decode(sum.trim_end_matches('=')).ok()?;
            (bytes.len() == 32).then(|| STANDARD_NO_PAD.encode(&bytes))
        });
        sum.map(Self)
            .ok_or_else(|| FingerprintError(text.chars().take(80).collect()))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SHA256:{}", self.0)
    }
}
