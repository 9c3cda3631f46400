//! Reports as one HTML file: no script, no font, no picture from elsewhere, and a policy that forbids them.
//!
//! Text of nodes is escaped by maud where it is put in, and characters that reorder or hide text are replaced in the
//! whole page at the end, so that no place can forget it.

mod against_tcp;
mod bandwidth;
mod chart;
mod compare;
mod findings;
mod heat_map;
mod latency;
mod ledger;
mod nodes;
mod number;
mod page;
mod paths;
mod ran;
mod table;
#[cfg(test)]
mod tests;
mod topology;
mod verdict;

use maud::html;

use crate::run_report::RunReport;

/// The whole file.
pub fn run_page(report: &RunReport) -> String {
    let sections = [
        ("topology", "Topology"),
        ("pairs", "Pairs"),
        ("figures", "Figures"),
        ("ledger", "Ledger"),
        ("findings", "Findings"),
        ("nodes", "Nodes"),
        ("run", "What was run"),
    ];
    page::page(&page::HtmlPage {
        title: &format!("Fabric report: {}", report.title()),
        meta: &ran::line(report),
        sections: &sections,
        body: html! {
            (verdict::section(report))
            (topology::section(report))
            (heat_map::section(report))
            section id="figures" aria-labelledby="figures-title" {
                h2 id="figures-title" { "Figures" }
                p.lead { "Bandwidth is of messages, without packet headers; 1 Gb/s is 10⁹ bits a second. Latency is one way." }
                div.charts {
                    (bandwidth::figure(report))
                    (against_tcp::figures(report))
                    (latency::figure(report))
                }
                (paths::table(report))
            }
            (ledger::section(report))
            (findings::section(report))
            (nodes::section(report))
            (ran::section(report))
        },
    })
}

pub use compare::compare_page;
