//! The RDMA engine. Endpoints travel over the sessions, so a test needs no open port, and works behind a firewall.

use std::path::PathBuf;

use crosstie_fabric::placement::Placement;
use crosstie_figures::Progress;
use crosstie_node::{Local, Stop, host};
use crosstie_rdma::{
    Figures, GoError, JoinedEngine, MemoryCap, Offer, OpenEngine, OpenError, OpenRequest,
    Surroundings, open,
};
use crosstie_verbs::{DeviceListError, Library};
use serde::{Deserialize, Serialize};

use super::{EngineError, EngineName, OpenEnd, TestEngine};
use crate::call::with_causes;

#[derive(Debug, Default)]
pub struct Rdma {
    /// Instead of the machine's own libibverbs.
    pub(super) library: Option<PathBuf>,
}

/// What an end runs with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    pub placement: Placement,
    /// Whether its thread could be pinned there.
    pub is_pinned: bool,
    /// Where buffers are smaller than what was asked for.
    pub memory_cap: Option<MemoryCap>,
}

impl TestEngine for Rdma {
    const NAME: EngineName = EngineName::Rdma;
    type Request = OpenRequest;
    /// As many queue pairs as were opened, in the same order.
    type Endpoint = Offer;
    type Conditions = Conditions;
    type Figures = Figures;
    type Open = OpenEngine;
    type Joined = JoinedEngine;

    fn open(&self, request: OpenRequest) -> Result<OpenEnd<Self>, EngineError> {
        let library = match &self.library {
            Some(path) => Library::open_at(path),
            None => Library::open(),
        };
        let library = library.map_err(|error| open_error(&error.into()))?;
        let (end, conditions) = open_pinned(&library, request)?;
        Ok(OpenEnd {
            endpoint: end.offer().clone(),
            end,
            conditions,
        })
    }

    fn join(open: OpenEngine, peer: &Offer, _: &Stop) -> Result<JoinedEngine, EngineError> {
        open.join(peer).map_err(|error| EngineError::join(&error))
    }

    fn go(
        joined: &mut JoinedEngine,
        stop: &Stop,
        mut emit: &mut dyn FnMut(Progress),
    ) -> Result<Figures, EngineError> {
        let figures = joined.go(stop.flag(), &mut emit);
        figures.map_err(|error| match &error {
            GoError::Silent(_) => EngineError::silent(Self::NAME, &error),
            _ => EngineError::go(Self::NAME, &error),
        })
    }
}

/// In this thread, which is the one that measures: pinned first, so that buffers are on its NUMA node.
fn open_pinned(
    library: &Library,
    request: OpenRequest,
) -> Result<(OpenEngine, Conditions), EngineError> {
    let machine = Local::machine();
    let share = request.share;
    let (index, count) = (usize::from(share.index), usize::from(share.count));
    let placement = host::placement_for(&machine, &request.device, index, count);
    let is_pinned = host::pin(&placement);
    let surroundings = Surroundings {
        memory: host::memory_limits(&machine).budget(count),
        yields: placement.is_short,
    };
    let engine = open(library, request, surroundings).map_err(|error| open_error(&error))?;
    let conditions = Conditions {
        placement,
        is_pinned,
        memory_cap: engine.memory_cap(),
    };
    Ok((engine, conditions))
}

fn open_error(error: &OpenError) -> EngineError {
    let why = with_causes(error);
    match error {
        OpenError::Library(_) | OpenError::Devices(DeviceListError::NoRdma(_)) => {
            EngineError::UserspaceMissing { why }
        }
        OpenError::Devices(DeviceListError::NoProvider { .. }) => EngineError::NoProvider { why },
        _ => EngineError::open(EngineName::Rdma, error),
    }
}
