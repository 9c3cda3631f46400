//! Figures for people.

use super::{Bench, Cell, Directions, Operation};
use crate::text::{Palette, Row, Span, Tone, item, line, table};

/// One table, then why figures are missing or doubtful.
pub fn view(bench: &Bench, palette: Palette) -> String {
    let [near, far] = &bench.nodes;
    let operation = match bench.operation {
        Operation::Write => "RDMA write",
        Operation::Read => "RDMA read",
    };
    let mut out = String::new();
    let what = format!(
        "{operation}, {} bytes, {} queue pair{} a rail; Gb/s of messages, worst 0.1 s behind it; latency of 2-byte writes \
         with immediate",
        bench.size,
        bench.queue_pairs,
        if bench.queue_pairs == 1 { "" } else { "s" }
    );
    line(palette, &[Span::new(Tone::Quiet, what)], &mut out);
    out.push('\n');
    let head = |text: &str| Span::new(Tone::Quiet, text);
    let mut rows = vec![Row::Cells(
        2,
        vec![
            head("rail"),
            head(&format!("{near} → {far}")),
            head(&format!("{far} → {near}")),
            head("p50"),
            head("p99.9"),
        ],
    )];
    for rail in &bench.rails {
        let [near, far] = &rail.devices;
        let name = if near == far {
            near.clone()
        } else {
            format!("{near} – {far}")
        };
        let mut cells = vec![Span::new(Tone::Plain, name)];
        cells.extend(bandwidths(&rail.bandwidth));
        cells.push(rail.latency.span(|latency| microseconds(latency.p50_ns)));
        cells.push(rail.latency.span(|latency| microseconds(latency.p999_ns)));
        rows.push(Row::Cells(2, cells));
    }
    if let Some(all) = &bench.all_rails {
        let mut cells = vec![Span::new(Tone::Plain, "all rails at once")];
        cells.extend(bandwidths(all));
        rows.push(Row::Cells(2, cells));
    }
    table(palette, &rows, &mut out);
    let failures = bench.failures();
    if !failures.is_empty() || !bench.doubts.is_empty() {
        out.push('\n');
    }
    for why in failures {
        item(palette, (Tone::Alarm, "✗ "), why, &mut out);
    }
    for doubt in &bench.doubts {
        item(palette, (Tone::Bad, "! "), doubt, &mut out);
    }
    out
}

fn bandwidths(both: &Directions) -> [Span; 2] {
    [&both.there, &both.back].map(|cell| {
        cell.span(|bandwidth| {
            let worst = bandwidth.worst_gbps.map(|worst| format!(" ({worst:.2})"));
            format!("{:.2}{}", bandwidth.gbps, worst.unwrap_or_default())
        })
    })
}

fn microseconds(nanoseconds: u64) -> String {
    let (whole, rest) = (nanoseconds / 1000, nanoseconds % 1000);
    format!("{whole}.{:02} µs", rest / 10)
}

impl<T> Cell<T> {
    fn span(&self, text: impl Fn(&T) -> String) -> Span {
        match self {
            Self::Measured(value) => Span::new(Tone::Strong, text(value)),
            Self::NotMeasured(_) => Span::new(Tone::Bad, "not measured"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Bandwidth, RailResult};

    fn bandwidth(gbps: f64) -> Cell<Bandwidth> {
        Cell::Measured(Bandwidth {
            gbps,
            worst_gbps: Some(gbps / 2.0),
            messages_per_second: 1.0,
            bytes: 1,
            nanoseconds: 1,
            processor_nanoseconds: 1,
        })
    }

    fn bench() -> Bench {
        let missing = || Cell::NotMeasured("spark-b: no libibverbs".to_owned());
        Bench {
            nodes: ["spark-a".to_owned(), "spark-b".to_owned()],
            operation: Operation::Write,
            size: 65536,
            queue_pairs: 1,
            rails: vec![RailResult {
                devices: ["rocep1s0f0".to_owned(), "mlx5_0".to_owned()],
                bandwidth: Directions {
                    there: bandwidth(98.5),
                    back: missing(),
                },
                latency: Cell::NotMeasured("spark-b: no libibverbs".to_owned()),
            }],
            all_rails: None,
            doubts: vec![
                "Soft-RoCE: figures of this machine's processor, not of a card".to_owned(),
            ],
        }
    }

    #[test]
    fn what_was_not_measured_is_said_and_never_zero() {
        let text = view(&bench(), Palette::Plain);
        let expected = "\
RDMA write, 65536 bytes, 1 queue pair a rail; Gb/s of messages, worst 0.1 s behind it; latency of 2-byte writes with immediate

  rail                 spark-a → spark-b  spark-b → spark-a  p50           p99.9
  rocep1s0f0 – mlx5_0  98.50 (49.25)      not measured       not measured  not measured

  ✗ spark-b: no libibverbs
  ! Soft-RoCE: figures of this machine's processor, not of a card
";
        assert_eq!(text, expected);
        let json = serde_json::to_value(bench()).unwrap();
        let back = &json["rails"][0]["bandwidth"]["back"];
        assert_eq!(back["not_measured"], "spark-b: no libibverbs");
    }
}
