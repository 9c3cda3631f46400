//! What calls leave behind for later calls of the same session: a listener, a child process, a change to be confirmed.

use std::{
    any::Any,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crosstie_reach::EndOnSignal;
use serde::{Deserialize, Serialize};

/// Names one resource of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionResourceId(u64);

/// They live as long as the session and are dropped with it, the latest first.
#[derive(Default)]
pub struct SessionResources {
    held: Mutex<Held>,
    /// Held while they are dropped, so that whoever ends the session last returns when all of them are.
    ending: Mutex<()>,
}

#[derive(Default)]
struct Held {
    last: u64,
    ended: bool,
    /// Oldest first.
    entries: Vec<(SessionResourceId, Box<dyn Any + Send>)>,
}

impl SessionResources {
    /// Where the session has ended already, the resource is dropped at once.
    pub fn hold<T: Any + Send>(&self, resource: T) -> SessionResourceId {
        let mut held = self.held();
        held.last += 1;
        let id = SessionResourceId(held.last);
        if held.ended {
            drop(held);
            drop(resource);
        } else {
            held.entries.push((id, Box::new(resource)));
        }
        id
    }

    /// Nothing where there is no resource of this type by this name. `work` should be brief: others wait for it.
    pub fn with<T: Any + Send, R>(
        &self,
        id: SessionResourceId,
        work: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        let mut held = self.held();
        let mut entries = held.entries.iter_mut();
        let (_, found) = entries.find(|(found, _)| *found == id)?;
        found.downcast_mut().map(work)
    }

    /// The only one of its type in the session, made when it is first asked for.
    pub fn with_only<T: Any + Send + Default, R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut held = self.held();
        let mut entries = held.entries.iter_mut();
        if let Some(found) = entries.find_map(|(_, found)| found.downcast_mut()) {
            return work(found);
        }
        let mut made = T::default();
        let result = work(&mut made);
        drop(held);
        self.hold(made);
        result
    }

    /// Out of the session's hands.
    pub fn take<T: Any + Send>(&self, id: SessionResourceId) -> Option<T> {
        let mut held = self.held();
        let is_it = |(found, entry): &(SessionResourceId, Box<dyn Any + Send>)| {
            *found == id && entry.is::<T>()
        };
        let index = held.entries.iter().position(is_it)?;
        let (_, entry) = held.entries.remove(index);
        entry.downcast().ok().map(|entry| *entry)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EndOnSignal for SessionResources {
    fn end(&self) {
        let _ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut held = self.held();
            held.ended = true;
            let last = held.entries.pop();
            // What is dropped may take its time, and others may need the rest meanwhile.
            drop(held);
            if last.is_none() {
                return;
            }
        }
    }
}

impl Drop for SessionResources {
    fn drop(&mut self) {
        self.end();
    }
}
