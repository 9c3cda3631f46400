//! One step of a proof, while it is measured.

use crosstie_grade::{
    attribute::words::direction,
    campaign::{Board, Step},
};
use crosstie_model::run::{Operation, Phase, TestKind};

/// Directions that are named; of more, the number.
const NAMED: usize = 2;

/// What is measured now and how much is known to follow.
pub fn step_line(step: &Step, board: &Board, steps_left: usize) -> String {
    let kind = match step.kind {
        TestKind::Reachability => "reachability",
        TestKind::TcpBandwidth => "TCP bandwidth",
        TestKind::TcpLatency => "TCP latency",
        TestKind::RdmaBandwidth(Operation::Write) => "RDMA write",
        TestKind::RdmaBandwidth(Operation::Read) => "RDMA read",
        TestKind::RdmaBandwidth(Operation::Send) => "RDMA send",
        TestKind::RdmaLatency => "RDMA latency",
    };
    let phase = match step.phase {
        Phase::Solo | Phase::Round => "",
        Phase::Bidirectional => ", both directions at once",
        Phase::AllRails => ", all rails at once",
        Phase::Incast => ", many to one",
        Phase::Soak => ", soak",
    };
    let ways = step.tests.iter().take(NAMED);
    let ways = ways.map(|test| direction(&board.ends[test.from], &board.ends[test.to]));
    let ways: Vec<String> = ways.collect();
    let more = match step.tests.len().saturating_sub(NAMED) {
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
