//! The TCP engine. The end that listens has its port open from `open` until `join` has all streams; the secret that opens
//! it travels over the sessions.

use crosstie_figures::Progress;
use crosstie_node::Stop;
use crosstie_tcp::{Endpoint, Figures, GoError, JoinedEngine, OpenEngine, OpenRequest, open};

use super::{EngineError, EngineName, OpenEnd, TestEngine};

#[derive(Debug)]
pub struct Tcp;

impl TestEngine for Tcp {
    const NAME: EngineName = EngineName::Tcp;
    type Request = OpenRequest;
    type Endpoint = Endpoint;
    /// Why it is not bound to its interface, if it is not.
    type Conditions = Option<String>;
    type Figures = Figures;
    type Open = OpenEngine;
    type Joined = JoinedEngine;

    fn open(&self, request: OpenRequest) -> Result<OpenEnd<Self>, EngineError> {
        let opened = open(request).map_err(|error| EngineError::open(Self::NAME, &error));
        let (end, endpoint) = opened?;
        Ok(OpenEnd {
            end,
            conditions: endpoint.unbound.clone(),
            endpoint,
        })
    }

    fn join(open: OpenEngine, peer: &Endpoint, stop: &Stop) -> Result<JoinedEngine, EngineError> {
        let joined = open.join(peer, stop.flag());
        joined.map_err(|error| EngineError::join(&error))
    }

    fn go(
        joined: &mut JoinedEngine,
        stop: &Stop,
        mut emit: &mut dyn FnMut(Progress),
    ) -> Result<Figures, EngineError> {
        let figures = joined.go(stop.flag(), &mut emit);
        figures.map_err(|error| match &error {
            GoError::Silent { .. } => EngineError::silent(Self::NAME, &error),
            _ => EngineError::go(Self::NAME, &error),
        })
    }
}
