//! Libraries found on disk, by the version that their file names carry.

use crosstie_model::{Reading, facts::software::InstalledLibrary};

use crate::{RawCapture, raw::CaptureEntry};

const NAMES: [&str; 5] = [
    "libnccl-net",
    "libnccl",
    "libibverbs",
    "librdmacm",
    "libcuda",
];

pub(super) fn libraries(raw: &RawCapture) -> Vec<InstalledLibrary> {
    raw.tree()
        .filter(|(path, _)| path.starts_with("usr/"))
        .filter_map(|(path, entry)| {
            let file = path.rsplit('/').next()?;
            let (stem, suffix) = file.split_once(".so")?;
            let name = *NAMES.iter().find(|name| stem.starts_with(**name))?;
            // The link that the loader looks for; what it points at, and development links, would count twice.
            let soname = suffix
                .strip_prefix('.')
                .is_some_and(|rest| !rest.contains('.'))
                || name == "libnccl-net";
            soname.then(|| InstalledLibrary {
                name: name.to_owned(),
                path: format!("/{path}"),
                version: version(raw, path, entry),
            })
        })
        .collect()
}

/// `libnccl.so.2 -> libnccl.so.2.28.9`; a wheel has a plain file and its version beside it.
fn version(raw: &RawCapture, path: &str, entry: &CaptureEntry) -> Reading<String> {
    if let CaptureEntry::Link(target) = entry {
        let version = target
            .rsplit_once(".so.")
            .map(|(_, version)| version.to_owned());
        return version.filter(|version| version.contains('.')).into();
    }
    let Some((packages, _)) = path.split_once("/nvidia/nccl/") else {
        return Reading::Absent;
    };
    let names = raw.names(packages).into_iter();
    names
        .filter(|name| name.starts_with("nvidia_nccl_cu"))
        .find_map(|name| {
            name.strip_suffix(".dist-info")?
                .rsplit_once('-')
                .map(|(_, version)| version.to_owned())
        })
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_library_counts_once() {
        let mut raw = RawCapture::default();
        let lib = "usr/lib/x86_64-linux-gnu";
        raw.insert(
            &format!("{lib}/libnccl.so"),
            CaptureEntry::Link("libnccl.so.2".into()),
        );
        raw.insert(
            &format!("{lib}/libnccl.so.2"),
            CaptureEntry::Link("libnccl.so.2.28.9".into()),
        );
        raw.insert(
            &format!("{lib}/libnccl.so.2.28.9"),
            CaptureEntry::File(Vec::new()),
        );
        let wheel = "usr/local/lib/python3.12/dist-packages";
        raw.insert(
            &format!("{wheel}/nvidia/nccl/lib/libnccl.so.2"),
            CaptureEntry::File(Vec::new()),
        );
        raw.insert(
            &format!("{wheel}/nvidia_nccl_cu12-2.27.3.dist-info"),
            CaptureEntry::Directory,
        );
        let found: Vec<_> = libraries(&raw)
            .into_iter()
            .map(|library| library.version)
            .collect();
        assert_eq!(
            found,
            [
                Reading::Value("2.28.9".into()),
                Reading::Value("2.27.3".into())
            ]
        );
    }
}
