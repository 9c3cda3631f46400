//! The agent's binary: this very program, or its twin for another architecture.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs::File,
    io::{self, Read, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The running program, also when its file has been replaced since.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Where packages put the binaries of other architectures, each in a folder named after one.
const INSTALLED: &str = "/usr/lib/crosstie";

/// Largest binary that is sent.
const MAX_BINARY: u64 = 512 << 20;

#[derive(Debug)]
pub struct AgentBinary {
    pub bytes: Vec<u8>,
    /// SHA-256, in hexadecimal.
    pub sum: String,
    compressed: OnceLock<Vec<u8>>,
}

impl AgentBinary {
    /// As gzip writes it, about a third of the size. Made for the first node that needs it, while others wait.
    pub fn compressed(&self) -> &[u8] {
        self.compressed.get_or_init(|| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            // Writing to memory cannot fail.
            let _ = encoder.write_all(&self.bytes);
            encoder.finish().unwrap_or_default()
        })
    }
}

#[derive(Debug, Error)]
pub enum AgentBinaryError {
    #[error("it is {machine}, and there is no crosstie for {machine} in {}; pass --agent-dir DIR with DIR/{machine}/crosstie in it (make dist builds it)",
        places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", "))]
    Missing {
        machine: String,
        places: Vec<PathBuf>,
    },
    #[error("it is {machine}, where crosstie does not run: Linux on x86_64 or aarch64 is needed")]
    Unsupported { machine: String },
    #[error("{} is no program for {machine}", path.display())]
    Wrong { path: PathBuf, machine: String },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
}

/// Binaries by architecture, each read once.
#[derive(Debug, Default)]
pub struct AgentBinaries {
    folder: Option<PathBuf>,
    read: Mutex<HashMap<String, Arc<AgentBinary>>>,
}

impl AgentBinaries {
    /// `folder` goes before the places where others may be installed.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            read: Mutex::default(),
        }
    }

    pub fn for_machine(&self, machine: &str) -> Result<Arc<AgentBinary>, AgentBinaryError> {
        let Some(number) = elf_machine(machine) else {
            let machine = machine.to_owned();
            return Err(AgentBinaryError::Unsupported { machine });
        };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(binary) = read.get(machine) {
            return Ok(Arc::clone(binary));
        }
        let path = self.find(machine)?;
        let bytes = contents(&path).map_err(|source| AgentBinaryError::Read {
            path: path.clone(),
            source,
        })?;
        // e_machine, little endian on both architectures (elf(5)).
        if !bytes.starts_with(b"\x7fELF") || bytes.get(18..20) != Some(&number.to_le_bytes()) {
            let machine = machine.to_owned();
            return Err(AgentBinaryError::Wrong { path, machine });
        }
        let sum = hexadecimal(&Sha256::digest(&bytes));
        let binary = Arc::new(AgentBinary {
            bytes,
            sum,
            compressed: OnceLock::new(),
        });
        read.insert(machine.to_owned(), Arc::clone(&binary));
        Ok(binary)
    }

    fn find(&self, machine: &str) -> Result<PathBuf, AgentBinaryError> {
        if rustix::system::uname().machine().to_bytes() == machine.as_bytes() {
            return Ok(OWN_PROGRAM.into());
        }
        let beside = std::env::current_exe().ok();
        let beside = beside
            .as_deref()
            .and_then(Path::parent)
            .and_then(Path::parent);
        let folders = [self.folder.as_deref(), Some(Path::new(INSTALLED)), beside];
        let places: Vec<PathBuf> = folders
            .into_iter()
            .flatten()
            .map(|folder| folder.join(machine).join("crosstie"))
            .collect();
        let found = places.iter().find(|place| place.is_file()).cloned();
        found.ok_or_else(|| AgentBinaryError::Missing {
            machine: machine.to_owned(),
            places,
        })
    }
}

/// The architectures that there are agents for (`EM_X86_64`, `EM_AARCH64`).
fn elf_machine(machine: &str) -> Option<u16> {
    match machine {
        "x86_64" => Some(62),
        "aarch64" => Some(183),
        _ => None,
    }
}

fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BINARY).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The SHA-256 of the running program, which is what a build is known by.
pub fn own_build() -> io::Result<String> {
    build_of(Path::new(OWN_PROGRAM))
}

pub fn build_of(program: &Path) -> io::Result<String> {
    let mut file = File::open(program)?;
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&sum.finalize())),
            length => sum.update(&buffer[..length]),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_gets_this_program() {
        let machine = rustix::system::uname();
        let machine = machine.machine().to_str().unwrap();
        let binary = AgentBinaries::default().for_machine(machine).unwrap();
        assert_eq!(binary.sum, own_build().unwrap());
        assert_eq!(binary.sum.len(), 64);
    }

    #[test]
    fn others_are_looked_for_and_checked() {
        let folder = tempfile::tempdir().unwrap();
        let own = rustix::system::uname();
        let other = if own.machine() == c"aarch64" {
            "x86_64"
        } else {
            "aarch64"
        };
        let place = folder.path().join(other);
        let error = || {
            let binaries = AgentBinaries::new(Some(folder.path().to_owned()));
            binaries.for_machine(other).unwrap_err().to_string()
        };
        assert!(error().contains("--agent-dir"), "{}", error());
        std::fs::create_dir(&place).unwrap();
        std::fs::copy(OWN_PROGRAM, place.join("crosstie")).unwrap();
        assert!(error().contains(&format!("is no program for {other}")));
        let odd = AgentBinaries::default().for_machine("riscv64").unwrap_err();
        assert!(odd.to_string().contains("riscv64"));
    }
}
