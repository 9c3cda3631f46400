//! The agent that was brought for this alone, and goes with it.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use crosstie_trust::InstalledAgent;

use super::{HomeFolder, home_writer::HomeWriter, settle::load};

/// Set by the script that starts an agent, if it had to fetch it: the outermost thing that it made.
const MADE: &str = "CROSSTIE_MADE";

/// What this process's coming has left here.
pub fn pushed() -> Option<InstalledAgent> {
    let outermost = PathBuf::from(std::env::var_os(MADE)?);
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    let ours = program.starts_with(&outermost) && outermost != Path::new("/");
    ours.then(|| InstalledAgent {
        folder: folder.display().to_string(),
        outermost: outermost.display().to_string(),
    })
}

/// Whoever was brought here and is known to no journal leaves no trace: its controller died on the way.
pub fn remove_unrecorded_agent() {
    if let (Some(made), Ok(home)) = (pushed(), HomeFolder::find()) {
        leave_unrecorded(&home, &made);
    }
}

pub(super) fn leave_unrecorded(home: &HomeFolder, made: &InstalledAgent) {
    let journal = load(home).ok().flatten();
    if !journal.is_some_and(|journal| journal.agents.contains(made)) {
        remove_agents(&mut HomeWriter::new(home, false), [made]);
    }
}

/// Takes agents away, and the folders around them that were made for them and hold nothing else.
pub(super) fn remove_agents<'a>(
    hand: &mut HomeWriter<'_>,
    agents: impl IntoIterator<Item = &'a InstalledAgent>,
) {
    for made in agents {
        let (folder, outermost) = (Path::new(&made.folder), Path::new(&made.outermost));
        if !folder.starts_with(outermost) {
            // A folder that was there before: the one file in it.
            if outermost.parent() == Some(folder) && is_agent(outermost.file_name()) {
                hand.remove_file(outermost, "agent removed");
            }
            continue;
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_agent(Some(&entry.file_name()))) {
            hand.remove_file(&entry.path(), "agent removed");
        }
        let mut around = Some(folder);
        while let Some(path) = around.filter(|path| path.starts_with(outermost)) {
            if !hand.remove_folder(path) {
                break;
            }
            around = path.parent();
        }
    }
}

/// A build's SHA-256, or the beginnings of one.
fn is_agent(name: Option<&OsStr>) -> bool {
    let name = name.and_then(OsStr::to_str).unwrap_or_default();
    name.starts_with(".new.")
        || (name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
