//! Whether a file is the same on every node, without reading all of a large one.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use crosstie_launch::{
    gguf,
    job_protocol::{FileCheckReply, FileCheckRequest},
};
use sha2::{Digest, Sha256};

use crate::known_hashes::KnownHashes;

const SAMPLE_BLOCK_BYTES: u64 = 64 << 10;
/// Blocks of a sample, from the first to the last.
const SAMPLE_BLOCKS: u64 = 64;
/// Of a file, for its header.
const HEADER_BYTES: u64 = 256 << 10;

pub(crate) fn check_file(ask: &FileCheckRequest, directory: &Path) -> FileCheckReply {
    let path = directory.join(&ask.path);
    match read(&path, ask.whole) {
        Ok((bytes, identity, layers)) => FileCheckReply {
            path: ask.path.clone(),
            problem: None,
            bytes,
            identity,
            layers,
        },
        Err(error) => FileCheckReply {
            path: ask.path.clone(),
            problem: Some(format!("{}: {error}", path.display())),
            bytes: 0,
            identity: String::new(),
            layers: None,
        },
    }
}

fn read(path: &Path, whole: bool) -> io::Result<(u64, String, Option<u32>)> {
    let mut file = File::open(path)?;
    let status = file.metadata()?;
    if !status.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let size = status.len();
    let mut start = Vec::new();
    file.by_ref().take(HEADER_BYTES).read_to_end(&mut start)?;
    let layers = gguf::header(&start).and_then(|header| header.layers);
    let blob = blob_name(path).filter(|_| !whole);
    let identity = match blob {
        Some(blob) => format!("blob {blob}"),
        None => hash(&mut file, size, whole)?,
    };
    Ok((size, identity, layers))
}

/// In a Hugging Face cache a file's name is the hash of its content.
fn blob_name(path: &Path) -> Option<String> {
    let real: PathBuf = path.canonicalize().ok()?;
    let name = real.file_name()?.to_str()?;
    let is_blob = real.parent()?.file_name()? == "blobs";
    let is_hash =
        matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_blob && is_hash).then(|| name.to_owned())
}

fn hash(file: &mut File, size: u64, whole: bool) -> io::Result<String> {
    if size <= SAMPLE_BLOCK_BYTES * SAMPLE_BLOCKS {
        return hash_all(file);
    }
    if whole {
        return KnownHashes::of_user().of(file, hash_all);
    }
    let mut hash = Sha256::new();
    let mut block = Vec::new();
    for number in 0..SAMPLE_BLOCKS {
        let at = (size - SAMPLE_BLOCK_BYTES) * number / (SAMPLE_BLOCKS - 1);
        file.seek(SeekFrom::Start(at))?;
        block.clear();
        file.by_ref()
            .take(SAMPLE_BLOCK_BYTES)
            .read_to_end(&mut block)?;
        hash.update(&block);
    }
    Ok(format!("sample {}", short(hash)))
}

fn hash_all(file: &mut File) -> io::Result<String> {
    let mut hash = Sha256::new();
    file.rewind()?;
    io::copy(file, &mut hash)?;
    Ok(format!("sha256 {}", short(hash)))
}

/// Enough to tell files apart, and to be read aloud.
fn short(hash: Sha256) -> String {
    use std::fmt::Write;
    hash.finalize()
        .iter()
        .take(8)
        .fold(String::new(), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn found(folder: &Path, path: &str, whole: bool) -> FileCheckReply {
        let path = path.to_owned();
        check_file(&FileCheckRequest { path, whole }, folder)
    }

    #[test]
    fn files_are_told_apart_and_blobs_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("a"), vec![1; 5 << 20]).unwrap();
        let mut other = vec![1; 5 << 20];
        fs::write(folder.join("same"), &other).unwrap();
        *other.last_mut().unwrap() = 2;
        fs::write(folder.join("b"), &other).unwrap();
        let identity = |path: &str| found(folder, path, false).identity;
        assert_eq!(identity("a"), identity("same"));
        assert_ne!(identity("a"), identity("b"));
        assert!(identity("a").starts_with("sample "));
        assert!(found(folder, "a", true).identity.starts_with("sha256 "));
        let name = "ab".repeat(32);
        fs::create_dir(folder.join("blobs")).unwrap();
        fs::write(folder.join("blobs").join(&name), "x").unwrap();
        symlink(folder.join("blobs").join(&name), folder.join("model")).unwrap();
        assert_eq!(identity("model"), format!("blob {name}"));
        let missing = found(folder, "none", false);
        assert!(missing.problem.unwrap().contains("No such file"));
        assert!(found(folder, "blobs", false).problem.is_some());
    }
}
