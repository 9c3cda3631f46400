//! Questions out, answers in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{DnsError, DnsName, MAX_MESSAGE};

/// Records that are taken of one message.
pub const MAX_RECORDS: usize = 256;

const HEADER: usize = 12;
const INTERNET: u16 = 1;
/// The top bit of a class: "this is all there is" in an answer (RFC 6762, section 10.2).
const CLASS: u16 = 0x7fff;
const RESPONSE: u16 = 0x8000;

/// Record types, by their numbers on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsRecordKind {
    A = 1,
    Pointer = 12,
    Aaaa = 28,
    Service = 33,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsRecord {
    pub name: DnsName,
    pub data: DnsRecordData,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DnsRecordData {
    Pointer(DnsName),
    /// Who serves it.
    Service(DnsName),
    Address(IpAddr),
}

/// A query for all of these.
pub fn question(asked: &[(DnsName, DnsRecordKind)]) -> Vec<u8> {
    let count = u16::try_from(asked.len()).unwrap_or(u16::MAX);
    let mut message = vec![0; HEADER];
    message[4..6].copy_from_slice(&count.to_be_bytes());
    for (name, kind) in asked.iter().take(count.into()) {
        name.encode(&mut message);
        message.extend_from_slice(&(*kind as u16).to_be_bytes());
        message.extend_from_slice(&INTERNET.to_be_bytes());
    }
    message
}

/// The records of a response that are of a type that we ask for. A query has none.
pub fn answers(message: &[u8]) -> Result<Vec<DnsRecord>, DnsError> {
    if message.len() > MAX_MESSAGE {
        return Err(DnsError::TooLong);
    }
    if u16_at(message, 2)? & RESPONSE == 0 {
        return Ok(Vec::new());
    }
    let mut at = HEADER;
    for _ in 0..u16_at(message, 4)? {
        let (_, after) = DnsName::read(message, at)?;
        at = after + 4;
    }
    let mut records = Vec::new();
    let count: usize = [6, 8, 10]
        .into_iter()
        .map(|at| u16_at(message, at).map(usize::from))
        .sum::<Result<usize, DnsError>>()?;
    for _ in 0..count.min(MAX_RECORDS) {
        let (name, fixed) = DnsName::read(message, at)?;
        let (kind, class) = (u16_at(message, fixed)?, u16_at(message, fixed + 2)?);
        let start = fixed + 10;
        let end = start + usize::from(u16_at(message, fixed + 8)?);
        if end > message.len() {
            return Err(DnsError::Short);
        }
        at = end;
        if class & CLASS == INTERNET
            && let Some(data) = data(message, kind, start, end)?
        {
            records.push(DnsRecord { name, data });
        }
    }
    Ok(records)
}

/// What a record says, which lies in `start..end`. Other types say nothing to us, and so do wrong lengths.
fn data(
    message: &[u8],
    kind: u16,
    start: usize,
    end: usize,
) -> Result<Option<DnsRecordData>, DnsError> {
    let bytes = &message[start..end];
    let name_at = |at: usize| {
        let (name, after) = DnsName::read(message, at)?;
        Ok((after == end).then_some(name))
    };
    Ok(match kind {
        kind if kind == DnsRecordKind::A as u16 => <[u8; 4]>::try_from(bytes)
            .ok()
            .map(|address| DnsRecordData::Address(Ipv4Addr::from(address).into())),
        kind if kind == DnsRecordKind::Aaaa as u16 => <[u8; 16]>::try_from(bytes)
            .ok()
            .map(|address| DnsRecordData::Address(Ipv6Addr::from(address).into())),
        kind if kind == DnsRecordKind::Pointer as u16 => {
            name_at(start)?.map(DnsRecordData::Pointer)
        }
        // Priority, weight and port go before the name.
        kind if kind == DnsRecordKind::Service as u16 && bytes.len() > 6 => {
            name_at(start + 6)?.map(DnsRecordData::Service)
        }
        _ => None,
    })
}

fn u16_at(message: &[u8], at: usize) -> Result<u16, DnsError> {
    let bytes = message.get(at..at + 2).ok_or(DnsError::Short)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}
