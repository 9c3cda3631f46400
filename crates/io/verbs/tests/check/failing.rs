//! Work that fails, or never ends.

use std::{
    os::unix::process::ExitStatusExt,
    process::Command,
    time::{Duration, Instant},
};

use crosstie_verbs::{
    CompletionError, CompletionStatus, CompletionWaitError, PostError, ReceiveList, RemoteAccess,
    RemoteMemory, SendList, SendOperation, SendRequest,
};

use super::stand_in::{Connected, StandIn, end, is_child, itself, roce, soon, told};

fn write(near: &Connected, to: RemoteMemory) -> SendList {
    list(near, SendOperation::Write { to, offset: 0 }, 64)
}

fn list(near: &Connected, operation: SendOperation, length: u32) -> SendList {
    let request = SendRequest {
        identifier: 7,
        local: near.memory.span(0, length).unwrap(),
        operation,
        signalled: false,
        inline: false,
    };
    SendList::new(vec![request]).unwrap()
}

fn fail(near: &mut Connected, list: &mut SendList) -> CompletionError {
    near.pair.post_send(list).unwrap();
    let completions = near.queue.wait(&mut near.batch, soon()).unwrap();
    completions[0].result().unwrap_err()
}

#[test]
fn a_peer_that_does_not_answer_is_told_in_words() {
    let stand_in = StandIn::new();
    let [mut near, far] = roce(&stand_in);
    let mut list = write(&near, far.endpoint.memory);
    stand_in.inject("completion=12");
    let error = fail(&mut near, &mut list);
    assert_eq!(error.status, CompletionStatus::RETRY_EXCEEDED);
    let text = error.to_string();
    let number = near.pair.number();
    assert!(
        text.starts_with(&format!(
            "work request 7 of queue pair {number}: the peer acknowledged nothing"
        )),
        "{text}"
    );
    assert!(text.ends_with("(status 12) (vendor's code 0x81)"), "{text}");
    // What comes after it is flushed.
    assert_eq!(fail(&mut near, &mut list).status, CompletionStatus::FLUSHED);
}

#[test]
fn a_peer_that_is_gone_does_not_answer() {
    let stand_in = StandIn::new();
    let [mut near, far] = roce(&stand_in);
    let mut list = write(&near, far.endpoint.memory);
    drop(far);
    assert_eq!(
        fail(&mut near, &mut list).status,
        CompletionStatus::RETRY_EXCEEDED
    );
}

#[test]
fn every_status_has_words_of_its_own() {
    let unknown = CompletionStatus(99).to_string();
    let mut texts: Vec<String> = (0..=21)
        .filter(|code| ![3, 14, 15, 17, 18].contains(code))
        .map(|code| CompletionStatus(code).to_string())
        .collect();
    assert!(
        texts.iter().all(|text| !text.contains("no words")),
        "{texts:?}"
    );
    assert!(unknown.contains("no words"), "{unknown}");
    texts.dedup();
    assert_eq!(texts.len(), 17);
}

#[test]
fn memory_that_may_not_be_written_is_refused_by_the_peer() {
    let stand_in = StandIn::new();
    let near = end(&stand_in, "standin_roce0", RemoteAccess::default());
    let far = end(&stand_in, "standin_roce1", RemoteAccess::default());
    let (to_near, to_far) = (near.endpoint, far.endpoint);
    let (mut near, far) = (near.connect(&to_far), far.connect(&to_near));
    let mut list = write(&near, far.endpoint.memory);
    assert_eq!(
        fail(&mut near, &mut list).status,
        CompletionStatus::REMOTE_ACCESS
    );
    drop(far);
}

#[test]
fn a_wrong_key_is_refused_by_the_peer() {
    let stand_in = StandIn::new();
    let [mut near, far] = roce(&stand_in);
    let wrong = RemoteMemory {
        key: 12345,
        ..far.endpoint.memory
    };
    let mut list = write(&near, wrong);
    assert_eq!(
        fail(&mut near, &mut list).status,
        CompletionStatus::REMOTE_ACCESS
    );
}

#[test]
fn memory_that_is_gone_is_refused_by_the_peer() {
    let stand_in = StandIn::new();
    let [mut near, far] = roce(&stand_in);
    let memory = far
        .domain
        .register(4096, super::stand_in::READ_AND_WRITE)
        .unwrap();
    let mut list = write(&near, memory.remote());
    drop(memory);
    assert_eq!(
        fail(&mut near, &mut list).status,
        CompletionStatus::REMOTE_ACCESS
    );
}

#[test]
fn a_peer_without_a_receive_is_not_waited_for_endlessly() {
    let stand_in = StandIn::new();
    let [mut near, _far] = roce(&stand_in);
    let mut list = list(&near, SendOperation::Send, 64);
    let error = fail(&mut near, &mut list);
    assert_eq!(error.status, CompletionStatus::RNR_RETRY_EXCEEDED);
}

#[test]
fn a_message_longer_than_its_receive_is_refused() {
    let stand_in = StandIn::new();
    let [mut near, mut far] = roce(&stand_in);
    let short = far.memory.span(0, 63).unwrap();
    far.pair
        .post_receive(&mut ReceiveList::new(vec![(1, short)]).unwrap())
        .unwrap();
    let mut list = list(&near, SendOperation::Send, 64);
    assert!(
        fail(&mut near, &mut list)
            .to_string()
            .contains("receive buffer")
    );
}

#[test]
fn what_never_completes_ends_at_the_deadline() {
    let stand_in = StandIn::with("never_completes=1");
    let [mut near, far] = roce(&stand_in);
    let mut list = write(&near, far.endpoint.memory);
    near.pair.post_send(&mut list).unwrap();
    for asleep in [false, true] {
        let started = Instant::now();
        let deadline = started + Duration::from_millis(30);
        let error = if asleep {
            near.queue.wait_blocking(&mut near.batch, deadline)
        } else {
            near.queue.wait(&mut near.batch, deadline)
        }
        .unwrap_err();
        assert!(
            matches!(error, CompletionWaitError::DeadlinePassed { .. }),
            "{error:?}"
        );
        assert!(
            error
                .to_string()
                .starts_with("standin_roce0: nothing completed within"),
            "{error}"
        );
        assert!((30..5000).contains(&started.elapsed().as_millis()));
    }
}

#[test]
fn a_full_queue_says_how_many_were_posted() {
    let stand_in = StandIn::with("never_completes=1");
    let [mut near, far] = roce(&stand_in);
    let to = far.endpoint.memory;
    let request = SendRequest {
        identifier: 0,
        local: near.memory.span(0, 8).unwrap(),
        operation: SendOperation::Write { to, offset: 0 },
        signalled: true,
        inline: false,
    };
    let mut list = SendList::new(vec![request; 6]).unwrap();
    near.pair.post_send(&mut list).unwrap();
    near.pair.post_send(&mut list).unwrap();
    let error = near.pair.post_send(&mut list).unwrap_err();
    let PostError::QueueFull { posted, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(posted, 4, "the queue has 16 places");
}

#[test]
fn posts_that_fail_are_named() {
    let stand_in = StandIn::new();
    let [mut near, far] = roce(&stand_in);
    let mut send = write(&near, far.endpoint.memory);
    for (fault, wanted) in [
        (
            "post_send=12",
            "standin_roce0: the queue is full after 0 of the list's work requests",
        ),
        (
            "post_send=22",
            "standin_roce0: work request 0 of the list was refused",
        ),
        (
            "post_send=5",
            "standin_roce0: ibv_post_send failed: Input/output error",
        ),
    ] {
        stand_in.inject(fault);
        let text = told(&near.pair.post_send(&mut send).unwrap_err());
        assert!(text.starts_with(wanted), "{fault}: {text}");
    }
    let mut receive = ReceiveList::new(vec![(1, near.memory.span(0, 8).unwrap())]).unwrap();
    stand_in.inject("post_recv=12");
    let error = near.pair.post_receive(&mut receive).unwrap_err();
    assert!(matches!(error, PostError::QueueFull { .. }), "{error:?}");
}

#[test]
fn inline_data_that_is_too_long_is_refused() {
    let stand_in = StandIn::new();
    let [mut near, far] = roce(&stand_in);
    assert_eq!(near.pair.inline_bytes(), 220);
    let request = SendRequest {
        identifier: 0,
        local: near.memory.span(0, 221).unwrap(),
        operation: SendOperation::Write {
            to: far.endpoint.memory,
            offset: 0,
        },
        signalled: true,
        inline: true,
    };
    let error = near
        .pair
        .post_send(&mut SendList::new(vec![request]).unwrap())
        .unwrap_err();
    assert!(error.to_string().contains("inline and too long"), "{error}");
}

#[test]
fn polling_that_fails_is_named() {
    let stand_in = StandIn::new();
    let [mut near, _far] = roce(&stand_in);
    stand_in.inject("poll_cq=5");
    let text = told(&near.queue.poll(&mut near.batch).unwrap_err());
    assert_eq!(
        text,
        "standin_roce0: ibv_poll_cq failed: Input/output error (os error 5)"
    );
    stand_in.inject("req_notify_cq=95");
    let text = told(
        &near
            .queue
            .wait_blocking(&mut near.batch, soon())
            .unwrap_err(),
    );
    assert!(
        text.starts_with("standin_roce0: ibv_req_notify_cq failed"),
        "{text}"
    );
}

#[test]
fn a_driver_that_crashes_takes_only_its_own_process_along() {
    if is_child() {
        let stand_in = StandIn::new();
        let [mut near, far] = roce(&stand_in);
        let mut list = write(&near, far.endpoint.memory);
        let _ = near.pair.post_send(&mut list);
        return;
    }
    let own = Command::new(std::env::current_exe().unwrap());
    let test = "failing::a_driver_that_crashes_takes_only_its_own_process_along";
    let child = itself(own, test)
        .env("STAND_IN_FAULTS", "crash=1")
        .output()
        .unwrap();
    assert_eq!(child.status.signal(), Some(6), "{child:?}");
}
