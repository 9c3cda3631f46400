//! Each operation, with its data looked at on the other side.

use std::time::{Duration, Instant};

use crosstie_verbs::{
    CompletionKind, CompletionWaitError, ReceiveList, SendList, SendOperation, SendRequest,
};

use super::stand_in::{Connected, StandIn, connected, roce, soon};

const TEXT: &[u8] = b"sleepers lie under the rails";
const LENGTH: u32 = 28;

fn request(end: &Connected, operation: SendOperation) -> SendRequest {
    SendRequest {
        identifier: 42,
        local: end.memory.span(100, LENGTH).unwrap(),
        operation,
        signalled: true,
        inline: false,
    }
}

fn post(end: &mut Connected, request: SendRequest) {
    let mut list = SendList::new(vec![request]).unwrap();
    end.pair.post_send(&mut list).unwrap();
}

fn wait(end: &mut Connected, kind: CompletionKind) -> (u64, u32, Option<u32>) {
    let completions = end.queue.wait(&mut end.batch, soon()).unwrap();
    let [completion] = completions else {
        panic!("{completions:?}");
    };
    completion.result().unwrap();
    assert_eq!(completion.kind(), kind);
    assert_eq!(completion.queue_pair(), end.pair.number());
    (
        completion.identifier(),
        completion.length(),
        completion.immediate(),
    )
}

fn memory_at(end: &Connected, offset: usize) -> Vec<u8> {
    let mut bytes = vec![0; TEXT.len()];
    end.memory.read(offset, &mut bytes).unwrap();
    bytes
}

#[test]
fn what_is_written_is_there() {
    for (devices, inline) in [
        (["standin_roce0", "standin_roce1"], false),
        (["standin_roce0", "standin_roce1"], true),
        (["standin_roce0", "standin_roce0"], false),
        (["standin_ib0", "standin_ib1"], false),
    ] {
        let stand_in = StandIn::new();
        let [mut near, far] = connected(&stand_in, devices);
        near.memory.write(100, TEXT).unwrap();
        let to = far.endpoint.memory;
        let request = SendRequest {
            inline,
            ..request(&near, SendOperation::Write { to, offset: 7 })
        };
        post(&mut near, request);
        assert_eq!(wait(&mut near, CompletionKind::Write).0, 42);
        assert_eq!(memory_at(&far, 7), TEXT, "{devices:?}");
        assert_eq!(far.memory.byte(7), Ok(TEXT[0]));
        assert_eq!(
            (far.memory.byte(6), far.memory.byte(7 + TEXT.len())),
            (Ok(0), Ok(0))
        );
    }
}

#[test]
fn what_is_read_is_the_peers() {
    let stand_in = StandIn::new();
    let [mut near, far] = roce(&stand_in);
    far.memory.write(9, TEXT).unwrap();
    let from = far.endpoint.memory;
    let read = request(&near, SendOperation::Read { from, offset: 9 });
    post(&mut near, read);
    wait(&mut near, CompletionKind::Read);
    assert_eq!(memory_at(&near, 100), TEXT);
}

#[test]
fn a_write_with_an_immediate_value_tells_the_peer() {
    let stand_in = StandIn::new();
    let [mut near, mut far] = connected(&stand_in, ["standin_ib0", "standin_ib1"]);
    near.memory.write(100, TEXT).unwrap();
    let empty = far.memory.span(0, 0).unwrap();
    far.pair
        .post_receive(&mut ReceiveList::new(vec![(5, empty)]).unwrap())
        .unwrap();
    let operation = SendOperation::WriteWithImmediate {
        to: far.endpoint.memory,
        offset: 0,
        immediate: 0xc0ff_ee11,
    };
    let write = request(&near, operation);
    post(&mut near, write);
    wait(&mut near, CompletionKind::Write);
    let received = wait(&mut far, CompletionKind::ReceiveOfWrite);
    assert_eq!(received, (5, LENGTH, Some(0xc0ff_ee11)));
    assert_eq!(memory_at(&far, 0), TEXT);
}

#[test]
fn what_is_sent_lands_in_receives_in_their_order() {
    let stand_in = StandIn::new();
    let [mut near, mut far] = roce(&stand_in);
    near.memory.write(100, TEXT).unwrap();
    let spans = [
        (1, far.memory.span(1000, 64).unwrap()),
        (2, far.memory.span(2000, 64).unwrap()),
    ];
    far.pair
        .post_receive(&mut ReceiveList::new(spans.into()).unwrap())
        .unwrap();
    let send = request(&near, SendOperation::Send);
    post(&mut near, send);
    let send = request(&near, SendOperation::SendWithImmediate { immediate: 3 });
    post(&mut near, send);
    let completions = far.queue.wait(&mut far.batch, soon()).unwrap();
    let seen: Vec<_> = completions
        .iter()
        .map(|each| (each.identifier(), each.immediate(), each.length()))
        .collect();
    assert_eq!(seen, [(1, None, LENGTH), (2, Some(3), LENGTH)]);
    assert_eq!([memory_at(&far, 1000), memory_at(&far, 2000)], [TEXT, TEXT]);
}

#[test]
fn a_list_is_posted_at_once_and_only_its_last_makes_a_completion() {
    let stand_in = StandIn::new();
    let [mut near, far] = roce(&stand_in);
    let to = far.endpoint.memory;
    for (place, number) in (0..16 * 64).step_by(64).zip(1..) {
        near.memory.write(place, &[number; 64]).unwrap();
    }
    let requests = (0..16)
        .zip((0..).step_by(64))
        .map(|(place, local)| SendRequest {
            identifier: place,
            local: near.memory.span(local, 64).unwrap(),
            operation: SendOperation::Write {
                to,
                offset: 8192 + place * 64,
            },
            signalled: place == 15,
            inline: place % 2 == 0,
        });
    let mut list = SendList::new(requests.collect()).unwrap();
    // Depth is 16: each round has to free all places of the one before.
    for _ in 0..20 {
        near.pair.post_send(&mut list).unwrap();
        assert_eq!(wait(&mut near, CompletionKind::Write).0, 15);
    }
    for (place, number) in (8192 + 63..).step_by(64).zip(1..=16) {
        assert_eq!(far.memory.byte(place), Ok(number));
    }
}

#[test]
fn a_prepared_request_can_be_moved_and_changed() {
    let stand_in = StandIn::new();
    let [mut near, mut far] = roce(&stand_in);
    near.memory.write(5000, TEXT).unwrap();
    let empty = far.memory.span(0, 0).unwrap();
    far.pair
        .post_receive(&mut ReceiveList::new(vec![(1, empty)]).unwrap())
        .unwrap();
    let operation = SendOperation::WriteWithImmediate {
        to: far.endpoint.memory,
        offset: 0,
        immediate: 1,
    };
    let first = SendRequest {
        signalled: false,
        ..request(&near, operation)
    };
    let mut list = SendList::new(vec![first]).unwrap();
    for mut prepared in list.requests() {
        prepared.move_to(5000, 6000).unwrap();
        prepared.set_signalled(true);
        prepared.set_identifier(43);
        prepared.set_immediate(2);
    }
    near.pair.post_send(&mut list).unwrap();
    assert_eq!(wait(&mut near, CompletionKind::Write).0, 43);
    assert_eq!(wait(&mut far, CompletionKind::ReceiveOfWrite).2, Some(2));
    assert_eq!(memory_at(&far, 6000), TEXT);
}

#[test]
fn a_batch_takes_as_many_as_it_has_room_for() {
    let stand_in = StandIn::new();
    let [mut near, far] = roce(&stand_in);
    let to = far.endpoint.memory;
    let requests = (0..10).map(|identifier| SendRequest {
        identifier,
        ..request(&near, SendOperation::Write { to, offset: 0 })
    });
    let mut list = SendList::new(requests.collect()).unwrap();
    near.pair.post_send(&mut list).unwrap();
    let mut batch = crosstie_verbs::CompletionBatch::new(4);
    let mut seen = Vec::new();
    for wanted in [4, 4, 2, 0] {
        let completions = near.queue.poll(&mut batch).unwrap();
        assert_eq!(completions.len(), wanted);
        seen.extend(
            completions
                .iter()
                .map(crosstie_verbs::Completion::identifier),
        );
    }
    assert!(seen.into_iter().eq(0..10));
}

#[test]
fn a_sleeper_wakes_when_something_completes_and_at_its_deadline() {
    let stand_in = StandIn::new();
    let [mut near, mut far] = roce(&stand_in);
    let started = Instant::now();
    let error = far
        .queue
        .wait_blocking(&mut far.batch, started + Duration::from_millis(50))
        .unwrap_err();
    assert!(
        matches!(error, CompletionWaitError::DeadlinePassed { .. }),
        "{error:?}"
    );
    assert!((50..5000).contains(&started.elapsed().as_millis()));
    // Before it sleeps, and while it does.
    for delay in [0, 100] {
        let span = far.memory.span(0, 64).unwrap();
        far.pair
            .post_receive(&mut ReceiveList::new(vec![(1, span)]).unwrap())
            .unwrap();
        let send = request(&near, SendOperation::Send);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(delay));
                post(&mut near, send);
            });
            if delay == 0 {
                std::thread::sleep(Duration::from_millis(100));
            }
            let completions = far.queue.wait_blocking(&mut far.batch, soon()).unwrap();
            assert_eq!(completions.len(), 1);
        });
        wait(&mut near, CompletionKind::Send);
    }
}
