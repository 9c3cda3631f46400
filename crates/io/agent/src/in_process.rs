//! The machine that this process runs on (`.`).

use std::{
    io,
    sync::{
        Arc, OnceLock,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use crosstie_facts::RawCapture;
use crosstie_node::child_processes::StoppableWork;
use crosstie_reach::{
    AgentPipeError, CallLimits, ConnectError, ConnectOptions, NodeRoute, NodeStage, RemoteSession,
    Session, SessionError, protocol::CallFailure,
};

use crate::{
    CALL_TABLE, CallError, CollectError,
    node_calls::with_root_refusal,
    serve::{AgentSession, ServeOptions},
};

/// This process may be halted for as long as it likes.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// An agent in threads of this process, started when it is first asked.
#[derive(Default)]
pub struct InProcessSession {
    refusal: Option<String>,
    served: OnceLock<Result<Served, AgentPipeError>>,
}

/// Both ends of it.
struct Served {
    remote: Option<RemoteSession>,
    session: Arc<AgentSession>,
}

impl Drop for Served {
    /// What the session holds is dropped before this process goes on, and may end.
    fn drop(&mut self) {
        self.remote = None;
        self.session.end();
    }
}

/// Opens a session by this route.
pub fn open(
    route: &NodeRoute,
    wanted: &ConnectOptions<'_>,
) -> Result<Box<dyn Session>, ConnectError> {
    crosstie_reach::open(route, wanted, |refusal| {
        Box::new(InProcessSession {
            refusal,
            served: OnceLock::new(),
        })
    })
}

impl InProcessSession {
    /// As the call of this name, without packing what was read.
    pub fn collect(
        &self,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<RawCapture, CallError<CollectError>> {
        progress(NodeStage::Reading);
        let work = StoppableWork::within(deadline);
        let shared = work.clone();
        let (sender, receiver) = mpsc::channel();
        // A driver can hang a call for as long as it likes.
        thread::spawn(move || sender.send(shared.run(crosstie_node::collect)));
        let raw = receiver.recv_timeout(deadline).map_err(|error| {
            work.stop();
            match error {
                RecvTimeoutError::Timeout => SessionError::Deadline { deadline },
                RecvTimeoutError::Disconnected => SessionError::Failed(CallFailure::Panicked {
                    message: "it collects nothing".to_owned(),
                }),
            }
        })?;
        Ok(with_root_refusal(raw, self.refusal.as_deref()))
    }
}

impl Session for InProcessSession {
    fn name(&self) -> &'static str {
        "."
    }

    fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    fn call_raw(
        &self,
        name: &str,
        ask: &[u8],
        limits: CallLimits<'_>,
        on_event: &mut dyn FnMut(&[u8]),
        on_stream: &mut dyn FnMut(&[u8]) -> Result<(), SessionError>,
    ) -> Result<Vec<u8>, SessionError> {
        let options = ServeOptions {
            silence: SILENCE_TIMEOUT,
            table: CALL_TABLE,
        };
        let served = self.served.get_or_init(|| {
            let session = Arc::new(AgentSession::new(options));
            let remote = Some(start(&session)?);
            Ok(Served { remote, session })
        });
        match served {
            Ok(served) => {
                let remote = served.remote.as_ref().ok_or(SessionError::Broken)?;
                remote.call_raw(name, ask, limits, on_event, on_stream)
            }
            Err(error) => Err(SessionError::Link(error.clone())),
        }
    }
}

/// The controller's end of a session that a thread of this process serves.
pub(crate) fn start(session: &Arc<AgentSession>) -> io::Result<RemoteSession> {
    let (read, input) = io::pipe()?;
    let (output, write) = io::pipe()?;
    let served = Arc::clone(session);
    thread::Builder::new().spawn(move || served.serve(read, write))?;
    RemoteSession::over_pipes(".", input.into(), output.into(), None)
}
