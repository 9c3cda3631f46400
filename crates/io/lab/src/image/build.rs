//! One run of mmdebstrap.

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crosstie_durable::{RealDisk, publish_folder};
use rustix::process::getuid;

use super::recipe::{CUSTOMIZE, INIT, ImageRecipe};
use super::{DiskImage, ImageError};
use crate::arch::Arch;
use crate::tools::{self, ToolError};
use crate::{ReportProgress, paths, process};

const BUILD_TIMEOUT: Duration = Duration::from_secs(1500);
/// Every program of every package emulated.
const FOREIGN_BUILD_TIMEOUT: Duration = Duration::from_secs(5400);
const CLEAN_TIMEOUT: Duration = Duration::from_secs(120);
const WORK_MIB: u64 = 3_500;
const CACHE_MIB: u64 = 1_600;
const LOG: &str = "build.log";
/// Where the log of a failed build is kept, the last one only.
const FAILED_LOG: &str = "failed-build.log";
const PREFIX: &str = "crosstie-image-";

pub(super) fn build(
    recipe: &ImageRecipe,
    image: &DiskImage,
    lab: &Path,
    say: ReportProgress<'_>,
) -> Result<(), ImageError> {
    if !getuid().is_root() {
        check_namespace()?;
    }
    let images = image.directory.parent().unwrap_or(&image.directory);
    let work = temporary().join(format!("{PREFIX}{}-{}", getuid().as_raw(), image.hash));
    check_space(&temporary(), WORK_MIB, "TMPDIR")?;
    check_space(images, CACHE_MIB, "XDG_CACHE_HOME")?;
    remove_tree(&work);
    say(&format!(
        "building the {} node image ({}, {} packages and what they need): about {} minutes, once",
        recipe.arch,
        recipe.suite,
        recipe.packages().split(',').count(),
        if recipe.arch == Arch::HOST {
            "two"
        } else {
            "fifteen"
        }
    ));
    let started = Instant::now();
    let partial = partial(images, &image.hash);
    let outcome = prepare(&work, &partial).and_then(|()| bootstrap(recipe, &work, &partial, lab));
    remove_tree(&work);
    if let Err(error) = outcome {
        let _ = std::fs::rename(partial.join(LOG), images.join(FAILED_LOG));
        let _ = std::fs::remove_dir_all(&partial);
        return Err(error);
    }
    publish_folder(&RealDisk, &partial, &image.directory)
        .map_err(disk("put in place", &image.directory))?;
    say(&format!(
        "node image {} built in {} s",
        image.hash,
        started.elapsed().as_secs()
    ));
    Ok(())
}

/// Where an image grows until it is whole.
pub(super) fn partial(images: &Path, hash: &str) -> PathBuf {
    images.join(format!(".{hash}.partial"))
}

/// The work directory must be open to the mapped users of an unprivileged build.
fn prepare(work: &Path, partial: &Path) -> Result<(), ImageError> {
    let _ = std::fs::remove_dir_all(partial);
    std::fs::create_dir_all(partial).map_err(disk("make", partial))?;
    std::fs::create_dir(work).map_err(disk("make", work))?;
    open_to_all(work, 0o755)?;
    let space = work.join("tmp");
    std::fs::create_dir(&space).map_err(disk("make", &space))?;
    open_to_all(&space, 0o1777)?;
    for (name, text) in [("init.sh", INIT), ("customize.sh", CUSTOMIZE)] {
        let path = work.join(name);
        std::fs::write(&path, text).map_err(disk("write", &path))?;
        open_to_all(&path, 0o755)?;
    }
    Ok(())
}

fn bootstrap(
    recipe: &ImageRecipe,
    work: &Path,
    partial: &Path,
    lab: &Path,
) -> Result<(), ImageError> {
    let log_path = partial.join(LOG);
    let log = File::create(&log_path).map_err(disk("write", &log_path))?;
    let local = recipe.arch == Arch::HOST;
    let mode = if getuid().is_root() {
        "root"
    } else {
        "unshare"
    };
    let mut command = Command::new("mmdebstrap");
    process::mark(&mut command, lab).map_err(disk("mark", lab))?;
    command
        .env("TMPDIR", work.join("tmp"))
        .env("LC_ALL", "C.UTF-8")
        // The kernel's package makes no initramfs of its own: ours is another, and emulated its making takes a quarter of an hour.
        .env("INITRD", "No")
        .arg(format!("--mode={mode}"))
        .args(proxy_options())
        .args(recipe.arguments(work, partial))
        .args(&recipe.sources)
        .stdout(log.try_clone().map_err(disk("write", &log_path))?)
        .stderr(log);
    let failed_log = partial.with_file_name(FAILED_LOG);
    let failed = |source| ImageError::Build {
        log: failed_log.display().to_string(),
        source,
    };
    let mut child = command
        .spawn()
        .map_err(|source| failed(tools::start(&command, source)))?;
    let deadline = if local {
        BUILD_TIMEOUT
    } else {
        FOREIGN_BUILD_TIMEOUT
    };
    let status = tools::wait(&mut child, deadline);
    let said = || tools::tail(&std::fs::read_to_string(&log_path).unwrap_or_default());
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failed(ToolError::Failed {
            command: "mmdebstrap".to_owned(),
            status: status.to_string(),
            complaint: said(),
        })),
        None => {
            let _ = child.kill();
            let _ = child.wait();
            Err(failed(ToolError::TooSlow {
                command: "mmdebstrap".to_owned(),
                deadline,
                said: said(),
            }))
        }
    }
}

/// A host behind a proxy says so to apt, not to the environment.
fn proxy_options() -> Vec<String> {
    let mut command = Command::new("apt-config");
    command.args(["dump", "--format", "%f \"%v\"%n"]);
    let Ok(text) = tools::output(&mut command, Duration::from_secs(10)) else {
        return Vec::new();
    };
    text.lines()
        .filter(|line| line.starts_with("Acquire::") && line.contains("::Proxy"))
        .map(|line| format!("--aptopt={line}"))
        .collect()
}

fn check_namespace() -> Result<(), ImageError> {
    tools::require(&["newuidmap"])?;
    let number = getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = users
        .lines()
        .find(|line| line.split(':').nth(2) == Some(&number))
        .and_then(|line| line.split(':').next())
        .unwrap_or_default();
    let has_range = |path: &str| {
        std::fs::read_to_string(path).is_ok_and(|text| {
            text.lines()
                .filter_map(|line| line.split(':').next())
                .any(|name| name == number || (!user.is_empty() && name == user))
        })
    };
    if has_range("/etc/subuid") && has_range("/etc/subgid") {
        Ok(())
    } else {
        Err(ImageError::NoNamespace {
            reason: "it has no range in /etc/subuid or /etc/subgid",
        })
    }
}

fn check_space(path: &Path, wanted_mib: u64, variable: &'static str) -> Result<(), ImageError> {
    match paths::free_bytes(path).map(|bytes| bytes >> 20) {
        Some(free_mib) if free_mib < wanted_mib => Err(ImageError::NoSpace {
            path: path.display().to_string(),
            free_mib,
            wanted_mib,
            variable,
        }),
        _ => Ok(()),
    }
}

fn temporary() -> PathBuf {
    match std::env::var_os("TMPDIR").map(PathBuf::from) {
        Some(path) if path.is_absolute() => path,
        _ => "/var/tmp".into(),
    }
}

/// Removes the work directories of this user's builds that no process holds.
pub(super) fn remove_stale() {
    let mine = format!("{PREFIX}{}-", getuid().as_raw());
    let Ok(entries) = std::fs::read_dir(temporary()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = entry
            .metadata()
            .is_ok_and(|data| data.is_dir() && data.uid() == getuid().as_raw());
        if ours && name.to_string_lossy().starts_with(&mine) && !is_in_use(&entry.path()) {
            remove_tree(&entry.path());
        }
    }
}

fn is_in_use(work: &Path) -> bool {
    let wanted = format!("TMPDIR={}", work.join("tmp").display()).into_bytes();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return true;
    };
    entries.flatten().any(|entry| {
        std::fs::read(entry.path().join("environ")).is_ok_and(|environment| {
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == wanted)
        })
    })
}

/// An unprivileged build leaves files of mapped users, which only a process inside such a mapping may remove.
fn remove_tree(work: &Path) {
    if !work.exists() || std::fs::remove_dir_all(work).is_ok() {
        return;
    }
    let mut command = Command::new("mmdebstrap");
    command.args(["--unshare-helper", "rm", "-rf"]);
    command.arg(work.join("tmp"));
    let _ = tools::output(&mut command, CLEAN_TIMEOUT);
    if let Err(error) = std::fs::remove_dir_all(work) {
        tracing::warn!(path = %work.display(), %error, "an unfinished image build could not be removed");
    }
}

fn open_to_all(path: &Path, mode: u32) -> Result<(), ImageError> {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).map_err(disk("open up", path))
}

pub(super) fn disk(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ImageError {
    let path = path.display().to_string();
    move |source| ImageError::Disk {
        action,
        path,
        source,
    }
}
