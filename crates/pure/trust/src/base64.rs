//! Base64 (RFC 4648, section 4), as strict as a key has to be.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Without padding.
pub(crate) fn encode_bare(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().enumerate().fold(0u32, |bits, (index, byte)| {
            bits | u32::from(*byte) << (16 - 8 * index)
        });
        for index in 0..=chunk.len() {
            let six = (bits >> (18 - 6 * index)) & 63;
            text.push(char::from(ALPHABET[six as usize]));
        }
    }
    text
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = encode_bare(bytes);
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// Nothing but what [`encode`] writes: bits that carry nothing are zero, and padding is there.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let bare = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(bare.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for byte in bare.bytes() {
        let six = ALPHABET.iter().position(|letter| *letter == byte)?;
        bits = bits << 6 | u32::try_from(six).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    (encode(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
        }
        for odd in ["Zg", "Zh==", "Zg==\n", "Z g=", "=", "Zg===", "Zm9v="] {
            assert_eq!(decode(odd), None, "{odd:?}");
        }
    }
}
