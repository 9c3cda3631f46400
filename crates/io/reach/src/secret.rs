//! Passwords for sudo and for logins: each asked for once, kept in memory, and nowhere else.

use std::{
    fmt,
    fs::File,
    io::{self, Read},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use thiserror::Error;

/// Longest password; sudo itself reads no more than 256 bytes.
pub const MAX_PASSWORD: usize = 256;

/// Bytes that are not shown, and overwritten when they are no longer needed (as well as safe code can).
pub struct SecretBytes(Vec<u8>);

impl SecretBytes {
    pub fn new(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }

    pub fn of(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The password and the end of line that sudo waits for.
    pub(crate) fn line(&self) -> Self {
        let mut line = Vec::with_capacity(self.0.len() + 1);
        line.extend_from_slice(&self.0);
        line.push(b'\n');
        Self(line)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

impl Drop for SecretBytes {
    fn drop(&mut self) {
        self.0.fill(0);
        std::hint::black_box(&self.0);
    }
}

/// Asks a person.
pub trait AskPassword: Send + Sync {
    fn ask_password(&self, purpose: &PasswordPurpose) -> Result<SecretBytes, PasswordError>;
}

#[derive(Clone)]
pub enum PasswordSource {
    /// There is nobody to ask.
    Nobody,
    Person(Arc<dyn AskPassword>),
    /// The first line of an open file descriptor of this process.
    Descriptor(u32),
}

impl PasswordSource {
    /// Whether somebody has to type it.
    pub fn needs_typing(&self) -> bool {
        matches!(self, Self::Person(_))
    }
}

impl fmt::Debug for PasswordSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => formatter.write_str("Nobody"),
            Self::Person(_) => formatter.write_str("Person"),
            Self::Descriptor(descriptor) => write!(formatter, "Descriptor({descriptor})"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PasswordError {
    #[error("{}", .0.nobody())]
    Nobody(PasswordPurpose),
    #[error("cannot read the password from file descriptor {descriptor}: {reason}")]
    Descriptor { descriptor: u32, reason: String },
    #[error("cannot ask for the password on the terminal: {reason}")]
    Terminal { reason: String },
    #[error("no password was given")]
    Declined,
}

/// What a password is for, and so how it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordPurpose {
    Sudo,
    /// The same once more: these nodes did not accept the first.
    SudoAgain(Vec<String>),
    /// All logins.
    Logins,
    /// The login to this node, where the one for all was wrong.
    Login(String),
}

impl PasswordPurpose {
    pub fn question(&self) -> String {
        match self {
            Self::Sudo => "sudo password for the nodes (asked once): ".to_owned(),
            Self::SudoAgain(nodes) => format!(
                "sudo on {} did not accept the password of your user there. Once more: ",
                nodes.join(", ")
            ),
            Self::Logins => "password to log in to the nodes (asked once): ".to_owned(),
            Self::Login(node) => format!("password for {node}: "),
        }
    }

    fn nobody(&self) -> &'static str {
        match self {
            Self::Sudo | Self::SudoAgain(_) => {
                "sudo wants a password there, and there is no terminal to ask on: use --become-password-fd, or allow \
                 sudo without a password"
            }
            Self::Logins | Self::Login(_) => {
                "it takes no key of yours and wants a password, and there is no terminal to ask on: use --password-fd"
            }
        }
    }
}

/// One password for all nodes.
#[derive(Debug)]
pub struct SharedPassword {
    source: PasswordSource,
    purpose: PasswordPurpose,
    got: Mutex<Got>,
}

#[derive(Debug, Default)]
struct Got {
    answer: Option<Result<Arc<SecretBytes>, PasswordError>>,
    asked: u32,
    /// Nodes that did not accept it.
    wrong_on: Vec<String>,
}

/// As often as sudo itself asks.
const MOST_ASKED: u32 = 3;

impl SharedPassword {
    pub fn new(source: PasswordSource, purpose: PasswordPurpose) -> Self {
        Self {
            source,
            purpose,
            got: Mutex::default(),
        }
    }

    /// One that nobody has to be asked for.
    pub fn known(secret: Arc<SecretBytes>, purpose: PasswordPurpose) -> Self {
        Self {
            source: PasswordSource::Nobody,
            purpose,
            got: Mutex::new(Got {
                answer: Some(Ok(secret)),
                ..Got::default()
            }),
        }
    }

    /// Asks when it is needed for the first time; whoever comes meanwhile waits for the answer.
    pub fn get(&self) -> Result<Arc<SecretBytes>, PasswordError> {
        let mut got = self.got();
        if let Some(answer) = &got.answer {
            return answer.clone();
        }
        let secret = match &self.source {
            PasswordSource::Nobody => Err(PasswordError::Nobody(self.purpose.clone())),
            PasswordSource::Person(person) if got.wrong_on.is_empty() => {
                person.ask_password(&self.purpose)
            }
            PasswordSource::Person(person) => {
                let nodes = std::mem::take(&mut got.wrong_on);
                person.ask_password(&PasswordPurpose::SudoAgain(nodes))
            }
            PasswordSource::Descriptor(descriptor) => read_descriptor(*descriptor),
        };
        got.asked += 1;
        got.answer.insert(secret.map(Arc::new)).clone()
    }

    /// How often somebody was asked.
    pub(crate) fn times_asked(&self) -> u32 {
        self.got().asked
    }

    /// A node did not accept the one that it was given before the person was asked so often. Whether there is another, or may
    /// be asked for.
    pub(crate) fn report_rejected(&self, times_asked: u32, node: &str) -> bool {
        let mut got = self.got();
        if !self.source.needs_typing() {
            return false;
        }
        if got.asked > times_asked.max(1) {
            return true;
        }
        if got.asked >= MOST_ASKED {
            return false;
        }
        got.answer = None;
        got.wrong_on.push(node.to_owned());
        true
    }

    fn got(&self) -> MutexGuard<'_, Got> {
        self.got.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_descriptor(descriptor: u32) -> Result<SecretBytes, PasswordError> {
    let read =
        File::open(format!("/proc/self/fd/{descriptor}")).and_then(|mut file| line(&mut file));
    let failed = |error: io::Error| PasswordError::Descriptor {
        descriptor,
        reason: error.to_string(),
    };
    read.map_err(failed)?.ok_or(PasswordError::Declined)
}

/// One byte at a time: what follows the line is another's.
fn line(from: &mut impl Read) -> io::Result<Option<SecretBytes>> {
    let mut secret = SecretBytes(Vec::with_capacity(MAX_PASSWORD));
    let mut byte = [0];
    loop {
        match from.read(&mut byte) {
            Ok(0) => return Ok((!secret.0.is_empty()).then_some(secret)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        match byte[0] {
            b'\n' | b'\r' => return Ok(Some(secret)),
            _ if secret.0.len() == MAX_PASSWORD => return Ok(None),
            other => secret.0.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::fd::AsRawFd};

    use super::*;

    #[test]
    fn the_first_line_of_a_descriptor_is_read_once() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"correct horse\nrest").unwrap();
        drop(writer);
        let descriptor = u32::try_from(reader.as_raw_fd()).unwrap();
        let password = SharedPassword::new(
            PasswordSource::Descriptor(descriptor),
            PasswordPurpose::Logins,
        );
        for _ in 0..2 {
            let secret = password.get().unwrap();
            assert_eq!(secret.bytes(), b"correct horse");
            assert_eq!(secret.line().bytes(), b"correct horse\n");
        }
        assert!(!format!("{password:?}").contains("horse"));
    }

    #[test]
    fn a_known_password_is_given_without_a_question() {
        let secret = Arc::new(SecretBytes::new("of the lab"));
        let password = SharedPassword::known(secret, PasswordPurpose::Sudo);
        assert_eq!(password.get().unwrap().line().bytes(), b"of the lab\n");
        assert!(!format!("{password:?}").contains("lab"));
    }

    struct RecordingPrompter(Mutex<Vec<PasswordPurpose>>);

    impl AskPassword for RecordingPrompter {
        fn ask_password(&self, purpose: &PasswordPurpose) -> Result<SecretBytes, PasswordError> {
            let mut asked = self.0.lock().unwrap();
            asked.push(purpose.clone());
            Ok(SecretBytes::new(&asked.len().to_string()))
        }
    }

    #[test]
    fn a_wrong_password_is_asked_for_again_and_not_for_ever() {
        let typist = Arc::new(RecordingPrompter(Mutex::default()));
        let person = PasswordSource::Person(Arc::clone(&typist) as Arc<dyn AskPassword>);
        let password = SharedPassword::new(person, PasswordPurpose::Sudo);
        assert_eq!(password.get().unwrap().bytes(), b"1");
        // Two nodes were given the first one, and a third one the second already.
        assert!(password.report_rejected(1, "spark-a"));
        assert!(password.report_rejected(1, "spark-b"));
        assert_eq!(password.get().unwrap().bytes(), b"2");
        assert!(password.report_rejected(1, "spark-c"));
        assert_eq!(password.get().unwrap().bytes(), b"2");
        assert!(password.report_rejected(2, "spark-c"));
        assert_eq!(password.get().unwrap().bytes(), b"3");
        assert!(!password.report_rejected(3, "spark-c"));
        let asked = typist.0.lock().unwrap();
        let again = PasswordPurpose::SudoAgain(vec!["spark-a".to_owned(), "spark-b".to_owned()]);
        assert_eq!(asked[1], again);
        let known = SharedPassword::known(Arc::new(SecretBytes::new("x")), PasswordPurpose::Sudo);
        assert!(!known.report_rejected(0, "spark-a"));
    }

    #[test]
    fn no_password_is_told_from_an_empty_one() {
        assert!(line(&mut &b""[..]).unwrap().is_none());
        assert!(line(&mut &[b'x'; 300][..]).unwrap().is_none());
        assert_eq!(line(&mut &b"\n"[..]).unwrap().unwrap().bytes(), b"");
        let nobody = SharedPassword::new(PasswordSource::Nobody, PasswordPurpose::Sudo).get();
        assert_eq!(
            nobody.unwrap_err(),
            PasswordError::Nobody(PasswordPurpose::Sudo)
        );
        let closed =
            SharedPassword::new(PasswordSource::Descriptor(9999), PasswordPurpose::Sudo).get();
        assert!(closed.unwrap_err().to_string().contains("9999"));
    }
}
