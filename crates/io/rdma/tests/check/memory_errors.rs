//! valgrind over every kind of test, from opening to dropping, and over one that fails.

use std::{process::Command, sync::atomic::AtomicBool};

use crosstie_rdma::{BandwidthOperation, LatencyOperation, RdmaOpenRequest, RdmaRole, RdmaTest};

use super::ends::{UNDER_VALGRIND, joined, run, run_both, stand_in};

#[test]
fn valgrind_finds_nothing() {
    if std::env::var_os(UNDER_VALGRIND).is_some() {
        everything();
        return;
    }
    let run = Command::new("valgrind")
        .args(["--quiet", "--error-exitcode=99", "--leak-check=full"])
        .args([
            "--errors-for-leak-kinds=definite",
            "--show-leak-kinds=definite",
        ])
        // Ends that poll take turns.
        .arg("--fair-sched=yes")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "memory_errors::valgrind_finds_nothing"])
        .env(UNDER_VALGRIND, "1")
        .output()
        .unwrap_or_else(|error| panic!("valgrind: {error}: apt-get install valgrind"));
    let text = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && !text.contains("=="), "{text}");
    assert!(
        String::from_utf8_lossy(&run.stdout).contains("1 passed"),
        "{run:?}"
    );
}

/// Little of each: it is fifty times slower than usual.
fn small(request: &mut RdmaOpenRequest) {
    (request.sizes, request.signal_every) = (vec![300, 40_000], None);
    (request.depth, request.queue_pairs) = (8, 2);
    (request.times.warm_up, request.times.measure) = (1, 10);
    request.times.cool_down = 0;
    request.times.silence = 60_000;
}

fn everything() {
    let stand_in = stand_in();
    for transfer in [
        BandwidthOperation::Write,
        BandwidthOperation::Read,
        BandwidthOperation::Send,
    ] {
        for test in [
            RdmaTest::Bandwidth { transfer },
            RdmaTest::Verify { transfer },
        ] {
            let (near, far) = run(joined(&stand_in, test, small));
            assert!(near.is_ok() && far.is_ok(), "{near:?} {far:?}");
        }
        let ends = joined(&stand_in, RdmaTest::Bandwidth { transfer }, |request| {
            small(request);
            request.role = RdmaRole::Both;
        });
        for figures in run_both(ends) {
            figures.unwrap();
        }
    }
    for message in [LatencyOperation::WriteWithImmediate, LatencyOperation::Send] {
        let ends = joined(&stand_in, RdmaTest::Latency { message }, |request| {
            small(request);
            (request.sizes, request.queue_pairs) = (vec![300], 1);
        });
        let (near, far) = run(ends);
        assert!(near.is_ok() && far.is_ok(), "{near:?} {far:?}");
    }
    let transfer = BandwidthOperation::Send;
    let [mut near, far] = joined(&stand_in, RdmaTest::Bandwidth { transfer }, small);
    assert!(stand_in.inject("completion=12"));
    near.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err();
    drop((near, far));
    assert_eq!(stand_in.live(), Some(0));
}
