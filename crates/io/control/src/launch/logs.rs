//! What ranks print, as they print it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use crosstie_agent::{JobLogCall, call_with_stream};
use crosstie_launch::job_protocol::{JobLogRequest, LogStream};
use crosstie_reach::SessionError;

use super::{ASK_TIMEOUT, LaunchError, status};
use crate::{Fleet, NodeError, NodesFailed};

/// Whoever follows a log for longer asks again.
const FOLLOW_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 3600);
/// Of one answer that is kept whole.
const MAX_KEPT: usize = 4 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobLogOptions {
    /// Else the only one.
    pub job: Option<String>,
    pub follow: bool,
    pub lines: u32,
}

/// `tell` hears of whole lines: the node, as the person called it, and a line without its end. It fails where nobody reads
/// any more.
pub fn logs(
    fleet: &Fleet,
    options: &JobLogOptions,
    tell: impl Fn(&str, &str) -> bool + Send + Sync + 'static,
) -> Result<(), LaunchError> {
    let job = match &options.job {
        Some(job) => job.clone(),
        None => match &status::names(fleet)[..] {
            [] => return Err(LaunchError::NoJob),
            [job] => job.clone(),
            names => return Err(LaunchError::Several(names.to_vec())),
        },
    };
    let ask = JobLogRequest {
        job: job.clone(),
        stream: LogStream::All,
        lines: options.lines,
        follow: options.follow,
    };
    let limit = if options.follow {
        FOLLOW_TIMEOUT
    } else {
        ASK_TIMEOUT
    };
    let names: Vec<String> = fleet.names().into_iter().map(str::to_owned).collect();
    let answers = fleet.call_together(limit, move |place, session, _| {
        let name = names.get(place).cloned().unwrap_or_default();
        let mut rest = Vec::new();
        let mut on_stream = |bytes: &[u8]| {
            rest.extend_from_slice(bytes);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line[..end]);
                if !tell(&name, &line) {
                    return Err(SessionError::Broken);
                }
            }
            Ok(())
        };
        call_with_stream::<JobLogCall>(session, &ask, limit, &mut |()| (), &mut on_stream)?;
        if !rest.is_empty() {
            tell(&name, &String::from_utf8_lossy(&rest));
        }
        Ok::<(), NodeError>(())
    });
    let count = answers.len();
    let failed: Vec<(String, NodeError)> = answers
        .into_iter()
        .filter_map(|(name, answer)| Some((name, answer.err()?)))
        .collect();
    // Nodes that take no part have none; where all have none, there is no such job.
    let has_none = |(_, error): &(String, NodeError)| {
        use crosstie_agent::CallError;
        use crosstie_jobs::JobLogError;
        matches!(
            error,
            NodeError::JobLog(CallError::Call(JobLogError::NoJob(_)))
        )
    };
    let (without, failed): (Vec<_>, Vec<_>) = failed.into_iter().partition(has_none);
    if !failed.is_empty() {
        return Err(LaunchError::Nodes(NodesFailed(failed)));
    }
    if without.len() == count {
        return Err(LaunchError::Unknown(job));
    }
    Ok(())
}

/// All of one node's.
pub(super) fn of_node(
    fleet: &Fleet,
    wanted: usize,
    ask: JobLogRequest,
) -> Result<Vec<u8>, NodeError> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&kept);
    let answers = fleet.call(ASK_TIMEOUT, move |place, session, _| {
        if place != wanted {
            return Ok(());
        }
        let mut on_stream = |bytes: &[u8]| {
            let Ok(mut kept) = sink.lock() else {
                return Err(SessionError::Broken);
            };
            let room = MAX_KEPT.saturating_sub(kept.len());
            kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            Ok(())
        };
        call_with_stream::<JobLogCall>(session, &ask, ASK_TIMEOUT, &mut |()| (), &mut on_stream)?;
        Ok::<(), NodeError>(())
    });
    for (_, answer) in answers {
        answer?;
    }
    let kept = kept.lock().map_err(|_| NodeError::Busy)?;
    Ok(kept.clone())
}
