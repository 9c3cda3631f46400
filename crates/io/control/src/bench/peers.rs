//! What perftest, iperf3 and sockperf would be told for the same tests, and what they say.

use std::{fmt::Write as _, net::IpAddr};

use crosstie_agent::{CallError, ComparisonToolCall, ComparisonToolError, call};
use crosstie_fabric::{
    comparison_tools::{ComparisonTool, ComparisonToolCommand},
    ip_rails::IpRail,
    rails::{Rail, RailEnd},
};
use crosstie_model::{Facts, facts::rdma::GidKind};
use crosstie_report::bench::{BenchOperation, MeasuredValue, PeerFigure};

use super::{
    BenchError, BenchOptions, BenchTransports, figures::cell, names, not_two, rails::usable,
};
use crate::{ControlEvent, Fleet, FleetSnapshot, NodeFacts, RequestedTargets};

/// Of a message whose latency is measured.
const LATENCY_SIZE: u32 = 16;

/// A server, and the client that goes to it.
pub(super) struct ComparisonToolPair {
    pub(super) name: String,
    pub(super) server: ComparisonToolCommand,
    pub(super) client: ComparisonToolCommand,
}

impl ComparisonToolPair {
    /// The same test with the bytes going the other way.
    fn back(&self) -> Self {
        Self {
            name: self.name.replace('→', "←"),
            server: self.server.clone(),
            client: ComparisonToolCommand {
                reverse: true,
                ..self.client.clone()
            },
        }
    }
}

/// The commands, as text: first on the second node, then on the first.
pub fn peer_commands(
    targets: &RequestedTargets,
    options: &BenchOptions,
) -> Result<String, BenchError> {
    let mut targets = targets.clone();
    targets.options.namespaces = true;
    let (_, fleet) = targets.find_live(true)?;
    let nodes = FleetSnapshot::take(&fleet).known()?;
    let [near, far] = &nodes[..] else {
        return Err(not_two(nodes.len(), &targets));
    };
    let usable = usable(near, far, options.transports, options.force)?;
    let mut pairs = of_rdma(&usable.rdma, near, far, options);
    for rail in &usable.tcp {
        for streams in [1, options.streams] {
            let there = iperf3(rail, streams, options);
            let back = there.back();
            pairs.extend([there, back]);
        }
        pairs.push(sockperf(rail, options));
    }
    let [near, far] = names(near, far);
    let mut text = String::new();
    for pair in pairs {
        let _ = writeln!(text, "# {}: on {far}, then on {near}", pair.name);
        let _ = writeln!(
            text,
            "{}\n{}\n",
            pair.server.command(),
            pair.client.command()
        );
    }
    Ok(text)
}

/// Runs them where they are installed.
pub(super) fn verify(
    fleet: &Fleet,
    rdma: &[Rail],
    tcp: &[IpRail],
    [near, far]: [&NodeFacts; 2],
    options: &BenchOptions,
) -> Vec<PeerFigure> {
    let mut pairs = of_rdma(rdma, near, far, options);
    if options.transports != BenchTransports::Rdma {
        for rail in tcp {
            pairs.extend([1, options.streams].map(|streams| iperf3(rail, streams, options)));
        }
    }
    pairs.into_iter().map(|pair| run(fleet, pair)).collect()
}

fn run(fleet: &Fleet, pair: ComparisonToolPair) -> PeerFigure {
    let within = ComparisonToolCall::longest(&pair.client);
    let name = format!("{} by {}", pair.name, pair.client.tool.program());
    let observer = &fleet.options().observer;
    observer.observe(ControlEvent::TestBegan {
        name: &name,
        within,
    });
    let command = pair.client.command();
    let (tool, size) = (pair.client.tool, pair.client.size);
    let runs = [pair.client, pair.server];
    let answers = fleet.call_together(within, move |node, session, _| {
        let ask = &runs[node.min(1)];
        Ok(call::<ComparisonToolCall>(
            session,
            ask,
            within,
            &mut |()| (),
        ))
    });
    let mut client: Result<String, String> = Err("it was not begun".to_owned());
    let mut missing = None;
    for (node, (host, answer)) in answers.into_iter().enumerate() {
        let answer = match answer {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => {
                if matches!(error, CallError::Call(ComparisonToolError::Missing { .. })) {
                    missing = Some(format!("{host}: {error}"));
                }
                Err(format!("{host}: {error}"))
            }
            Err(error) => Err(format!("{host}: {error}")),
        };
        if node == 0 {
            client = answer;
        }
    }
    let gbps = match missing {
        Some(why) => Err(why),
        None => client.and_then(|output| {
            let found = tool.gbps(&output, size);
            found.ok_or_else(|| format!("{} printed no figure", tool.program()))
        }),
    };
    let gbps: MeasuredValue<f64> = cell(gbps);
    PeerFigure {
        test: pair.name,
        command,
        gbps,
    }
}

fn of_rdma(
    rails: &[Rail],
    near: &NodeFacts,
    far: &NodeFacts,
    options: &BenchOptions,
) -> Vec<ComparisonToolPair> {
    let tool = match options.operation {
        BenchOperation::Write => ComparisonTool::WriteBandwidth,
        BenchOperation::Read => ComparisonTool::ReadBandwidth,
        BenchOperation::Send => ComparisonTool::SendBandwidth,
    };
    let pairs = rails.iter().filter_map(|rail| {
        let end = |facts: &Facts, end: &RailEnd, server: Option<IpAddr>| {
            Some(ComparisonToolCommand {
                tool,
                device: Some((end.device.clone(), end.port)),
                gid_index: gid_index(facts, end),
                own: end.address?,
                server,
                size: options.size,
                width: options.queue_pairs,
                seconds: options.measure.div_ceil(1000),
                reverse: false,
            })
        };
        Some(ComparisonToolPair {
            name: format!("{} →", rail.near.device),
            server: end(&far.facts, &rail.far, None)?,
            client: end(&near.facts, &rail.near, rail.far.address)?,
        })
    });
    pairs.collect()
}

/// Of the RoCE v2 entry that has the rail's address.
fn gid_index(facts: &Facts, end: &RailEnd) -> Option<u32> {
    let device = facts.rdma.iter().find(|one| one.name == end.device)?;
    let port = device.ports.iter().find(|port| port.number == end.port)?;
    let entry = port.gids.iter().find(|entry| {
        entry.kind.known() == Some(&GidKind::RoceV2) && Some(entry.gid.address()) == end.address
    })?;
    Some(entry.index)
}

fn iperf3(rail: &IpRail, streams: u16, options: &BenchOptions) -> ComparisonToolPair {
    let name = match streams {
        1 => "TCP, 1 stream →".to_owned(),
        count => format!("TCP, {count} streams →"),
    };
    of_ip(
        rail,
        ComparisonTool::Iperf3,
        &name,
        options.block,
        streams,
        options,
    )
}

fn sockperf(rail: &IpRail, options: &BenchOptions) -> ComparisonToolPair {
    of_ip(
        rail,
        ComparisonTool::Sockperf,
        "TCP latency",
        LATENCY_SIZE,
        1,
        options,
    )
}

fn of_ip(
    rail: &IpRail,
    tool: ComparisonTool,
    name: &str,
    size: u32,
    width: u16,
    options: &BenchOptions,
) -> ComparisonToolPair {
    let end = |own: IpAddr, server: Option<IpAddr>| ComparisonToolCommand {
        tool,
        device: None,
        gid_index: None,
        own,
        server,
        size,
        width,
        seconds: options.measure.div_ceil(1000),
        reverse: false,
    };
    ComparisonToolPair {
        name: format!("{} {name}", rail.near.interface),
        server: end(rail.far.address, None),
        client: end(rail.near.address, Some(rail.far.address)),
    }
}
