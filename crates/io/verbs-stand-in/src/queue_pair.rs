//! Queue pairs and their states.

use crosstie_verbs_abi::{self as abi, ZeroableType};

use crate::{
    object::{self, EBUSY, EINVAL, null},
    state::{self, StandInCompletion, StandInQueuePair, StandInState},
    transfer,
};

const MAX_DEPTH: u32 = 4096;
const MAX_INLINE: u32 = 512;

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_create_qp(
    domain: *mut abi::ProtectionDomain,
    wanted: *mut abi::QueuePairInit,
) -> *mut abi::QueuePair {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("ibv_create_qp") {
        return null(error);
    }
    // SAFETY: attributes, by the function's contract.
    let wanted = unsafe { wanted.read() };
    let capabilities = wanted.cap;
    let too_much = capabilities.max_send_wr > MAX_DEPTH
        || capabilities.max_recv_wr > MAX_DEPTH
        || capabilities.max_inline_data > MAX_INLINE
        || wanted.qp_type != abi::QUEUE_PAIR_RELIABLE;
    let context = world.domains.get(&domain.addr()).copied();
    let Some(context) = context.filter(|_| !too_much) else {
        return null(EINVAL);
    };
    let raw = object::make::<abi::QueuePair>();
    let number = world.number();
    // SAFETY: made above.
    unsafe {
        object::set(raw, abi::queue_pair::CONTEXT, context);
        object::set(raw, abi::queue_pair::NUMBER, number);
        object::set(raw, crate::instant::SEND_QUEUE, wanted.send_cq);
    }
    let pair = StandInQueuePair {
        context,
        domain: domain.addr(),
        send_queue: wanted.send_cq.addr(),
        receive_queue: wanted.recv_cq.addr(),
        number,
        capabilities,
        attributes: abi::QueuePairAttributes::ZEROED,
        outstanding: 0,
        unsignalled: 0,
        receives: [].into(),
        receive_elements: [].into(),
        unacknowledged: 0,
        stalled: [].into(),
    };
    world.pairs.insert(raw.as_ptr().addr(), pair);
    raw.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_destroy_qp(pair: *mut abi::QueuePair) -> i32 {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("ibv_destroy_qp") {
        return error;
    }
    // libibverbs would wait here for ever.
    if world
        .pairs
        .get(&pair.addr())
        .is_some_and(|pair| pair.unacknowledged > 0)
    {
        return EBUSY;
    }
    for context in world.contexts.values_mut() {
        context
            .events
            .retain(|event| event.element.addr() != pair.addr());
    }
    world.pairs.remove(&pair.addr());
    // SAFETY: made by ibv_create_qp.
    unsafe { object::free(pair) };
    0
}

/// The state that a queue pair comes from, and what it must be told on the way, by the state that it goes to.
const STEPS: &[(u32, u32, u32)] = &[
    (
        abi::STATE_INIT,
        abi::STATE_RESET,
        abi::SET_STATE | abi::SET_PARTITION_INDEX | abi::SET_PORT | abi::SET_ACCESS_FLAGS,
    ),
    (
        abi::STATE_READY_TO_RECEIVE,
        abi::STATE_INIT,
        abi::SET_STATE
            | abi::SET_ADDRESS_VECTOR
            | abi::SET_PATH_MTU
            | abi::SET_DESTINATION
            | abi::SET_RECEIVE_PSN
            | abi::SET_MAX_DESTINATION_READS
            | abi::SET_MIN_RNR_TIMER,
    ),
    (
        abi::STATE_READY_TO_SEND,
        abi::STATE_READY_TO_RECEIVE,
        abi::SET_STATE
            | abi::SET_TIMEOUT
            | abi::SET_RETRY_COUNT
            | abi::SET_RNR_RETRY
            | abi::SET_SEND_PSN
            | abi::SET_MAX_READS,
    ),
];

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_modify_qp(
    pair: *mut abi::QueuePair,
    attributes: *mut abi::QueuePairAttributes,
    mask: i32,
) -> i32 {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("ibv_modify_qp") {
        return error;
    }
    // SAFETY: attributes, by the function's contract.
    let given = unsafe { attributes.read() };
    let Some(known) = world.pairs.get(&pair.addr()) else {
        return EINVAL;
    };
    let step = STEPS.iter().find(|(to, ..)| *to == given.qp_state);
    let allowed = step.is_some_and(|&(_, from, wanted)| {
        from == known.attributes.qp_state && wanted == mask.cast_unsigned()
    });
    let context = known.context;
    if given.qp_state == abi::STATE_ERROR && mask.cast_unsigned() == abi::SET_STATE {
        end_work(&mut world, pair.addr());
        return 0;
    }
    if !allowed
        || !world
            .contexts
            .get(&context)
            .is_some_and(|context| is_valid(context, &given))
    {
        return EINVAL;
    }
    let Some(known) = world.pairs.get_mut(&pair.addr()) else {
        return EINVAL;
    };
    merge(&mut known.attributes, &given);
    0
}

/// What was posted completes as flushed.
fn end_work(world: &mut StandInState, address: usize) {
    let Some(pair) = world.pairs.get_mut(&address) else {
        return;
    };
    pair.attributes.qp_state = abi::STATE_ERROR;
    transfer::resume(world, address);
    flush_receives(world, address);
}

/// As a device does once a queue pair has failed, for whatever reason.
pub(crate) fn flush_receives(world: &mut StandInState, address: usize) {
    let Some(pair) = world.pairs.get_mut(&address) else {
        return;
    };
    pair.receive_elements.clear();
    let (queue, number) = (pair.receive_queue, pair.number);
    for request in std::mem::take(&mut pair.receives) {
        let completion = abi::WorkCompletion {
            wr_id: request.wr_id,
            status: abi::STATUS_FLUSHED,
            qp_num: number,
            ..abi::WorkCompletion::ZEROED
        };
        let entry = StandInCompletion {
            completion,
            frees: None,
        };
        world.complete(queue, entry);
    }
}

fn is_valid(context: &state::StandInContext, given: &abi::QueuePairAttributes) -> bool {
    let vector = &given.ah_attr;
    match given.qp_state {
        abi::STATE_INIT => given.port_num == 1,
        abi::STATE_READY_TO_RECEIVE if context.model.is_infiniband() => {
            vector.dlid != 0 && vector.is_global == 0 && vector.port_num == 1
        }
        abi::STATE_READY_TO_RECEIVE => {
            let own = context.model.gid(vector.grh.sgid_index.into());
            let version_2 = own.is_some_and(|(_, kind)| kind == abi::GID_ROCE_V2);
            version_2 && vector.is_global == 1 && vector.port_num == 1 && vector.grh.hop_limit > 0
        }
        // 7 would be endless.
        abi::STATE_READY_TO_SEND => given.rnr_retry < 7 && given.timeout > 0,
        _ => false,
    }
}

fn merge(known: &mut abi::QueuePairAttributes, given: &abi::QueuePairAttributes) {
    known.qp_state = given.qp_state;
    match given.qp_state {
        abi::STATE_READY_TO_RECEIVE => {
            known.ah_attr = given.ah_attr;
            known.dest_qp_num = given.dest_qp_num;
            known.rq_psn = given.rq_psn;
            known.path_mtu = given.path_mtu;
        }
        abi::STATE_READY_TO_SEND => known.sq_psn = given.sq_psn,
        _ => {}
    }
}
