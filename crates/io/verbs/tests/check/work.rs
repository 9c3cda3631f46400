//! Lists that cannot be, and memory beyond its region.

use crosstie_verbs::{
    OutOfRange, ReceiveList, SendList, SendOperation, SendRequest, WorkListError,
};

use super::stand_in::{REGION, StandIn, roce, told};

#[test]
fn an_empty_list_and_an_inline_read_are_refused() {
    let stand_in = StandIn::new();
    let [near, far] = roce(&stand_in);
    assert!(matches!(
        SendList::new(Vec::new()),
        Err(WorkListError::Empty)
    ));
    assert!(matches!(
        ReceiveList::new(Vec::new()),
        Err(WorkListError::Empty)
    ));
    let read = SendRequest {
        identifier: 0,
        local: near.memory.span(0, 8).unwrap(),
        operation: SendOperation::Read {
            from: far.endpoint.memory,
            offset: 0,
        },
        signalled: true,
        inline: true,
    };
    assert!(matches!(
        SendList::new(vec![read]),
        Err(WorkListError::InlineRead(0))
    ));
}

#[test]
fn nothing_reaches_beyond_a_region() {
    let stand_in = StandIn::new();
    let [near, far] = roce(&stand_in);
    let region = REGION as u64;
    assert!(near.memory.span(REGION - 8, 9).is_err());
    assert!(near.memory.span(usize::MAX, 1).is_err());
    assert!(near.memory.write(REGION - 1, b"ab").is_err());
    assert!(near.memory.read(REGION, &mut [0]).is_err());
    assert!(near.memory.byte(REGION).is_err());
    let to = far.endpoint.memory;
    let request = |offset| SendRequest {
        identifier: 0,
        local: near.memory.span(0, 8).unwrap(),
        operation: SendOperation::Write { to, offset },
        signalled: true,
        inline: false,
    };
    let error = SendList::new(vec![request(0), request(region - 7)]).unwrap_err();
    let text = format!(
        "work request 1: 8 bytes at {} are not within a region of {region} bytes",
        region - 7
    );
    assert_eq!(told(&error), text);
    let mut list = SendList::new(vec![request(0)]).unwrap();
    assert_eq!(list.length(), 1);
    let beyond = Err(OutOfRange {
        offset: region - 7,
        length: 8,
        region,
    });
    let mut prepared = list.requests().next().unwrap();
    assert_eq!(prepared.move_to(region - 7, 0), beyond);
    assert_eq!(prepared.move_to(0, region - 7), beyond);
    assert_eq!(prepared.move_to(region - 8, region - 8), Ok(()));
}
