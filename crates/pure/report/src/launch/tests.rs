use crosstie_launch::job_protocol::RankState;

use super::*;
use crate::{suggested_command::CommandContext, text::Palette};

fn status(job: &str, rank: u32) -> RankStatus {
    RankStatus {
        job: job.to_owned(),
        cluster: "sparks".to_owned(),
        engine: LaunchEngine::Torchrun,
        rank,
        hosts: vec!["spark-a".to_owned(), "spark-b".to_owned()],
        serves: None,
        created: 5,
        unit: "active".to_owned(),
        is_system_unit: true,
        state: Some(RankState {
            phase: RankPhase::Running,
            since: 90,
            ended: None,
            memlock: None,
            log_bytes: 10,
            rdma_packets: 7,
            progress_at: 97,
            cpu_microseconds: 2_500_000,
            dark: vec![("spark-a:p0 ↔ spark-b:p0".to_owned(), 60)],
            stopped: None,
            silent: Vec::new(),
        }),
        now: 100,
    }
}

#[test]
fn ranks_are_told_by_job_with_what_is_wrong() {
    let ranks = vec![status("b-1", 1), status("a-1", 0), status("b-1", 0)];
    let jobs = JobsReport::new(ranks, Vec::new());
    assert_eq!(jobs.jobs.len(), 2);
    assert!(jobs.has_troubles() && !jobs.are_over());
    let text = status_view(&jobs, Palette::Plain);
    assert_eq!(
        text.lines().take(3).collect::<Vec<_>>(),
        [
            "a-1",
            "  rank 0  spark-a  runs  7 RDMA packets  2 s CPU  idle 3 s",
            "  ✗ rank 0 on spark-a: the cable spark-a:p0 ↔ spark-b:p0 has been dark for 40 s",
        ]
    );
}

#[test]
fn what_follows_is_offered_as_it_runs() {
    let mut launched = LaunchReport::new("llama-1", "sparks", LaunchEngine::Llama);
    launched.ranks.push(LaunchedRank {
        rank: 0,
        host: "spark-a".to_owned(),
        rdma_packets: 0,
    });
    let offer = CommandContext {
        lab: Some("two-sparks".to_owned()),
        sudo: true,
        ..CommandContext::default()
    };
    let text = launched_view(&launched, &offer, Palette::Plain);
    assert!(
        text.contains("rank 0 on spark-a: no RDMA packets"),
        "{text}"
    );
    assert!(
        text.contains("crosstie launch stop llama-1 --lab two-sparks --sudo"),
        "{text}"
    );
    launched.outcome = LaunchOutcome::Failed;
    assert!(!launched_view(&launched, &offer, Palette::Plain).contains("crosstie launch"));
}
