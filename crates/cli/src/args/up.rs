//! The command line of `up`.

use crosstie_report::suggested_command::{CommandContext, CommandVerb};

use super::{MemberArgs, RootArgs, change::DEFAULT_GUARD_SECONDS};

/// From cabled to proven in one go: scan, cabling, doctor, plan, apply, proof, measurement, settings
///
/// Run it again at any time, also after it was interrupted: what is done already is left as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/up.txt"))]
pub(crate) struct UpArgs {
    #[command(flatten)]
    pub(crate) members: MemberArgs,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// Show every line that changes, not only a summary
    #[arg(long)]
    pub(crate) diff: bool,

    /// A node rolls back by itself unless it is confirmed within so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_GUARD_SECONDS, value_parser = clap::value_parser!(u32).range(30..=3600))]
    pub(crate) guard: u32,

    /// Go on although there are faults that the plan does not mend, or programs that use RDMA on a port that changes
    #[arg(long)]
    pub(crate) force: bool,

    /// Do not measure: the cluster is "reachable" then, not "proven"
    #[arg(long)]
    pub(crate) no_measure: bool,

    /// Make no page of what was measured
    #[arg(long)]
    pub(crate) no_report: bool,

    /// Print JSON (see `crosstie schema up`)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) root: RootArgs,
}

impl UpArgs {
    /// The command that does the same again.
    pub(crate) fn again(&self) -> String {
        let guard = (self.guard != DEFAULT_GUARD_SECONDS).then_some(self.guard);
        let again = self.offer().again(CommandVerb::Up, guard, self.force);
        let flags = [
            (" --no-measure", self.no_measure),
            (" --no-report", self.no_report),
        ];
        let flags = flags.into_iter().filter(|(_, given)| *given);
        flags.fold(again, |again, (flag, _)| again + flag)
    }

    pub(crate) fn offer(&self) -> CommandContext {
        CommandContext {
            yes: self.yes,
            ..self.members.targets(&self.root).offer()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::{Arguments, CliCommand};

    #[test]
    fn commands_that_follow_have_the_options_that_were_used() {
        let whole =
            "crosstie up --guard 300 . spark-b --output sparks.toml --yes --ssh-config lab/ssh";
        let CliCommand::Up(up) = Arguments::parse_from(whole.split(' ')).command else {
            panic!()
        };
        assert_eq!(up.again(), whole);
        assert_eq!(
            up.offer()
                .for_cluster_file()
                .rollback("20261116T175500Z-1f2e3d4c"),
            "crosstie rollback --run 20261116T175500Z-1f2e3d4c --cluster sparks.toml --yes --ssh-config lab/ssh"
        );
    }
}
