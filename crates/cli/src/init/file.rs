//! The cluster file on disk: read whole, replaced whole.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
};

use anyhow::Context;
use crosstie_report::cluster_file::Existing;

/// `None` is no file. One that cannot be understood is an error, and stays as it is.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<Existing>> {
    let shown = path.display();
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {shown}")),
        Ok(text) => Ok(Some(
            Existing::read(text).with_context(|| format!("cannot use {shown}"))?,
        )),
    }
}

/// Where the path is a link, the file behind it is replaced.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut partial = target.clone().into_os_string();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = Path::new(&partial);
    let replace = || -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(partial)?;
        if let Ok(before) = fs::metadata(&target) {
            file.set_permissions(before.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(partial, &target)
    };
    replace()
        .inspect_err(|_| {
            let _ = fs::remove_file(partial);
        })
        .with_context(|| format!("cannot write {}", path.display()))
}
