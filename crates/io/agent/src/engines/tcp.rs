//! The TCP engine. The end that listens has its port open from `open` until `join` has all streams; the secret that opens
//! it travels over the sessions.

use crosstie_figures::TestProgress;
use crosstie_node::StopFlag;
use crosstie_tcp::{
    JoinedTcpEngine, OpenTcpEngine, TcpEndpoint, TcpFigures, TcpOpenRequest, TcpRunError, open,
};

use super::{OpenedTestEnd, TestEngine, TestEngineError, TestEngineName};

#[derive(Debug)]
pub struct TcpTestEngine;

impl TestEngine for TcpTestEngine {
    const NAME: TestEngineName = TestEngineName::Tcp;
    type Request = TcpOpenRequest;
    type Endpoint = TcpEndpoint;
    /// Why it is not bound to its interface, if it is not.
    type Conditions = Option<String>;
    type Figures = TcpFigures;
    type Open = OpenTcpEngine;
    type Joined = JoinedTcpEngine;

    fn open(&self, request: TcpOpenRequest) -> Result<OpenedTestEnd<Self>, TestEngineError> {
        let opened = open(request).map_err(|error| TestEngineError::open(Self::NAME, &error));
        let (end, endpoint) = opened?;
        Ok(OpenedTestEnd {
            end,
            conditions: endpoint.unbound.clone(),
            endpoint,
        })
    }

    fn join(
        open: OpenTcpEngine,
        peer: &TcpEndpoint,
        stop: &StopFlag,
    ) -> Result<JoinedTcpEngine, TestEngineError> {
        let joined = open.join(peer, stop.flag());
        joined.map_err(|error| TestEngineError::join(&error))
    }

    fn go(
        joined: &mut JoinedTcpEngine,
        stop: &StopFlag,
        mut emit: &mut dyn FnMut(TestProgress),
    ) -> Result<TcpFigures, TestEngineError> {
        let figures = joined.go(stop.flag(), &mut emit);
        figures.map_err(|error| match &error {
            TcpRunError::Silent { .. } => TestEngineError::silent(Self::NAME, &error),
            _ => TestEngineError::go(Self::NAME, &error),
        })
    }
}
