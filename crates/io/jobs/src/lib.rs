//! Jobs on a node. A rank is a transient unit of systemd's, so it outlives the session that started it, and everything that
//! its engine starts is in the unit's control group and ends with it. The unit's first process is this program
//! ([`rank::run`]): it starts the engine, keeps its output, and looks after the other nodes' ranks.

mod check;
mod folder;
mod generate;
mod known_hashes;
mod linger;
mod list;
mod log;
pub mod rank;
mod start;
mod stop;
mod uninstall;
mod unit;
mod weights;

use crosstie_launch::job_protocol::{JobCallError, JobReply, JobRequest};

pub use log::{JobLogError, follow};
pub use uninstall::{remove_ended, running};

/// Everything that a node is asked about jobs, but their logs.
pub fn handle_request(ask: &JobRequest) -> Result<JobReply, JobCallError> {
    match ask {
        JobRequest::Check(ask) => check::check(ask).map(|found| JobReply::Checked(Box::new(found))),
        JobRequest::Start(rank) => start::start(rank).map(|()| JobReply::Started),
        JobRequest::List => list::list().map(|ranks| JobReply::Listed { ranks }),
        JobRequest::Stop { job } => {
            stop::stop(job.as_deref()).map(|jobs| JobReply::Stopped { jobs })
        }
        JobRequest::Generate(ask) => {
            generate::generate(ask).map(|text| JobReply::Generated { text })
        }
    }
}

fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> JobCallError {
    let what = what.into();
    move |error| JobCallError::System {
        what,
        why: error.to_string(),
    }
}

/// Seconds since the epoch.
fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
