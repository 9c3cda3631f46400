//! What goes into an image, and its hash.

use std::path::{Path, PathBuf};

use super::{INITRD, ROOT, TREE_ARCHIVE};
use crate::{arch::Arch, digest};

pub(super) const INIT: &str = include_str!("../../image/init.sh");
pub(super) const CUSTOMIZE: &str = include_str!("../../image/customize.sh");
const DEFAULT_SUITE: &str = "bookworm";

/// Stands for the package of the architecture's kernel.
const KERNEL: &str = "linux-image";

const PACKAGES: [&str; 28] = [
    "busybox-static",
    "dbus",
    "e2fsprogs",
    "ethtool",
    "ibsim-utils",
    "ibverbs-providers",
    "ibverbs-utils",
    "infiniband-diags",
    "iperf3",
    "iproute2",
    "iputils-ping",
    "kmod",
    "less",
    "libibverbs1",
    "librdmacm1",
    KERNEL,
    "netplan.io",
    "network-manager",
    "nftables",
    "openssh-server",
    "opensm",
    "perftest",
    "procps",
    "rdma-core",
    "sudo",
    "systemd-sysv",
    "tcpdump",
    "udev",
];

/// Never needed in a lab, and most of an image's size.
const EXCLUDED: [&str; 7] = [
    "/usr/share/man/*",
    "/usr/share/doc/*",
    "/usr/share/locale/*",
    "/lib/modules/*/kernel/sound/*",
    "/lib/modules/*/kernel/drivers/gpu/*",
    "/lib/modules/*/kernel/drivers/media/*",
    "/lib/modules/*/kernel/drivers/net/wireless/*",
];

#[derive(Debug)]
pub(super) struct ImageRecipe {
    pub(super) arch: Arch,
    pub(super) suite: String,
    /// The host's own sources of the Debian archive; mmdebstrap's default mirror when there are none.
    pub(super) sources: Vec<PathBuf>,
    sources_text: String,
}

impl ImageRecipe {
    pub(super) fn of_host(arch: Arch) -> Self {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let Some(suite) = debian_suite(&release) else {
            return Self {
                arch,
                suite: DEFAULT_SUITE.to_owned(),
                sources: Vec::new(),
                sources_text: String::new(),
            };
        };
        let sources: Vec<PathBuf> = [
            "/etc/apt/sources.list",
            "/etc/apt/sources.list.d/debian.sources",
        ]
        .iter()
        .map(PathBuf::from)
        .filter(|path| has_source(path))
        .collect();
        let sources_text = sources
            .iter()
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .collect();
        Self {
            arch,
            suite,
            sources,
            sources_text,
        }
    }

    pub(super) fn packages(&self) -> String {
        let kernel = format!("{KERNEL}-{}", self.arch.debian());
        PACKAGES
            .map(|package| if package == KERNEL { &kernel } else { package })
            .join(",")
    }

    /// What mmdebstrap is told of the image, with the hooks of `work` and the files that they leave in `target`.
    pub(super) fn arguments(&self, work: &Path, target: &Path) -> Vec<String> {
        let local = self.arch == Arch::HOST;
        let mut arguments: Vec<String> = [
            "--variant=minbase",
            "--format=null",
            "--aptopt=Acquire::Languages \"none\"",
            "--aptopt=APT::Install-Recommends \"false\"",
        ]
        .map(str::to_owned)
        .into();
        arguments.push(format!("--architectures={}", self.arch.debian()));
        arguments.push(format!("--include={}", self.packages()));
        arguments.extend(EXCLUDED.map(|path| format!("--dpkgopt=path-exclude={path}")));
        arguments.push(format!(
            "--customize-hook=\"{}\" \"$1\" \"{}\" {}",
            work.join("customize.sh").display(),
            work.join("init.sh").display(),
            if local { "tree" } else { "" }
        ));
        let tree = local.then_some(TREE_ARCHIVE);
        for name in [ROOT, super::KERNEL, INITRD].into_iter().chain(tree) {
            arguments.push(format!(
                "--customize-hook=download /var/lib/lab/image/{name} \"{}\"",
                target.join(name).display()
            ));
        }
        arguments.extend([self.suite.clone(), "-".to_owned()]);
        arguments
    }

    /// 16 hexadecimal digits over everything that shapes the image.
    pub(super) fn hash(&self) -> String {
        let arguments = self.arguments(Path::new("work"), Path::new("target"));
        digest::short_of(&[&arguments.join("\n"), &self.sources_text, INIT, CUSTOMIZE])
    }
}

fn debian_suite(release: &str) -> Option<String> {
    let value = |key: &str| {
        release
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .map(|value| value.trim_matches('"').to_owned())
    };
    (value("ID")? == "debian").then(|| value("VERSION_CODENAME"))?
}

fn has_source(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| {
        text.lines()
            .any(|line| line.starts_with("deb ") || line.starts_with("Types:"))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_suite_is_the_hosts_on_debian_only() {
        let debian = "ID=debian\nVERSION_CODENAME=trixie\n";
        assert_eq!(debian_suite(debian).unwrap(), "trixie");
        let ubuntu = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n";
        assert_eq!(debian_suite(ubuntu), None);
    }

    #[test]
    fn another_suite_or_architecture_is_another_image() {
        let recipe = |arch, suite: &str| ImageRecipe {
            arch,
            suite: suite.to_owned(),
            sources: Vec::new(),
            sources_text: String::new(),
        };
        assert_eq!(recipe(Arch::X86, "a").hash(), recipe(Arch::X86, "a").hash());
        assert_ne!(recipe(Arch::X86, "a").hash(), recipe(Arch::X86, "b").hash());
        assert_ne!(recipe(Arch::X86, "a").hash(), recipe(Arch::Arm, "a").hash());
        assert!(
            recipe(Arch::Arm, "a")
                .packages()
                .contains("linux-image-arm64")
        );
        assert_eq!(recipe(Arch::X86, "a").hash().len(), 16);
    }
}
