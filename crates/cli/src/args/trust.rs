//! Its command line.

use crosstie_trust::Fingerprint;

use super::ConnectArgs;

/// ssh keys and host keys: this machine → nodes, and node ↔ node
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/trust.txt"))]
pub(crate) struct TrustArgs {
    /// Nodes, as ssh takes them; `.` is this machine. They will be able to log in to each other
    #[arg(value_name = "NODE", required_unless_present_any = ["undo", "lab"])]
    pub(crate) nodes: Vec<String>,

    /// The nodes of this running lab (see `crosstie lab`): all, or those that are named
    #[arg(long, value_name = "NAME", conflicts_with = "ssh_config")]
    pub(crate) lab: Option<String>,

    /// Show what would be changed, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Undo it on these nodes, or on all, and on this machine
    #[arg(long)]
    pub(crate) undo: bool,

    /// Forget nodes that cannot be reached any more, here and on the others
    #[arg(long, requires = "undo")]
    pub(crate) forget: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Approve of a host key by its fingerprint, as `ssh-keygen -lf` shows it; may be given several times
    #[arg(long, value_name = "SHA256:…")]
    pub(crate) fingerprint: Vec<Fingerprint>,

    /// Read the password for logins from this file descriptor
    #[arg(long, value_name = "N", value_parser = super::reach::descriptor)]
    pub(crate) password_fd: Option<u32>,

    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}
