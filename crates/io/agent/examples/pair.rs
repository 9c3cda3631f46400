//! Both ends of a test on one machine and one device, for scripts/bench: the engine's own loops, in two threads that are placed
//! as its workers are.
//!
//! `pair DEVICE ADDRESS MTU write|send|send-latency SIZE LIST MILLISECONDS` → Gb/s, or microseconds of half a round trip.

#![allow(clippy::print_stdout, clippy::cast_precision_loss)] // its result, for people

use std::{
    error::Error,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use crosstie_model::Mtu;
use crosstie_node::{LocalFileTree, host};
use crosstie_rdma::{
    BandwidthOperation, EngineResources, HostResourceShare, LatencyOperation, RdmaEndpoints,
    RdmaFigures, RdmaOpenRequest, RdmaPathRequest, RdmaRole, RdmaTest, TestTimes, open,
};
use crosstie_verbs::VerbsLibrary;

const USAGE: &str = "usage: pair DEVICE ADDRESS MTU write|send|send-latency SIZE LIST MILLISECONDS";

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [device, address, mtu, test, size, list, milliseconds] = arguments.as_slice() else {
        return Err(USAGE.into());
    };
    let test = match test.as_str() {
        "write" => RdmaTest::Bandwidth {
            transfer: BandwidthOperation::Write,
        },
        "send" => RdmaTest::Bandwidth {
            transfer: BandwidthOperation::Send,
        },
        "send-latency" => RdmaTest::Latency {
            message: LatencyOperation::Send,
        },
        _ => return Err(USAGE.into()),
    };
    let is_latency = matches!(test, RdmaTest::Latency { .. });
    let request = RdmaOpenRequest {
        device: device.clone(),
        port: 1,
        address: Some(address.parse()?),
        interface_mtu: Some(Mtu(mtu.parse()?)),
        role: RdmaRole::Initiator,
        test,
        queue_pairs: 1,
        sizes: vec![size.parse()?],
        depth: if is_latency { 1 } else { 128 },
        list: list.parse()?,
        signal_every: None,
        relaxed_ordering: false,
        path: RdmaPathRequest {
            timeout: 14,
            retry_count: 7,
            service_level: 0,
            traffic_class: 0,
        },
        times: TestTimes {
            warm_up: 250,
            measure: milliseconds.parse()?,
            cool_down: 0,
            silence: 5000,
        },
        share: HostResourceShare { index: 0, count: 2 },
    };
    println!("{:.6}", run(&request)?);
    Ok(())
}

fn run(request: &RdmaOpenRequest) -> Result<f64> {
    let (to_far, from_near) = channel();
    let (to_near, from_far) = channel();
    let over = AtomicBool::new(false);
    let over = &over;
    thread::scope(|scope| {
        let far = scope.spawn(move || {
            let request = RdmaOpenRequest {
                role: RdmaRole::Responder,
                share: HostResourceShare { index: 1, count: 2 },
                ..request.clone()
            };
            one_end(request, &to_near, &from_near, over)
        });
        let near = one_end(request.clone(), &to_far, &from_far, &AtomicBool::new(false));
        over.store(true, Ordering::Relaxed);
        far.join().map_err(|_| "the responder panicked")??;
        figure(&near?)
    })
}

fn one_end(
    request: RdmaOpenRequest,
    to_peer: &Sender<RdmaEndpoints>,
    from_peer: &Receiver<RdmaEndpoints>,
    stop: &AtomicBool,
) -> Result<RdmaFigures> {
    let machine = LocalFileTree::machine();
    let index = request.share.index.into();
    let placement = host::placement_for(&machine, &request.device, index, 2);
    host::pin(&placement);
    let surroundings = EngineResources {
        memory: None,
        yields: placement.is_short,
    };
    let engine = open(&VerbsLibrary::open()?, request, surroundings)?;
    to_peer.send(engine.offer().clone())?;
    let peer = from_peer.recv()?;
    let mut joined = engine.join(&peer)?;
    // The other end must have joined, too: it says so by its offer once more.
    to_peer.send(peer)?;
    from_peer.recv()?;
    Ok(joined.go(stop, &mut |_| {})?)
}

fn figure(figures: &RdmaFigures) -> Result<f64> {
    match figures {
        RdmaFigures::Bandwidth(all) => {
            let one = all.first().ok_or("no size")?;
            Ok(one.bytes as f64 * 8.0 / one.nanoseconds.max(1) as f64)
        }
        RdmaFigures::Latency(latency) => {
            let median = latency.half_round_trips.percentile(50_000);
            Ok(median.ok_or("no message came back")? as f64 / 1000.0)
        }
        other => Err(format!("unexpected figures: {other:?}").into()),
    }
}
