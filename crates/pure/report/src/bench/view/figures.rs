//! One table: RDMA beside TCP, a row a test.

use super::{name, quiet, rate};
use crate::{
    bench::{
        BenchBandwidth, BenchLatency, BenchOperation, BenchReport, BidirectionalBandwidth,
        BothDirections, MeasuredValue, RailResult, TcpBench, TcpRailResult,
    },
    text::{Palette, TableRow, TextSpan, TextTone, line, table},
};

/// Nothing where nothing was measured.
pub(super) fn view(bench: &BenchReport, palette: Palette, out: &mut String) {
    let mut lines = Vec::new();
    let mut tests = Vec::new();
    if !bench.rails.is_empty() {
        lines.push(about_rdma(bench));
        tests.extend(bench.rails.iter().flat_map(|rail| of_rail(bench, rail)));
    }
    if let Some(tcp) = &bench.tcp {
        lines.push(about_tcp(tcp));
        tests.extend(tcp.rails.iter().flat_map(|rail| of_tcp_rail(tcp, rail)));
    }
    if tests.is_empty() {
        return;
    }
    lines.push("Gb/s without headers, worst 0.1 s behind it".to_owned());
    tests.extend(of_all_rails(bench));
    for text in lines {
        line(palette, &[quiet(text)], out);
    }
    out.push('\n');
    let [near, far] = &bench.nodes;
    let (there, back) = (format!("{near} → {far}"), format!("{far} → {near}"));
    let head = ["rail", "test", &there, &back];
    let head = head
        .into_iter()
        .chain(["both at once", "p50", "p99.9", "GB/CPU-s"]);
    let mut rows = vec![TableRow::Cells(2, head.map(quiet).collect())];
    let mut previous = String::new();
    for test in tests {
        // A rail is named once.
        let is_same = test.rail == previous;
        previous.clone_from(&test.rail);
        rows.push(TableRow::Cells(2, test.cells(is_same)));
    }
    table(palette, &rows, out);
}

fn about_rdma(bench: &BenchReport) -> String {
    let asked = &bench.asked;
    let queue_pairs = match asked.queue_pairs {
        1 => "1 queue pair".to_owned(),
        count => format!("{count} queue pairs"),
    };
    format!(
        "RDMA: {} bytes, {queue_pairs} a rail; half round trips of 2 bytes; processor time of the senders",
        asked.size
    )
}

fn about_tcp(tcp: &TcpBench) -> String {
    format!(
        "TCP: blocks of {} bytes; half round trips of {} bytes; processor time of both ends",
        tcp.block, tcp.message
    )
}

/// A row of the table.
struct TestRow<'a> {
    rail: String,
    test: String,
    bandwidth: Option<&'a BothDirections<BenchBandwidth>>,
    both_at_once: Option<TextSpan>,
    latency: Option<&'a MeasuredValue<BenchLatency>>,
}

impl TestRow<'_> {
    fn cells(self, hides_rail: bool) -> Vec<TextSpan> {
        let nothing = || quiet("");
        let rail = if hides_rail { "" } else { &self.rail };
        let mut cells = vec![
            TextSpan::new(TextTone::Plain, rail),
            TextSpan::new(TextTone::Plain, &self.test),
        ];
        match self.bandwidth {
            Some(both) => cells.extend(bandwidths(both)),
            None => cells.extend([nothing(), nothing()]),
        }
        cells.push(self.both_at_once.unwrap_or_else(nothing));
        match self.latency {
            Some(cell) => {
                cells.push(cell.span(|latency| microseconds(latency.p50_ns)));
                cells.push(cell.span(|latency| microseconds(latency.p999_ns)));
            }
            None => cells.extend([nothing(), nothing()]),
        }
        cells.push(self.bandwidth.map_or_else(nothing, efficiency));
        cells
    }
}

fn of_rail<'a>(bench: &BenchReport, rail: &'a RailResult) -> [TestRow<'a>; 3] {
    let latency = |test: &str, cell| TestRow {
        rail: name(&rail.devices),
        test: test.to_owned(),
        bandwidth: None,
        both_at_once: None,
        latency: Some(cell),
    };
    [
        TestRow {
            rail: name(&rail.devices),
            test: operation(bench).to_owned(),
            bandwidth: Some(&rail.bandwidth),
            both_at_once: rail.bidirectional.as_ref().map(both_ways),
            latency: None,
        },
        latency("write+imm latency", &rail.latency.write_with_immediate),
        latency("send latency", &rail.latency.send),
    ]
}

/// One stream with the latency, then several with both ways at once.
fn of_tcp_rail<'a>(tcp: &TcpBench, rail: &'a TcpRailResult) -> Vec<TestRow<'a>> {
    let both_at_once = || Some(rail.both_ways.span(|sum| rate(sum.gbps)));
    let is_single = tcp.streams == 1;
    let mut rows = vec![TestRow {
        rail: name(&rail.interfaces),
        test: with_streams(1),
        bandwidth: Some(&rail.one_stream),
        both_at_once: is_single.then(both_at_once).flatten(),
        latency: Some(&rail.latency),
    }];
    if !is_single {
        rows.push(TestRow {
            rail: name(&rail.interfaces),
            test: with_streams(tcp.streams),
            bandwidth: Some(&rail.several_streams),
            both_at_once: both_at_once(),
            latency: None,
        });
    }
    rows
}

fn of_all_rails(bench: &BenchReport) -> Vec<TestRow<'_>> {
    let row = |test: String, bandwidth, both_at_once| TestRow {
        rail: "all rails at once".to_owned(),
        test,
        bandwidth: Some(bandwidth),
        both_at_once,
        latency: None,
    };
    let rdma = bench.all_rails.as_ref().map(|all| {
        let both_at_once = all.bidirectional.as_ref().map(both_ways);
        row(operation(bench).to_owned(), &all.bandwidth, both_at_once)
    });
    let tcp = bench.tcp.as_ref().and_then(|tcp| {
        let all = tcp.all_rails.as_ref()?;
        Some(row(with_streams(tcp.streams), all, None))
    });
    rdma.into_iter().chain(tcp).collect()
}

fn operation(bench: &BenchReport) -> &'static str {
    match bench.asked.operation {
        BenchOperation::Write => "RDMA write",
        BenchOperation::Read => "RDMA read",
        BenchOperation::Send => "RDMA send",
    }
}

fn with_streams(count: u16) -> String {
    match count {
        1 => "TCP, 1 stream".to_owned(),
        count => format!("TCP, {count} streams"),
    }
}

fn both_ways(cell: &MeasuredValue<BidirectionalBandwidth>) -> TextSpan {
    cell.span(|both| {
        let [sum, there, back] = [both.gbps, both.there.gbps, both.back.gbps].map(rate);
        format!("{sum} = {there} + {back}")
    })
}

fn bandwidths(both: &BothDirections<BenchBandwidth>) -> [TextSpan; 2] {
    [&both.there, &both.back].map(|cell| {
        cell.span(|bandwidth| {
            let worst = bandwidth
                .worst_gbps
                .map(|worst| format!(" ({})", rate(worst)));
            format!("{}{}", rate(bandwidth.gbps), worst.unwrap_or_default())
        })
    })
}

/// Of the direction that has more to pay.
fn efficiency(both: &BothDirections<BenchBandwidth>) -> TextSpan {
    let each = [both.there.measured(), both.back.measured()];
    let each = each.into_iter().flatten();
    let worse = each.filter_map(|one| one.gbytes_per_processor_second);
    let worse = worse.min_by(f64::total_cmp);
    let text = worse.map_or_else(String::new, rate);
    TextSpan::new(TextTone::Plain, text)
}

fn microseconds(nanoseconds: u64) -> String {
    let (whole, rest) = (nanoseconds / 1000, nanoseconds % 1000);
    format!("{whole}.{:02} µs", rest / 10)
}
