//! `Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA`.

use std::borrow::Cow;

use memchr::memchr;

use super::lossy;
use crate::line::leading_number;

/// One direction of one channel between two ranks, as one of them set it up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NcclChannel<'a> {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Told by the receiver; else by the sender.
    pub(crate) receive: bool,
    pub(crate) via: ChannelPath<'a>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChannelPath<'a> {
    Net {
        /// `IB`, `Socket`, or a plugin's name for itself.
        network: Cow<'a, str>,
        /// Of the teller's devices, by index.
        device: u32,
        gdr: bool,
    },
    /// `P2P/CUMEM`, `SHM/direct`: in memory.
    Memory(Cow<'a, str>),
}

pub(super) fn parse(text: &[u8]) -> Option<NcclChannel<'_>> {
    // The order of a ring, `Channel 00/02 : 0 1 2 3`, has no arrow.
    let (from, rest) = rank(text[memchr(b':', text)? + 1..].strip_prefix(b" ")?)?;
    let rest = rest.strip_prefix(b" -")?;
    // Docker's JSON writes `>` as an escape.
    let rest = rest
        .strip_prefix(b"> ")
        .or_else(|| rest.strip_prefix(b"\\u003e "))?;
    let (to, rest) = rank(rest)?;
    let received = rest.strip_prefix(b" [receive]");
    let receive = received.is_some();
    let rest = received
        .or_else(|| rest.strip_prefix(b" [send]"))
        .unwrap_or(rest);
    let via = rest.strip_prefix(b" via ")?;
    Some(NcclChannel {
        from,
        to,
        receive,
        via: parse_via(via)?,
    })
}

/// `1[0]`; the bracket holds a device number or, in old forms, a bus id.
fn rank(text: &[u8]) -> Option<(u32, &[u8])> {
    const MAX_NETWORK_NAME_BYTES: usize = 40;
    let rank = leading_number(text)?;
    let end = text
        .iter()
        .take(MAX_NETWORK_NAME_BYTES)
        .position(|byte| *byte == b']')?;
    Some((rank, &text[end + 1..]))
}

fn parse_via(text: &[u8]) -> Option<ChannelPath<'_>> {
    let Some(text) = text.strip_prefix(b"NET/") else {
        let known = [&b"P2P/"[..], b"SHM"]
            .iter()
            .any(|kind| text.starts_with(kind));
        return known.then(|| ChannelPath::Memory(lossy(memory(text))));
    };
    // A name may hold spaces (`AWS Libfabric`), never a slash before a digit.
    let slash = memchr::memchr_iter(b'/', text).find(|at| {
        let next = text.get(at + 1);
        next.is_some_and(u8::is_ascii_digit)
    })?;
    let after = &text[slash + 1..];
    let rest = &after[after
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count()..];
    // `(3)`: sent on behalf of this rank by that one's proxy.
    let rest = match rest.strip_prefix(b"(") {
        Some(proxy) => &proxy[memchr(b')', proxy)? + 1..],
        None => rest,
    };
    Some(ChannelPath::Net {
        network: lossy(&text[..slash]),
        device: leading_number(after)?,
        gdr: rest.starts_with(b"/GDRDMA"),
    })
}

/// `P2P/CUMEM/read` → `P2P/CUMEM`: the kind, without how it is read.
fn memory(text: &[u8]) -> &[u8] {
    let mut slashes = 0;
    let end = text.iter().position(|byte| {
        slashes += u32::from(*byte == b'/');
        slashes == 2 || !(byte.is_ascii_alphanumeric() || *byte == b'/')
    });
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(network: &str, device: u32, gdr: bool) -> ChannelPath<'_> {
        let network = network.into();
        ChannelPath::Net {
            network,
            device,
            gdr,
        }
    }

    #[test]
    fn forms_of_all_versions() {
        let cases = [
            (
                "Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA",
                (1, 0, false, net("IB", 0, true)),
            ),
            (
                "Channel 01 : 1[1000] -> 0[1000] [receive] via NET/Socket/0",
                (1, 0, true, net("Socket", 0, false)),
            ),
            (
                "Channel 00/1 : 8[0] -> 0[0] [send] via NET/IB/3(2)/GDRDMA(PCI)/Shared",
                (8, 0, false, net("IB", 3, true)),
            ),
            (
                "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/3/Shared",
                (8, 0, true, net("IB", 3, false)),
            ),
            (
                "Channel 00/0 : 2[0] -> 3[1] via P2P/CUMEM/read",
                (2, 3, false, ChannelPath::Memory("P2P/CUMEM".into())),
            ),
            (
                "Channel 00/0 : 2[0] -> 3[1] via P2P/direct pointer",
                (2, 3, false, ChannelPath::Memory("P2P/direct".into())),
            ),
            (
                "Channel 00 : 2[0] -> 3[1] via SHM/direct/direct",
                (2, 3, false, ChannelPath::Memory("SHM/direct".into())),
            ),
            (
                "Channel 00/0 : 0[0] -> 1[0] [send] via NET/AWS Libfabric/12/GDRDMA",
                (0, 1, false, net("AWS Libfabric", 12, true)),
            ),
            (
                "Channel 00/0 : 0[0] -\\u003e 1[0] [send] via NET/IB/0\\n",
                (0, 1, false, net("IB", 0, false)),
            ),
        ];
        for (text, (from, to, receive, via)) in cases {
            let expected = NcclChannel {
                from,
                to,
                receive,
                via,
            };
            assert_eq!(parse(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_link_is_none() {
        for text in [
            "Channel 00/02 : 0 1 2 3",
            "Channel ",
            "Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB",
            "Channel 0 : 1[0] -> 0",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
