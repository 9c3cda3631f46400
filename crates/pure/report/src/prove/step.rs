//! One step of a proof, while it is measured.

use crosstie_grade::{
    attribute::part_names::direction,
    proof::{TestBatch, TestEndTable},
};
use crosstie_model::run::{RdmaOperation, TestConcurrency, TestKind};

/// Directions that are named; of more, the number.
const MAX_NAMED: usize = 2;

/// What is measured now and how much is known to follow.
pub fn step_line(step: &TestBatch, board: &TestEndTable, steps_left: usize) -> String {
    let kind = match step.kind {
        TestKind::Reachability => "reachability",
        TestKind::TcpBandwidth => "TCP bandwidth",
        TestKind::TcpLatency => "TCP latency",
        TestKind::RdmaBandwidth(RdmaOperation::Write) => "RDMA write",
        TestKind::RdmaBandwidth(RdmaOperation::Read) => "RDMA read",
        TestKind::RdmaBandwidth(RdmaOperation::Send) => "RDMA send",
        TestKind::RdmaLatency => "RDMA latency",
    };
    let phase = match step.phase {
        TestConcurrency::Solo | TestConcurrency::Round => "",
        TestConcurrency::Bidirectional => ", both directions at once",
        TestConcurrency::AllRails => ", all rails at once",
        TestConcurrency::Incast => ", many to one",
        TestConcurrency::Soak => ", soak",
    };
    let ways = step.tests.iter().take(MAX_NAMED);
    let ways = ways.map(|test| direction(&board.ends[test.from], &board.ends[test.to]));
    let ways: Vec<String> = ways.collect();
    let more = match step.tests.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let left = match steps_left {
        0 => String::new(),
        1 => "; 1 step follows".to_owned(),
        steps => format!("; {steps} steps follow"),
    };
    format!("measuring {kind}{phase}: {}{more}{left}", ways.join(", "))
}
