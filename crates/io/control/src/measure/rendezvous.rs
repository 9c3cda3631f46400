//! Where the ends of all tests wait for each other. An end that fails lets go of those that wait for it.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The other end failed, or was not there in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PeerFailed;

struct State<E> {
    /// By test and side.
    ends: Vec<[EndState<E>; 2]>,
}

struct EndState<E> {
    /// What the peer has to know to join.
    endpoint: Option<E>,
    joined: bool,
    done: bool,
    /// It will not do any more than it has done.
    left: bool,
    /// It failed: by then its peer should have said why it failed, too.
    peer_ends_by: Option<Instant>,
}

impl<E> Default for EndState<E> {
    fn default() -> Self {
        Self {
            endpoint: None,
            joined: false,
            done: false,
            left: false,
            peer_ends_by: None,
        }
    }
}

pub(super) struct TestRendezvous<E> {
    state: Mutex<State<E>>,
    changed: Condvar,
}

/// One end's place. Dropping it is leaving.
pub(super) struct RendezvousSlot<'a, E> {
    meeting: &'a TestRendezvous<E>,
    test: usize,
    side: usize,
}

impl<E: Clone> TestRendezvous<E> {
    pub(super) fn new(tests: usize) -> Self {
        let ends = (0..tests).map(|_| Default::default()).collect();
        Self {
            state: Mutex::new(State { ends }),
            changed: Condvar::new(),
        }
    }

    pub(super) fn enter(&self, test: usize, side: usize) -> RendezvousSlot<'_, E> {
        RendezvousSlot {
            meeting: self,
            test,
            side,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `look` finds, before the time is up.
    fn wait<T>(&self, within: Duration, look: impl Fn(&State<E>) -> Option<T>) -> Option<T> {
        let until = Instant::now() + within;
        let mut state = self.state();
        loop {
            if let Some(found) = look(&state) {
                return Some(found);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<E: Clone> RendezvousSlot<'_, E> {
    pub(super) fn tell(&self, endpoint: E) {
        self.change(|end| end.endpoint = Some(endpoint));
    }

    /// What the other end has told.
    pub(super) fn peer(&self, within: Duration) -> Result<E, PeerFailed> {
        let found = self.meeting.wait(within, |state| {
            let peer = &state.ends[self.test][1 - self.side];
            match &peer.endpoint {
                Some(endpoint) => Some(Ok(endpoint.clone())),
                None if peer.left => Some(Err(PeerFailed)),
                None => None,
            }
        });
        found.unwrap_or(Err(PeerFailed))
    }

    /// Waits until every end of every test has joined, or has left: all begin together. An error if the peer is not among
    /// them.
    pub(super) fn joined(&self, within: Duration) -> Result<(), PeerFailed> {
        self.change(|end| end.joined = true);
        let all = self.meeting.wait(within, |state| {
            let mut ends = state.ends.iter().flatten();
            ends.all(|end| end.joined || end.left).then_some(())
        });
        let peer_joined = self.meeting.state().ends[self.test][1 - self.side].joined;
        // A test elsewhere that is late must not end this one.
        let _ = all;
        peer_joined.then_some(()).ok_or(PeerFailed)
    }

    pub(super) fn done(&self) {
        self.change(|end| end.done = true);
    }

    /// This end failed; the other is given so long to say how it ended.
    pub(super) fn fail(&self, grace: Duration) {
        let until = Instant::now() + grace;
        self.change(|end| end.peer_ends_by = Some(until));
    }

    /// Whether the other end failed so long ago that this one, if it worked, would have ended since.
    pub(super) fn is_overdue(&self) -> bool {
        let state = self.meeting.state();
        let until = state.ends[self.test][1 - self.side].peer_ends_by;
        until.is_some_and(|until| Instant::now() >= until)
    }

    /// Until the other end is done, or has left.
    pub(super) fn wait_for_peer(&self, within: Duration) {
        self.meeting.wait(within, |state| {
            let peer = &state.ends[self.test][1 - self.side];
            (peer.done || peer.left).then_some(())
        });
    }

    fn change(&self, change: impl FnOnce(&mut EndState<E>)) {
        self.meeting.change(self.test, self.side, change);
    }
}

impl<E> TestRendezvous<E> {
    fn change(&self, test: usize, side: usize, change: impl FnOnce(&mut EndState<E>)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state.ends[test][side]);
        self.changed.notify_all();
    }
}

impl<E> Drop for RendezvousSlot<'_, E> {
    fn drop(&mut self) {
        self.meeting
            .change(self.test, self.side, |end| end.left = true);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const TEST_TIMEOUT: Duration = Duration::from_secs(20);

    #[test]
    fn ends_meet_and_begin_together() {
        let meeting = TestRendezvous::new(2);
        let began = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for (test, side) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let (meeting, began) = (&meeting, &began);
                scope.spawn(move || {
                    let place = meeting.enter(test, side);
                    if test == 1 {
                        thread::sleep(Duration::from_millis(100));
                    }
                    place.tell(7);
                    place.peer(TEST_TIMEOUT).unwrap();
                    let before = Instant::now();
                    place.joined(TEST_TIMEOUT).unwrap();
                    began.lock().unwrap().push((before, Instant::now()));
                });
            }
        });
        let began = began.into_inner().unwrap();
        let last_arrival = began.iter().map(|(arrived, _)| *arrived).max().unwrap();
        assert!(began.iter().all(|(_, began)| *began >= last_arrival));
    }

    #[test]
    fn an_end_that_leaves_lets_go_of_its_peer_and_of_others() {
        let meeting = TestRendezvous::<()>::new(2);
        let started = Instant::now();
        let place = meeting.enter(0, 0);
        drop(meeting.enter(0, 1));
        assert_eq!(place.peer(TEST_TIMEOUT), Err(PeerFailed));
        assert_eq!(place.joined(Duration::ZERO), Err(PeerFailed));
        drop(place);
        let others = [meeting.enter(1, 0), meeting.enter(1, 1)];
        thread::scope(|scope| {
            for place in &others {
                scope.spawn(|| place.joined(TEST_TIMEOUT).unwrap());
            }
        });
        others[0].done();
        others[1].wait_for_peer(TEST_TIMEOUT);
        assert!(started.elapsed() < TEST_TIMEOUT);
    }

    #[test]
    fn an_end_is_overdue_once_its_peer_has_failed_and_waited() {
        let meeting = TestRendezvous::<()>::new(1);
        let (near, far) = (meeting.enter(0, 0), meeting.enter(0, 1));
        near.fail(TEST_TIMEOUT);
        assert!(!near.is_overdue() && !far.is_overdue());
        near.fail(Duration::ZERO);
        assert!(!near.is_overdue() && far.is_overdue());
    }

    #[test]
    fn nobody_waits_for_ever() {
        let meeting = TestRendezvous::<()>::new(1);
        let (place, _peer) = (meeting.enter(0, 0), meeting.enter(0, 1));
        let brief = Duration::from_millis(20);
        assert_eq!(place.peer(brief), Err(PeerFailed));
        assert_eq!(place.joined(brief), Err(PeerFailed));
        place.wait_for_peer(brief);
    }
}
