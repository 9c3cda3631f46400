//! Echo messages of ICMP (RFC 792) and ICMP for IPv6 (RFC 4443, section 4).

use std::net::IpAddr;

/// Type, code, checksum, identifier, sequence number.
const HEADER: usize = 8;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
/// What `ping` sends where nobody asks for a size.
const USUAL_PAYLOAD: usize = 56;

/// Nobody can guess it, so an answer that carries it is one to our request.
pub(super) type EchoToken = [u8; 16];

/// A request, by which its answer is known.
pub(super) struct EchoRequest {
    address: IpAddr,
    identifier: [u8; 2],
    payload: Vec<u8>,
}

impl EchoRequest {
    /// `None` where an IP packet of so many bytes has no room for the token, or cannot be.
    pub(super) fn new(
        address: IpAddr,
        bytes: Option<u32>,
        identifier: [u8; 2],
        token: EchoToken,
    ) -> Option<Self> {
        let length = match bytes {
            None => USUAL_PAYLOAD,
            Some(bytes) => {
                let whole = u16::try_from(bytes).ok()?;
                usize::from(whole).checked_sub(around(address))?
            }
        };
        let payload: Vec<u8> = token.into_iter().cycle().take(length).collect();
        (length >= token.len()).then_some(Self {
            address,
            identifier,
            payload,
        })
    }

    pub(super) fn request(&self) -> Vec<u8> {
        let kind = if self.address.is_ipv4() { 8 } else { 128 };
        let [high, low] = self.identifier;
        let mut message = vec![kind, 0, 0, 0, high, low, 0, 0];
        message.extend_from_slice(&self.payload);
        // That of IPv6 covers the addresses, and is the kernel's to fill in.
        if self.address.is_ipv4() {
            let checksum = checksum(&message).to_be_bytes();
            message[2..4].copy_from_slice(&checksum);
        }
        message
    }

    /// Whether this is the answer. A ping socket of the kernel's puts an identifier of its own into the request, and
    /// hands out answers to it alone; `own_identifier` is false there.
    pub(super) fn is_answered_by(&self, message: &[u8], own_identifier: bool) -> bool {
        let kind = if self.address.is_ipv4() { 0 } else { 129 };
        message.starts_with(&[kind, 0])
            && (!own_identifier || message.get(4..6) == Some(&self.identifier))
            && message.get(HEADER..) == Some(&self.payload)
    }
}

/// Bytes of a packet that are not payload.
fn around(address: IpAddr) -> usize {
    let header = if address.is_ipv4() {
        IPV4_HEADER
    } else {
        IPV6_HEADER
    };
    header + HEADER
}

/// What is behind the header of an IPv4 packet.
pub(super) fn behind_header(packet: &[u8]) -> &[u8] {
    let words = packet.first().map_or(0, |first| first & 0x0f);
    packet.get(usize::from(words) * 4..).unwrap_or_default()
}

/// RFC 1071.
fn checksum(message: &[u8]) -> u16 {
    let words = message.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        u64::from(u16::from_be_bytes([pair[0], low]))
    });
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: EchoToken = *b"0123456789abcdef";
    const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    fn echo(address: IpAddr, bytes: Option<u32>) -> Option<EchoRequest> {
        EchoRequest::new(address, bytes, [1, 2], TOKEN)
    }

    #[test]
    fn the_size_is_that_of_the_whole_packet() {
        let length = |address, bytes| echo(address, bytes).map(|echo| echo.request().len());
        assert_eq!(length(V4, Some(9000)), Some(8980));
        assert_eq!(length(V6, Some(9000)), Some(8960));
        assert_eq!(length(V4, Some(65_535)), Some(65_515));
        assert_eq!(length(V4, None), Some(64));
        for (address, bytes) in [(V4, 0), (V4, 43), (V6, 63), (V4, 65_536), (V6, u32::MAX)] {
            assert_eq!(length(address, Some(bytes)), None, "{bytes}");
        }
    }

    #[test]
    fn a_checksum_adds_up() {
        for bytes in [44, 45, 9000] {
            let request = echo(V4, Some(bytes)).unwrap().request();
            assert_eq!(checksum(&request), 0);
        }
    }

    #[test]
    fn only_the_answer_is_an_answer() {
        for (address, kind) in [(V4, 0), (V6, 129)] {
            let echo = echo(address, Some(100)).unwrap();
            let mut answer = echo.request();
            assert!(!echo.is_answered_by(&answer, true), "our own request");
            answer[0] = kind;
            assert!(echo.is_answered_by(&answer, true));
            assert!(!echo.is_answered_by(&answer[..answer.len() - 1], true));
            answer[5] ^= 1;
            assert!(!echo.is_answered_by(&answer, true), "to somebody else");
            assert!(echo.is_answered_by(&answer, false));
            answer[20] ^= 1;
            assert!(!echo.is_answered_by(&answer, false), "of another token");
            assert!(!echo.is_answered_by(b"", false));
        }
    }

    #[test]
    fn headers_may_lie() {
        assert_eq!(behind_header(&[0x45; 21]), [0x45]);
        for packet in [&[][..], &[0x4f], &[0x45; 20]] {
            assert_eq!(behind_header(packet), b"");
        }
    }
}
