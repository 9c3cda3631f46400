//! What makes a node itself: one archive of files, unpacked over the image before the node's first init.

mod archive;
mod container;
mod files;

use sha2::{Digest, Sha256};

use crate::profile::{LabNode, LabProfile, NodeNetworkManager, SudoMode};
use crate::{address, digest};
use archive::SeedArchive;
pub(crate) use container::adaptation;

/// The secrets of one node that go into its seed.
#[derive(Debug)]
pub(crate) struct NodeSecrets<'a> {
    pub(crate) machine_id: &'a str,
    pub(crate) host_key: &'a str,
    pub(crate) host_key_public: &'a str,
    /// The public key that may log in as the user and as root.
    pub(crate) authorized: &'a str,
}

/// The archive of `node`, the `index`th of the profile.
pub(crate) fn seed(
    profile: &LabProfile,
    index: usize,
    node: &LabNode,
    identity: &NodeSecrets<'_>,
) -> std::io::Result<Vec<u8>> {
    let mut archive = SeedArchive::new();
    identify(&mut archive, profile, node, identity)?;
    archive.file("etc/sudoers.d/lab", 0o440, files::sudoers(node.sudo))?;
    name_interfaces(&mut archive, profile, node)?;
    configure_network(&mut archive, index, node)?;
    add_rdma(&mut archive, node)?;
    if let Some(fabric) = &profile.infiniband
        && fabric.node == node.name
    {
        files::infiniband(&mut archive, fabric)?;
    }
    archive.finish()
}

/// A digest of what the seeds hold beside secrets: part of a snapshot's key.
pub(crate) fn shape(profile: &LabProfile) -> String {
    let nobody = NodeSecrets {
        machine_id: "",
        host_key: "",
        host_key_public: "",
        authorized: "",
    };
    let mut hasher = Sha256::new();
    for (index, node) in profile.nodes.iter().enumerate() {
        hasher.update(seed(profile, index, node, &nobody).unwrap_or_default());
    }
    digest::short(hasher)
}

fn identify(
    archive: &mut SeedArchive,
    profile: &LabProfile,
    node: &LabNode,
    identity: &NodeSecrets<'_>,
) -> std::io::Result<()> {
    archive.file("etc/hostname", 0o644, format!("{}\n", node.name))?;
    archive.file("etc/modprobe.d/lab.conf", 0o644, files::modprobe())?;
    archive.file("etc/systemd/system.conf.d/lab.conf", 0o644, files::SYSTEMD)?;
    archive.file("etc/hosts", 0o644, files::hosts(profile, node))?;
    archive.file(
        "etc/machine-id",
        0o444,
        format!("{}\n", identity.machine_id),
    )?;
    archive.file("etc/ssh/ssh_host_ed25519_key", 0o600, identity.host_key)?;
    archive.file(
        "etc/ssh/ssh_host_ed25519_key.pub",
        0o644,
        identity.host_key_public,
    )?;
    archive.file("etc/ssh/sshd_config.d/lab.conf", 0o644, files::SSHD)?;
    archive.directory("root/.ssh", 0o700)?;
    archive.file("root/.ssh/authorized_keys", 0o600, identity.authorized)?;
    archive.owned_by_user();
    archive.directory("home/lab/.ssh", 0o700)?;
    archive.file("home/lab/.ssh/authorized_keys", 0o600, identity.authorized)?;
    archive.owned_by_root();
    Ok(())
}

fn name_interfaces(
    archive: &mut SeedArchive,
    profile: &LabProfile,
    node: &LabNode,
) -> std::io::Result<()> {
    let fabric = node.nics().map(|(_, nic)| {
        let mac = address::mac(&profile.name, &node.name, nic.mac_offset);
        (nic.netdev.as_str(), mac)
    });
    let mac = address::management_mac(&profile.name, &node.name);
    for (name, mac) in fabric.chain([(node.management.as_str(), mac)]) {
        let path = format!("etc/systemd/network/10-lab-{name}.link");
        archive.file(&path, 0o644, files::link(name, &mac))?;
    }
    Ok(())
}

fn configure_network(
    archive: &mut SeedArchive,
    index: usize,
    node: &LabNode,
) -> std::io::Result<()> {
    let address = address::management(index);
    match node.network {
        NodeNetworkManager::NetworkManager => {
            archive.file(
                "etc/netplan/01-network-manager-all.yaml",
                0o600,
                files::NETPLAN_NETWORK_MANAGER,
            )?;
            archive.file(
                "etc/NetworkManager/system-connections/management.nmconnection",
                0o600,
                files::connection(&node.management, &address),
            )
        }
        NodeNetworkManager::Networkd => {
            archive.symlink("etc/systemd/system/NetworkManager.service", "/dev/null")?;
            archive.file(
                "etc/netplan/50-management.yaml",
                0o600,
                files::netplan_networkd(&node.management, &address),
            )
        }
    }
}

fn add_rdma(archive: &mut SeedArchive, node: &LabNode) -> std::io::Result<()> {
    archive.file(
        "etc/systemd/system/lab-rxe@.service",
        0o644,
        files::RXE_UNIT,
    )?;
    archive.file(
        "etc/systemd/system/lab-rxe-carrier.service",
        0o644,
        files::CARRIER_UNIT,
    )?;
    archive.file(
        "usr/local/lib/lab/rxe-carrier",
        0o755,
        files::CARRIER_SCRIPT,
    )?;
    archive.symlink(
        "etc/systemd/system/multi-user.target.wants/lab-rxe-carrier.service",
        "../lab-rxe-carrier.service",
    )?;
    for (_, nic) in node.nics() {
        let Some(rdma) = &nic.rdma else { continue };
        let netdev = &nic.netdev;
        archive.file(
            &format!("etc/lab/rxe/{netdev}"),
            0o644,
            format!("RDMA={rdma}\n"),
        )?;
        archive.symlink(
            &format!("etc/systemd/system/multi-user.target.wants/lab-rxe@{netdev}.service"),
            "../lab-rxe@.service",
        )?;
    }
    Ok(())
}

impl SudoMode {
    const fn rule(self) -> &'static str {
        match self {
            Self::Free => "lab ALL=(ALL:ALL) NOPASSWD: ALL\n",
            Self::Password => "lab ALL=(ALL:ALL) ALL\n",
        }
    }
}
