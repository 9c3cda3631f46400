//! Whether one could log in: what a machine's ssh says first, and what it can be called from here.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read},
    net::{IpAddr, TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

use crosstie_discover::{CandidateAddress, MdnsHostName, NodeCandidate};

use super::DiscoveredHost;
use crate::fan_out;

const SSH: u16 = 22;

/// Machines that are tried at once.
const BOUND: usize = 64;

/// For one address to say something.
const BANNER_TIMEOUT: Duration = Duration::from_millis(800);

/// Addresses of one machine that are tried.
const MAX_PLACES: usize = 4;

/// For everything that is asked of one machine.
const MACHINE_TIMEOUT: Duration = Duration::from_secs(4);

/// For a name to be looked up.
const NAME_LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);

/// RFC 4253, section 4.2: longest line of its own, and what may go before it within reason.
const MAX_BANNER: usize = 255;
const MAX_READ: usize = 2048;

/// What ssh said, by the address where it did.
pub(super) type SshBanners = BTreeMap<CandidateAddress, String>;

/// Tries all machines at once, and each one's addresses until one answers.
pub(super) fn read_banners(candidates: &[NodeCandidate]) -> SshBanners {
    let places: Vec<Vec<CandidateAddress>> = candidates
        .iter()
        .map(|candidate| candidate.places.iter().take(MAX_PLACES).cloned().collect())
        .collect();
    let answers = fan_out(places, BOUND, MACHINE_TIMEOUT, |_, places| {
        let mut tried = places.iter();
        tried.find_map(|place| Some((place.clone(), banner(place)?)))
    });
    answers.into_iter().flatten().flatten().collect()
}

pub(super) fn found(candidate: NodeCandidate, answers: &SshBanners) -> DiscoveredHost {
    let answer = candidate
        .places
        .iter()
        .find_map(|place| Some((place, answers.get(place)?)));
    DiscoveredHost {
        banner: answer.map(|(_, banner)| banner.clone()),
        destination: answer.map(|(place, _)| place.to_string()),
        candidate,
    }
}

/// Names that lead to their machine from here take the place of addresses. Whether they do depends on this machine's
/// resolver (`libnss-mdns`, systemd-resolved).
pub(super) fn name_destinations(found: &mut [DiscoveredHost]) {
    let question = |found: &DiscoveredHost| {
        let reachable = found.destination.is_some();
        let addresses: BTreeSet<IpAddr> = found
            .candidate
            .places
            .iter()
            .map(CandidateAddress::address)
            .collect();
        let names = found.candidate.names.iter().take(2).cloned();
        (names.filter(|_| reachable).collect::<Vec<_>>(), addresses)
    };
    let names = found.iter().map(question).collect();
    let known = fan_out(
        names,
        BOUND,
        NAME_LOOKUP_TIMEOUT,
        |_, (names, addresses)| names.iter().find(|name| leads_to(name, addresses)).cloned(),
    );
    for (found, known) in found.iter_mut().zip(known) {
        if let Ok(Some(name)) = known {
            found.destination = Some(name.to_string());
        }
    }
}

fn leads_to(name: &MdnsHostName, addresses: &BTreeSet<IpAddr>) -> bool {
    let resolved = (name.as_str(), SSH).to_socket_addrs();
    resolved.is_ok_and(|mut resolved| resolved.any(|found| addresses.contains(&found.ip())))
}

fn banner(place: &CandidateAddress) -> Option<String> {
    let until = Instant::now() + BANNER_TIMEOUT;
    let stream = TcpStream::connect_timeout(&place.socket(SSH), BANNER_TIMEOUT).ok()?;
    read_banner(stream, until).ok()?
}

/// The line that starts with `SSH-`; others may go before it.
fn read_banner(mut stream: TcpStream, until: Instant) -> io::Result<Option<String>> {
    let mut said = Vec::new();
    let mut buffer = [0; 512];
    while said.len() < MAX_READ {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        stream.set_read_timeout(Some(left))?;
        let length = stream.read(&mut buffer)?;
        said.extend_from_slice(&buffer[..length]);
        if let Some(banner) = line(&said) {
            return Ok(Some(banner));
        }
        if length == 0 {
            break;
        }
    }
    Ok(None)
}

/// A banner has printable ASCII alone.
fn line(said: &[u8]) -> Option<String> {
    let end = said.iter().rposition(|byte| *byte == b'\n')?;
    let mut lines = said[..end].split(|byte| *byte == b'\n');
    let line = lines.find(|line| line.starts_with(b"SSH-"))?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let plain = line.len() <= MAX_BANNER && line.iter().all(|byte| (b' '..=b'~').contains(byte));
    let text = std::str::from_utf8(line).ok()?;
    plain.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_banner_is_a_banner() {
        let said = |bytes: &[u8]| line(bytes);
        let plain = "SSH-2.0-OpenSSH_9.2p1 Debian-2".to_owned();
        assert_eq!(
            said(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
            Some(plain.clone())
        );
        assert_eq!(
            said(b"Hello\nSSH-2.0-OpenSSH_9.2p1 Debian-2\nmore"),
            Some(plain)
        );
        assert_eq!(said(b"SSH-2.0-OpenSSH"), None);
        assert_eq!(said(b"SSH-2.0-\x1b[2J\n"), None);
        assert_eq!(said(b"220 smtp\r\n"), None);
        assert_eq!(said(&[b"SSH-", &[b'x'; 400][..], b"\n"].concat()), None);
    }
}
