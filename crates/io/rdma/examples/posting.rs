//! How many work requests a second one core posts and sees completed by a library that completes them at once: the
//! engine's own loop. The same calls in C are in posting.c; see scripts/bench.
//!
//! `posting LIBRARY LIST EVERY MILLISECONDS`: requests of a list, and one of how many makes a completion.

#![allow(clippy::print_stdout)] // its result

use std::{path::Path, sync::atomic::AtomicBool};

use anyhow::{Result, bail};
use crosstie_model::Mtu;
use crosstie_rdma::{
    BandwidthOperation, EngineResources, HostResourceShare, RdmaFigures, RdmaOpenRequest,
    RdmaPathRequest, RdmaRole, RdmaTest, TestTimes, open,
};
use crosstie_verbs::VerbsLibrary;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, library, list, every, milliseconds] = arguments.as_slice() else {
        bail!("usage: posting LIBRARY LIST EVERY MILLISECONDS");
    };
    let request = RdmaOpenRequest {
        device: "standin_instant0".to_owned(),
        port: 1,
        address: Some([192, 0, 2, 5].into()),
        interface_mtu: Some(Mtu(9000)),
        role: RdmaRole::Initiator,
        test: RdmaTest::Bandwidth {
            transfer: BandwidthOperation::Write,
        },
        queue_pairs: 1,
        sizes: vec![64],
        depth: 128,
        list: list.parse()?,
        signal_every: Some(every.parse()?),
        relaxed_ordering: false,
        path: RdmaPathRequest {
            timeout: 14,
            retry_count: 7,
            service_level: 0,
            traffic_class: 0,
        },
        times: TestTimes {
            warm_up: 100,
            measure: milliseconds.parse()?,
            cool_down: 0,
            silence: 5000,
        },
        share: HostResourceShare { index: 0, count: 1 },
    };
    let library = VerbsLibrary::open_at(Path::new(library))?;
    let engine = open(&library, request, EngineResources::default())?;
    // It is its own peer.
    let own = engine.offer().clone();
    let figures = engine
        .join(&own)?
        .go(&AtomicBool::new(false), &mut |_| {})?;
    let RdmaFigures::Bandwidth(figures) = figures else {
        bail!("no bandwidth");
    };
    let Some(figures) = figures.first() else {
        bail!("no size");
    };
    println!(
        "{{\"requests\":{},\"wall_ns\":{},\"processor_ns\":{}}}",
        figures.messages, figures.nanoseconds, figures.processor_nanoseconds
    );
    Ok(())
}
