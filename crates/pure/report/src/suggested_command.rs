//! Commands that are offered to a person: with how this command's nodes were named and reached, and quoted, so that each
//! runs as it is printed.

use std::fmt::{self, Write};

use crosstie_doctor::Diagnosis;
use crosstie_model::word;

/// As checks call it, wherever it is.
const CLUSTER_FILE: &str = "cluster.toml";

/// What another command about the same nodes needs to be told, too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandContext {
    /// Nodes that were named; none is all of the lab's, or of the cluster file's.
    pub nodes: Vec<String>,
    pub lab: Option<String>,
    /// Absent where it is found without being named.
    pub cluster: Option<String>,
    /// Root was asked for where it is not taken in any case.
    pub sudo: bool,
    pub become_password_fd: Option<u32>,
    pub ask_become_pass: bool,
    /// Seconds, unless they are the usual ones.
    pub timeout: Option<u32>,
    pub ssh_config: Option<String>,
    pub agent_dir: Option<String>,
    /// Nobody was to be asked.
    pub yes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandVerb {
    Scan,
    Doctor,
    Trust,
    Init,
    Plan,
    Apply,
    Rollback,
    Status,
    Uninstall,
    Up,
    Prove,
    Explain,
}

impl CommandVerb {
    const ALL: [Self; 12] = [
        Self::Scan,
        Self::Doctor,
        Self::Trust,
        Self::Init,
        Self::Plan,
        Self::Apply,
        Self::Rollback,
        Self::Status,
        Self::Uninstall,
        Self::Up,
        Self::Prove,
        Self::Explain,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::Doctor => "doctor",
            Self::Trust => "trust",
            Self::Init => "init",
            Self::Plan => "plan",
            Self::Apply => "apply",
            Self::Rollback => "rollback",
            Self::Status => "status",
            Self::Uninstall => "uninstall",
            Self::Up => "up",
            Self::Prove => "prove",
            Self::Explain => "explain",
        }
    }

    /// How it takes the cluster file, if at all.
    fn file(self) -> Option<&'static str> {
        match self {
            Self::Init | Self::Up => Some("output"),
            Self::Trust | Self::Explain => None,
            _ => Some("cluster"),
        }
    }

    /// Whether it takes root only where that is asked for.
    fn reads(self) -> bool {
        matches!(self, Self::Scan | Self::Doctor | Self::Prove)
    }

    fn needs_root(self) -> bool {
        !matches!(self, Self::Trust | Self::Explain)
    }

    fn asks(self) -> bool {
        matches!(
            self,
            Self::Apply | Self::Rollback | Self::Uninstall | Self::Up
        )
    }
}

impl CommandContext {
    /// About the same nodes.
    pub fn command(&self, verb: CommandVerb) -> SuggestedCommand<'_> {
        SuggestedCommand {
            offer: self,
            verb,
            sudo: false,
            options: String::new(),
        }
    }

    /// About these nodes, reached in the same way.
    #[must_use]
    pub fn for_nodes<'a>(&self, nodes: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            nodes: nodes.into_iter().map(str::to_owned).collect(),
            ..self.clone()
        }
    }

    /// About the same nodes, once a cluster file names them.
    #[must_use]
    pub fn for_cluster_file(&self) -> Self {
        let mut offer = self.clone();
        if offer.lab.is_none() {
            offer.nodes.clear();
        }
        offer
    }

    /// A text in which bare commands between backquotes are told what they need about the same nodes.
    pub fn completed(&self, text: &str) -> String {
        const BEGIN: &str = "`crosstie ";
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(BEGIN) {
            let (before, found) = rest.split_at(at);
            out += before;
            let inner = &found[BEGIN.len()..];
            let name = inner.split_once('`').map(|(name, _)| name);
            let verb = CommandVerb::ALL
                .into_iter()
                .find(|verb| Some(verb.name()) == name);
            if let Some(verb) = verb {
                // Writing to a String cannot fail.
                let _ = write!(out, "`{}`", self.command(verb));
                rest = &inner[verb.name().len() + 1..];
            } else {
                out += BEGIN;
                rest = inner;
            }
        }
        out + rest
    }

    /// For a person; programs get findings as the catalogue has them. `cluster` is the cluster file that was in force.
    #[must_use]
    pub fn completed_diagnosis(&self, mut diagnosis: Diagnosis, cluster: &str) -> Diagnosis {
        let of_nodes = diagnosis
            .nodes
            .iter_mut()
            .flat_map(|node| &mut node.findings);
        for finding in of_nodes.chain(&mut diagnosis.cluster) {
            // The commands at its end are lines of their own, and none of ours.
            finding.fix = self.completed(&finding.fix);
            let evidence = finding.evidence.iter_mut();
            for seen in evidence.filter(|seen| seen.source == CLUSTER_FILE) {
                cluster.clone_into(&mut seen.source);
            }
        }
        diagnosis
    }

    /// What changed nodes, once more. `guard` is absent where it is the usual one.
    pub fn again(&self, verb: CommandVerb, guard: Option<u32>, force: bool) -> String {
        let command = self.command(verb).option("guard", guard);
        command.flag("force", force).to_string()
    }

    /// What rolls a run back.
    pub fn rollback(&self, run: &str) -> String {
        let command = self.command(CommandVerb::Rollback);
        command.option("run", Some(run)).to_string()
    }

    /// What asks about a job, or ends it: `what` is a subcommand of `launch`.
    pub fn job(&self, what: &str, job: &str) -> String {
        let nodes = self.nodes.iter().map(|node| option("node", Some(node)));
        let nodes: String = nodes.collect();
        let lab = option("lab", self.lab.as_ref());
        let cluster = option("cluster", self.cluster.as_ref());
        let reach = self.reach(CommandVerb::Scan, false);
        format!(
            "crosstie launch {what} {}{nodes}{lab}{cluster}{reach}",
            word(job)
        )
    }

    fn reach(&self, verb: CommandVerb, sudo: bool) -> String {
        let path = |path: &Option<String>| path.clone();
        let root = verb.needs_root() && (!verb.reads() || sudo || self.sudo);
        let connect = [
            option("timeout", self.timeout),
            option("ssh-config", path(&self.ssh_config)),
            option("agent-dir", path(&self.agent_dir)),
        ];
        let password = [
            flag("sudo", verb.reads()),
            option("become-password-fd", self.become_password_fd),
            flag("ask-become-pass", self.ask_become_pass),
        ];
        let password = if root {
            password.concat()
        } else {
            String::new()
        };
        password + &connect.concat()
    }
}

/// One of them, to be printed.
#[derive(Debug, Clone)]
pub struct SuggestedCommand<'a> {
    offer: &'a CommandContext,
    verb: CommandVerb,
    sudo: bool,
    options: String,
}

impl SuggestedCommand<'_> {
    #[must_use]
    pub fn option(mut self, name: &str, value: Option<impl fmt::Display>) -> Self {
        self.options += &option(name, value);
        self
    }

    #[must_use]
    pub fn flag(mut self, name: &str, given: bool) -> Self {
        self.options += &flag(name, given);
        self
    }

    /// As root, also where the verb does without.
    #[must_use]
    pub fn as_root(mut self) -> Self {
        self.sudo = true;
        self
    }
}

impl fmt::Display for SuggestedCommand<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offer,
            verb,
            sudo,
            options,
        } = self;
        write!(formatter, "crosstie {}{options}", verb.name())?;
        if *verb == CommandVerb::Explain {
            return Ok(());
        }
        for node in &offer.nodes {
            write!(formatter, " {}", word(node))?;
        }
        formatter.write_str(&option("lab", offer.lab.as_ref()))?;
        if let Some(name) = verb.file() {
            formatter.write_str(&option(name, offer.cluster.as_ref()))?;
        }
        formatter.write_str(&flag("yes", offer.yes && verb.asks()))?;
        formatter.write_str(&offer.reach(*verb, *sudo))
    }
}

/// ` --NAME VALUE`, quoted where a shell needs it; nothing where there is no value.
fn option(name: &str, value: Option<impl fmt::Display>) -> String {
    value.map_or_else(String::new, |value| {
        format!(" --{name} {}", word(&value.to_string()))
    })
}

fn flag(name: &str, given: bool) -> String {
    if given {
        format!(" --{name}")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use crosstie_model::{Evidence, Finding, Severity};

    use super::*;

    #[test]
    fn each_verb_is_told_what_it_takes() {
        let offer = CommandContext {
            nodes: vec!["spark-a".to_owned(), "b; reboot".to_owned()],
            cluster: Some("my lab/sparks.toml".to_owned()),
            become_password_fd: Some(3),
            ssh_config: Some("lab/ssh".to_owned()),
            yes: true,
            ..CommandContext::default()
        };
        let shown = |verb| offer.command(verb).to_string();
        let nodes = "spark-a 'b; reboot'";
        let cluster = "--cluster 'my lab/sparks.toml'";
        assert_eq!(
            shown(CommandVerb::Status),
            format!(
                "crosstie status {nodes} {cluster} --become-password-fd 3 --ssh-config lab/ssh"
            )
        );
        assert_eq!(
            shown(CommandVerb::Trust),
            format!("crosstie trust {nodes} --ssh-config lab/ssh")
        );
        assert_eq!(
            shown(CommandVerb::Scan),
            format!("crosstie scan {nodes} {cluster} --ssh-config lab/ssh")
        );
        let doctor = offer
            .command(CommandVerb::Doctor)
            .flag("watch", true)
            .as_root();
        assert_eq!(
            doctor.to_string(),
            format!(
                "crosstie doctor --watch {nodes} {cluster} --sudo --become-password-fd 3 --ssh-config lab/ssh"
            )
        );
        assert_eq!(
            offer.for_nodes([]).command(CommandVerb::Up).to_string(),
            "crosstie up --output 'my lab/sparks.toml' --yes --become-password-fd 3 --ssh-config lab/ssh"
        );
    }

    #[test]
    fn commands_of_an_advice_reach_the_same_nodes() {
        let offer = CommandContext {
            lab: Some("first".to_owned()),
            ..CommandContext::default()
        };
        let advice = "Plan: `crosstie init`, `crosstie plan`; see `crosstie explain --nccl-log` and `crosstie doctor` \
                      (`rdma link`), `crosstie ";
        assert_eq!(
            offer.completed(advice),
            "Plan: `crosstie init --lab first`, `crosstie plan --lab first`; see `crosstie explain --nccl-log` and \
             `crosstie doctor --lab first` (`rdma link`), `crosstie "
        );
        assert_eq!(CommandContext::default().completed(advice), advice);
        let finding = Finding {
            id: "mtu-large".to_owned(),
            severity: Severity::Warning,
            subject: "p0".to_owned(),
            evidence: vec![Evidence {
                what: "MTU that is planned".to_owned(),
                value: "9000".to_owned(),
                source: CLUSTER_FILE.to_owned(),
            }],
            cause: String::new(),
            fix: "Then `crosstie apply`.".to_owned(),
            commands: Vec::new(),
            caused_by: None,
        };
        let diagnosis = Diagnosis {
            nodes: Vec::new(),
            cluster: vec![finding],
        };
        let told = offer.completed_diagnosis(diagnosis, "the lab's own cluster file");
        let told = &told.cluster[0];
        assert_eq!(told.fix, "Then `crosstie apply --lab first`.");
        assert_eq!(told.evidence[0].source, "the lab's own cluster file");
    }

    #[test]
    fn a_lab_is_all_that_its_nodes_need() {
        let offer = CommandContext {
            lab: Some("two-sparks".to_owned()),
            ..CommandContext::default()
        };
        let run = "20261116T175500Z-1f2e3d4c";
        assert_eq!(
            offer
                .command(CommandVerb::Rollback)
                .option("run", Some(run))
                .to_string(),
            format!("crosstie rollback --run {run} --lab two-sparks")
        );
    }
}
