//! KVM where a guest really boots with it, TCG elsewhere: `/dev/kvm` can exist and still hang a stock kernel.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::board::QemuBoard;
use crate::ReportProgress;
use crate::arch::Arch;
use crate::image::DiskImage;
use crate::paths::LabPaths;
use crate::{process, tools};

const BOOT_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QemuAccelerator {
    Kvm,
    Tcg,
}

impl QemuAccelerator {
    /// What a node gets where this machine's own architecture gets `self`.
    pub(crate) fn of(self, arch: Arch) -> Self {
        if arch == Arch::HOST { self } else { Self::Tcg }
    }

    pub(super) const fn arguments(self, board: &QemuBoard) -> [&'static str; 4] {
        match self {
            Self::Kvm => ["-accel", "kvm", "-cpu", "host"],
            Self::Tcg => ["-accel", "tcg,thread=multi", "-cpu", board.emulated_cpu],
        }
    }

    /// Part of a snapshot's key: memory saved on one host CPU need not load on another.
    pub(crate) fn key(self) -> String {
        match self {
            Self::Tcg => "tcg".to_owned(),
            Self::Kvm => {
                let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
                let model = cpus.lines().find(|line| line.starts_with("model name"));
                format!("kvm {}", model.unwrap_or_default())
            }
        }
    }
}

impl std::fmt::Display for QemuAccelerator {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Kvm => "KVM",
            Self::Tcg => "TCG (no usable KVM: nodes are emulated, boots take minutes)",
        })
    }
}

/// Decides once a boot of the host; `say` tells why.
pub(crate) fn choose(
    paths: &LabPaths,
    image: &DiskImage,
    lab: &Path,
    say: ReportProgress<'_>,
) -> QemuAccelerator {
    if !Path::new("/dev/kvm").exists() {
        return QemuAccelerator::Tcg;
    }
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let known = paths.cache.join(format!("accel-{}", boot.trim()));
    match std::fs::read_to_string(&known).as_deref() {
        Ok("kvm") => return QemuAccelerator::Kvm,
        Ok("tcg") => return QemuAccelerator::Tcg,
        _ => {}
    }
    say("trying whether a guest boots with KVM");
    let (accel, word) = match boots_with_kvm(image, lab) {
        Ok(()) => (QemuAccelerator::Kvm, "kvm"),
        Err(reason) => {
            say(&format!("KVM is not usable: {reason}"));
            (QemuAccelerator::Tcg, "tcg")
        }
    };
    // Only a hint: without it the next command tries again.
    let _ = std::fs::write(&known, word);
    accel
}

/// Boots the image's kernel into a program that ends at once; the panic that follows ends QEMU.
fn boots_with_kvm(image: &DiskImage, lab: &Path) -> Result<(), String> {
    let board = QemuBoard::of(Arch::HOST);
    let mut command = Command::new(Arch::HOST.emulator());
    command
        .env(process::VARIABLE, lab)
        .args([
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
        ])
        .args(["-machine", board.machine, "-m", "256", "-serial", "stdio"])
        .args(QemuAccelerator::Kvm.arguments(&board))
        .arg("-kernel")
        .arg(image.kernel())
        .arg("-initrd")
        .arg(image.initrd())
        .args([
            "-append",
            &format!("console={} panic=-1 rdinit=/bin/busybox", board.console),
        ]);
    let outcome = tools::run(&mut command, BOOT_TIMEOUT).map_err(|error| match error {
        tools::ToolError::TooSlow { .. } => {
            format!("the guest hung for {} s", BOOT_TIMEOUT.as_secs())
        }
        other => other.to_string(),
    })?;
    if outcome.status.success() && outcome.stdout.contains("/bin/busybox as init") {
        Ok(())
    } else {
        let reason = tools::tail(&outcome.stderr);
        let first = reason.lines().next().unwrap_or("the guest did not come up");
        Err(first.to_owned())
    }
}
