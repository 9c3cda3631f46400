//! A run that can be posted: names, addresses, MACs, GUIDs and serial numbers replaced, each by the same stand-in
//! everywhere, so that it still tells the same story.
//!
//! The run itself is changed, not the page: whatever is made of it later has nothing to leak. Names of machine models,
//! versions, PCI addresses and the kernel's own names of interfaces stay, since they are what others help with.

mod names;
#[cfg(test)]
mod tests;
mod tokens;

use std::net::IpAddr;

use crosstie_model::{
    Cable, HardwareAddress, PortRef,
    run::{
        MeasuredEnd, Measurement, MeasurementFigures, MeasurementOutcome, ReachabilityFigure,
        RunEndReason, RunHeader, RunNode, RunPort, StoredRun,
    },
};

use crate::run_report::ReplacedNameCount;
use names::NameReplacements;

/// The run with stand-ins, and what was replaced.
pub fn anonymise(run: &StoredRun) -> (StoredRun, Vec<ReplacedNameCount>) {
    let mut names = NameReplacements::of(run);
    let shared = with(run, &mut names);
    (shared, names.replaced())
}

/// Two runs with the same stand-ins, so that they can still be compared.
pub fn anonymise_together(runs: &[StoredRun; 2]) -> ([StoredRun; 2], Vec<ReplacedNameCount>) {
    let [old, new] = runs;
    let mut names = NameReplacements::of(old);
    names.learn(new);
    let shared = [with(old, &mut names), with(new, &mut names)];
    (shared, names.replaced())
}

fn with(run: &StoredRun, names: &mut NameReplacements) -> StoredRun {
    let mut run = run.clone();
    header(&mut run, names);
    for measurement in &mut run.measurements {
        self::measurement(measurement, names);
    }
    for lost in &mut run.lost {
        lost.host = names.host(&lost.host);
        names.in_text(&mut lost.why);
    }
    if let Some(end) = &mut run.end
        && let RunEndReason::Failed { error } = &mut end.reason
    {
        names.in_text(error);
    }
    run
}

/// Values are destructured here, so that a new field cannot be forgotten.
fn header(run: &mut StoredRun, names: &mut NameReplacements) {
    let RunHeader {
        format: _,
        started,
        crosstie,
        cluster,
        options: _,
        nodes,
        cabling,
        groups,
    } = &mut run.header;
    names.in_text(started);
    names.in_text(crosstie);
    if let Some(cluster) = cluster {
        *cluster = names.cluster(cluster);
    }
    for node in nodes {
        self::node(node, names);
    }
    for cable in cabling {
        self::cable(cable, names);
    }
    for end in groups.iter_mut().flatten() {
        self::end(end, names);
    }
}

fn node(node: &mut RunNode, names: &mut NameReplacements) {
    let RunNode {
        host,
        arch,
        distro,
        machine,
        kernel,
        rdma_driver,
        rdma_core,
        gpu_driver,
        gpus,
        nccl,
        hot_plugged: _,
        ports,
    } = node;
    *host = names.host(host);
    let texts = [
        arch,
        distro,
        machine,
        kernel,
        rdma_driver,
        rdma_core,
        gpu_driver,
    ];
    texts
        .into_iter()
        .flatten()
        .for_each(|text| names.in_text(text));
    gpus.iter_mut()
        .chain(nccl)
        .for_each(|text| names.in_text(text));
    for port in ports {
        self::port(port, names);
    }
}

fn port(port: &mut RunPort, names: &mut NameReplacements) {
    let RunPort {
        device,
        port: _,
        interface,
        cage,
        model,
        firmware,
        software: _,
        link_layer: _,
        rate_gbps: _,
        interface_mtu: _,
        path_mtu: _,
        header_bytes: _,
        pcie: _,
    } = port;
    names.in_text(device);
    let texts = [interface, cage, model, firmware];
    texts
        .into_iter()
        .flatten()
        .for_each(|text| names.in_text(text));
}

fn cable(cable: &mut Cable, names: &mut NameReplacements) {
    let end = |port: &mut PortRef, names: &mut NameReplacements| {
        port.node = names.host(&port.node);
        names.in_text(&mut port.cage);
    };
    match cable {
        Cable::Direct { a, b, number: _ } => {
            end(a, names);
            end(b, names);
        }
        Cable::Switched { port, plane } => {
            end(port, names);
            *plane = names.plane(plane);
        }
    }
}

fn measurement(measurement: &mut Measurement, names: &mut NameReplacements) {
    let Measurement {
        kind: _,
        phase: _,
        round: _,
        from,
        to,
        offset_milliseconds: _,
        size: _,
        queue_pairs: _,
        outcome,
        // Names of counters are the kernel's and the driver's.
        counters: _,
        doubts,
    } = measurement;
    end(from, names);
    end(to, names);
    match outcome {
        MeasurementOutcome::Measured(MeasurementFigures::Reach(reach)) => self::reach(reach, names),
        MeasurementOutcome::Measured(
            MeasurementFigures::Bandwidth(_) | MeasurementFigures::Latency(_),
        ) => {}
        MeasurementOutcome::Failed { error: text }
        | MeasurementOutcome::NotApplicable { reason: text } => {
            names.in_text(text);
        }
    }
    for doubt in doubts {
        names.in_text(doubt);
    }
}

fn reach(reach: &mut ReachabilityFigure, names: &mut NameReplacements) {
    match reach {
        ReachabilityFigure::Answered { .. } => {}
        ReachabilityFigure::OtherPort {
            expected,
            found,
            interface,
        } => {
            hardware_address(expected, names);
            hardware_address(found, names);
            if let Some(interface) = interface {
                names.in_text(interface);
            }
        }
    }
}

fn end(end: &mut MeasuredEnd, names: &mut NameReplacements) {
    let MeasuredEnd {
        host,
        device,
        interface,
        address,
        rail: _,
        cable,
    } = end;
    *host = names.host(host);
    [device, interface]
        .into_iter()
        .flatten()
        .for_each(|text| names.in_text(text));
    if let Some(address) = address {
        *address = names.address(*address);
    }
    if let Some(cable) = cable {
        *cable = names.cable(cable);
    }
}

fn hardware_address(address: &mut HardwareAddress, names: &mut NameReplacements) {
    // A stand-in is a hardware address by its form.
    if let Ok(stand_in) = names.hardware_address(&address.to_string()).parse() {
        *address = stand_in;
    }
}

/// Addresses that are nobody's by standard, in the order in which they are met.
fn stand_in_address(address: IpAddr, index: usize) -> IpAddr {
    let documentation = [[192, 0, 2], [198, 51, 100], [203, 0, 113]];
    let (block, last) = (index / 254, index % 254 + 1);
    if let (IpAddr::V4(_), Some([a, b, c]), Ok(last)) =
        (address, documentation.get(block), u8::try_from(last))
    {
        return [*a, *b, *c, last].into();
    }
    let index = u128::try_from(index).unwrap_or(0) + 1;
    IpAddr::V6((0x2001_0db8_u128 << 96 | index).into())
}
