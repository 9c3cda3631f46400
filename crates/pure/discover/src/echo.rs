//! Echo of ICMP for IPv6 (RFC 4443, section 4).

const REQUEST: u8 = 128;
const REPLY: u8 = 129;

/// Type, code, checksum, identifier, sequence number.
const HEADER: usize = 8;

/// A request that carries `mark`. The checksum is the kernel's to fill in.
pub fn echo_request(mark: &[u8]) -> Vec<u8> {
    let mut message = vec![0; HEADER];
    message[0] = REQUEST;
    message.extend_from_slice(mark);
    message
}

/// Whether this is the answer to the request with this mark.
pub fn is_echo_reply(message: &[u8], mark: &[u8]) -> bool {
    message.starts_with(&[REPLY, 0]) && message.get(HEADER..) == Some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_mark() {
        let mut message = echo_request(b"mark");
        assert!(!is_echo_reply(&message, b"mark"));
        message[0] = REPLY;
        assert!(is_echo_reply(&message, b"mark"));
        assert!(!is_echo_reply(&message, b"another"));
        assert!(!is_echo_reply(&message[..9], b"mark"));
        assert!(!is_echo_reply(b"", b""));
    }
}
