//! What devices tell without being asked.

use std::time::{Duration, Instant};

use crosstie_model::Mtu;
use crosstie_verbs::{
    AsyncEvent, AsyncEventKind, AsyncEventSource, PathMtu, RemoteMemory, SendList, SendOperation,
    SendRequest,
};
use crosstie_verbs_abi as abi;

use super::stand_in::{OPTIONS, READ_AND_WRITE, StandIn, end, roce, soon, told};

#[test]
fn a_port_that_goes_down_is_told_by_number() {
    let stand_in = StandIn::new();
    let context = stand_in.open("standin_ib0");
    let started = Instant::now();
    assert_eq!(
        context
            .async_event(started + Duration::from_millis(30))
            .unwrap(),
        None
    );
    assert!((30..5000).contains(&started.elapsed().as_millis()));
    stand_in.raise(abi::EVENT_PORT_DOWN, 1);
    let wanted = AsyncEvent {
        kind: AsyncEventKind::PortDown,
        source: AsyncEventSource::Port(1),
    };
    assert_eq!(context.async_event(soon()).unwrap(), Some(wanted));
    assert_eq!(wanted.kind.to_string(), "a port went down");
    stand_in.raise(abi::EVENT_DEVICE_FATAL, 0);
    stand_in.raise(77, 0);
    let kinds = [AsyncEventKind::DeviceFatal, AsyncEventKind::Unknown(77)];
    for kind in kinds {
        let wanted = AsyncEvent {
            kind,
            source: AsyncEventSource::Device,
        };
        assert_eq!(context.async_event(soon()).unwrap(), Some(wanted));
    }
}

#[test]
fn a_queue_pair_is_told_by_number_and_can_be_dropped_afterwards() {
    let stand_in = StandIn::new();
    let [mut near, far] = roce(&stand_in);
    let request = SendRequest {
        identifier: 0,
        local: near.memory.span(0, 8).unwrap(),
        operation: SendOperation::Write {
            to: RemoteMemory {
                key: 999,
                ..far.endpoint.memory
            },
            offset: 0,
        },
        signalled: true,
        inline: false,
    };
    near.pair
        .post_send(&mut SendList::new(vec![request]).unwrap())
        .unwrap();
    let number = far.pair.number();
    let wanted = AsyncEvent {
        kind: AsyncEventKind::QueuePairAccess,
        source: AsyncEventSource::QueuePair(number),
    };
    assert_eq!(far.context.async_event(soon()).unwrap(), Some(wanted));
    // A queue pair with events that were not acknowledged could not be destroyed.
    drop((near, far));
    assert_eq!(stand_in.live(), 0);
}

#[test]
fn a_completion_queue_that_overruns_is_told() {
    let stand_in = StandIn::new();
    let mut near = end(&stand_in, "standin_roce0", READ_AND_WRITE);
    let far = end(&stand_in, "standin_roce1", READ_AND_WRITE);
    near.queue = near.context.completion_queue(2).unwrap();
    near.pair = near
        .domain
        .queue_pair(1, &near.queue, &near.queue, OPTIONS)
        .unwrap();
    let mtu = PathMtu::try_from(Mtu(1024)).unwrap();
    near.endpoint = near
        .pair
        .endpoint(&near.from, mtu, 16, near.memory.remote());
    let (to_near, to_far) = (near.endpoint, far.endpoint);
    let (mut near, far) = (near.connect(&to_far), far.connect(&to_near));
    let request = SendRequest {
        identifier: 0,
        local: near.memory.span(0, 8).unwrap(),
        operation: SendOperation::Write {
            to: far.endpoint.memory,
            offset: 0,
        },
        signalled: true,
        inline: false,
    };
    near.pair
        .post_send(&mut SendList::new(vec![request; 3]).unwrap())
        .unwrap();
    let wanted = AsyncEvent {
        kind: AsyncEventKind::CompletionQueueOverrun,
        source: AsyncEventSource::CompletionQueue,
    };
    assert_eq!(near.context.async_event(soon()).unwrap(), Some(wanted));
}

#[test]
fn an_event_queue_that_fails_is_named() {
    let stand_in = StandIn::new();
    let context = stand_in.open("standin_ib0");
    stand_in.inject("ibv_get_async_event=5");
    let text = told(&context.async_event(soon()).unwrap_err());
    assert_eq!(
        text,
        "standin_ib0: ibv_get_async_event failed: Input/output error (os error 5)"
    );
}
