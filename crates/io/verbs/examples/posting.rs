//! How many work requests a second one core posts and sees completed by a library that completes them at once. The
//! same loop in C is in posting.c; see scripts/bench.
//!
//! `posting LIBRARY LIST EVERY TOTAL`: requests of a list, one of how many makes a completion, and how many in all.

#![allow(clippy::print_stdout)] // its result

use std::{path::Path, time::Instant};

use anyhow::{Context as _, Result};
use crosstie_model::Mtu;
use crosstie_verbs::{
    Access, CompletionBatch, CompletionQueue, Device, Library, MemoryRegion, Operation, PathMtu,
    PathOptions, QueuePair, QueuePairOptions, ReadyToSend, RemoteMemory, SendList, SendRequest,
};
use rustix::time::{ClockId, clock_gettime};

const DEPTH: u64 = 128;
const BATCH: u16 = 16;
const SIZE: u32 = 64;
/// Messages go round in it.
const REGION: usize = 4096;

const PATH: PathOptions = PathOptions {
    timeout: 14,
    retry_count: 7,
    service_level: 0,
    traffic_class: 0,
    reads: 1,
};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, library, list, every, total] = arguments.as_slice() else {
        anyhow::bail!("usage: posting LIBRARY LIST EVERY TOTAL");
    };
    let list: usize = list.parse()?;
    let [every, total] = [every.parse::<u64>()?, total.parse()?];
    let (mut pair, queue, memory, remote) = connected(Path::new(library))?;
    let requests = (1_u64..).zip((0..REGION).step_by(SIZE as usize));
    let requests = requests.map(|(number, offset)| {
        Ok(SendRequest {
            identifier: 0,
            local: memory.span(offset, SIZE)?,
            operation: Operation::Write {
                to: remote,
                offset: offset as u64,
            },
            signalled: number % every == 0,
            inline: false,
        })
    });
    let requests = requests.collect::<Result<Vec<_>>>()?;
    let lists = requests
        .chunks(list)
        .map(|list| SendList::new(list.to_vec()));
    let mut lists = lists.collect::<Result<Vec<_>, _>>()?;
    if list > 1 {
        // As in C.
        lists.truncate(1);
    }
    let processor = processor_time();
    let started = Instant::now();
    let completed = run(&mut pair, &queue, &mut lists, every, total)?;
    let wall = started.elapsed().as_nanos();
    let processor = processor_time() - processor;
    println!("{{\"requests\":{completed},\"wall_ns\":{wall},\"processor_ns\":{processor}}}");
    Ok(())
}

/// The lists go round; which request makes a completion stays as it was prepared.
fn run(
    pair: &mut QueuePair<ReadyToSend>,
    queue: &CompletionQueue,
    lists: &mut [SendList],
    every: u64,
    total: u64,
) -> Result<u64> {
    let mut batch = CompletionBatch::new(BATCH);
    let (mut posted, mut completed) = (0, 0);
    let mut next = 0;
    let length = lists[0].length() as u64;
    while completed < total {
        while posted < total && posted + length <= completed + DEPTH {
            pair.post_send(&mut lists[next])?;
            posted += length;
            next += 1;
            if next == lists.len() {
                next = 0;
            }
        }
        for completion in queue.poll(&mut batch)? {
            completion.result()?;
            completed += every;
        }
    }
    Ok(completed)
}

type Parts = (
    QueuePair<ReadyToSend>,
    CompletionQueue,
    MemoryRegion,
    RemoteMemory,
);

/// A queue pair that is its own peer.
fn connected(library: &Path) -> Result<Parts> {
    let devices = Library::open_at(library)?.devices()?;
    let context = Device::find(&devices, "standin_instant0")?.open()?;
    let domain = context.protection_domain()?;
    let memory = domain.register(REGION, Access::default())?;
    let queue = context.completion_queue(256)?;
    let options = QueuePairOptions {
        send_depth: u32::try_from(DEPTH)?,
        receive_depth: 1,
        inline_bytes: 0,
    };
    let pair = domain.queue_pair(1, &queue, &queue, options)?;
    let port = context.port(1)?;
    let from = context.port_address(&port, Some([192, 0, 2, 5].into()))?;
    let endpoint = pair.endpoint(&from, PathMtu::try_from(Mtu(1024))?, 1, memory.remote());
    let pair = pair.ready_to_receive(&from, &endpoint, &endpoint, PATH)?;
    let pair = pair
        .ready_to_send(&endpoint, PATH)
        .context("no queue pair")?;
    Ok((pair, queue, memory, endpoint.memory))
}

fn processor_time() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
