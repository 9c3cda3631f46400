//! What depends on the distribution: what its packages are called, how they are installed, and where its programs read their settings.
//! To support another one, add its table here.

use std::time::Duration;

use crate::{Facts, facts::host::Distro};

/// One distribution. All fields are needed of each.
#[derive(Debug)]
pub struct Distribution {
    pub name: &'static str,
    /// `ID` in os-release.
    pub id: &'static str,
    pub package_manager: PackageManager,
    pub package_database: PackageDatabase,
    pub packages: PackageNames,
    pub folders: Folders,
    pub time_services: TimeServices,
    /// The commands that add a kernel parameter for every later start.
    pub add_kernel_parameter: fn(&str) -> Vec<String>,
}

/// How packages are installed.
#[derive(Debug)]
pub struct PackageManager {
    pub program: &'static str,
    /// What its environment needs so that it asks nobody.
    pub environment: &'static [(&'static str, &'static str)],
    /// Its arguments before the names of packages. It waits this long while another one is at work.
    pub install: fn(Duration) -> Vec<String>,
    /// What a person types before the names of packages.
    pub typed: &'static str,
    /// What a person types before the name of a package to see its version.
    pub query: &'static str,
    /// The same as `typed` in the recipe of a container's image.
    pub in_image: &'static str,
}

/// Where the installed packages are listed, and in which format.
#[derive(Debug, Clone, Copy)]
pub enum PackageDatabase {
    /// dpkg's status: stanzas of `Package:`, `Status:`, `Version:`.
    Dpkg { path: &'static str },
}

/// Names of packages.
#[derive(Debug)]
pub struct PackageNames {
    /// What is compared between nodes.
    pub rdma_core: &'static str,
    /// All that programs need to use RDMA.
    pub rdma: &'static [&'static str],
    /// Those of them that bring the rest.
    pub rdma_install: &'static [&'static str],
    /// The library itself.
    pub rdma_library: &'static str,
    /// Its parts that know devices.
    pub rdma_providers: &'static str,
    pub nccl: &'static str,
    pub subnet_manager: &'static str,
    pub time_service: &'static str,
    pub ssh_client: &'static str,
    pub ssh_server: &'static str,
    /// The program `ip`.
    pub ip: &'static str,
    /// For the running kernel, as a shell takes it.
    pub kernel_headers: &'static str,
    /// RDMA modules of the running kernel, as a shell takes it, where they have a package of their own.
    pub rdma_modules: Option<&'static str>,
    /// NVIDIA's drivers for the kernel. The kernel's version may follow.
    pub vendor_drivers: &'static [&'static str],
    /// A scan shows their versions.
    pub shown: &'static [&'static str],
    /// How the names of packages that are read begin, less a leading `lib`. Besides, those of whoever configures interfaces.
    pub read: &'static [&'static str],
    /// Further ones, by their whole names.
    pub read_whole: &'static [&'static str],
}

/// Folders of drop-ins that files are written to. What is read of each is in the allow-list of `crosstie-facts`.
#[derive(Debug)]
pub struct Folders {
    pub sysctl: &'static str,
    /// Of `pam_limits`.
    pub limits: &'static str,
    /// Settings of systemd and of its user instances.
    pub system_manager: &'static str,
    pub user_manager: &'static str,
    pub modules: &'static str,
    /// Units of the machine's own, and links that start them.
    pub units: &'static str,
}

/// Programs that set the clock, and how systemd finds them.
#[derive(Debug)]
pub struct TimeServices {
    /// How the names of their services begin. Two of them would pull the clock to and fro.
    pub services: &'static [&'static str],
    /// Folders in which packages list their services, one a line (systemd-timedated.service(8)).
    pub lists: &'static [&'static str],
    /// Other names that services take when they are enabled.
    pub aliases: &'static [&'static str],
    /// Targets that they are started by.
    pub targets: &'static [&'static str],
}

/// A program with its arguments and what it needs in its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCall {
    pub program: &'static str,
    pub arguments: Vec<String>,
    pub environment: &'static [(&'static str, &'static str)],
}

const DISTRIBUTIONS: &[&Distribution] = &[&DEBIAN, &UBUNTU];

/// Every one that some distribution has.
pub const PACKAGE_DATABASES: &[PackageDatabase] = &[DPKG];
/// All of them, for people.
pub const PACKAGE_LISTS: &str = DPKG.path();

/// Also what every distribution is taken for that is not listed. Texts that cannot know a machine's name it.
pub const DEBIAN: Distribution = Distribution {
    name: "Debian",
    id: "debian",
    package_manager: APT,
    package_database: DPKG,
    packages: DEBIAN_PACKAGES,
    folders: FOLDERS,
    time_services: TimeServices {
        services: &[
            "systemd-timesyncd",
            "chrony",
            "ntp",
            "openntpd",
            "ptp4l",
            "phc2sys",
            "timemaster",
        ],
        lists: &[
            "/etc/systemd/ntp-units.d",
            "/run/systemd/ntp-units.d",
            "/usr/local/lib/systemd/ntp-units.d",
            "/usr/lib/systemd/ntp-units.d",
        ],
        aliases: &[
            "dbus-org.freedesktop.timesync1.service",
            "chronyd.service",
            "ntp.service",
            "ntpd.service",
        ],
        targets: &["sysinit.target.wants", "multi-user.target.wants"],
    },
    add_kernel_parameter: grub_drop_in,
};

/// DGX OS says that it is Ubuntu, too.
pub const UBUNTU: Distribution = Distribution {
    name: "Ubuntu",
    id: "ubuntu",
    packages: PackageNames {
        rdma_modules: Some(r#""linux-modules-extra-$(uname -r)""#),
        ..DEBIAN_PACKAGES
    },
    ..DEBIAN
};

const APT: PackageManager = PackageManager {
    program: "apt-get",
    environment: &[("DEBIAN_FRONTEND", "noninteractive")],
    install: apt_install,
    typed: "sudo apt install",
    query: "dpkg -s",
    in_image: "apt-get install -y",
};

const DPKG: PackageDatabase = PackageDatabase::Dpkg {
    path: "/var/lib/dpkg/status",
};

const DEBIAN_PACKAGES: PackageNames = PackageNames {
    rdma_core: "rdma-core",
    rdma: &["rdma-core", "libibverbs1", "ibverbs-providers"],
    rdma_install: &["rdma-core", "ibverbs-providers"],
    rdma_library: "libibverbs1",
    rdma_providers: "ibverbs-providers",
    nccl: "libnccl2",
    subnet_manager: "opensm",
    time_service: "systemd-timesyncd",
    ssh_client: "openssh-client",
    ssh_server: "openssh-server",
    ip: "iproute2",
    kernel_headers: r#""linux-headers-$(uname -r)""#,
    rdma_modules: None,
    vendor_drivers: &[
        "mlnx-ofed-kernel-dkms",
        "mlnx-ofed-kernel-modules",
        "doca-ofed-kernel",
        "doca-kernel",
    ],
    shown: &[
        "rdma-core",
        "mlnx-ofed-kernel-dkms",
        "doca-ofed",
        "perftest",
        "opensm",
    ],
    read: &[
        "rdma",
        "ibverbs",
        "ibumad",
        "ibmad",
        "ibnetdisc",
        "ibutils",
        "ibdiag",
        "ibacm",
        "infiniband",
        "mlnx",
        "mlx",
        "ofed",
        "doca",
        "mft",
        "mstflint",
        "perftest",
        "opensm",
        "ucx",
        "ucc",
        "openmpi",
        "nccl",
        "nvidia",
        "cuda",
        "iproute2",
        "ethtool",
        "nftables",
        "iptables",
        "ufw",
        "firewalld",
        "chrony",
        "ntp",
        "linux-modules-extra",
        "linux-modules-nvidia",
        "openssh-server",
        "docker",
        "podman",
        "containerd",
        "lldpad",
        "iperf3",
        "avahi-daemon",
        "systemd-timesyncd",
    ],
    read_whole: &["systemd", "libc6"],
};

const FOLDERS: Folders = Folders {
    sysctl: "/etc/sysctl.d",
    limits: "/etc/security/limits.d",
    system_manager: "/etc/systemd/system.conf.d",
    user_manager: "/etc/systemd/user.conf.d",
    modules: "/etc/modules-load.d",
    units: "/etc/systemd/system",
};

impl Distribution {
    pub fn of(distro: &Distro) -> &'static Self {
        let own = |known: &&&Self| distro.id.known().is_some_and(|id| id == known.id);
        DISTRIBUTIONS.iter().find(own).copied().unwrap_or(&DEBIAN)
    }

    /// Installs packages, and nothing that they only recommend.
    pub fn install<S: AsRef<str>>(&self, names: &[S], lock_timeout: Duration) -> ProgramCall {
        let PackageManager {
            program,
            environment,
            install,
            ..
        } = self.package_manager;
        let mut arguments = install(lock_timeout);
        arguments.extend(names.iter().map(|name| name.as_ref().to_owned()));
        ProgramCall {
            program,
            arguments,
            environment,
        }
    }

    /// The command with which a person installs packages.
    pub fn install_typed(&self, names: &[&str]) -> String {
        format!("{} {}", self.package_manager.typed, names.join(" "))
    }
}

/// Whether packages of this name are read, on any distribution.
pub fn is_read(name: &str) -> bool {
    let stem = name.strip_prefix("lib").unwrap_or(name);
    let mut all = DISTRIBUTIONS.iter().map(|one| &one.packages);
    all.any(|packages| {
        let is_whole = packages.read_whole.contains(&name);
        is_whole || packages.read.iter().any(|start| stem.starts_with(start))
    })
}

impl Facts {
    pub fn distribution(&self) -> &'static Distribution {
        Distribution::of(&self.host.distro)
    }
}

impl PackageDatabase {
    pub const fn path(self) -> &'static str {
        match self {
            Self::Dpkg { path } => path,
        }
    }
}

/// A lock of dpkg's is waited for.
fn apt_install(lock_timeout: Duration) -> Vec<String> {
    let wait = format!("DPkg::Lock::Timeout={}", lock_timeout.as_secs());
    let mut arguments = vec!["--option".to_owned(), wait];
    let install = ["install", "--yes", "--no-install-recommends", "--"];
    arguments.extend(install.map(str::to_owned));
    arguments
}

/// A parameter that is given twice has its last value, and GRUB's drop-ins come last.
fn grub_drop_in(parameter: &str) -> Vec<String> {
    let name = parameter.split('=').next().unwrap_or(parameter);
    let file = format!("/etc/default/grub.d/99-{}.cfg", name.replace('.', "-"));
    let line = format!(r#"GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {parameter}""#);
    vec![
        format!("echo '{line}' | sudo tee {file}"),
        "sudo update-grub".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reading;

    fn of(id: &str) -> &'static str {
        let distro = Distro {
            id: Reading::Value(id.to_owned()),
            ..Distro::default()
        };
        Distribution::of(&distro).name
    }

    #[test]
    fn a_distribution_is_told_by_its_id() {
        assert_eq!(of("ubuntu"), "Ubuntu");
        assert_eq!(of("debian"), "Debian");
        assert_eq!(of("linuxmint"), "Debian");
        assert_eq!(Distribution::of(&Distro::default()).name, "Debian");
    }

    #[test]
    fn apt_waits_for_its_lock_and_asks_nobody() {
        let call = UBUNTU.install(&["rdma-core"], Duration::from_secs(300));
        let line = format!("{} {}", call.program, call.arguments.join(" "));
        assert_eq!(
            line,
            "apt-get --option DPkg::Lock::Timeout=300 install --yes --no-install-recommends -- rdma-core"
        );
        assert_eq!(call.environment, [("DEBIAN_FRONTEND", "noninteractive")]);
    }
}
