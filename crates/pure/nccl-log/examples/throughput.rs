//! `throughput MEGABYTES`: so many megabytes of log in the forms of a long run, read on one thread; how fast, as JSON.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a measurement that fails says why
#![allow(clippy::cast_precision_loss)] // figures of seven digits are enough

use std::{fmt::Write, time::Instant};

use crosstie_nccl_log::NcclLogReader;
use serde_json::json;

const PIECE: usize = 256 << 10;
const HOSTS: u32 = 16;
const RANKS: u32 = HOSTS * 8;

/// What a log mostly holds.
#[derive(Clone, Copy)]
enum Content {
    /// The start of a large job: nearly every line is a channel.
    Channels,
    /// `NCCL_DEBUG_SUBSYS=COLL`: a line for each call.
    Calls,
    /// A trainer's or a server's own lines, NCCL's among them now and then.
    Program,
}

fn main() {
    let megabytes: usize = std::env::args()
        .nth(1)
        .map_or(300, |size| size.parse().unwrap());
    let contents = [
        ("channels", Content::Channels),
        ("calls", Content::Calls),
        ("program", Content::Program),
    ];
    let results: Vec<_> = contents
        .iter()
        .map(|(name, content)| {
            let log = log(*content, megabytes * 1_000_000);
            let (started, before) = (Instant::now(), processor_seconds());
            let mut reader = NcclLogReader::new();
            for piece in log.chunks(PIECE) {
                reader.feed(piece);
            }
            let report = reader.finish(&[]);
            let (seconds, processor) = (
                started.elapsed().as_secs_f64(),
                processor_seconds() - before,
            );
            assert_eq!(report.runs.len(), 1);
            json!({
                "log": name,
                "bytes": log.len(),
                "lines": report.lines,
                "seconds": seconds,
                "processor_seconds": processor,
                "mb_per_s": log.len() as f64 / 1e6 / seconds,
                "mb_per_processor_s": log.len() as f64 / 1e6 / processor,
            })
        })
        .collect();
    println!("{}", json!(results));
}

/// What this thread was given of a core: on a busy machine less than the clock on the wall.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds: u64 = text.split_whitespace().next().unwrap().parse().unwrap();
    nanoseconds as f64 / 1e9
}

fn log(content: Content, size: usize) -> Vec<u8> {
    let mut log = String::with_capacity(size + 4096);
    for rank in 0..RANKS {
        let (host, device) = (rank / 8, rank % 8);
        let speaker = format!(
            "gpu-{host:02}:{}:{} [{device}] NCCL INFO",
            4000 + rank,
            5000 + rank
        );
        let _ = writeln!(
            log,
            "{speaker} NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.{host}<0>"
        );
        let _ = writeln!(log, "{speaker} Using network IB");
        let _ = writeln!(
            log,
            "{speaker} ncclCommInitRankConfig comm 0x55d0c0de rank {rank} nranks {RANKS} cudaDev {device} nvmlDev {device} \
             busId 1000 commId 0x5c1d0c6b - Init START"
        );
    }
    let mut number = 0_u32;
    while log.len() < size {
        let rank = number.wrapping_mul(2_654_435_761) % RANKS;
        body(&mut log, content, rank, number);
        number += 1;
    }
    log.into_bytes()
}

fn body(log: &mut String, content: Content, rank: u32, number: u32) {
    let (host, device, peer) = (rank / 8, rank % 8, (rank + 8) % RANKS);
    let speaker = format!(
        "gpu-{host:02}:{}:{} [{device}] NCCL INFO",
        4000 + rank,
        5000 + rank
    );
    let channel = number % 16;
    let _ = match content {
        Content::Channels if number.is_multiple_of(3) => {
            writeln!(
                log,
                "{speaker} Channel {channel:02}/0 : {rank}[{device}] -> {}[{device}] via P2P/CUMEM/read",
                rank ^ 1
            )
        }
        Content::Channels => writeln!(
            log,
            "{speaker} Channel {channel:02}/0 : {rank}[{device}] -> {peer}[{device}] [send] via NET/IB/{}/GDRDMA",
            device % 2
        ),
        Content::Calls => writeln!(
            log,
            "{speaker} AllReduce: opCount {number:x} sendbuff 0x7f30{number:08x} recvbuff 0x7f31{number:08x} count 1048576 \
             datatype 9 op 0 root 0 comm 0x55d0c0de [nranks={RANKS}] stream 0x55d0beef"
        ),
        Content::Program if number.is_multiple_of(20) => {
            writeln!(log, "{speaker} Connected all rings")
        }
        Content::Program => writeln!(
            log,
            "[rank{rank}]: 2026-11-02 10:00:01,123 step {number} loss 1.2345 grad_norm 0.512 lr 3.0e-4 tokens/s 48123 \
             memory 61.2 GiB elapsed 0.871 s"
        ),
    };
}
