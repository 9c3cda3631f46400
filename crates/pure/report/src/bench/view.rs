//! Figures for people.

mod tcp;

use super::{
    Bandwidth, Bench, Bidirectional, Cell, CounterFindingKind, Directions, Operation, RailResult,
    Verified,
};
use crate::{
    finding::finding,
    text::{Palette, Row, Span, Tone, item, line, table},
};

/// Tables of figures, then why some are missing or doubtful.
pub fn view(bench: &Bench, palette: Palette) -> String {
    let mut out = String::new();
    if !bench.rails.is_empty() {
        line(palette, &[quiet(heading(bench))], &mut out);
        out.push('\n');
        rails(bench, palette, &mut out);
    }
    for rail in &bench.rails {
        sweep(bench, rail, palette, &mut out);
    }
    data(bench, palette, &mut out);
    if let Some(tcp) = &bench.tcp {
        if !out.is_empty() {
            out.push('\n');
        }
        tcp::view(tcp, &bench.nodes, palette, &mut out);
    }
    if !bench.peers.is_empty() {
        out.push('\n');
        let head = ["test", "Gb/s", "by another tool"].map(quiet).to_vec();
        let rows = bench.peers.iter().map(|peer| {
            let figure = match &peer.gbps {
                Cell::Measured(gbps) => Span::new(Tone::Strong, format!("{gbps:.2}")),
                Cell::NotMeasured(why) => Span::new(Tone::Bad, why),
            };
            Row::Cells(
                2,
                vec![
                    Span::new(Tone::Plain, &peer.test),
                    figure,
                    quiet(&peer.command),
                ],
            )
        });
        let rows: Vec<Row> = std::iter::once(Row::Cells(2, head)).chain(rows).collect();
        table(palette, &rows, &mut out);
    }
    let failures = bench.failures();
    let is_silent = failures.is_empty() && bench.doubts.is_empty();
    if !is_silent || !bench.counter_findings.is_empty() {
        out.push('\n');
    }
    for why in failures {
        item(palette, (Tone::Alarm, "✗ "), why, &mut out);
    }
    for found in &bench.counter_findings {
        let mark = match found.kind {
            CounterFindingKind::Error | CounterFindingKind::Bytes => (Tone::Bad, "! "),
            CounterFindingKind::Held => (Tone::Quiet, "· "),
        };
        let text = format!(
            "{}: {} {}: {}",
            found.run, found.node, found.port, found.text
        );
        item(palette, mark, &text, &mut out);
    }
    for doubt in &bench.doubts {
        item(palette, (Tone::Bad, "! "), doubt, &mut out);
    }
    for found in &bench.findings {
        out.push('\n');
        line(palette, &[Span::new(Tone::Strong, &found.host)], &mut out);
        finding(&found.finding, palette, &mut out);
    }
    out
}

fn heading(bench: &Bench) -> String {
    let asked = &bench.asked;
    let operation = match asked.operation {
        Operation::Write => "RDMA write",
        Operation::Read => "RDMA read",
        Operation::Send => "RDMA send",
    };
    let queue_pairs = match asked.queue_pairs {
        1 => "1 queue pair".to_owned(),
        count => format!("{count} queue pairs"),
    };
    format!(
        "{operation}, {} bytes, {queue_pairs} a rail; Gb/s of messages, worst 0.1 s behind it; half round trips of 2 bytes",
        asked.size
    )
}

fn rails(bench: &Bench, palette: Palette, out: &mut String) {
    let [near, far] = &bench.nodes;
    let all = bench.all_rails.as_ref();
    let is_bidirectional = bench.rails.iter().any(|rail| rail.bidirectional.is_some());
    let mut head = vec![
        quiet("rail"),
        quiet(format!("{near} → {far}")),
        quiet(format!("{far} → {near}")),
    ];
    if is_bidirectional {
        head.push(quiet("both at once"));
    }
    head.extend(["write+imm p50", "p99.9", "send p50", "p99.9", "GB/CPU-s"].map(quiet));
    let mut rows = vec![Row::Cells(2, head)];
    let both = |cell: Option<&Cell<Bidirectional>>| match cell {
        Some(cell) => cell.span(|both| {
            format!(
                "{:.2} = {:.2} + {:.2}",
                both.gbps, both.there.gbps, both.back.gbps
            )
        }),
        None => quiet(""),
    };
    for rail in &bench.rails {
        let mut cells = vec![Span::new(Tone::Plain, name(rail))];
        cells.extend(bandwidths(&rail.bandwidth));
        if is_bidirectional {
            cells.push(both(rail.bidirectional.as_ref()));
        }
        for latency in [&rail.latency.write_with_immediate, &rail.latency.send] {
            cells.push(latency.span(|latency| microseconds(latency.p50_ns)));
            cells.push(latency.span(|latency| microseconds(latency.p999_ns)));
        }
        cells.push(efficiency(&rail.bandwidth));
        rows.push(Row::Cells(2, cells));
    }
    if let Some(all) = all {
        let mut cells = vec![Span::new(Tone::Plain, "all rails at once")];
        cells.extend(bandwidths(&all.bandwidth));
        if is_bidirectional {
            cells.push(both(all.bidirectional.as_ref()));
        }
        cells.extend([(); 4].map(|()| quiet("")));
        cells.push(efficiency(&all.bandwidth));
        rows.push(Row::Cells(2, cells));
    }
    table(palette, &rows, out);
}

/// One row a size.
fn sweep(bench: &Bench, rail: &RailResult, palette: Palette, out: &mut String) {
    let Some(sweep) = &rail.sweep else {
        return;
    };
    let [near, far] = &bench.nodes;
    let (there, back) = (sweep.there.measured(), sweep.back.measured());
    let sizes = there.or(back).into_iter().flatten().map(|one| one.size);
    let title = format!("{}, size by size", name(rail));
    out.push('\n');
    line(palette, &[quiet(title)], out);
    let mut head = vec![quiet("bytes")];
    for way in [format!("{near} → {far}"), format!("{far} → {near}")] {
        head.extend([quiet(way), quiet("messages/s")]);
    }
    let mut rows = vec![Row::Cells(2, head)];
    for size in sizes {
        let mut cells = vec![Span::new(Tone::Plain, size.to_string())];
        for way in [there, back] {
            let found = way.and_then(|way| way.iter().find(|one| one.size == size));
            match found {
                Some(one) => {
                    cells.push(Span::new(Tone::Strong, format!("{:.2}", one.gbps)));
                    cells.push(Span::new(
                        Tone::Plain,
                        format!("{:.0}", one.messages_per_second),
                    ));
                }
                None => cells.extend([not_measured(), quiet("")]),
            }
        }
        rows.push(Row::Cells(2, cells));
    }
    table(palette, &rows, out);
}

/// One line a rail: what was looked at, and how much of it was wrong.
fn data(bench: &Bench, palette: Palette, out: &mut String) {
    let rails = bench
        .rails
        .iter()
        .filter_map(|rail| Some((name(rail), rail.data.as_ref()?)));
    let all = bench.all_rails.as_ref().and_then(|all| all.data.as_ref());
    let all = all.map(|data| ("all rails at once".to_owned(), data));
    let mut rows = Vec::new();
    for (name, both) in rails.chain(all) {
        let mut cells = vec![Span::new(Tone::Plain, name)];
        cells.extend([&both.there, &both.back].map(looked_at));
        rows.push(Row::Cells(2, cells));
    }
    if rows.is_empty() {
        return;
    }
    out.push('\n');
    line(
        palette,
        &[quiet("data: every byte looked at where it came to")],
        out,
    );
    table(palette, &rows, out);
}

fn looked_at(cell: &Cell<Vec<Verified>>) -> Span {
    let Some(all) = cell.measured() else {
        return not_measured();
    };
    let wrong: u64 = all.iter().map(|one| one.wrong_bytes).sum();
    let bytes: u64 = all.iter().map(|one| one.bytes).sum();
    let tone = if wrong == 0 { Tone::Good } else { Tone::Alarm };
    Span::new(tone, format!("{wrong} of {bytes} bytes wrong"))
}

fn name(rail: &RailResult) -> String {
    let [near, far] = &rail.devices;
    if near == far {
        near.clone()
    } else {
        format!("{near} – {far}")
    }
}

fn bandwidths(both: &Directions<Bandwidth>) -> [Span; 2] {
    [&both.there, &both.back].map(|cell| {
        cell.span(|bandwidth| {
            let worst = bandwidth.worst_gbps.map(|worst| format!(" ({worst:.2})"));
            format!("{:.2}{}", bandwidth.gbps, worst.unwrap_or_default())
        })
    })
}

fn quiet(text: impl AsRef<str>) -> Span {
    Span::new(Tone::Quiet, text)
}

fn not_measured() -> Span {
    Span::new(Tone::Bad, "not measured")
}

/// Of the direction that has more to pay.
fn efficiency(both: &Directions<Bandwidth>) -> Span {
    let each = [both.there.measured(), both.back.measured()];
    let each = each.into_iter().flatten();
    let worse = each.filter_map(|one| one.gbytes_per_processor_second);
    let worse = worse.min_by(f64::total_cmp);
    let text = worse.map_or_else(String::new, |worse| format!("{worse:.2}"));
    Span::new(Tone::Plain, text)
}

fn microseconds(nanoseconds: u64) -> String {
    let (whole, rest) = (nanoseconds / 1000, nanoseconds % 1000);
    format!("{whole}.{:02} µs", rest / 10)
}

impl<T> Cell<T> {
    fn span(&self, text: impl Fn(&T) -> String) -> Span {
        self.measured()
            .map_or_else(not_measured, |value| Span::new(Tone::Strong, text(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Asked, Latencies};

    fn bandwidth(gbps: f64) -> Bandwidth {
        Bandwidth {
            gbps,
            worst_gbps: Some(gbps / 2.0),
            messages_per_second: 1000.4,
            size: 65536,
            depth: 128,
            bytes: 1,
            nanoseconds: 1,
            processor_nanoseconds: 1,
            gbytes_per_processor_second: Some(gbps / 8.0),
        }
    }

    fn missing<T>() -> Cell<T> {
        Cell::NotMeasured("spark-b: no libibverbs".to_owned())
    }

    fn bench() -> Bench {
        Bench {
            format: Bench::FORMAT,
            nodes: ["spark-a".to_owned(), "spark-b".to_owned()],
            asked: Asked {
                operation: Operation::Write,
                size: 65536,
                queue_pairs: 1,
                depth: 128,
                list: 1,
            },
            rails: vec![RailResult {
                devices: ["rocep1s0f0".to_owned(), "mlx5_0".to_owned()],
                bandwidth: Directions {
                    there: Cell::Measured(bandwidth(98.5)),
                    back: missing(),
                },
                bidirectional: None,
                sweep: None,
                latency: Latencies {
                    write_with_immediate: missing(),
                    send: missing(),
                },
                data: None,
            }],
            all_rails: None,
            tcp: None,
            peers: Vec::new(),
            counters: Vec::new(),
            counter_findings: Vec::new(),
            findings: Vec::new(),
            doubts: vec![
                "Soft-RoCE: figures of this machine's processor, not of a card".to_owned(),
            ],
        }
    }

    #[test]
    fn what_was_not_measured_is_said_and_never_zero() {
        let text = view(&bench(), Palette::Plain);
        let expected = "\
RDMA write, 65536 bytes, 1 queue pair a rail; Gb/s of messages, worst 0.1 s behind it; half round trips of 2 bytes

  rail                 spark-a → spark-b  spark-b → spark-a  write+imm p50  p99.9         send p50      p99.9         GB/CPU-s
  rocep1s0f0 – mlx5_0  98.50 (49.25)      not measured       not measured   not measured  not measured  not measured  12.31

  ✗ spark-b: no libibverbs
  ! Soft-RoCE: figures of this machine's processor, not of a card
";
        assert_eq!(text, expected);
        let json = serde_json::to_value(bench()).unwrap();
        let back = &json["rails"][0]["bandwidth"]["back"];
        assert_eq!(back["not_measured"], "spark-b: no libibverbs");
    }

    #[test]
    fn both_ways_sizes_and_data_have_their_places() {
        let mut bench = bench();
        let verified = |wrong_bytes| Verified {
            size: 4096,
            messages: 2,
            bytes: 8192,
            wrong_bytes,
        };
        let rail = &mut bench.rails[0];
        rail.bidirectional = Some(Cell::Measured(Bidirectional {
            gbps: 150.0,
            there: bandwidth(80.0),
            back: bandwidth(70.0),
        }));
        rail.sweep = Some(Directions {
            there: Cell::Measured(vec![bandwidth(1.0)]),
            back: missing(),
        });
        rail.data = Some(Directions {
            there: Cell::Measured(vec![verified(0), verified(3)]),
            back: Cell::Measured(vec![verified(0)]),
        });
        assert_eq!(bench.wrong_bytes(), 3);
        let text = view(&bench, Palette::Plain);
        for wanted in [
            "150.00 = 80.00 + 70.00",
            "  65536  1.00               1000        not measured",
            "3 of 16384 bytes wrong  0 of 8192 bytes wrong",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    }
}
