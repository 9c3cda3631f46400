//! Connections between ranks. Who knows the job's secret takes part; a stranger is told a random number and no more.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use crosstie_launch::job_protocol::{RankFile, RankMessage};
use hmac::{Hmac, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::Sha256;

use super::{JOIN_TIMEOUT, events::RankEvent};

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// Of one message; a command of mpirun's has a few thousand.
const MAX_LINE: u64 = 256 << 10;
/// That have not proven anything yet.
const MAX_STRANGERS: usize = 32;

#[derive(Serialize, Deserialize)]
struct Hello {
    nonce: String,
}

#[derive(Serialize, Deserialize)]
struct Claim {
    rank: u32,
    nonce: String,
    proof: String,
}

#[derive(Serialize, Deserialize)]
struct Proof {
    proof: String,
}

/// What ranks prove that they know.
#[derive(Clone)]
pub(super) struct JobSecret {
    key: Vec<u8>,
    job: String,
}

impl JobSecret {
    /// `None` where it is none.
    pub(super) fn of(file: &RankFile) -> Option<Self> {
        let text = file.secret.as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let bytes = text.chunks_exact(2).map(|pair| {
            let value = digit(pair[0])? * 16 + digit(pair[1])?;
            u8::try_from(value).ok()
        });
        let key: Vec<u8> = bytes.collect::<Option<_>>()?;
        (key.len() >= 16).then(|| Self {
            key,
            job: file.job.clone(),
        })
    }

    fn mac(&self, side: &str, rank: u32, nonces: [&str; 2]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        let [first, second] = nonces;
        mac.update(format!("{side} {} {rank} {first} {second}", self.job).as_bytes());
        Some(mac)
    }

    fn prove(&self, side: &str, rank: u32, nonces: [&str; 2]) -> Option<String> {
        let bytes = self.mac(side, rank, nonces)?.finalize().into_bytes();
        Some(hexadecimal(&bytes))
    }

    fn is_proven(&self, side: &str, rank: u32, nonces: [&str; 2], proof: &str) -> bool {
        // Compared in constant time by comparing what both are hashed to.
        let expected = self.mac(side, rank, nonces);
        let given = unhexadecimal(proof);
        expected
            .zip(given)
            .is_some_and(|(mac, given)| mac.verify_slice(&given).is_ok())
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhexadecimal(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}

fn nonce() -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(hexadecimal(&bytes))
}

/// The head's end: every rank that proves itself is told as an event, and then what it says.
pub(super) fn listen(
    address: SocketAddr,
    secret: JobSecret,
    ranks: u32,
    events: mpsc::Sender<RankEvent>,
) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let strangers = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                thread::sleep(RETRY_INTERVAL);
                continue;
            };
            if strangers.fetch_add(1, Ordering::SeqCst) >= MAX_STRANGERS {
                strangers.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let (secret, events) = (secret.clone(), events.clone());
            let strangers = Arc::clone(&strangers);
            thread::spawn(move || {
                let joined = admit(&stream, &secret, ranks);
                strangers.fetch_sub(1, Ordering::SeqCst);
                match joined {
                    Ok(rank) => serve(rank, &stream, &events),
                    Err(error) => tracing::warn!(%error, "somebody who is no rank of this job"),
                }
            });
        }
    });
    Ok(())
}

fn refused(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, what.to_owned())
}

fn admit(stream: &TcpStream, secret: &JobSecret, ranks: u32) -> io::Result<u32> {
    set_timeouts(stream)?;
    let own = nonce()?;
    write_line(stream, &Hello { nonce: own.clone() })?;
    let claim: Claim = read_line(stream)?;
    let nonces = [own.as_str(), claim.nonce.as_str()];
    let is_rank = (1..ranks).contains(&claim.rank);
    if !is_rank || !secret.is_proven("rank", claim.rank, nonces, &claim.proof) {
        return Err(refused("its proof is wrong"));
    }
    let proof = secret.prove("head", claim.rank, nonces);
    let proof = proof.ok_or_else(|| refused("no proof can be made"))?;
    write_line(stream, &Proof { proof })?;
    Ok(claim.rank)
}

fn set_timeouts(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))
}

/// A rank's end: finds the head, and tells as events that it is there and what it says.
pub(super) fn join(
    address: SocketAddr,
    secret: JobSecret,
    rank: u32,
    events: mpsc::Sender<RankEvent>,
) {
    thread::spawn(move || {
        let until = Instant::now() + JOIN_TIMEOUT;
        loop {
            let joined =
                TcpStream::connect_timeout(&address, HANDSHAKE_TIMEOUT).and_then(|stream| {
                    claim(&stream, &secret, rank)?;
                    Ok(stream)
                });
            match joined {
                Ok(stream) => return serve(0, &stream, &events),
                Err(error) if Instant::now() >= until => {
                    let why = format!("{address}: {error}");
                    let _ = events.send(RankEvent::NoHead { why });
                    return;
                }
                Err(_) => thread::sleep(RETRY_INTERVAL),
            }
        }
    });
}

fn claim(stream: &TcpStream, secret: &JobSecret, rank: u32) -> io::Result<()> {
    set_timeouts(stream)?;
    let hello: Hello = read_line(stream)?;
    let own = nonce()?;
    let nonces = [hello.nonce.as_str(), own.as_str()];
    let proof = secret.prove("rank", rank, nonces);
    let proof = proof.ok_or_else(|| refused("no proof can be made"))?;
    let nonce = own.clone();
    write_line(stream, &Claim { rank, nonce, proof })?;
    let answer: Proof = read_line(stream)?;
    if !secret.is_proven("head", rank, nonces, &answer.proof) {
        return Err(refused("the head's proof is wrong"));
    }
    Ok(())
}

/// One line at a time without reading further, as long as nobody is proven.
fn read_line<T: DeserializeOwned>(mut stream: &TcpStream) -> io::Result<T> {
    const MAX_PROOF: usize = 1024;
    let mut line = Vec::new();
    let mut byte = [0];
    while line.last() != Some(&b'\n') {
        if line.len() >= MAX_PROOF {
            return Err(io::ErrorKind::InvalidData.into());
        }
        stream.read_exact(&mut byte)?;
        line.extend(byte);
    }
    Ok(serde_json::from_slice(&line)?)
}

pub(super) fn write_line(mut stream: &TcpStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Until the connection ends.
fn serve(rank: u32, stream: &TcpStream, events: &mpsc::Sender<RankEvent>) {
    let ended = (|| -> io::Result<()> {
        // Whoever waits for this rank counts its silence.
        stream.set_read_timeout(None)?;
        let writer = stream.try_clone()?;
        let joined = RankEvent::Joined {
            rank,
            stream: writer,
        };
        if events.send(joined).is_err() {
            return Ok(());
        }
        let mut reader = BufReader::new(stream);
        loop {
            let mut line = Vec::new();
            let length = reader
                .by_ref()
                .take(MAX_LINE)
                .read_until(b'\n', &mut line)?;
            if length == 0 {
                return Ok(());
            }
            let message: RankMessage = serde_json::from_slice(&line)?;
            if events.send(RankEvent::Said { rank, message }).is_err() {
                return Ok(());
            }
        }
    })();
    let why = match ended {
        Ok(()) => "the connection was closed".to_owned(),
        Err(error) => error.to_string(),
    };
    let _ = events.send(RankEvent::Lost { rank, why });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(key: u8) -> JobSecret {
        JobSecret {
            key: vec![key; 32],
            job: "torchrun-1".to_owned(),
        }
    }

    fn address() -> SocketAddr {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap()
    }

    #[test]
    fn a_rank_that_knows_the_secret_joins_and_speaks() {
        let address = address();
        let (sender, heard) = mpsc::channel();
        let (own, events) = mpsc::channel();
        listen(address, secret(7), 2, sender).unwrap();
        join(address, secret(7), 1, own);
        let wait = Duration::from_secs(10);
        let Ok(RankEvent::Joined { rank: 1, stream }) = heard.recv_timeout(wait) else {
            panic!()
        };
        let Ok(RankEvent::Joined {
            rank: 0,
            stream: back,
        }) = events.recv_timeout(wait)
        else {
            panic!()
        };
        write_line(&back, &RankMessage::Ready).unwrap();
        let message = RankMessage::Ready;
        let event = heard.recv_timeout(wait).unwrap();
        assert!(
            matches!(&event, RankEvent::Said { rank: 1, message: said } if *said == message),
            "{event:?}"
        );
        drop(stream);
        back.shutdown(std::net::Shutdown::Both).unwrap();
        let event = heard.recv_timeout(wait).unwrap();
        assert!(
            matches!(event, RankEvent::Lost { rank: 1, .. }),
            "{event:?}"
        );
    }

    #[test]
    fn a_stranger_is_not_heard() {
        let address = address();
        let (sender, heard) = mpsc::channel();
        listen(address, secret(7), 2, sender).unwrap();
        for (key, rank) in [(8, 1), (7, 0), (7, 2)] {
            let stream = TcpStream::connect(address).unwrap();
            assert!(claim(&stream, &secret(key), rank).is_err(), "{key} {rank}");
        }
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&[b'x'; 4096]).unwrap();
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        assert!(heard.recv_timeout(Duration::from_millis(300)).is_err());
        // A nonce that was seen once is worth nothing.
        let proof = secret(7).prove("rank", 1, ["a", "b"]).unwrap();
        assert!(!secret(7).is_proven("rank", 1, ["c", "b"], &proof));
        assert!(!secret(7).is_proven("head", 1, ["a", "b"], &proof));
    }
}
