//! What the files of a plan would become, and making them so.

use std::{collections::BTreeMap, os::unix::fs::fchown, path::Path};

use crosstie_durable as durable;
use crosstie_model::{
    PlanStep,
    managed::{ManagedBlock, with_block},
    plan::{FileChange, aside},
};

use super::{
    error::PlannedFileError,
    file_image::{CurrentFile, FileImage, ImageContents, PlannedContent, read_current, sum},
    step,
    system_access::SystemAccess,
};

/// Images of every file that steps touch, with what will become of each.
pub(super) struct PreparedFiles {
    pub(super) images: Vec<FileImage>,
    pub(super) contents: ImageContents,
    pub(super) folders: Vec<String>,
}

/// Fails where the files are not as the plan found them.
pub(super) fn prepare_files(
    system: &dyn SystemAccess,
    steps: &[PlanStep],
) -> Result<PreparedFiles, PlannedFileError> {
    let mut found: BTreeMap<String, Option<CurrentFile>> = BTreeMap::new();
    let mut now: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
    for change in changes(steps) {
        for path in paths(change) {
            if found.contains_key(&path) {
                continue;
            }
            check_path(&path)?;
            let file = read_current(&system.path(&path)).map_err(PlannedFileError::at(&path))?;
            now.insert(
                path.clone(),
                file.as_ref().map(|file| file.content().into_owned()),
            );
            found.insert(path, file);
        }
        check_writable(change, found.get(change.path()).and_then(Option::as_ref))?;
        apply_to_text(&mut now, change)?;
    }
    let path = |path: &str| system.path(path);
    for link in steps.iter().flat_map(|step| step::links(step, &path)) {
        let file = read_current(&system.path(&link)).map_err(PlannedFileError::at(&link))?;
        found.insert(link, file);
    }
    let mut images = Vec::new();
    let mut contents = Vec::new();
    let mut folders = Vec::new();
    for (path, file) in found {
        let mut image = FileImage::new(&path, file.as_ref());
        image.after = now.get(&path).map(|text| match text {
            Some(bytes) => PlannedContent::Sum(sum(bytes)),
            None => PlannedContent::Gone,
        });
        missing_folders(system, &path, &mut folders);
        images.push(image);
        contents.push(file.map(|file| file.bytes));
    }
    Ok(PreparedFiles {
        images,
        contents,
        folders,
    })
}

pub(super) fn changes(steps: &[PlanStep]) -> impl Iterator<Item = &FileChange> {
    steps.iter().flat_map(PlanStep::files)
}

/// Nobody's link is written over, and no file that is another's.
fn check_writable(
    change: &FileChange,
    found: Option<&CurrentFile>,
) -> Result<(), PlannedFileError> {
    let path = || change.path().to_owned();
    let Some(found) = found.filter(|_| !matches!(change, FileChange::Aside { .. })) else {
        return Ok(());
    };
    if let Some(target) = found.link_target() {
        return Err(PlannedFileError::Link {
            path: path(),
            target: target.to_owned(),
        });
    }
    match change {
        FileChange::Whole { text, .. } if text.from.is_none() => {
            Err(PlannedFileError::Foreign { path: path() })
        }
        FileChange::Whole { .. } | FileChange::Block { .. } | FileChange::Aside { .. } => Ok(()),
    }
}

fn paths(change: &FileChange) -> Vec<String> {
    match change {
        FileChange::Aside { path, .. } => vec![path.clone(), aside(path)],
        FileChange::Whole { path, .. } | FileChange::Block { path, .. } => vec![path.clone()],
    }
}

/// Plans come over the wire: they may name files of `/etc` and nothing else.
pub(super) fn check_path(path: &str) -> Result<(), PlannedFileError> {
    let plain = path.strip_prefix("/etc/").is_some_and(|rest| {
        let mut parts = rest.split('/');
        parts.all(|part| !matches!(part, "" | "." | "..")) && !rest.contains('\0')
    });
    if plain {
        Ok(())
    } else {
        Err(PlannedFileError::Outside {
            path: path.to_owned(),
        })
    }
}

pub(super) fn missing_folders(system: &dyn SystemAccess, path: &str, folders: &mut Vec<String>) {
    let above = Path::new(path).ancestors().skip(1);
    let missing = above.take_while(|folder| !system.path(&folder.to_string_lossy()).exists());
    let mut missing: Vec<String> = missing
        .map(|folder| folder.to_string_lossy().into_owned())
        .collect();
    missing.reverse();
    for folder in missing {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
}

/// The text that a change leaves, from the text that is there.
fn apply_to_text(
    now: &mut BTreeMap<String, Option<Vec<u8>>>,
    change: &FileChange,
) -> Result<(), PlannedFileError> {
    let path = change.path();
    let current = now.get(path).cloned().flatten();
    let changed = || PlannedFileError::Changed {
        path: path.to_owned(),
    };
    match change {
        FileChange::Whole { text, .. } => {
            if current.as_deref() != text.from.as_ref().map(String::as_bytes) {
                return Err(changed());
            }
            now.insert(path.to_owned(), text.to.clone().map(String::into_bytes));
        }
        FileChange::Block { place, text, .. } => {
            let current = current.map(String::from_utf8).transpose();
            let current = current.map_err(|_| PlannedFileError::NotText {
                path: path.to_owned(),
            })?;
            let block = current.as_deref().and_then(ManagedBlock::find);
            if block.map(|block| block.body) != text.from.as_deref() {
                return Err(changed());
            }
            let changed = with_block(current.as_deref(), text.to.as_deref(), *place);
            now.insert(path.to_owned(), changed.map(String::into_bytes));
        }
        FileChange::Aside {
            aside: direction, ..
        } => {
            let (from, to) = if direction.to {
                (path.to_owned(), aside(path))
            } else {
                (aside(path), path.to_owned())
            };
            let moved = now.get(&from).cloned().flatten();
            let moved = moved.ok_or_else(|| PlannedFileError::Missing { path: from.clone() })?;
            if now.get(&to).is_some_and(Option::is_some) {
                return Err(PlannedFileError::InTheWay { path: to });
            }
            now.insert(from, None);
            now.insert(to, Some(moved));
        }
    }
    Ok(())
}

/// Does one change of a file.
pub(super) fn apply(
    system: &dyn SystemAccess,
    change: &FileChange,
) -> Result<(), PlannedFileError> {
    let shown = change.path();
    let path = system.path(shown);
    let told = |source| PlannedFileError::at(shown)(source);
    if let FileChange::Aside {
        aside: direction, ..
    } = change
    {
        let beside = system.path(&aside(shown));
        let (from, to) = if direction.to {
            (&path, &beside)
        } else {
            (&beside, &path)
        };
        durable::rename_synced(system, from, to).map_err(told)?;
        system.edge("a file is set aside");
        return Ok(());
    }
    let found = read_current(&path).map_err(told)?;
    check_writable(change, found.as_ref())?;
    let mut now = BTreeMap::from([(
        shown.to_owned(),
        found.as_ref().map(|file| file.bytes.clone()),
    )]);
    apply_to_text(&mut now, change)?;
    let Some(text) = now.remove(shown).flatten() else {
        durable::remove_synced(system, &path).map_err(told)?;
        system.edge("a file is removed");
        return Ok(());
    };
    durable::make_folder(system, durable::parent_folder(&path), 0o755).map_err(told)?;
    let mode = match change {
        FileChange::Whole { mode, .. } => mode.bits(),
        FileChange::Block { .. } | FileChange::Aside { .. } => {
            found.as_ref().map_or(0o644, CurrentFile::mode)
        }
    };
    durable::write_with_metadata(system, &path, &text, mode, |file| match &found {
        // A shared file stays its owner's.
        Some(found) => found.metadata.apply_to(file),
        None if rustix::process::geteuid().is_root() => fchown(file, Some(0), Some(0)),
        None => Ok(()),
    })
    .map_err(told)
}

/// A shared file without our block.
pub(super) enum FileWithoutBlock {
    Text(Vec<u8>),
    NoFile,
}

/// Takes our block out of a file that somebody else has changed beside it; `None` where the block itself was edited.
pub(super) fn without_block(
    steps: &[PlanStep],
    path: &str,
    bytes: &[u8],
) -> Option<FileWithoutBlock> {
    let change = changes(steps).find(|change| change.path() == path)?;
    let FileChange::Block { place, text, .. } = change else {
        return None;
    };
    let now = std::str::from_utf8(bytes).ok()?;
    let block = ManagedBlock::find(now);
    if block.map(|block| block.body) != text.to.as_deref() {
        return None;
    }
    let back = with_block(Some(now), text.from.as_deref(), *place);
    Some(match back {
        Some(text) => FileWithoutBlock::Text(text.into_bytes()),
        None => FileWithoutBlock::NoFile,
    })
}
