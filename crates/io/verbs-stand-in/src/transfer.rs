//! Posting work, which is done at once, or as soon as the peer has a receive for it.

use std::time::{Duration, Instant};

use crosstie_verbs_abi::{self as abi, ZeroableType};

use crate::{
    object::{EINVAL, ENOMEM},
    queue_pair::flush_receives,
    state::{self, StalledSend, StandInCompletion, StandInQueuePair, StandInState},
};

/// How long a message is tried again that finds no receive: longer than on any device, since tests run on busy machines.
const RECEIVER_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) unsafe extern "C" fn post_send(
    pair: *mut abi::QueuePair,
    first: *mut abi::SendRequest,
    refused: *mut *mut abi::SendRequest,
) -> i32 {
    let mut world = state::lock();
    let mut next = first;
    while !next.is_null() {
        // SAFETY: a list of requests that ends with a null pointer, each with as many elements as it says.
        let (request, element) =
            unsafe { (next.read(), element_of((*next).sg_list, (*next).num_sge)) };
        if let Err(error) = post_one(&mut world, pair.addr(), &request, element) {
            // SAFETY: room for a pointer, by the function's contract.
            unsafe { refused.write(next) };
            return error;
        }
        next = request.next;
    }
    0
}

/// # Safety
///
/// `list` points to as many elements as there are.
unsafe fn element_of(list: *mut abi::ScatterElement, count: i32) -> Option<abi::ScatterElement> {
    // SAFETY: as the caller promises.
    (count > 0).then(|| unsafe { list.read() })
}

type Element = Option<abi::ScatterElement>;

fn post_one(
    world: &mut StandInState,
    address: usize,
    request: &abi::SendRequest,
    element: Element,
) -> Result<(), i32> {
    if world.faults.lasts("crash") {
        std::process::abort();
    }
    if let Some(error) = world.faults.take("post_send") {
        return Err(error);
    }
    let pair = world.pairs.get_mut(&address).ok_or(EINVAL)?;
    let inline = request.send_flags & abi::SEND_INLINE != 0;
    let length = element.map_or(0, |element| element.length);
    let ready = [abi::STATE_READY_TO_SEND, abi::STATE_ERROR].contains(&pair.attributes.qp_state);
    if !ready
        || inline
            && (length > pair.capabilities.max_inline_data || request.opcode == abi::OPCODE_READ)
    {
        return Err(EINVAL);
    }
    if pair.outstanding >= pair.capabilities.max_send_wr {
        return Err(ENOMEM);
    }
    pair.outstanding += 1;
    pair.stalled.push_back(StalledSend {
        request: *request,
        element,
        since: Instant::now(),
    });
    resume(world, address);
    Ok(())
}

/// Does what was posted, up to the first request for which the peer has no receive.
pub(crate) fn resume(world: &mut StandInState, address: usize) {
    while let Some(first) = world
        .pairs
        .get(&address)
        .and_then(|pair| pair.stalled.front())
    {
        let is_late = first.since.elapsed() > RECEIVER_TIMEOUT;
        if !is_late && lacks_receive(world, address, &first.request) {
            return;
        }
        let Some(pair) = world.pairs.get_mut(&address) else {
            return;
        };
        if let Some(next) = pair.stalled.pop_front() {
            execute(world, address, &next.request, next.element);
        }
    }
}

/// What was posted so long ago that no device would still try fails.
pub(crate) fn give_up_late(world: &mut StandInState) {
    let late = |pair: &StandInQueuePair| {
        let first = pair.stalled.front();
        first.is_some_and(|first| first.since.elapsed() > RECEIVER_TIMEOUT)
    };
    let pairs: Vec<usize> = world
        .pairs
        .iter()
        .filter(|(_, pair)| late(pair))
        .map(|(address, _)| *address)
        .collect();
    for pair in pairs {
        resume(world, pair);
    }
}

fn lacks_receive(world: &StandInState, address: usize, request: &abi::SendRequest) -> bool {
    let needs_none = [abi::OPCODE_WRITE, abi::OPCODE_READ].contains(&request.opcode);
    let is_flushed = world.pairs[&address].attributes.qp_state == abi::STATE_ERROR;
    if needs_none || is_flushed {
        return false;
    }
    find_peer(world, address).is_some_and(|peer| world.pairs[&peer].receives.is_empty())
}

fn execute(world: &mut StandInState, address: usize, request: &abi::SendRequest, element: Element) {
    let Some(pair) = world.pairs.get_mut(&address) else {
        return;
    };
    pair.unsignalled += 1;
    let length = element.map_or(0, |element| element.length);
    let status = if pair.attributes.qp_state == abi::STATE_ERROR {
        abi::STATUS_FLUSHED
    } else {
        match world.faults.take("completion") {
            Some(status) => status.unsigned_abs(),
            None => transfer(world, address, request, element)
                .err()
                .unwrap_or(abi::STATUS_SUCCESS),
        }
    };
    finish(world, address, request, length, status);
}

/// The sender's completion, if there is one.
fn finish(
    world: &mut StandInState,
    address: usize,
    request: &abi::SendRequest,
    length: u32,
    status: u32,
) {
    let Some(pair) = world.pairs.get_mut(&address) else {
        return;
    };
    if status != abi::STATUS_SUCCESS {
        pair.attributes.qp_state = abi::STATE_ERROR;
    } else if request.send_flags & abi::SEND_SIGNALLED == 0 {
        return;
    }
    let completion = abi::WorkCompletion {
        wr_id: request.wr_id,
        status,
        opcode: match request.opcode {
            abi::OPCODE_WRITE | abi::OPCODE_WRITE_WITH_IMMEDIATE => abi::COMPLETED_WRITE,
            abi::OPCODE_READ => abi::COMPLETED_READ,
            _ => abi::COMPLETED_SEND,
        },
        vendor_err: if status == abi::STATUS_SUCCESS {
            0
        } else {
            0x81
        },
        byte_len: length,
        qp_num: pair.number,
        ..abi::WorkCompletion::ZEROED
    };
    let places = std::mem::take(&mut pair.unsignalled);
    let queue = pair.send_queue;
    world.complete(
        queue,
        StandInCompletion {
            completion,
            frees: Some((address, places)),
        },
    );
    if status != abi::STATUS_SUCCESS {
        flush_receives(world, address);
    }
}

/// Does what a request asks for; the sender's status where that fails.
fn transfer(
    world: &mut StandInState,
    address: usize,
    request: &abi::SendRequest,
    element: Element,
) -> Result<(), u32> {
    let peer = find_peer(world, address).ok_or(abi::STATUS_RETRY_EXCEEDED)?;
    let domain = world.pairs[&address].domain;
    let length = element.map_or(0, |element| element.length);
    let inline = request.send_flags & abi::SEND_INLINE != 0;
    let local_access = if request.opcode == abi::OPCODE_READ {
        abi::ACCESS_LOCAL_WRITE
    } else {
        0
    };
    if let Some(element) = element.filter(|_| !inline) {
        check(
            world,
            domain,
            element.lkey,
            element.addr,
            length,
            local_access,
        )
        .ok_or(abi::STATUS_LOCAL_PROTECTION)?;
    }
    let local = element.map_or(0, |element| element.addr);
    let remote = request.remote_addr;
    let access = match request.opcode {
        abi::OPCODE_WRITE | abi::OPCODE_WRITE_WITH_IMMEDIATE => Some(abi::ACCESS_REMOTE_WRITE),
        abi::OPCODE_READ => Some(abi::ACCESS_REMOTE_READ),
        _ => None,
    };
    if let Some(access) = access {
        let peer_domain = world.pairs[&peer].domain;
        if length > 0 && check(world, peer_domain, request.rkey, remote, length, access).is_none() {
            let event = abi::AsyncEvent {
                element: peer as *mut _,
                event_type: abi::EVENT_QUEUE_PAIR_ACCESS,
            };
            let context = world.pairs[&peer].context;
            world.raise(context, event);
            return Err(abi::STATUS_REMOTE_ACCESS);
        }
    }
    match request.opcode {
        abi::OPCODE_WRITE => copy(world, local, remote, length),
        abi::OPCODE_READ => copy(world, remote, local, length),
        abi::OPCODE_WRITE_WITH_IMMEDIATE => {
            let (identifier, _) = take_receive(world, peer)?;
            copy(world, local, remote, length);
            received(
                world,
                peer,
                identifier,
                length,
                Some(request.imm_data),
                true,
            );
        }
        _ => {
            let (identifier, into) = take_receive(world, peer)?;
            let room = into.map_or(0, |into| into.length);
            if length > room {
                return Err(abi::STATUS_REMOTE_INVALID);
            }
            copy(world, local, into.map_or(0, |into| into.addr), length);
            let immediate =
                (request.opcode == abi::OPCODE_SEND_WITH_IMMEDIATE).then_some(request.imm_data);
            received(world, peer, identifier, length, immediate, false);
        }
    }
    Ok(())
}

/// The queue pair at the other end, if both know each other.
fn find_peer(world: &StandInState, address: usize) -> Option<usize> {
    let own = &world.pairs[&address];
    let peer_address = world.pair_of_number(own.attributes.dest_qp_num)?;
    let peer = &world.pairs[&peer_address];
    let model = world.contexts.get(&peer.context)?.model;
    let vector = &own.attributes.ah_attr;
    let there = if model.is_infiniband() {
        vector.dlid == model.lid
    } else {
        let gid = vector.grh.dgid.bytes();
        (0..16)
            .filter_map(|index| model.gid(index))
            .any(|entry| entry == (gid, abi::GID_ROCE_V2))
    };
    let ready =
        [abi::STATE_READY_TO_RECEIVE, abi::STATE_READY_TO_SEND].contains(&peer.attributes.qp_state);
    let mutual = peer.attributes.dest_qp_num == own.number
        && peer.attributes.rq_psn == own.attributes.sq_psn
        && peer.attributes.path_mtu == own.attributes.path_mtu;
    (there && ready && mutual).then_some(peer_address)
}

/// Whether a key gives access to a piece of memory.
fn check(
    world: &StandInState,
    domain: usize,
    key: u32,
    address: u64,
    length: u32,
    access: u32,
) -> Option<()> {
    let region = world.regions.get(&key)?;
    let end = address.checked_add(length.into())?;
    let within = address >= region.address && end <= region.address + region.length;
    (region.domain == domain && within && region.access & access == access).then_some(())
}

fn take_receive(world: &mut StandInState, peer: usize) -> Result<(u64, Element), u32> {
    let pair = world
        .pairs
        .get_mut(&peer)
        .ok_or(abi::STATUS_RETRY_EXCEEDED)?;
    let receive = pair
        .receives
        .pop_front()
        .zip(pair.receive_elements.pop_front());
    let (request, element) = receive.ok_or(abi::STATUS_RNR_RETRY_EXCEEDED)?;
    Ok((request.wr_id, element))
}

fn received(
    world: &mut StandInState,
    peer: usize,
    identifier: u64,
    length: u32,
    immediate: Option<u32>,
    write: bool,
) {
    let pair = &world.pairs[&peer];
    let completion = abi::WorkCompletion {
        wr_id: identifier,
        opcode: if write {
            abi::COMPLETED_RECEIVE_WITH_IMMEDIATE
        } else {
            abi::COMPLETED_RECEIVE
        },
        byte_len: length,
        imm_data: immediate.unwrap_or(0),
        wc_flags: if immediate.is_some() {
            abi::COMPLETION_HAS_IMMEDIATE
        } else {
            0
        },
        qp_num: pair.number,
        ..abi::WorkCompletion::ZEROED
    };
    let queue = pair.receive_queue;
    world.complete(
        queue,
        StandInCompletion {
            completion,
            frees: None,
        },
    );
}

fn copy(world: &mut StandInState, from: u64, to: u64, length: u32) {
    if length == 0 {
        return;
    }
    // SAFETY: both were checked against registered memory, or are inline bytes of the caller's.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, length as usize) };
    if let Some(bit) = world.faults.take("flip") {
        let bit = u64::from(bit.unsigned_abs()) % (u64::from(length) * 8);
        let byte = (to + bit / 8) as *mut u8;
        // SAFETY: within what was just written.
        unsafe { *byte ^= 1 << (bit % 8) };
    }
}

pub(crate) unsafe extern "C" fn post_recv(
    pair: *mut abi::QueuePair,
    first: *mut abi::ReceiveRequest,
    refused: *mut *mut abi::ReceiveRequest,
) -> i32 {
    let mut world = state::lock();
    let mut next = first;
    while !next.is_null() {
        // SAFETY: a list of requests that ends with a null pointer, each with as many elements as it says.
        let (request, element) =
            unsafe { (next.read(), element_of((*next).sg_list, (*next).num_sge)) };
        if let Err(error) = receive_one(&mut world, pair.addr(), request, element) {
            // SAFETY: room for a pointer, by the function's contract.
            unsafe { refused.write(next) };
            return error;
        }
        next = request.next;
    }
    0
}

fn receive_one(
    world: &mut StandInState,
    address: usize,
    request: abi::ReceiveRequest,
    element: Element,
) -> Result<(), i32> {
    if let Some(error) = world.faults.take("post_recv") {
        return Err(error);
    }
    let pair = world.pairs.get(&address).ok_or(EINVAL)?;
    if let Some(element) = element {
        let access = abi::ACCESS_LOCAL_WRITE;
        check(
            world,
            pair.domain,
            element.lkey,
            element.addr,
            element.length,
            access,
        )
        .ok_or(EINVAL)?;
    }
    let pair = world.pairs.get_mut(&address).ok_or(EINVAL)?;
    if pair.receives.len() >= pair.capabilities.max_recv_wr as usize {
        return Err(ENOMEM);
    }
    pair.receives.push_back(request);
    pair.receive_elements.push_back(element);
    if pair.attributes.qp_state == abi::STATE_ERROR {
        flush_receives(world, address);
    }
    if let Some(sender) = find_peer(world, address) {
        resume(world, sender);
    }
    Ok(())
}
