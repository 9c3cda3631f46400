//! Making the queue pairs of a test.

use crosstie_fabric::wire::roce_path_mtu;
use crosstie_model::facts::rdma::LinkLayer;
use crosstie_verbs::{
    CompletionQueue, CreateError, DeviceContext, DeviceLimits, Initialised, PathMtu,
    ProtectionDomain, QueuePair, QueuePairOptions, RemoteAccess, VerbsDevice, VerbsLibrary,
    VerbsPort, VerbsPortState,
};

use super::{EngineParts, EngineResources, OpenRdmaEngine, RdmaEndpoints};
use crate::{
    error::{RdmaOpenError, RdmaRequestError},
    latency,
    receiver::receives_ahead,
    request::{RdmaOpenRequest, RdmaTest, SPARE_SENDS},
    size_plan::{bytes_of, within},
    verify,
};

/// Makes the queue pairs of a test; the peer needs the offer to join. The calling thread's memory policy holds for the buffers:
/// registering them touches them first.
pub fn open(
    library: &VerbsLibrary,
    mut request: RdmaOpenRequest,
    surroundings: EngineResources,
) -> Result<OpenRdmaEngine, RdmaOpenError> {
    request.check()?;
    // What no machine could have is refused before a device is asked.
    within(&request, None)?;
    let context = VerbsDevice::find(&library.devices()?, &request.device)?.open()?;
    let port = active_port(&context, request.port)?;
    let mtu = path_mtu(&request, &port)?;
    let from = context.port_address(&port, request.address)?;
    let limits = context.limits()?;
    limit_depth(&mut request, limits);
    let (plans, cap) = within(&request, surroundings.memory)?;
    let domain = context.protection_domain()?;
    let access = RemoteAccess {
        remote_write: true,
        remote_read: true,
        relaxed_ordering: request.relaxed_ordering,
    };
    let length = usize::try_from(bytes_of(&plans)).unwrap_or(usize::MAX);
    let memory = domain.register(length, access)?;
    let queue_pairs = u32::from(request.queue_pairs);
    let receives_ahead = receives_ahead(&request, limits);
    let receive_depth = receive_depth(&request, receives_ahead);
    let entries = |depth: u32| depth.saturating_mul(queue_pairs);
    let sends = context.completion_queue(entries(request.depth + SPARE_SENDS))?;
    let receives = context.completion_queue(entries(receive_depth))?;
    let options = request.queue_pair_options(receive_depth);
    let pairs = make_pairs(&request, &domain, &sends, &receives, options)?;
    let endpoint = |pair: &QueuePair<Initialised>| {
        pair.endpoint(&from, mtu, limits.reads_answered, memory.remote())
    };
    let own = RdmaEndpoints {
        endpoints: pairs.iter().map(endpoint).collect(),
        longest: plans.iter().map(|plan| plan.size).max().unwrap_or(0),
    };
    Ok(OpenRdmaEngine {
        parts: EngineParts {
            request,
            plans,
            context,
            memory,
            sends,
            receives,
            receives_ahead,
            yields: surroundings.yields,
        },
        cap,
        from,
        reads: limits.reads_begun,
        own,
        pairs,
    })
}

/// To what the device can do; a device that tells nothing is asked as it is.
fn limit_depth(request: &mut RdmaOpenRequest, limits: DeviceLimits) {
    let queue_pairs = u32::from(request.queue_pairs);
    // Receives that are posted ahead are at least twice as many.
    let fits = |depth: u32| {
        let entries = (2 * depth + SPARE_SENDS).saturating_mul(queue_pairs);
        let deep = limits.queue_depth == 0 || 2 * depth + SPARE_SENDS <= limits.queue_depth;
        deep && (limits.completion_entries == 0 || entries <= limits.completion_entries)
    };
    while request.depth > 1 && !fits(request.depth) {
        request.depth /= 2;
    }
}

fn receive_depth(request: &RdmaOpenRequest, receives_ahead: u32) -> u32 {
    match request.test {
        RdmaTest::Bandwidth { .. } => receives_ahead.max(1),
        RdmaTest::Latency { .. } => latency::RECEIVE_DEPTH,
        RdmaTest::Verify { .. } => request.depth + verify::SPARE_RECEIVES,
    }
}

fn active_port(context: &DeviceContext, number: u8) -> Result<VerbsPort, RdmaOpenError> {
    let port = context.port(number)?;
    if port.state == VerbsPortState::Active {
        return Ok(port);
    }
    Err(RdmaOpenError::PortState {
        device: context.device_name().to_owned(),
        port: number,
        state: port.state,
    })
}

fn make_pairs(
    request: &RdmaOpenRequest,
    domain: &ProtectionDomain,
    sends: &CompletionQueue,
    receives: &CompletionQueue,
    options: QueuePairOptions,
) -> Result<Vec<QueuePair<Initialised>>, CreateError> {
    let make = |options: QueuePairOptions| {
        (0..request.queue_pairs)
            .map(|_| domain.queue_pair(request.port, sends, receives, options))
            .collect::<Result<Vec<_>, _>>()
    };
    match make(options) {
        // A device may allow less inline data, or none, and does not say how much before it is asked.
        Err(CreateError::BeyondLimits { .. }) if options.inline_bytes > 0 => {
            make(QueuePairOptions {
                inline_bytes: 0,
                ..options
            })
        }
        pairs => pairs,
    }
}

fn path_mtu(request: &RdmaOpenRequest, port: &VerbsPort) -> Result<PathMtu, RdmaOpenError> {
    if port.link_layer == LinkLayer::InfiniBand {
        let mtu = port
            .active_mtu
            .ok_or(RdmaRequestError::PortMtu(port.number))?;
        return Ok(mtu);
    }
    let derived = request.interface_mtu.and_then(roce_path_mtu);
    Ok(PathMtu::try_from(
        derived.ok_or(RdmaRequestError::InterfaceMtu)?,
    )?)
}
