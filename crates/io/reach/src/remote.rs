//! A session with an agent at the other end of a child process.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use crosstie_fabric::cabling::{Listened, Probe};
use crosstie_facts::Raw;
use crosstie_model::change::{self, Changed};
use crosstie_node::{
    capture,
    trust::{Ask, Settled},
};

use crate::{
    connect::Stage,
    conversation::Conversation,
    link::Link,
    protocol::{Answer, Hello, What},
    session::{Session, SessionError, change_refusal, note_refusal, with_refusal},
};

/// How often an agent that is asked nothing hears of us; it ends after [`crate::agent::SILENCE`].
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// The thread that keeps a session alive does little.
const STACK: usize = 256 << 10;

pub struct Remote {
    node: String,
    shared: Arc<Shared>,
    keeper: Option<JoinHandle<()>>,
    /// Why it does not run as root though it was asked to.
    refusal: Option<String>,
}

struct Shared {
    /// Held for a whole call, so that nothing comes between its words.
    conversation: Mutex<Conversation>,
    pace: Mutex<Pace>,
    changed: Condvar,
}

struct Pace {
    every: Duration,
    ended: bool,
}

impl Remote {
    pub(crate) fn new(
        node: &str,
        link: Link,
        already_read: &[u8],
        refusal: Option<String>,
    ) -> Self {
        let shared = Arc::new(Shared {
            conversation: Mutex::new(Conversation::new(link, already_read)),
            pace: Mutex::new(Pace {
                every: KEEP_ALIVE,
                ended: false,
            }),
            changed: Condvar::new(),
        });
        let kept = Arc::clone(&shared);
        let keeper = thread::Builder::new().stack_size(STACK);
        Self {
            node: node.to_owned(),
            shared,
            // Without one the session still works, but not after a long pause.
            keeper: keeper.spawn(move || kept.keep_alive()).ok(),
            refusal,
        }
    }

    pub(crate) fn refused(mut self, why: String) -> Self {
        self.refusal = Some(why);
        self
    }

    /// Changes how often the agent hears of us between calls.
    pub fn keep_alive_every(&mut self, every: Duration) {
        self.shared.pace().every = every;
        self.shared.changed.notify_all();
    }

    pub fn hello(&mut self, deadline: Duration) -> Result<Hello, SessionError> {
        match self.call(What::Hello, deadline, &|_| ())? {
            (Answer::Hello(hello), _) => Ok(hello),
            _ => Err(self.wrong_answer()),
        }
    }

    fn call(
        &mut self,
        what: What,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<(Answer, Vec<u8>), SessionError> {
        let mut conversation = self.shared.conversation();
        conversation.call(what, deadline, progress)
    }

    fn wrong_answer(&mut self) -> SessionError {
        self.shared.conversation().give_up();
        SessionError::WrongAnswer
    }
}

impl Shared {
    fn conversation(&self) -> MutexGuard<'_, Conversation> {
        let conversation = self.conversation.lock();
        conversation.unwrap_or_else(PoisonError::into_inner)
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_alive(&self) {
        let mut pace = self.pace();
        while !pace.ended {
            let every = pace.every;
            let waited = self.changed.wait_timeout(pace, every);
            let (now, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            pace = now;
            if !timeout.timed_out() {
                continue;
            }
            drop(pace);
            // A call that is under way says by itself that we are there.
            if let Ok(mut conversation) = self.conversation.try_lock()
                && !conversation.keep_alive(every)
            {
                return;
            }
            pace = self.pace();
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.shared.pace().ended = true;
        self.shared.changed.notify_all();
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

impl Session for Remote {
    fn name(&self) -> &str {
        &self.node
    }

    fn collect(
        &mut self,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Raw, SessionError> {
        progress(Stage::Reading);
        let (answer, packed) = self.call(What::Collect, deadline, progress)?;
        if !matches!(answer, Answer::Collected { .. }) {
            return Err(self.wrong_answer());
        }
        let mut raw = capture::unpack(&packed).map_err(SessionError::Capture)?;
        note_refusal(&mut raw, self.refusal.as_deref());
        Ok(raw)
    }

    fn trust(
        &mut self,
        ask: &Ask,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Settled, SessionError> {
        progress(Stage::Changing);
        match self.call(What::Trust(ask.clone()), deadline, progress)? {
            (Answer::Trusted(settled), _) => Ok(settled),
            _ => Err(self.wrong_answer()),
        }
    }

    fn cabling(
        &mut self,
        probe: &Probe,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Listened, SessionError> {
        progress(Stage::Listening);
        match self.call(What::Cabling(probe.clone()), deadline, progress)? {
            (Answer::Cabling(listened), _) => {
                listened.map_err(|error| with_refusal(error, self.refusal.as_deref()))
            }
            _ => Err(self.wrong_answer()),
        }
    }

    fn change(
        &mut self,
        ask: &change::Ask,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Changed, SessionError> {
        progress(Stage::from(ask));
        match self.call(What::Change(ask.clone()), deadline, progress)? {
            (Answer::Changed(changed), _) => {
                changed.map_err(|error| change_refusal(error, self.refusal.as_deref()))
            }
            _ => Err(self.wrong_answer()),
        }
    }
}
