//! Every byte is looked at.

use std::sync::atomic::{AtomicBool, Ordering};

use crosstie_rdma::{BandwidthOperation, RdmaFigures, RdmaRunError, RdmaTest, VerifiedMessages};

use super::ends::{joined, run, stand_in};

const SIZES: [u32; 4] = [1, 200, 4099, 65536];

fn verified(transfer: BandwidthOperation, fault: &str) -> Vec<VerifiedMessages> {
    let stand_in = stand_in();
    let ends = joined(&stand_in, RdmaTest::Verify { transfer }, |request| {
        (request.queue_pairs, request.sizes) = (2, SIZES.to_vec());
        request.times.measure = 20;
    });
    assert!(stand_in.inject(fault), "{fault}");
    let (near, far) = run(ends);
    assert_eq!(far.unwrap(), RdmaFigures::Responded);
    assert_eq!(stand_in.live(), Some(0), "everything is destroyed");
    match near.unwrap() {
        RdmaFigures::Verified(all) => all,
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_byte_is_wrong_of_any_operation_and_size() {
    for transfer in [
        BandwidthOperation::Write,
        BandwidthOperation::Read,
        BandwidthOperation::Send,
    ] {
        let all = verified(transfer, "");
        let sizes: Vec<u32> = all.iter().map(|one| one.size).collect();
        assert_eq!(sizes, SIZES);
        for one in all {
            assert_eq!(one.wrong_bytes, 0, "{transfer:?}: {one:?}");
            assert!(one.messages > 0);
            assert_eq!(one.bytes, one.messages * u64::from(one.size));
        }
    }
}

#[test]
fn one_bit_is_seen() {
    for transfer in [
        BandwidthOperation::Write,
        BandwidthOperation::Read,
        BandwidthOperation::Send,
    ] {
        // Of the first size, and in the middle of a later message.
        for fault in ["flip=3", "flip=30000@500"] {
            let all = verified(transfer, fault);
            let wrong: u64 = all.iter().map(|one| one.wrong_bytes).sum();
            assert_eq!(wrong, 1, "{transfer:?}, {fault}: {all:?}");
        }
        let all = verified(transfer, "flip=3,flip=17@100,flip=99@200");
        let wrong: u64 = all.iter().map(|one| one.wrong_bytes).sum();
        assert_eq!(wrong, 3, "{transfer:?}: {all:?}");
    }
}

#[test]
fn it_ends_when_it_is_told_to_and_when_nobody_answers() {
    let test = RdmaTest::Verify {
        transfer: BandwidthOperation::Write,
    };
    let stand_in = stand_in();
    let [mut near, mut far] = joined(&stand_in, test, |request| request.times.measure = 60_000);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| far.go(&AtomicBool::new(false), &mut |_| {}).unwrap());
        let figures = near.go(&stop, &mut |_| stop.store(true, Ordering::Relaxed));
        assert!(
            matches!(figures, Ok(RdmaFigures::Verified(_))),
            "{figures:?}"
        );
    });
    let [mut near, mut far] = joined(&stand_in, test, |request| request.times.silence = 100);
    for end in [&mut near, &mut far] {
        let error = end.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err();
        assert!(
            matches!(error, RdmaRunError::Silent(_) | RdmaRunError::Completion(_)),
            "{error:?}"
        );
    }
}
