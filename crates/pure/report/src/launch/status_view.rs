//! How jobs are, and what was stopped.

use crosstie_launch::job_protocol::RankPhase;

use super::{JobRankStatus, JobStatus, JobsReport, StoppedJobs};
use crate::text::{Palette, TableRow, TextSpan, TextTone, item, line, plain, quiet, strong, table};

pub fn status_view(jobs: &JobsReport, palette: Palette) -> String {
    let mut out = String::new();
    if jobs.jobs.is_empty() {
        line(palette, &[quiet("no job is there")], &mut out);
    }
    for job in &jobs.jobs {
        job_view(job, palette, &mut out);
    }
    for node in &jobs.failed_nodes {
        let text = format!("{}: {}", node.host, node.error);
        item(palette, (TextTone::Alarm, "✗ "), &text, &mut out);
    }
    out
}

fn job_view(job: &JobStatus, palette: Palette, out: &mut String) {
    let serves = job.serves.as_ref();
    let serves = serves.map_or_else(String::new, |at| format!("  http://{at} on its head"));
    line(palette, &[strong(&job.job), quiet(serves)], out);
    let rows: Vec<TableRow> = job.ranks.iter().map(row).collect();
    table(palette, &rows, out);
    for trouble in &job.troubles {
        let text = format!(
            "rank {} on {}: {}",
            trouble.rank, trouble.host, trouble.what
        );
        item(palette, (TextTone::Alarm, "✗ "), &text, out);
    }
}

fn row(rank: &JobRankStatus) -> TableRow {
    let (tone, phase) = match (&rank.ended, rank.phase) {
        (Some(ended), _) if ended.ok => (TextTone::Plain, "ended"),
        (Some(_), _) => (TextTone::Alarm, "failed"),
        (None, Some(RankPhase::Joining)) => (TextTone::Plain, "waits for its peers"),
        (None, Some(RankPhase::Starting)) => (TextTone::Plain, "starts"),
        (None, Some(RankPhase::Running)) => (TextTone::Good, "runs"),
        (None, Some(RankPhase::Ended)) => (TextTone::Plain, "ended"),
        (None, None) => (TextTone::Alarm, "never started"),
    };
    let memlock = match rank.memlock_bytes {
        None => String::new(),
        Some(bytes) => format!("memlock {} KiB", bytes / 1024),
    };
    TableRow::Cells(
        2,
        vec![
            plain(format!("rank {}", rank.rank)),
            plain(&rank.host),
            TextSpan::new(tone, phase),
            plain(format!("{} RDMA packets", rank.rdma_packets)),
            plain(format!("{} s CPU", rank.cpu_milliseconds / 1000)),
            quiet(format!("idle {} s", rank.idle_seconds)),
            TextSpan::new(TextTone::Bad, memlock),
        ],
    )
}

pub fn stopped_view(stopped: &StoppedJobs, palette: Palette) -> String {
    let mut out = String::new();
    let is_any = stopped.nodes.iter().any(|node| !node.jobs.is_empty());
    if !is_any && stopped.failed_nodes.is_empty() {
        line(palette, &[quiet("there is nothing to stop")], &mut out);
    }
    for node in &stopped.nodes {
        for job in &node.jobs {
            let text = format!("{}: {} is stopped", node.host, job.job);
            if job.left.is_empty() {
                item(palette, (TextTone::Good, "✓ "), &text, &mut out);
            }
            for left in &job.left {
                let text = format!("{}: {}: {left}", node.host, job.job);
                item(palette, (TextTone::Alarm, "✗ "), &text, &mut out);
            }
        }
    }
    for node in &stopped.failed_nodes {
        let text = format!("{}: {}", node.host, node.error);
        item(palette, (TextTone::Alarm, "✗ "), &text, &mut out);
    }
    out
}
