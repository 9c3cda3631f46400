//! How two ends know each other: three messages under the run's secret.
//!
//! ```text
//! connector  number, nonce, code(1)      ─▶
//!                                        ◀─  nonce, code(2)   listener
//! connector  code(3)                     ─▶
//!                                        ◀─  1                listener
//! ```
//!
//! Each code is an HMAC of its own number, the stream's and the nonces. The listener says nothing to whoever does not know
//! the secret, and takes a stream only after the third: the first could have been recorded and sent again.

use hmac::{Hmac, Mac};
use rustix::{
    io::Errno,
    rand::{GetRandomFlags, getrandom},
};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

pub(crate) const NONCE: usize = 16;
const CODE: usize = 32;
pub(crate) const HELLO: usize = 2 + NONCE + CODE;
pub(crate) const REPLY: usize = NONCE + CODE;
pub(crate) const PROOF: usize = CODE;
pub(crate) const ACCEPTED: u8 = 1;

pub(crate) type Nonce = [u8; NONCE];

/// Of one run; it leaves the node over the session alone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamSecret([u8; 16]);

impl std::fmt::Debug for StreamSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

pub(crate) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], Errno> {
    let mut bytes = [0; LENGTH];
    // Up to 256 bytes come whole.
    match getrandom(&mut bytes, GetRandomFlags::empty())? {
        given if given == LENGTH => Ok(bytes),
        _ => Err(Errno::AGAIN),
    }
}

/// What both ends say of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamHandshake {
    pub(crate) stream: u16,
    connector: Nonce,
    listener: Nonce,
}

impl StreamSecret {
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self(random()?))
    }

    /// The connector's first message.
    pub(crate) fn hello(&self, stream: u16, nonce: Nonce) -> [u8; HELLO] {
        let exchange = StreamHandshake {
            stream,
            connector: nonce,
            listener: [0; NONCE],
        };
        let mut message = [0; HELLO];
        message[..2].copy_from_slice(&stream.to_be_bytes());
        message[2..2 + NONCE].copy_from_slice(&nonce);
        message[2 + NONCE..].copy_from_slice(&self.code(1, &exchange).finalize().into_bytes());
        message
    }

    /// The listener's answer to a first message, if that is one of ours.
    pub(crate) fn reply(
        &self,
        hello: &[u8; HELLO],
        nonce: Nonce,
    ) -> Option<(StreamHandshake, [u8; REPLY])> {
        let mut exchange = StreamHandshake {
            stream: u16::from_be_bytes([hello[0], hello[1]]),
            connector: [0; NONCE],
            listener: [0; NONCE],
        };
        exchange.connector.copy_from_slice(&hello[2..2 + NONCE]);
        let code = self.code(1, &exchange);
        code.verify_slice(&hello[2 + NONCE..]).ok()?;
        exchange.listener = nonce;
        let mut message = [0; REPLY];
        message[..NONCE].copy_from_slice(&nonce);
        message[NONCE..].copy_from_slice(&self.code(2, &exchange).finalize().into_bytes());
        Some((exchange, message))
    }

    /// The connector's second message, if the answer is one of ours.
    pub(crate) fn prove(
        &self,
        stream: u16,
        nonce: Nonce,
        reply: &[u8; REPLY],
    ) -> Option<[u8; PROOF]> {
        let mut exchange = StreamHandshake {
            stream,
            connector: nonce,
            listener: [0; NONCE],
        };
        exchange.listener.copy_from_slice(&reply[..NONCE]);
        let code = self.code(2, &exchange);
        code.verify_slice(&reply[NONCE..]).ok()?;
        Some(self.code(3, &exchange).finalize().into_bytes().into())
    }

    pub(crate) fn is_proven(&self, exchange: &StreamHandshake, proof: &[u8; PROOF]) -> bool {
        self.code(3, exchange).verify_slice(proof).is_ok()
    }

    fn code(&self, message: u8, exchange: &StreamHandshake) -> Hmac<Sha256> {
        // A block of the hash is the longest key, and shorter ones are filled up with zeros: the same code.
        let mut block = [0; 64];
        block[..self.0.len()].copy_from_slice(&self.0);
        Hmac::<Sha256>::new(&block.into())
            .chain_update(b"crosstie tcp")
            .chain_update([message])
            .chain_update(exchange.stream.to_be_bytes())
            .chain_update(exchange.connector)
            .chain_update(exchange.listener)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_know_the_secret_agree() {
        let secret = StreamSecret::new().unwrap();
        let (ours, theirs) = (random().unwrap(), random().unwrap());
        let hello = secret.hello(7, ours);
        let (exchange, reply) = secret.reply(&hello, theirs).unwrap();
        assert_eq!(exchange.stream, 7);
        let proof = secret.prove(7, ours, &reply).unwrap();
        assert!(secret.is_proven(&exchange, &proof));
    }

    #[test]
    fn nobody_else_gets_an_answer_or_in() {
        let (secret, other) = (StreamSecret::new().unwrap(), StreamSecret::new().unwrap());
        let nonce = [1; NONCE];
        assert!(secret.reply(&other.hello(0, nonce), nonce).is_none());
        let hello = secret.hello(0, nonce);
        for place in 0..HELLO {
            let mut changed = hello;
            changed[place] ^= 1;
            assert!(secret.reply(&changed, nonce).is_none(), "{place}");
        }
        // A first message that was recorded is answered with another nonce, for which no proof was recorded.
        let (first, reply) = secret.reply(&hello, [2; NONCE]).unwrap();
        let proof = secret.prove(0, nonce, &reply).unwrap();
        let (again, _) = secret.reply(&hello, [3; NONCE]).unwrap();
        assert!(secret.is_proven(&first, &proof));
        assert!(!secret.is_proven(&again, &proof));
        assert!(other.prove(0, nonce, &reply).is_none());
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }
}
