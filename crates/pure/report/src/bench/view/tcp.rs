//! TCP's figures for people: one table beside RDMA's.

use super::{bandwidths, efficiency, microseconds, quiet};
use crate::{
    bench::{Tcp, TcpRail},
    text::{Palette, Row, Span, Tone, line, table},
};

pub(super) fn view(tcp: &Tcp, nodes: &[String; 2], palette: Palette, out: &mut String) {
    let [near, far] = nodes;
    let heading = format!(
        "TCP, blocks of {} bytes; Gb/s received, worst 0.1 s behind it; half round trips of {} bytes; processor time of both ends",
        tcp.block, tcp.message
    );
    line(palette, &[quiet(heading)], out);
    out.push('\n');
    let head = [
        "rail".to_owned(),
        format!("{near} → {far}"),
        format!("{far} → {near}"),
        "both at once".to_owned(),
        "p50".to_owned(),
        "p99.9".to_owned(),
        "GB/CPU-s".to_owned(),
    ];
    let mut rows = vec![Row::Cells(2, head.map(quiet).to_vec())];
    for rail in &tcp.rails {
        rows.extend(of_rail(tcp, rail));
    }
    if let Some(all) = &tcp.all_rails {
        let mut cells = vec![plain(format!("all rails, {}", streams(tcp.streams)))];
        cells.extend(bandwidths(all));
        cells.extend([(); 3].map(|()| quiet("")));
        cells.push(efficiency(all));
        rows.push(Row::Cells(2, cells));
    }
    table(palette, &rows, out);
}

/// One stream with the latency, then several with both ways at once.
fn of_rail(tcp: &Tcp, rail: &TcpRail) -> Vec<Row> {
    let [near, far] = &rail.interfaces;
    let name = if near == far {
        near.clone()
    } else {
        format!("{near} – {far}")
    };
    let both = || {
        rail.both_ways
            .span(|sum| format!("{:.2} with {}", sum.gbps, streams(tcp.streams)))
    };
    let mut cells = vec![plain(format!("{name}, 1 stream"))];
    cells.extend(bandwidths(&rail.one_stream));
    cells.push(if tcp.streams == 1 { both() } else { quiet("") });
    cells.push(rail.latency.span(|latency| microseconds(latency.p50_ns)));
    cells.push(rail.latency.span(|latency| microseconds(latency.p999_ns)));
    cells.push(efficiency(&rail.one_stream));
    let mut rows = vec![Row::Cells(2, cells)];
    if tcp.streams > 1 {
        let mut cells = vec![plain(format!("{name}, {}", streams(tcp.streams)))];
        cells.extend(bandwidths(&rail.several_streams));
        cells.push(both());
        cells.extend([quiet(""), quiet("")]);
        cells.push(efficiency(&rail.several_streams));
        rows.push(Row::Cells(2, cells));
    }
    rows
}

fn streams(count: u16) -> String {
    match count {
        1 => "1 stream".to_owned(),
        count => format!("{count} streams"),
    }
}

fn plain(text: String) -> Span {
    Span::new(Tone::Plain, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Bandwidth, Cell, Directions, Latency};

    #[test]
    fn each_rail_has_its_streams_both_ways_and_latency() {
        let bandwidth = |gbps: f64| {
            Cell::Measured(Bandwidth {
                gbps,
                worst_gbps: None,
                messages_per_second: 0.0,
                size: 1 << 20,
                depth: 1,
                bytes: 1,
                nanoseconds: 1,
                processor_nanoseconds: 1,
                gbytes_per_processor_second: Some(gbps / 10.0),
            })
        };
        let both = |there, back| Directions {
            there: bandwidth(there),
            back: bandwidth(back),
        };
        let tcp = Tcp {
            streams: 4,
            block: 1 << 20,
            message: 16,
            rails: vec![TcpRail {
                interfaces: ["a0".to_owned(), "b0".to_owned()],
                addresses: ["192.0.2.1".to_owned(), "192.0.2.2".to_owned()],
                one_stream: both(30.0, 31.0),
                several_streams: both(90.0, 91.0),
                both_ways: bandwidth(150.0),
                latency: Cell::Measured(Latency {
                    least_ns: 1,
                    p50_ns: 7_500,
                    p99_ns: 8_000,
                    p999_ns: 20_000,
                    most_ns: 30_000,
                    count: 5,
                }),
            }],
            all_rails: None,
        };
        let mut out = String::new();
        let nodes = ["spark-a".to_owned(), "spark-b".to_owned()];
        view(&tcp, &nodes, Palette::Plain, &mut out);
        let expected = "\
TCP, blocks of 1048576 bytes; Gb/s received, worst 0.1 s behind it; half round trips of 16 bytes; processor time of both ends

  rail                spark-a → spark-b  spark-b → spark-a  both at once           p50      p99.9     GB/CPU-s
  a0 – b0, 1 stream   30.00              31.00                                     7.50 µs  20.00 µs  3.00
  a0 – b0, 4 streams  90.00              91.00              150.00 with 4 streams                     9.00
";
        assert_eq!(out, expected);
    }
}
