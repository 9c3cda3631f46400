//! Netlink messages and attributes as bytes, in host byte order (`linux/netlink.h`).
//!
//! Reading never fails: what is cut short ends the iteration, and a field that is too small is not there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HEADER: usize = 16;
const ATTRIBUTE_HEADER: usize = 4;

/// `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER` share the attribute's type field.
const TYPE_MASK: u16 = 0x3fff;
const NESTED: u16 = 1 << 15;

pub const AF_INET: u8 = 2;
pub const AF_INET6: u8 = 10;

/// Both headers and attributes start on multiples of four bytes.
fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// A request to the kernel: type, the family's fixed header, attributes.
#[derive(Debug, Clone)]
pub struct NetlinkRequest {
    kind: u16,
    body: Vec<u8>,
}

impl NetlinkRequest {
    /// `fixed` is the family's own header: `ifinfomsg`, `rtmsg`, `genlmsghdr`, …
    pub fn new(kind: u16, fixed: &[u8]) -> Self {
        let mut body = fixed.to_vec();
        body.resize(aligned(body.len()), 0);
        Self { kind, body }
    }

    #[must_use]
    pub fn bytes(mut self, attribute: u16, data: &[u8]) -> Self {
        let length = u16::try_from(ATTRIBUTE_HEADER + data.len()).unwrap_or(u16::MAX);
        self.body.extend(length.to_ne_bytes());
        self.body.extend(attribute.to_ne_bytes());
        self.body.extend_from_slice(data);
        self.body.resize(aligned(self.body.len()), 0);
        self
    }

    #[must_use]
    pub fn u32(self, attribute: u16, value: u32) -> Self {
        self.bytes(attribute, &value.to_ne_bytes())
    }

    /// A string with its closing NUL.
    #[must_use]
    pub fn text(self, attribute: u16, text: &str) -> Self {
        let mut data = text.as_bytes().to_vec();
        data.push(0);
        self.bytes(attribute, &data)
    }

    /// A nest that holds the attributes of `inside`.
    #[must_use]
    pub fn nest(self, attribute: u16, inside: &Self) -> Self {
        self.bytes(attribute | NESTED, &inside.body)
    }

    /// A carrier of attributes for [`NetlinkRequest::nest`].
    pub fn attributes() -> Self {
        Self::new(0, &[])
    }

    /// The message as it is sent.
    pub fn encode(&self, flags: u16, sequence: u32) -> Vec<u8> {
        let length = u32::try_from(HEADER + self.body.len()).unwrap_or(u32::MAX);
        let mut message = Vec::with_capacity(HEADER + self.body.len());
        message.extend(length.to_ne_bytes());
        message.extend(self.kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend(sequence.to_ne_bytes());
        message.extend(0_u32.to_ne_bytes());
        message.extend_from_slice(&self.body);
        message
    }
}

/// One message out of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetlinkMessage<'a> {
    pub kind: u16,
    pub flags: u16,
    pub sequence: u32,
    pub body: &'a [u8],
}

/// The messages of one datagram.
#[derive(Debug, Clone)]
pub struct NetlinkMessages<'a>(pub &'a [u8]);

impl<'a> Iterator for NetlinkMessages<'a> {
    type Item = NetlinkMessage<'a>;

    fn next(&mut self) -> Option<NetlinkMessage<'a>> {
        let length = u32_at(self.0, 0)? as usize;
        let body = self.0.get(HEADER..length)?;
        let message = NetlinkMessage {
            kind: u16_at(self.0, 4)?,
            flags: u16_at(self.0, 6)?,
            sequence: u32_at(self.0, 8)?,
            body,
        };
        self.0 = self.0.get(aligned(length)..).unwrap_or_default();
        Some(message)
    }
}

/// The attributes behind a fixed header, or inside a nest.
#[derive(Debug, Clone, Copy)]
pub struct NetlinkAttributes<'a>(&'a [u8]);

impl<'a> NetlinkAttributes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The attributes of a message whose family has a fixed header of `length` bytes.
    pub fn behind(body: &'a [u8], length: usize) -> Self {
        Self(body.get(aligned(length)..).unwrap_or_default())
    }

    pub fn iter(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let length = usize::from(u16_at(rest, 0)?);
            let kind = u16_at(rest, 2)? & TYPE_MASK;
            let data = rest.get(ATTRIBUTE_HEADER..length)?;
            rest = rest.get(aligned(length)..).unwrap_or_default();
            Some((kind, data))
        })
    }

    pub fn get(self, kind: u16) -> Option<&'a [u8]> {
        self.iter()
            .find_map(|(found, data)| (found == kind).then_some(data))
    }

    pub fn nested(self, kind: u16) -> Option<Self> {
        self.get(kind).map(Self)
    }

    pub fn u8(self, kind: u16) -> Option<u8> {
        self.get(kind)?.first().copied()
    }

    pub fn u16(self, kind: u16) -> Option<u16> {
        u16_at(self.get(kind)?, 0)
    }

    pub fn u32(self, kind: u16) -> Option<u32> {
        u32_at(self.get(kind)?, 0)
    }

    pub fn text(self, kind: u16) -> Option<String> {
        self.get(kind).map(text)
    }

    pub fn address(self, kind: u16) -> Option<IpAddr> {
        address(self.get(kind)?)
    }
}

/// Up to the closing NUL, as far as it is UTF-8.
pub fn text(data: &[u8]) -> String {
    let end = data.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&data[..end.unwrap_or(data.len())]).into_owned()
}

pub fn address(data: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(data) {
        return Some(Ipv4Addr::from(four).into());
    }
    let sixteen = <[u8; 16]>::try_from(data).ok()?;
    Some(Ipv6Addr::from(sixteen).into())
}

pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let field = bytes.get(offset..offset.checked_add(2)?)?;
    Some(u16::from_ne_bytes(field.try_into().ok()?))
}

pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_ne_bytes(field.try_into().ok()?))
}

pub fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let field = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_ne_bytes(field.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_built_is_read_back() {
        let inside = NetlinkRequest::attributes().u32(2, 7);
        let bytes = NetlinkRequest::new(18, &[1, 2, 3])
            .text(1, "eth0")
            .nest(13, &inside)
            .encode(0x301, 42);
        let messages: Vec<_> = NetlinkMessages(&bytes).collect();
        let [message] = messages.as_slice() else {
            panic!("{messages:?}")
        };
        assert_eq!(
            (message.kind, message.flags, message.sequence),
            (18, 0x301, 42)
        );
        let attributes = NetlinkAttributes::behind(message.body, 3);
        assert_eq!(attributes.text(1).as_deref(), Some("eth0"));
        assert_eq!(attributes.nested(13).and_then(|nest| nest.u32(2)), Some(7));
        assert_eq!(attributes.get(99), None);
    }

    #[test]
    fn short_and_lying_lengths_end_the_reading() {
        let whole = NetlinkRequest::new(1, &[]).u32(5, 1).u32(6, 2).encode(0, 0);
        for end in 0..whole.len() {
            assert_eq!(NetlinkMessages(&whole[..end]).count(), 0, "{end}");
        }
        let body = &whole[HEADER..];
        for end in 0..body.len() {
            let count = NetlinkAttributes::new(&body[..end]).iter().count();
            assert_eq!(count, end / 8, "{end}");
        }
        for length in [0_u32, 1, 15, 17, u32::MAX] {
            let mut lying = whole.clone();
            lying[..4].copy_from_slice(&length.to_ne_bytes());
            assert!(NetlinkMessages(&lying).count() <= 1);
        }
        assert_eq!(NetlinkAttributes::new(&[0; 64]).iter().count(), 0);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            for message in NetlinkMessages(&bytes) {
                for (kind, _) in NetlinkAttributes::behind(message.body, 16).iter() {
                    let attributes = NetlinkAttributes::new(message.body);
                    let _ = (attributes.u8(kind), attributes.u16(kind), attributes.u32(kind));
                    let _ = (attributes.text(kind), attributes.address(kind), attributes.nested(kind));
                }
            }
        }
    }
}
