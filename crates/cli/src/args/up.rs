//! The command line of `up`.

use crosstie_report::offer::{Offer, Verb};

use super::{MemberArgs, RootArgs, change::GUARD};

/// From cabled to proven in one go: scan, cabling, doctor, plan, apply, proof, settings
///
/// Run it again at any time, also after it was interrupted: what is done already is left as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  crosstie up . spark-b                      this machine and another
  crosstie up spark-a spark-b --yes          nobody is asked
  crosstie up --lab two-sparks               every node of a lab
  crosstie up                                the nodes of cluster.toml again

Faults that the plan does not mend stop it before anything is changed. The plan is shown, and one
question asked. A node that cannot be reached as before goes back by itself.

Exit status: 0 every address answers every other; 1 a fault, a refusal or a node that went back
ended it, or the proof fails; 2 a node could not be read, or is lost.")]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) members: MemberArgs,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// A node goes back by itself unless it is confirmed within so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = GUARD, value_parser = clap::value_parser!(u32).range(30..=3600))]
    pub(crate) guard: u32,

    /// Go on although there are faults that the plan does not mend, or programs that use RDMA on a port that changes
    #[arg(long)]
    pub(crate) force: bool,

    /// Print JSON (see `crosstie schema up`)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) root: RootArgs,
}

impl Up {
    /// The command that does the same again.
    pub(crate) fn again(&self) -> String {
        let guard = (self.guard != GUARD).then_some(self.guard);
        let offer = self.offer();
        let command = offer.command(Verb::Up).option("guard", guard);
        command.flag("force", self.force).to_string()
    }

    /// The command that undoes a run of it.
    pub(crate) fn undo(&self, run: &str) -> String {
        let offer = self.same_nodes();
        let command = offer.command(Verb::Rollback);
        command.option("run", Some(run)).to_string()
    }

    fn offer(&self) -> Offer {
        Offer {
            yes: self.yes,
            ..self.members.targets(&self.root).offer()
        }
    }

    /// How other commands are told of the same nodes: by the cluster file, which names them now.
    pub(crate) fn same_nodes(&self) -> Offer {
        let mut offer = self.offer();
        if offer.lab.is_none() {
            offer.nodes.clear();
        }
        offer
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::{Arguments, Command};

    #[test]
    fn commands_that_follow_have_the_options_that_were_used() {
        let whole =
            "crosstie up --guard 300 . spark-b --output sparks.toml --yes --ssh-config lab/ssh";
        let Command::Up(up) = Arguments::parse_from(whole.split(' ')).command else {
            panic!()
        };
        assert_eq!(up.again(), whole);
        assert_eq!(
            up.undo("20261116T175500Z-1f2e3d4c"),
            "crosstie rollback --run 20261116T175500Z-1f2e3d4c --cluster sparks.toml --yes --ssh-config lab/ssh"
        );
    }
}
