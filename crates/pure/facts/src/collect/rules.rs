//! The allow-list: every file that collection reads.

use std::borrow::Cow;

use crosstie_model::distribution::{PACKAGE_DATABASES, PackageDatabase};

use super::{filter, secret};
use crate::{
    joined::{joined, total},
    raw::CaptureEntry,
    renderer,
};

/// Files to read, and what to keep of each.
#[derive(Clone, Copy)]
pub struct CollectRule {
    /// Components may be names, globs or `{alternatives}`; `$release` is the running kernel's.
    pub path: &'static str,
    pub keep: FileFilter,
    /// Not so: a live machine tells it over netlink, all interfaces at once, and only captures by other hands have the
    /// file.
    pub live: bool,
}

/// How much of a file a capture holds.
#[derive(Clone, Copy)]
pub enum FileFilter {
    /// As it is, less comments: files that hold one value or a table of the kernel's.
    Whole,
    /// What the filter lets through; nothing at all where it returns `None`.
    Filtered(fn(&str) -> Option<String>),
    /// As `Filtered`, for long files of stanzas that empty lines divide: the filter sees some whole stanzas at a time.
    Stanzas(fn(&str) -> Option<String>),
    /// As `Filtered`, and even the names of unreadable files stay here.
    Private(fn(&str) -> Option<String>),
    /// Where a link points.
    Link,
    /// That it is there, and where it points if it is a link.
    Name,
    /// That it is there, and whether the user may open it.
    Access,
    /// A GID and its attributes, if it holds one.
    Gid,
}

impl FileFilter {
    /// The entry to record for a file that was read.
    pub(super) fn apply(self, bytes: &[u8]) -> Option<CaptureEntry> {
        let kept = match self {
            Self::Filtered(filter) | Self::Stanzas(filter) | Self::Private(filter) => {
                // A configuration file with one stray byte is still worth reading.
                filter::or_ours(&text(bytes), filter)
                    .map(|kept| CaptureEntry::File(kept.into_bytes()))
            }
            Self::Whole | Self::Gid => {
                filter::kernel_file(&text(bytes)).map(|kept| CaptureEntry::File(kept.into_bytes()))
            }
            Self::Link | Self::Name | Self::Access => None,
        };
        kept.and_then(secret::guarded)
    }
}

/// As `from_utf8_lossy`, which is slow on text that has nothing to lose.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

const fn whole(path: &'static str) -> CollectRule {
    rule(path, FileFilter::Whole)
}

const fn in_captures(path: &'static str) -> CollectRule {
    CollectRule {
        path,
        keep: FileFilter::Whole,
        live: false,
    }
}

pub(crate) const fn filtered(
    path: &'static str,
    filter: fn(&str) -> Option<String>,
) -> CollectRule {
    rule(path, FileFilter::Filtered(filter))
}

pub(crate) const fn rule(path: &'static str, keep: FileFilter) -> CollectRule {
    CollectRule {
        path,
        keep,
        live: true,
    }
}

/// Where a capture keeps the user's `~/.nccl.conf`.
pub const HOME_NCCL_CONF: &str = "home/.nccl.conf";
/// Where it keeps the file that `NCCL_CONF_FILE` names.
pub const NAMED_NCCL_CONF: &str = "home/nccl-conf-file";

/// The whole list. The groups have little in common, and each may be read by a thread of its own: a card's firmware
/// takes its time to answer for every counter.
pub const GROUPS: [&[CollectRule]; 5] = [
    RDMA,
    INTERFACES,
    PCI,
    &MACHINE_WITH_RENDERERS,
    &SOFTWARE_WITH_PACKAGES,
];

const RENDERERS: [CollectRule; total(renderer::RULES)] = joined(renderer::RULES);
const MACHINE_WITH_RENDERERS: [CollectRule; MACHINE.len() + RENDERERS.len()] =
    joined(&[MACHINE, &RENDERERS]);

const SOFTWARE_WITH_PACKAGES: [CollectRule; SOFTWARE.len() + PACKAGE_DATABASES.len()] =
    joined(&[&packages(), SOFTWARE]);

/// The lists of installed packages.
const fn packages() -> [CollectRule; PACKAGE_DATABASES.len()] {
    let mut rules = [package_database(PACKAGE_DATABASES[0]); PACKAGE_DATABASES.len()];
    let mut at = 1;
    while at < rules.len() {
        rules[at] = package_database(PACKAGE_DATABASES[at]);
        at += 1;
    }
    rules
}

const fn package_database(database: PackageDatabase) -> CollectRule {
    match database {
        PackageDatabase::Dpkg { path } => {
            rule(below_root(path), FileFilter::Stanzas(filter::dpkg_status))
        }
    }
}

/// As paths are in captures.
pub(crate) const fn below_root(path: &'static str) -> &'static str {
    path.split_at(1).1
}

/// RDMA devices and what user space sees of them.
#[rustfmt::skip] // one rule a line reads as the table it is
const RDMA: &[CollectRule] = &[
    whole("sys/class/infiniband/*/{node_guid,sys_image_guid,node_type,fw_ver,board_id,hca_type,parent}"),
    rule("sys/class/infiniband/*/device", FileFilter::Link),
    whole("sys/class/infiniband/*/ports/*/{state,phys_state,rate,link_layer,lid,sm_lid}"),
    whole("sys/class/infiniband/*/ports/*/{counters,hw_counters}/*"),
    rule("sys/class/infiniband/*/ports/*/gids/*", FileFilter::Gid),
    whole("sys/class/infiniband/*/tc/*/traffic_class"),
    whole("sys/class/infiniband_verbs/*/ibdev"),
    rule("dev/infiniband/{rdma_cm,uverbs*}", FileFilter::Access),
    whole("sys/kernel/config/rdma_cm/*/ports/*/{default_roce_mode,default_roce_tos}"),
];

/// Network interfaces.
#[rustfmt::skip] // one rule a line reads as the table it is
const INTERFACES: &[CollectRule] = &[
    whole("sys/class/net/*/{carrier_changes,speed,dev_id,dev_port}"),
    in_captures("sys/class/net/*/{address,mtu,operstate,carrier,ifindex,type,flags,phys_switch_id,phys_port_name}"),
    in_captures("sys/class/net/*/statistics/{rx_bytes,tx_bytes,rx_errors,tx_errors,rx_dropped,tx_dropped}"),
    whole("sys/class/net/*/qos/{trust,pfc,dscp2prio}"),
    whole("sys/class/net/*/ecn/{roce_np,roce_rp}/enable/*"),
    rule("sys/class/net/*/device", FileFilter::Link),
    CollectRule { path: "sys/class/net/*/master", keep: FileFilter::Link, live: false },
];

/// The PCI tree.
#[rustfmt::skip] // one rule a line reads as the table it is
const PCI: &[CollectRule] = &[
    whole("sys/bus/pci/devices/*/{vendor,device,class,subsystem_vendor,subsystem_device}"),
    whole("sys/bus/pci/devices/*/{current_link_speed,current_link_width,max_link_speed,max_link_width}"),
    whole("sys/bus/pci/devices/*/numa_node"),
    rule("sys/bus/pci/devices/*/{driver,iommu_group,physfn}", FileFilter::Link),
    whole("sys/bus/pci/devices/*/hwmon/*/{name,temp*_input,temp*_crit,temp*_label}"),
    whole("sys/kernel/iommu_groups/*/type"),
    whole("sys/module/pcie_aspm/parameters/policy"),
];

/// Drivers and user space.
#[rustfmt::skip] // one rule a line reads as the table it is
const SOFTWARE: &[CollectRule] = &[
    filtered("proc/modules", filter::modules),
    whole("sys/module/{mlx5_core,mlx5_ib,ib_core,nvidia,nvidia_peermem,nv_peer_mem,rdma_rxe}/version"),
    filtered("lib/modules/$release/modules.dep", filter::module_paths),
    filtered("proc/driver/nvidia/version", filter::nvidia_version),
    rule("{usr/lib,usr/local/lib}/{libnccl.so.2,libnccl-net.so,libibverbs.so.1,librdmacm.so.1}", FileFilter::Name),
    rule("usr/lib/*-linux-gnu/{libnccl.so.2,libnccl-net.so,libibverbs.so.1,librdmacm.so.1,libcuda.so.1}", FileFilter::Name),
    rule("usr/local/{cuda,cuda-1*,cuda-2*}/lib64/{libnccl.so.2,libnccl-net.so}", FileFilter::Name),
    rule("usr/lib/python3/dist-packages/nvidia_nccl_cu*.dist-info", FileFilter::Name),
    rule("usr/local/lib/python3*/{dist-packages,site-packages}/nvidia_nccl_cu*.dist-info", FileFilter::Name),
    rule("usr/{lib/python3/dist-packages,local/lib/python3*/dist-packages,local/lib/python3*/site-packages}/nvidia/nccl/lib/libnccl.so.2", FileFilter::Name),
    rule("sys/fs/cgroup/system.slice/{opensm*,chrony*,ntp*,openntpd,systemd-timesyncd,ptp4l*,phc2sys*,timemaster}.service", FileFilter::Name),
    rule("sys/fs/cgroup/system.slice/{docker,containerd,lldpad,openibd,nvidia-persistenced,firewalld,ufw,ssh,sshd}.service", FileFilter::Name),
];

/// Everything else, but what configures interfaces.
#[rustfmt::skip] // one rule a line reads as the table it is
const MACHINE: &[CollectRule] = &[
    // The machine
    filtered("etc/hostname", filter::first_word),
    filtered("etc/os-release", filter::os_release),
    filtered("etc/machine-id", filter::machine_id),
    whole("sys/class/dmi/id/{sys_vendor,product_name,board_name,bios_version}"),
    whole("proc/sys/kernel/{arch,hostname,osrelease}"),
    whole("proc/sys/kernel/random/boot_id"),
    filtered("proc/cmdline", filter::kernel_parameters),
    filtered("proc/meminfo", filter::meminfo),
    filtered("proc/cpuinfo", filter::cpuinfo),
    whole("sys/devices/system/cpu/online"),
    whole("sys/devices/system/node/node*/cpulist"),
    filtered("sys/devices/system/node/node*/meminfo", filter::node_meminfo),

    // Limits and kernel settings
    filtered("proc/self/limits", filter::process_limits),
    filtered("etc/security/limits.conf", filter::login_limits),
    filtered("etc/security/limits.d/*.conf", filter::login_limits),
    filtered("etc/systemd/{system,user}.conf", filter::manager_limits),
    filtered("etc/systemd/{system,user}.conf.d/*.conf", filter::manager_limits),
    whole("proc/sys/net/core/{rmem_max,wmem_max,rmem_default,wmem_default,netdev_max_backlog}"),
    whole("proc/sys/net/ipv4/{tcp_rmem,tcp_wmem,tcp_mtu_probing,tcp_congestion_control,ip_forward}"),
    whole("proc/sys/net/ipv4/conf/*/{arp_ignore,arp_announce,arp_filter,rp_filter}"),
    whole("proc/sys/net/ipv6/conf/*/disable_ipv6"),
    whole("proc/sys/kernel/numa_balancing"),

    // What survives a reboot
    filtered("etc/modules", filter::module_names),
    filtered("{etc,run,usr/lib}/modules-load.d/*.conf", filter::module_names),
    filtered("etc/sysctl.conf", filter::sysctl_file),
    filtered("{etc,run,usr/lib}/sysctl.d/*.conf", filter::sysctl_file),
    rule("etc/nvidia/cx7-hotplug-enabled", FileFilter::Name),

    // What this tool has written, where no other rule reads it (see filter::or_ours)
    filtered("etc/systemd/system/crosstie-fabric.service", filter::nothing),
    filtered("etc/crosstie/fabric.toml", filter::nothing),
    filtered("etc/hosts", filter::block),
    rule("etc/systemd/system/*.wants/crosstie-*", FileFilter::Name),

    // Where it runs
    filtered("run/systemd/container", filter::first_word),
    rule("{.dockerenv,run/.containerenv}", FileFilter::Name),

    // NCCL
    filtered("etc/nccl.conf", filter::nccl_conf),
    filtered(HOME_NCCL_CONF, filter::engine_settings),
    filtered(NAMED_NCCL_CONF, filter::engine_settings),
    filtered("etc/environment", filter::engine_settings),
    filtered("etc/profile.d/*.sh", filter::engine_settings),
];
