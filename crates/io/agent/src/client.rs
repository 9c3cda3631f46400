//! Typed calls, from the controller's side.

use std::{error::Error, fmt, time::Duration};

use crosstie_reach::{CallLimits, Session, SessionError};

use crate::Call;

/// Why a call has no answer.
#[derive(Debug, Clone)]
pub enum CallError<E> {
    /// The node says so.
    Call(E),
    /// Nobody knows what the node did.
    Session(SessionError),
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(formatter),
            Self::Session(error) => error.fmt(formatter),
        }
    }
}

impl<E: Error> Error for CallError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Call(error) => error.source(),
            Self::Session(error) => error.source(),
        }
    }
}

impl<E> From<SessionError> for CallError<E> {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

pub fn call<C: Call>(
    session: &(impl Session + ?Sized),
    ask: &C::Request,
    deadline: Duration,
    on_event: &mut dyn FnMut(C::Event),
) -> Result<C::Answer, CallError<C::Error>> {
    call_while_wanted::<C>(session, ask, deadline.into(), on_event)
}

/// As [`call`], for an answer that may turn out not to be wanted before its deadline.
pub fn call_while_wanted<C: Call>(
    session: &(impl Session + ?Sized),
    ask: &C::Request,
    limits: CallLimits<'_>,
    on_event: &mut dyn FnMut(C::Event),
) -> Result<C::Answer, CallError<C::Error>> {
    let no_stream = &mut |_: &[u8]| Err(SessionError::WrongAnswer);
    call_limited::<C>(session, ask, limits, on_event, no_stream)
}

pub fn call_with_stream<C: Call>(
    session: &(impl Session + ?Sized),
    ask: &C::Request,
    deadline: Duration,
    on_event: &mut dyn FnMut(C::Event),
    on_stream: &mut dyn FnMut(&[u8]) -> Result<(), SessionError>,
) -> Result<C::Answer, CallError<C::Error>> {
    call_limited::<C>(session, ask, deadline.into(), on_event, on_stream)
}

fn call_limited<C: Call>(
    session: &(impl Session + ?Sized),
    ask: &C::Request,
    limits: CallLimits<'_>,
    on_event: &mut dyn FnMut(C::Event),
    on_stream: &mut dyn FnMut(&[u8]) -> Result<(), SessionError>,
) -> Result<C::Answer, CallError<C::Error>> {
    let ask = serde_json::to_vec(ask).map_err(|_| SessionError::WrongAnswer)?;
    // An event that cannot be read is one of those that may be missed.
    let on_event = &mut |event: &[u8]| {
        if let Ok(event) = serde_json::from_slice(event) {
            on_event(event);
        }
    };
    let answer = session.call_raw(C::NAME, &ask, limits, on_event, on_stream)?;
    let answer: Result<C::Answer, C::Error> =
        serde_json::from_slice(&answer).map_err(|_| SessionError::WrongAnswer)?;
    answer.map_err(CallError::Call)
}
