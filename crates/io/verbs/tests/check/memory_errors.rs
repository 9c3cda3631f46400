//! valgrind over everything between opening the library and dropping the last value.

use std::process::Command;

use crosstie_verbs::{ReceiveList, SendList, SendOperation, SendRequest};

use super::stand_in::{StandIn, is_child, itself, roce, soon};

#[test]
fn valgrind_finds_nothing() {
    if is_child() {
        everything();
        return;
    }
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--quiet", "--error-exitcode=99", "--leak-check=full"])
        .args([
            "--errors-for-leak-kinds=definite",
            "--show-leak-kinds=definite",
        ])
        .arg(std::env::current_exe().unwrap());
    let run = itself(valgrind, "memory_errors::valgrind_finds_nothing")
        .output()
        .unwrap_or_else(|error| panic!("valgrind: {error}: apt-get install valgrind"));
    let text = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && !text.contains("=="), "{text}");
    assert!(
        String::from_utf8_lossy(&run.stdout).contains("1 passed"),
        "{run:?}"
    );
}

fn everything() {
    let stand_in = StandIn::new();
    // So that what its statics hold is not taken for lost.
    stand_in.keep_loaded();
    let [mut near, mut far] = roce(&stand_in);
    let spans = (0..8)
        .zip((0..).step_by(8))
        .map(|(number, place)| (number, far.memory.span(place, 8).unwrap()));
    far.pair
        .post_receive(&mut ReceiveList::new(spans.collect()).unwrap())
        .unwrap();
    let (to, from) = (far.endpoint.memory, far.endpoint.memory);
    let operations = [
        SendOperation::Write { to, offset: 64 },
        SendOperation::WriteWithImmediate {
            to,
            offset: 72,
            immediate: 1,
        },
        SendOperation::Read { from, offset: 80 },
        SendOperation::Send,
        SendOperation::SendWithImmediate { immediate: 2 },
    ];
    let requests = operations.into_iter().map(|operation| SendRequest {
        identifier: 0,
        local: near.memory.span(128, 8).unwrap(),
        operation,
        signalled: true,
        inline: matches!(operation, SendOperation::Write { .. }),
    });
    let mut list = SendList::new(requests.collect()).unwrap();
    near.pair.post_send(&mut list).unwrap();
    assert_eq!(near.queue.wait(&mut near.batch, soon()).unwrap().len(), 5);
    assert_eq!(
        far.queue
            .wait_blocking(&mut far.batch, soon())
            .unwrap()
            .len(),
        3
    );
    stand_in.raise(crosstie_verbs_abi::EVENT_PORT_DOWN, 1);
    assert!(near.context.async_event(soon()).unwrap().is_some());
    stand_in.inject("completion=12");
    near.pair.post_send(&mut list).unwrap();
    assert!(
        near.queue
            .wait(&mut near.batch, soon())
            .unwrap()
            .iter()
            .all(|each| !each.is_success())
    );
    drop((near, far, list));
    assert_eq!(stand_in.live(), 0);
}
