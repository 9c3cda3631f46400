//! HMAC-SHA-256 (RFC 2104).

use sha2::{Digest, Sha256};

const BLOCK: usize = 64;
pub(super) const TAG: usize = 32;

pub(super) fn hmac(key: &[u8], message: &[u8]) -> [u8; TAG] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..TAG].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x36))
        .chain_update(message)
        .finalize();
    Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x5c))
        .chain_update(inner)
        .finalize()
        .into()
}

/// Takes as long wherever the first difference is.
pub(super) fn is_equal(a: &[u8; TAG], b: &[u8; TAG]) -> bool {
    a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(digit).collect()
    }

    /// RFC 4231, test cases 1 to 4, 6 and 7 (the fifth is cut short).
    #[test]
    fn the_vectors_of_the_standard() {
        let larger = b"This is a test using a larger than block-size key and a larger than block-size data. \
                       The key needs to be hashed before being used by the HMAC algorithm.";
        let cases: [(Vec<u8>, Vec<u8>, &str); 6] = [
            (
                vec![0x0b; 20],
                b"Hi There".to_vec(),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?".to_vec(),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 20],
                vec![0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                (1..=25).collect(),
                vec![0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                vec![0xaa; 131],
                larger.to_vec(),
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (key, message, tag) in cases {
            assert_eq!(hmac(&key, &message).to_vec(), hex(tag));
        }
    }

    #[test]
    fn one_bit_makes_a_difference() {
        let tag = hmac(b"key", b"message");
        let mut other = tag;
        assert!(is_equal(&tag, &other));
        other[31] ^= 0x80;
        assert!(!is_equal(&tag, &other));
    }
}
