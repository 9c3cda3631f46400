//! Commands that nobody types: nodes start them, or this program does.

use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum NodeCommand {
    /// Serve calls on standard input and output; started on nodes by the other commands
    #[command(hide = true)]
    Agent {
        /// End after so long without a word from the other side
        #[arg(long, value_name = "MILLISECONDS")]
        silence: Option<u32>,
        /// What the build is known by, where whoever starts this has just looked
        #[arg(long, value_name = "SHA256")]
        build: Option<String>,
    },

    /// Roll back a change that nobody confirmed. The node itself starts this
    #[command(hide = true)]
    Guard {
        transaction: String,
        /// No manager of the network runs yet
        #[arg(long)]
        boot: bool,
        /// Not before this moment, in milliseconds of `CLOCK_BOOTTIME`
        #[arg(long, value_name = "MILLISECONDS", conflicts_with = "boot")]
        wait_until: Option<u64>,
    },

    /// Serve an engine on standard input and output; started by the agent
    #[command(hide = true)]
    Worker {
        engine: String,
        /// Ends by itself after so many seconds
        #[arg(long, value_name = "SECONDS")]
        lifetime: u64,
        /// Instead of this machine's libibverbs
        #[arg(long, value_name = "FILE")]
        library: Option<PathBuf>,
    },

    /// Run one rank of a job and look after the others; started by the rank's unit
    #[command(hide = true)]
    Rank { folder: PathBuf },

    /// Run a command on another node of a job; started by mpirun in place of ssh
    #[command(hide = true)]
    RankShell {
        host: String,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },

    /// Set what ports lose with every boot; started by the boot unit that `apply` installs
    #[command(hide = true)]
    Restore { file: PathBuf },
}
