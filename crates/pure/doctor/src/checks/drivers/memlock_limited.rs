//! A login may lock too little memory to register any with the card.

use crosstie_model::{Bytes, Severity, facts::system::SystemFacts};

use super::{
    CONTAINER, container,
    limits::{ByteLimit, GivenLimit, given, has_others, tighter},
};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "memlock-limited",
    title: "A login may lock too little memory for RDMA",
    severity: "fault below 1 GiB, else warning below unlimited",
    fires: "The soft limit of locked memory that a login gets (limits.conf and limits.d; where they say nothing, the limit \
        of the process that looked) is not unlimited. A root login outside a container, which may lock memory past the \
        limit, is left alone from 1 GiB on.",
    reads: &[
        "/etc/security/limits.conf",
        "/etc/security/limits.d/*.conf",
        "/proc/self/limits",
    ],
    cause: "the distribution's default limit of locked memory, which knows nothing of RDMA",
    meaning: "Memory that a card reads or writes must be locked in place. Registering a buffer beyond the limit fails with \
        `ibv_reg_mr … Cannot allocate memory`, often hours into a job, when a larger buffer is wanted.\n\n\
        `*` in limits.conf does not mean root: root needs lines of its own. Services do not pass a login at all: give \
        a unit `LimitMEMLOCK=infinity`. Containers take theirs from `--ulimit memlock=-1`.",
    fix: "Set the limit to unlimited, for everyone and for root, and log in again.",
    verify: "`ulimit -l` says `unlimited` in a new login.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

const MIN_MEMLOCK_BYTES: u64 = 1 << 30;
const PROCESS: &str = "/proc/self/limits";

/// The limit that a job would meet, and where it comes from.
struct Found<'a> {
    limit: ByteLimit,
    given: Option<GivenLimit<'a>>,
    /// No line raises the hard limit, and that is what binds.
    clipped: bool,
}

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let system = &node.facts.system;
    let contained = container(node).is_some();
    let everyone = everyone(system).filter(|_| !contained);
    let Some(found) = everyone.or_else(|| login(system, contained)) else {
        return Vec::new();
    };
    let Some(limit) = found.limit else {
        return Vec::new();
    };
    // Containers drop the right to lock more than the limit (CAP_IPC_LOCK) unless told otherwise.
    let exempt = system.root.known() == Some(&true) && !contained;
    let severity = match limit {
        limit if limit < MIN_MEMLOCK_BYTES => Severity::Fault,
        _ if exempt => return Vec::new(),
        _ => Severity::Warning,
    };
    vec![hit(node, severity, limit, &found)]
}

/// Root, who may have come by sudo, sees its own limit: too small a one that the files give everyone else is told all the
/// same.
fn everyone(system: &SystemFacts) -> Option<Found<'_>> {
    if system.root.known() != Some(&true) || has_others(&system.limit_lines) {
        return None;
    }
    let (soft, _) = given(&system.limit_lines, false);
    let soft = soft.filter(|soft| soft.limit.is_some_and(|limit| limit < MIN_MEMLOCK_BYTES))?;
    Some(Found {
        limit: soft.limit,
        given: Some(soft),
        clipped: false,
    })
}

/// What the files give a login, else what the process that looked has. Nobody logs in to a container.
fn login(system: &SystemFacts, contained: bool) -> Option<Found<'_>> {
    let process = system.locked_memory.soft.known().copied();
    let own = || {
        process.map(|limit| Found {
            limit,
            given: None,
            clipped: false,
        })
    };
    if contained {
        return own();
    }
    let root = system.root.known() == Some(&true);
    let (soft, hard) = given(&system.limit_lines, root);
    let Some(soft) = soft else { return own() };
    // pam_limits lowers a soft limit that is above the hard one; without a line for that one, it is the process's.
    let ceiling = hard.or_else(|| {
        let limit = system.locked_memory.hard.known().copied()?;
        Some(GivenLimit { limit, ..soft })
    });
    let decisive = ceiling
        .filter(|hard| tighter(soft.limit, hard.limit) != soft.limit)
        .unwrap_or(soft);
    // A line for the user or one of its groups wins over the one for everyone, and shows in the process.
    let others = !root && has_others(&system.limit_lines);
    if others && process.is_some_and(|limit| is_looser(limit, decisive.limit)) {
        return own();
    }
    Some(Found {
        limit: decisive.limit,
        given: Some(decisive),
        clipped: hard.is_none() && decisive.limit != soft.limit,
    })
}

fn is_looser(limit: ByteLimit, than: ByteLimit) -> bool {
    limit != than && tighter(limit, than) == than
}

fn hit(node: &ExaminedNode, severity: Severity, limit: u64, found: &Found) -> CheckHit {
    let shown = Bytes(limit);
    let mut hit = CheckHit::new(severity, "memlock");
    hit = match &found.given {
        Some(given) => {
            let line = given.line;
            hit.saw("soft limit of a login", shown, &line.file).saw(
                "the line that decides",
                format!("{} {} {} {}", line.domain, line.kind, line.item, line.value),
                &line.file,
            )
        }
        None => hit.saw("soft limit of this process", shown, PROCESS),
    };
    if found.clipped {
        let what = "hard limit of this process, which no line raises";
        hit = hit.saw(what, shown, PROCESS);
    }
    if let Some(kind) = container(node) {
        return hit
            .saw("container", kind, CONTAINER)
            .cause("the container was started with the default limit of locked memory")
            .advice("Start the container with `--ulimit memlock=-1 --cap-add IPC_LOCK`.");
    }
    let everyone = ["'* - memlock unlimited'", "'root - memlock unlimited'"].join(" ");
    // Files are read by name: the last one wins.
    hit.command(format!(
        r"printf '%s\n' {everyone} | sudo tee {}/99-rdma.conf",
        node.facts.distribution().folders.limits
    ))
}

#[cfg(test)]
mod tests {
    use crosstie_model::{
        Reading,
        facts::persistence::{LimitsConfLine, ProcessLimit},
    };

    use super::*;

    fn system(root: Option<bool>, lines: &[&str], process: (ByteLimit, ByteLimit)) -> SystemFacts {
        let line = |text: &&str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            LimitsConfLine {
                file: "/etc/security/limits.d/x.conf".to_owned(),
                domain: words[0].to_owned(),
                kind: words[1].to_owned(),
                item: "memlock".to_owned(),
                value: words[2].to_owned(),
            }
        };
        SystemFacts {
            root: root.into(),
            locked_memory: ProcessLimit {
                soft: Reading::Value(process.0),
                hard: Reading::Value(process.1),
            },
            limit_lines: lines.iter().map(line).collect(),
            clock_synchronised: Reading::Absent,
            time_service_on: Reading::Absent,
            time_service_installed: Reading::Absent,
            container: Reading::Absent,
            kernel_log: Reading::Absent,
            aspm_policy: Reading::Absent,
        }
    }

    fn limit(root: Option<bool>, lines: &[&str], process: (ByteLimit, ByteLimit)) -> ByteLimit {
        login(&system(root, lines, process), false).unwrap().limit
    }

    const SMALL: (ByteLimit, ByteLimit) = (Some(8 << 20), Some(8 << 20));

    #[test]
    fn the_files_win_over_the_process() {
        assert_eq!(limit(None, &["* - unlimited"], SMALL), None);
        assert_eq!(limit(None, &["* - 64"], (None, None)), Some(65536));
        assert_eq!(limit(None, &[], SMALL), Some(8 << 20));
    }

    #[test]
    fn a_soft_limit_ends_at_the_hard_one() {
        assert_eq!(limit(None, &["* soft unlimited"], SMALL), Some(8 << 20));
        let both = ["* soft unlimited", "* hard 64"];
        assert_eq!(limit(None, &both, SMALL), Some(65536));
    }

    #[test]
    fn root_has_its_own_lines_or_none() {
        assert_eq!(limit(Some(true), &["* - unlimited"], SMALL), Some(8 << 20));
        assert_eq!(limit(Some(true), &["root - unlimited"], SMALL), None);
    }

    #[test]
    fn a_group_may_have_more_than_everyone() {
        let lines = ["* - 64", "@rdma - unlimited"];
        assert_eq!(limit(Some(false), &lines, (None, None)), None);
        assert_eq!(limit(Some(false), &lines, SMALL), Some(8 << 20));
        assert_eq!(limit(Some(false), &lines, (Some(65536), None)), Some(65536));
    }

    #[test]
    fn no_reading_is_no_limit_to_speak_of() {
        let mut system = system(None, &[], SMALL);
        system.locked_memory = ProcessLimit::default();
        assert!(login(&system, false).is_none());
    }
}
