//! The RDMA engine. Endpoints travel over the sessions, so a test needs no open port, and works behind a firewall.

use std::path::PathBuf;

use crosstie_fabric::placement::ThreadPlacement;
use crosstie_figures::TestProgress;
use crosstie_node::{LocalFileTree, StopFlag, host};
use crosstie_rdma::{
    EngineResources, JoinedRdmaEngine, MemoryCap, OpenRdmaEngine, RdmaEndpoints, RdmaFigures,
    RdmaOpenError, RdmaOpenRequest, RdmaRunError, open,
};
use crosstie_verbs::{DeviceListError, VerbsLibrary};
use serde::{Deserialize, Serialize};

use super::{OpenedTestEnd, TestEngine, TestEngineError, TestEngineName};
use crate::call::with_causes;

#[derive(Debug, Default)]
pub struct RdmaTestEngine {
    /// Instead of the machine's own libibverbs.
    pub(super) library: Option<PathBuf>,
}

/// What an end runs with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RdmaEndPlacement {
    pub placement: ThreadPlacement,
    /// Whether its thread could be pinned there.
    pub is_pinned: bool,
    /// Where buffers are smaller than what was asked for.
    pub memory_cap: Option<MemoryCap>,
}

impl TestEngine for RdmaTestEngine {
    const NAME: TestEngineName = TestEngineName::Rdma;
    type Request = RdmaOpenRequest;
    /// As many queue pairs as were opened, in the same order.
    type Endpoint = RdmaEndpoints;
    type Conditions = RdmaEndPlacement;
    type Figures = RdmaFigures;
    type Open = OpenRdmaEngine;
    type Joined = JoinedRdmaEngine;

    fn open(&self, request: RdmaOpenRequest) -> Result<OpenedTestEnd<Self>, TestEngineError> {
        let library = match &self.library {
            Some(path) => VerbsLibrary::open_at(path),
            None => VerbsLibrary::open(),
        };
        let library = library.map_err(|error| open_error(&error.into()))?;
        let (end, conditions) = open_pinned(&library, request)?;
        Ok(OpenedTestEnd {
            endpoint: end.offer().clone(),
            end,
            conditions,
        })
    }

    fn join(
        open: OpenRdmaEngine,
        peer: &RdmaEndpoints,
        _: &StopFlag,
    ) -> Result<JoinedRdmaEngine, TestEngineError> {
        open.join(peer)
            .map_err(|error| TestEngineError::join(&error))
    }

    fn go(
        joined: &mut JoinedRdmaEngine,
        stop: &StopFlag,
        mut emit: &mut dyn FnMut(TestProgress),
    ) -> Result<RdmaFigures, TestEngineError> {
        let figures = joined.go(stop.flag(), &mut emit);
        figures.map_err(|error| match &error {
            RdmaRunError::Silent(_) => TestEngineError::silent(Self::NAME, &error),
            _ => TestEngineError::go(Self::NAME, &error),
        })
    }
}

/// In this thread, which is the one that measures: pinned first, so that buffers are on its NUMA node.
fn open_pinned(
    library: &VerbsLibrary,
    request: RdmaOpenRequest,
) -> Result<(OpenRdmaEngine, RdmaEndPlacement), TestEngineError> {
    let machine = LocalFileTree::machine();
    let share = request.share;
    let (index, count) = (usize::from(share.index), usize::from(share.count));
    let placement = host::placement_for(&machine, &request.device, index, count);
    let is_pinned = host::pin(&placement);
    let surroundings = EngineResources {
        memory: host::memory_limits(&machine).budget(count),
        yields: placement.is_short,
    };
    let engine = open(library, request, surroundings).map_err(|error| open_error(&error))?;
    let conditions = RdmaEndPlacement {
        placement,
        is_pinned,
        memory_cap: engine.memory_cap(),
    };
    Ok((engine, conditions))
}

fn open_error(error: &RdmaOpenError) -> TestEngineError {
    let why = with_causes(error);
    match error {
        RdmaOpenError::Library(_) | RdmaOpenError::Devices(DeviceListError::NoRdma(_)) => {
            TestEngineError::UserspaceMissing { why }
        }
        RdmaOpenError::Devices(DeviceListError::NoProvider { .. }) => {
            TestEngineError::NoProvider { why }
        }
        _ => TestEngineError::open(TestEngineName::Rdma, error),
    }
}
