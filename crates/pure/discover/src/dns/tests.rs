use proptest::prelude::*;

use super::*;

/// A response with these records, of which each is a name, a type and its data.
fn response(records: &[(&[u8], u16, &[u8])]) -> Vec<u8> {
    let mut message = vec![0, 0, 0x84, 0, 0, 0];
    message.extend(u16::try_from(records.len()).unwrap().to_be_bytes());
    message.extend([0; 4]);
    for (name, kind, data) in records {
        message.extend(*name);
        message.extend(kind.to_be_bytes());
        message.extend([0x80, 1, 0, 0, 0, 120]);
        message.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        message.extend(*data);
    }
    message
}

fn wire(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    DnsName::of(text).encode(&mut bytes);
    bytes
}

#[test]
fn records_say_what_they_say() {
    let service = wire("_ssh._tcp.local");
    let mut instance = b"\x07Spark B".to_vec();
    // The name of the first record starts at byte 12.
    instance.extend([0xc0, 12]);
    let host = [&[0, 0, 0, 0, 0, 22][..], &wire("Spark-B.local")].concat();
    let message = response(&[
        (&service, 12, &instance),
        (&[0xc0, 12], 16, b"\x03a=b"),
        (&wire("x"), 33, &host),
        (&wire("spark-b.local"), 1, &[192, 0, 2, 7]),
        (&wire("spark-b.local"), 28, &[0xfe; 16]),
        (&wire("spark-b.local"), 1, &[192, 0, 2]),
    ]);
    let found = answers(&message).unwrap();
    let said: Vec<&DnsRecordData> = found.iter().map(|record| &record.data).collect();
    let DnsRecordData::Pointer(instance) = said[0] else {
        panic!("{said:?}")
    };
    let labels: Vec<&[u8]> = instance.labels().iter().map(Vec::as_slice).collect();
    assert_eq!(labels, [&b"spark b"[..], b"_ssh", b"_tcp", b"local"]);
    assert_eq!(
        *said[1],
        DnsRecordData::Service(DnsName::of("spark-b.local"))
    );
    assert_eq!(
        *said[2],
        DnsRecordData::Address("192.0.2.7".parse().unwrap())
    );
    assert_eq!(said.len(), 4);
}

#[test]
fn pointers_only_go_back() {
    for (name, expected) in [
        (&[0xc0, 12][..], DnsError::Pointer),
        (&[0xc0, 14, 0], DnsError::Pointer),
        (&[1, b'a', 0xc0, 12], DnsError::Pointer),
        (&[0xc0, 255], DnsError::Pointer),
        (&[0x40, 0], DnsError::Label),
        (&[63, 0], DnsError::Short),
    ] {
        assert_eq!(
            answers(&response(&[(name, 1, b"")])),
            Err(expected),
            "{name:?}"
        );
    }
    let long = [[&[63][..], &[b'a'; 63]].concat().repeat(4), vec![0]].concat();
    assert_eq!(
        answers(&response(&[(&long, 1, b"")])),
        Err(DnsError::LongName)
    );
}

#[test]
fn a_thousand_records_are_some_of_them() {
    let name = wire("a.local");
    let one: (&[u8], u16, &[u8]) = (&name, 1, &[192, 0, 2, 7]);
    assert_eq!(answers(&response(&[one; 300])).unwrap().len(), MAX_RECORDS);
    assert_eq!(answers(&vec![0; MAX_MESSAGE + 1]), Err(DnsError::TooLong));
    assert_eq!(
        answers(&question(&[(DnsName::of("a"), DnsRecordKind::A)])),
        Ok(Vec::new())
    );
}

/// Bytes that look like a message more often than chance has it.
fn near_message() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(wire("_ssh._tcp.local")),
        (0u8..4, any::<u8>()).prop_map(|(high, low)| vec![0xc0 | high, low]),
        Just(vec![0, 12, 0, 1, 0, 0, 0, 9, 0, 2]),
        Just(vec![0, 33, 0, 1, 0, 0, 0, 9, 0, 8]),
        prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| {
        let mut message = vec![0, 0, 0x84, 0, 0, 1, 0, 9, 0, 9, 0, 9];
        message.extend(pieces.concat());
        message
    })
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(junk in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..400),
        near_message(),
    ]) {
        let Ok(records) = answers(&junk) else { return Ok(()) };
        prop_assert!(records.len() <= MAX_RECORDS);
        for record in records {
            let mut bytes = Vec::new();
            record.name.encode(&mut bytes);
            prop_assert!(bytes.len() <= MAX_NAME);
            let (again, end) = DnsName::read(&bytes, 0).unwrap();
            prop_assert_eq!((again, end), (record.name, bytes.len()));
        }
    }

    #[test]
    fn names_come_back(labels in prop::collection::vec("[a-zA-Z0-9_-]{1,20}", 1..8)) {
        let name = DnsName::of(&labels.join("."));
        let mut bytes = vec![7; 30];
        name.encode(&mut bytes);
        let end = bytes.len();
        prop_assert_eq!(DnsName::read(&bytes, 30), Ok((name, end)));
    }
}
