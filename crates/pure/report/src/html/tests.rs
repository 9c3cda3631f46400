//! What a page says is what the JSON says, and text stays text.

use std::collections::BTreeSet;

use crosstie_model::run::StoredRun;
use serde_json::Value;

use super::*;
use crate::{
    compare::comparison,
    made_up::{self, HOSTILE},
    run_report::{Grade, report_of},
    share::anonymise,
};

fn report(run: &StoredRun) -> RunReport {
    report_of(run, None)
}

fn runs() -> [StoredRun; 5] {
    [
        made_up::ring(3),
        made_up::two_sparks(false),
        made_up::two_sparks(true),
        made_up::sixteen(),
        made_up::hostile(),
    ]
}

/// Text of the page, tag by tag: the tag, and what follows it up to the next.
fn pieces(page: &str) -> Vec<(&str, String)> {
    let body = page.split_once("<body>").unwrap().1;
    let pieces = body
        .split('<')
        .skip(1)
        .filter_map(|piece| piece.split_once('>'));
    let plain = |text: &str| {
        let text = text
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"");
        text.replace("&amp;", "&")
    };
    pieces.map(|(tag, text)| (tag, plain(text))).collect()
}

/// Every number and every text of a JSON value.
fn collect(value: &Value, numbers: &mut Vec<f64>, texts: &mut String) {
    match value {
        Value::Number(number) => numbers.push(number.as_f64().unwrap()),
        Value::String(text) => {
            texts.push_str(text);
            texts.push('\n');
        }
        Value::Array(list) => list.iter().for_each(|one| collect(one, numbers, texts)),
        Value::Object(map) => map.values().for_each(|one| collect(one, numbers, texts)),
        Value::Null | Value::Bool(_) => {}
    }
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    let parts = parts.map(|part| part.trim_matches('.'));
    parts.filter(|part| part.contains(|c: char| c.is_ascii_digit()))
}

/// Every number on a page is one of the JSON, rounded as all are; axes, and words of ours, have numbers of their own.
#[test]
fn every_number_on_a_page_is_in_the_json() {
    for run in runs() {
        let report = report(&run);
        let json = serde_json::to_value(&report).unwrap();
        let (mut numbers, mut texts) = (Vec::new(), String::new());
        collect(&json, &mut numbers, &mut texts);
        let mut shown: BTreeSet<String> = numbers
            .iter()
            .flat_map(|value| {
                [
                    format!("{value:.2}"),
                    format!("{value:.1}"),
                    format!("{value:.0}"),
                    format!("{value:.3}"),
                ]
            })
            .collect();
        let sizes = report.options.sizes.iter().copied();
        let sizes = sizes.chain(report.sizes.iter().map(|row| row.size));
        let spans = [report.end.milliseconds]
            .into_iter()
            .chain(report.lost.iter().map(|lost| lost.milliseconds));
        let derived = sizes
            .map(number::size)
            .chain(spans.map(number::duration))
            .collect::<Vec<_>>()
            .join(" ");
        shown.extend(tokens(&derived).map(str::to_owned));
        shown.extend(tokens(&texts.replace(['\u{202e}', '\u{2066}'], " ")).map(str::to_owned));
        shown.extend(counted(&report));
        // Findings that are counted instead of named.
        shown.extend((0..=report.findings.len()).map(|count| count.to_string()));
        // 10⁹ bits; percent of grades; percentiles; how many are drawn; our version.
        let ours = [
            "10",
            "95",
            "80",
            "50",
            "99",
            "99.9",
            "0.1",
            "4",
            env!("CARGO_PKG_VERSION"),
        ];
        shown.extend(ours.map(str::to_owned));
        let page = run_page(&report);
        let mut checked = 0;
        let mut in_axis = false;
        for (tag, text) in pieces(&page) {
            in_axis = (in_axis || tag.starts_with("g class=\"axis\"")) && tag != "/g";
            if in_axis {
                continue;
            }
            for token in tokens(&text) {
                assert!(
                    shown.contains(token),
                    "{token} in {text:?} after <{tag}> is not in the JSON"
                );
                checked += 1;
            }
        }
        assert!(checked > 200, "{checked}");
    }
}

/// Figures by test and grade, which a reader of the JSON counts.
fn counted(report: &RunReport) -> Vec<String> {
    let mut counts = std::collections::BTreeMap::new();
    for pair in &report.pairs {
        *counts
            .entry((pair.kind, pair.phase, pair.verdict))
            .or_insert(0) += 1;
    }
    let shown = report.pairs.iter().filter(|pair| {
        pair.verdict.is_graded() || pair.verdict.is_bad() || !pair.doubts.is_empty()
    });
    let rows = [
        shown.count(),
        report
            .pairs
            .iter()
            .filter(|pair| pair.kind == "rdma-latency")
            .count(),
    ];
    let ledgers = report.graded().filter(|pair| pair.ledger.is_some()).count();
    counts
        .into_values()
        .chain(rows)
        .chain([ledgers, super::table::MOST_ROWS])
        .map(|count| count.to_string())
        .collect()
}

/// Row by row, so that a number cannot stand in another's place.
#[test]
fn rows_of_the_table_are_the_pairs_of_the_json() {
    for run in [made_up::two_sparks(true), made_up::switched(6)] {
        let report = report(&run);
        let page = run_page(&report);
        let table = page.split_once("<table class=\"paths\">").unwrap().1;
        let body = table
            .split_once("<tbody>")
            .unwrap()
            .1
            .split_once("</tbody>")
            .unwrap()
            .0;
        let rows: BTreeSet<Vec<String>> = body
            .split("<tr>")
            .skip(1)
            .map(|row| {
                row.split("</td>")
                    .take(8)
                    .map(|cell| cell.rsplit('>').next().unwrap().to_owned())
                    .collect()
            })
            .collect();
        let json = serde_json::to_value(&report).unwrap();
        let graded = ["healthy", "warning", "fault"];
        let pairs = json["pairs"].as_array().unwrap().iter();
        let pairs: Vec<&Value> = pairs
            .filter(|pair| graded.contains(&pair["verdict"].as_str().unwrap()))
            .collect();
        assert!(pairs.len() >= 8);
        for pair in pairs {
            let text = |name: &str| pair[name].as_str().unwrap().to_owned();
            let figure = |name: &str| {
                let value = pair[name].as_f64().unwrap();
                if value < 9.995 {
                    format!("{value:.2}")
                } else {
                    format!("{value:.1}")
                }
            };
            let row = vec![
                format!("{} → {}", text("from"), text("to")),
                text("from_device"),
                pair["rail"].to_string(),
                text("kind"),
                figure("gbps"),
                figure("worst_gbps"),
                figure("ceiling_gbps"),
                format!("{} %", pair["percent"]),
            ];
            assert!(rows.contains(&row), "{row:?}");
        }
    }
}

/// A proof's figures are rounded to hundredths, or thousandths.
fn agree(ours: &Value, theirs: &Value) -> bool {
    match (ours.as_f64(), theirs.as_f64()) {
        (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 0.0051,
        _ => ours == theirs,
    }
}

/// `report --json` has more than `prove --json`, and what both have is the same.
#[test]
fn the_json_of_a_report_agrees_with_that_of_a_proof() {
    for run in runs() {
        let told = serde_json::to_value(report(&run)).unwrap();
        let proof = serde_json::to_value(crate::prove::ProveReport::new(&run, None)).unwrap();
        assert_eq!(told["findings"], proof["findings"]);
        let rows = |json: &Value, list: &str| json[list].as_array().unwrap().clone();
        let same = |ours: &[Value], theirs: &[Value], keys: &[&str]| {
            assert_eq!(ours.len(), theirs.len());
            for (ours, theirs) in ours.iter().zip(theirs) {
                for key in keys {
                    assert!(
                        agree(&ours[key], &theirs[key]),
                        "{key} of {ours}: {}",
                        theirs[key]
                    );
                }
            }
        };
        let keys = [
            "from",
            "to",
            "rail",
            "kind",
            "phase",
            "size",
            "queue_pairs",
            "gbps",
            "ceiling_gbps",
            "percent",
            "verdict",
            "doubts",
        ];
        let (ours, theirs) = (rows(&told, "pairs"), rows(&proof, "pairs"));
        same(&ours, &theirs, &keys);
        let nested =
            |rows: &[Value], key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
        let latency = ["min", "p50", "p99", "p999", "max"];
        same(
            &nested(&ours, "latency_us"),
            &nested(&theirs, "latency_us"),
            &latency,
        );
        let ledger = ["port_rate", "ceiling", "unexplained", "measured"];
        same(
            &nested(&ours, "ledger"),
            &nested(&theirs, "ledger"),
            &ledger,
        );
        let sums = ["from", "to", "gbps", "ceiling_gbps", "percent", "verdict"];
        same(&rows(&told, "rail_sums"), &rows(&proof, "rails"), &sums);
    }
}

#[test]
fn the_heat_map_has_every_pair_in_its_place() {
    let report = report(&made_up::switched(6));
    let page = run_page(&report);
    let table = page
        .split_once("<table class=\"heat\">")
        .unwrap()
        .1
        .split_once("</table>")
        .unwrap()
        .0;
    let rows = table.split_once("<tbody>").unwrap().1.split("<tr>").skip(1);
    for (from, row) in report.nodes.iter().zip(rows) {
        let cells: Vec<&str> = row
            .split("<td")
            .skip(1)
            .map(|cell| cell.split_once('>').unwrap().1)
            .collect();
        for (to, cell) in report.nodes.iter().zip(cells) {
            let known = report
                .matrix
                .iter()
                .find(|one| one.from == from.host && one.to == to.host);
            let expected = known.map_or("·".to_owned(), |one| one.percent.unwrap().to_string());
            assert!(
                cell.starts_with(&expected),
                "{} → {}: {cell}",
                from.host,
                to.host
            );
        }
    }
}

#[test]
fn hostile_text_stays_text() {
    let run = made_up::hostile();
    let pages = [
        run_page(&report(&run)),
        compare_page(&comparison(
            [&made_up::two_sparks(false), &run],
            [&report(&made_up::two_sparks(false)), &report(&run)],
            None,
        )),
    ];
    for page in &pages {
        let body = page.split_once("<body>").unwrap().1;
        for forbidden in [
            "<script",
            "<img",
            "onload=alert(4)>&amp;&#60;",
            "<!--",
            "</style",
            "\u{202e}",
            "\u{2066}",
        ] {
            assert!(!body.contains(forbidden), "{forbidden}");
        }
        // No attribute ends early: each tag's quotes are even.
        for (tag, _) in pieces(page) {
            assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        }
    }
    let texts: String = pieces(&pages[0])
        .into_iter()
        .map(|(_, text)| text + "\n")
        .collect();
    for hostile in HOSTILE {
        let seen = crate::text::printable(hostile);
        assert!(texts.contains(&seen), "{seen:?} is not shown as text");
    }
}

#[test]
fn a_page_loads_nothing_and_forbids_it() {
    for run in &runs()[..4] {
        let page = run_page(&report(run));
        assert!(page.contains("default-src 'none'; style-src 'sha256-"));
        for forbidden in [
            "http://",
            "https://",
            "<script",
            "@import",
            "url(",
            " style=\"",
            "src=",
        ] {
            let head = page.split_once("<body>").unwrap().0;
            assert!(!head.contains(forbidden), "{forbidden}");
        }
    }
    let page = run_page(&report(&made_up::sixteen()));
    for forbidden in ["http://", "https://", "<script", " style=\"", " src="] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn sixteen_nodes_are_less_than_a_megabyte() {
    let page = run_page(&report(&made_up::sixteen()));
    assert!(page.len() < 1_000_000, "{}", page.len());
}

#[test]
fn many_nodes_are_bounded_and_an_empty_run_has_a_page() {
    let run = made_up::switched(48);
    let page = run_page(&report(&run));
    assert!(page.len() < 2_000_000, "{}", page.len());
    let mut empty = made_up::two_sparks(false);
    empty.measurements.clear();
    empty.header.cabling.clear();
    empty.end = None;
    let page = run_page(&report(&empty));
    assert!(page.contains("nothing was measured"));
    empty.header.nodes.clear();
    run_page(&report(&empty));
}

#[test]
fn the_slow_cable_is_the_one_that_is_drawn_so() {
    let report = report(&made_up::two_sparks(true));
    let grades: Vec<_> = report
        .cables
        .iter()
        .map(|cable| cable.grade.unwrap().name())
        .collect();
    assert_eq!(grades, ["healthy", "fault"]);
    let sixteen = report_of(&made_up::sixteen(), None);
    let bad = sixteen
        .cables
        .iter()
        .filter(|cable| cable.grade.is_some_and(Grade::is_bad));
    let bad: Vec<&str> = bad.map(|cable| cable.name.as_str()).collect();
    assert_eq!(bad, ["gpu-07:p1 – leaf-b"]);
}

/// For eyes: `CROSSTIE_PAGES=DIR cargo test -p crosstie-report pages_for_eyes`.
#[test]
fn pages_for_eyes() {
    let Some(folder) = std::env::var_os("CROSSTIE_PAGES") else {
        return;
    };
    let folder = std::path::Path::new(&folder);
    let (slow, healthy) = (made_up::two_sparks(true), made_up::two_sparks(false));
    let (shared, replaced) = anonymise(&slow);
    let runs = [&healthy, &slow];
    let reports = runs.map(report);
    let compared = comparison(runs, [&reports[0], &reports[1]], None);
    for (name, page) in [
        ("two-sparks", run_page(&reports[0])),
        ("ring", run_page(&report(&made_up::ring(5)))),
        ("slow-cable", run_page(&reports[1])),
        ("shared", run_page(&report_of(&shared, Some(replaced)))),
        ("sixteen", run_page(&report(&made_up::sixteen()))),
        ("hostile", run_page(&report(&made_up::hostile()))),
        ("compared", compare_page(&compared)),
    ] {
        std::fs::write(folder.join(name).with_extension("html"), page).unwrap();
    }
}
