//! Whatever order things are dropped in, they are destroyed in the order that libibverbs asks for.

use crosstie_verbs::{SendList, SendOperation, SendRequest};

use super::stand_in::{Connected, End, StandIn, roce};

fn parts(end: Connected) -> Vec<Box<dyn std::any::Any>> {
    let End {
        context,
        domain,
        memory,
        queue,
        batch,
        from: _,
        endpoint: _,
        pair,
    } = end;
    vec![
        Box::new(context),
        Box::new(domain),
        Box::new(memory),
        Box::new(queue),
        Box::new(batch),
        Box::new(pair),
    ]
}

#[test]
fn nothing_is_left_in_any_order_of_dropping() {
    for turn in 0..6 {
        for backwards in [false, true] {
            let stand_in = StandIn::new();
            let [near, far] = roce(&stand_in);
            let mut parts: Vec<_> = [near, far].into_iter().flat_map(parts).collect();
            parts.rotate_left(turn);
            if backwards {
                parts.reverse();
            }
            assert!(stand_in.live() > 0);
            // The stand-in refuses to destroy what is in use, and would then be left with it.
            for part in parts {
                drop(part);
            }
            assert_eq!(stand_in.live(), 0, "{turn}, {backwards}");
        }
    }
}

#[test]
fn a_list_keeps_its_memory() {
    let stand_in = StandIn::new();
    let [mut near, far] = roce(&stand_in);
    near.memory.write(0, b"kept").unwrap();
    let request = SendRequest {
        identifier: 0,
        local: near.memory.span(0, 4).unwrap(),
        operation: SendOperation::Write {
            to: far.endpoint.memory,
            offset: 0,
        },
        signalled: true,
        inline: true,
    };
    let mut list = SendList::new(vec![request]).unwrap();
    let End { memory, pair, .. } = &mut near;
    *memory = far.memory.clone();
    pair.post_send(&mut list).unwrap();
    let mut bytes = [0; 4];
    far.memory.read(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"kept");
}

#[test]
fn memory_that_cannot_be_unregistered_is_kept() {
    let stand_in = StandIn::new();
    let context = stand_in.open("standin_roce0");
    let memory = context
        .protection_domain()
        .unwrap()
        .register(4096, super::stand_in::READ_AND_WRITE)
        .unwrap();
    stand_in.inject("ibv_dereg_mr=16");
    drop(memory);
    // The region; its domain, which cannot go before it; the context and its device's list, which are still in use.
    assert_eq!(stand_in.live(), 4);
}

#[test]
fn values_may_go_to_other_threads() {
    fn sendable<T: Send>() {}
    fn shareable<T: Send + Sync>() {}
    sendable::<crosstie_verbs::QueuePair<crosstie_verbs::ReadyToSend>>();
    sendable::<SendList>();
    sendable::<crosstie_verbs::ReceiveList>();
    shareable::<crosstie_verbs::DeviceContext>();
    shareable::<crosstie_verbs::CompletionQueue>();
    shareable::<crosstie_verbs::MemoryRegion>();
    shareable::<crosstie_verbs::ProtectionDomain>();
    shareable::<crosstie_verbs::VerbsDevice>();
}
