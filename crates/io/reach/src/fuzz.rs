//! The readers of foreign bytes in this crate, on the terms of [`crosstie_facts::fuzz`].

use crosstie_discover::{MdnsHostName, MdnsHosts, dns};
use crosstie_fabric::cabling::{CablingKey, CablingToken, DecodedFrame, FRAME, decode, encode};
use crosstie_facts::fuzz::FactsFuzzTarget;

use crate::{
    protocol::{AgentFrameReader, CallExchange, ExchangeEvent, PreambleLine, PreambleReader},
    ssh::SshDestination,
};

pub const TARGETS: &[FactsFuzzTarget] = &[
    ("agent_output", agent_output),
    ("mdns", mdns),
    ("cabling_frame", cabling_frame),
];

/// A frame from the wire. What is taken for ours must be what we would have sent.
fn cabling_frame(data: &[u8]) {
    let (token, key) = (CablingToken([1; 16]), CablingKey([2; 32]));
    if let Some(DecodedFrame::Ours { sender, sequence }) = decode(data, token, &key) {
        let said = encode([0; 6], token, &key, sender, sequence);
        assert_eq!(data.get(12..FRAME), said.get(12..), "said and heard");
    }
}

/// A message that anybody on a link may send: what is made of it can be shown and asked again.
fn mdns(data: &[u8]) {
    let Ok(records) = dns::answers(data) else {
        return;
    };
    let mut hosts = MdnsHosts::default();
    hosts.hear(&records, std::net::Ipv4Addr::LOCALHOST.into());
    let asked = dns::question(&hosts.questions());
    assert_eq!(dns::answers(&asked), Ok(Vec::new()), "a question");
    for name in hosts.found().filter_map(|(name, _)| name) {
        let again = MdnsHostName::new(&dns::DnsName::of(name.as_str()));
        assert_eq!(again.as_ref(), Some(&name), "a name and its text");
        assert!(name.as_str().parse::<SshDestination>().is_ok(), "{name}");
    }
}

/// What an agent may say, told whole and in small pieces: the controller must understand the same.
fn agent_output(data: &[u8]) {
    let Some((first, data)) = data.split_first() else {
        return;
    };
    let whole = understood(data, data.len().max(1));
    let pieces = understood(data, usize::from(*first).max(1));
    assert_eq!(whole, pieces, "told whole, told in pieces");
}

/// The lines, then the steps of calls 1 and 2 until either has ended.
fn understood(data: &[u8], piece: usize) -> Vec<String> {
    let mut heard = Vec::new();
    let mut preamble = Some(PreambleReader::default());
    let mut frames = AgentFrameReader::default();
    let mut exchange = CallExchange::default();
    exchange.begin(1);
    exchange.begin(2);
    for piece in data.chunks(piece) {
        if let Some(reading) = &mut preamble {
            reading.push(piece);
            match lines(reading, &mut heard) {
                Err(()) => return heard,
                Ok(false) => continue,
                Ok(true) => {}
            }
            let rest = preamble.take().map(PreambleReader::into_rest);
            frames.push(&rest.unwrap_or_default());
        } else {
            frames.push(piece);
        }
        if steps(&mut frames, &mut exchange, &mut heard).is_err() {
            return heard;
        }
    }
    heard
}

/// Whether the agent has spoken.
fn lines(preamble: &mut PreambleReader, heard: &mut Vec<String>) -> Result<bool, ()> {
    loop {
        match preamble.next_line() {
            Ok(None) => return Ok(false),
            Ok(Some(line)) => {
                heard.push(format!("{line:?}"));
                if matches!(line, PreambleLine::Agent { .. }) {
                    return Ok(true);
                }
            }
            Err(error) => {
                heard.push(error.to_string());
                return Err(());
            }
        }
    }
}

fn steps(
    frames: &mut AgentFrameReader,
    exchange: &mut CallExchange,
    heard: &mut Vec<String>,
) -> Result<(), ()> {
    loop {
        let step = match frames.next_frame() {
            Ok(None) => return Ok(()),
            Ok(Some(frame)) => exchange.take(&frame),
            Err(error) => Err(error.into()),
        };
        match step {
            Ok(ExchangeEvent::Done { id, result }) => {
                heard.push(format!("{id} {result:?}"));
                return Err(());
            }
            Ok(step) => heard.push(format!("{step:?}")),
            Err(error) => {
                heard.push(error.to_string());
                return Err(());
            }
        }
    }
}
