//! Link settings and error correction of one port (ethtool's generic netlink), as the text that `ethtool IF`,
//! `ethtool --show-fec IF` and `ethtool --show-pause IF` print.

use std::fmt::Write as _;

use crosstie_facts::ReadGap;
use rustix::{io::Errno, net::netlink::GENERIC};

use super::{
    bitset::{BitsetBit, BitsetSelection, LinkModeClass, bits, chosen, pause},
    message::{NetlinkAttributes, NetlinkRequest},
    socket::{NetlinkError, NetlinkSocket},
};

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// `genlmsghdr`: command u8, version u8, reserved u16.
const FIXED: usize = 4;

const LINKINFO_GET: u8 = 2;
const LINKMODES_GET: u8 = 4;
const LINKSTATE_GET: u8 = 6;
const PAUSE_GET: u8 = 21;
const FEC_GET: u8 = 29;

/// The first attribute of every request, a nest with the interface's name.
const HEADER: u16 = 1;
const HEADER_DEV_NAME: u16 = 2;

/// A conversation with the kernel's ethtool family.
#[derive(Debug)]
pub struct EthtoolSocket {
    socket: NetlinkSocket,
    family: u16,
}

impl EthtoolSocket {
    pub fn open() -> Result<Self, ReadGap> {
        let mut socket = NetlinkSocket::open(Some(GENERIC))?;
        let request = NetlinkRequest::new(GENL_ID_CTRL, &[CTRL_CMD_GETFAMILY, 1, 0, 0])
            .text(CTRL_ATTR_FAMILY_NAME, "ethtool");
        let answer = socket.ask(&request)?;
        let family = answer
            .iter()
            .next()
            .and_then(|(_, body)| NetlinkAttributes::behind(body, FIXED).u16(CTRL_ATTR_FAMILY_ID));
        let family = family.ok_or(ReadGap::Absent)?;
        Ok(Self { socket, family })
    }

    /// `ethtool IF`, less what has no bearing on a link: wake-on-LAN, message levels.
    pub fn settings(&mut self, interface: &str) -> Result<String, ReadGap> {
        let modes = self.get(LINKMODES_GET, interface)?;
        let mut text = format!("Settings for {interface}:\n");
        link_modes(NetlinkAttributes::new(&modes), &mut text);
        if let Some(reply) = self.optional(LINKINFO_GET, interface)? {
            link_information(NetlinkAttributes::new(&reply), &mut text);
        }
        let state = self.optional(LINKSTATE_GET, interface)?;
        if let Some(link) = state.and_then(|reply| NetlinkAttributes::new(&reply).u8(LINK)) {
            let word = if link == 0 { "no" } else { "yes" };
            let _ = writeln!(text, "\tLink detected: {word}");
        }
        Ok(text)
    }

    /// `ethtool --show-fec IF`
    pub fn error_correction(&mut self, interface: &str) -> Result<String, ReadGap> {
        let reply = self.get(FEC_GET, interface)?;
        let mut text = format!("FEC parameters for {interface}:\n");
        error_correction(NetlinkAttributes::new(&reply), &mut text);
        Ok(text)
    }

    /// `ethtool --show-pause IF`
    pub fn pause(&mut self, interface: &str) -> Result<String, ReadGap> {
        let reply = self.get(PAUSE_GET, interface)?;
        let mut text = format!("Pause parameters for {interface}:\n");
        global_pause(NetlinkAttributes::new(&reply), &mut text);
        Ok(text)
    }

    /// The attributes of the reply.
    fn get(&mut self, command: u8, interface: &str) -> Result<Vec<u8>, NetlinkError> {
        let header = NetlinkRequest::attributes().text(HEADER_DEV_NAME, interface);
        // Without a flag in the header, sets of bits come as lists of names.
        let request = NetlinkRequest::new(self.family, &[command, 1, 0, 0]).nest(HEADER, &header);
        let answer = self.socket.ask(&request)?;
        let body = answer.iter().find(|(kind, _)| *kind == self.family);
        let body = body.and_then(|(_, body)| body.get(FIXED..));
        body.map(<[u8]>::to_vec)
            .ok_or(NetlinkError::Refused(Errno::OPNOTSUPP))
    }

    fn optional(&mut self, command: u8, interface: &str) -> Result<Option<Vec<u8>>, NetlinkError> {
        match self.get(command, interface) {
            Ok(reply) => Ok(Some(reply)),
            Err(NetlinkError::Refused(Errno::OPNOTSUPP)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

// `ETHTOOL_A_LINKMODES_*`
const AUTONEG: u16 = 2;
const OURS: u16 = 3;
const PEER: u16 = 4;
const SPEED: u16 = 5;
const DUPLEX: u16 = 6;

/// `ETHTOOL_A_LINKSTATE_LINK`
const LINK: u16 = 2;

/// Speeds that mean none: zero, and the 16- and 32-bit forms of -1.
const NO_SPEED: [u32; 3] = [0, 0xffff, u32::MAX];

pub(super) fn link_modes(reply: NetlinkAttributes<'_>, text: &mut String) {
    if let Some(set) = reply.nested(OURS) {
        let ours = bits(set);
        let ports = words(&ours, LinkModeClass::Port, BitsetSelection::Listed);
        let _ = writeln!(text, "\tSupported ports: [ {ports} ]");
        modes(&ours, BitsetSelection::Listed, "Supported", text);
        modes(&ours, BitsetSelection::Set, "Advertised", text);
    }
    if let Some(set) = reply.nested(PEER) {
        modes(
            &bits(set),
            BitsetSelection::Set,
            "Link partner advertised",
            text,
        );
    }
    if let Some(speed) = reply.u32(SPEED) {
        let _ = if NO_SPEED.contains(&speed) {
            writeln!(text, "\tSpeed: Unknown!")
        } else {
            writeln!(text, "\tSpeed: {speed}Mb/s")
        };
    }
    if let Some(duplex) = reply.u8(DUPLEX) {
        let _ = match duplex {
            0 => writeln!(text, "\tDuplex: Half"),
            1 => writeln!(text, "\tDuplex: Full"),
            other => writeln!(text, "\tDuplex: Unknown! ({other})"),
        };
    }
    if let Some(autoneg) = reply.u8(AUTONEG) {
        let word = if autoneg == 0 { "off" } else { "on" };
        let _ = writeln!(text, "\tAuto-negotiation: {word}");
    }
}

/// What one side supports, or what it advertises.
fn modes(set: &[BitsetBit], which: BitsetSelection, label: &str, text: &mut String) {
    let (gap, verb) = match which {
        BitsetSelection::Listed => ("   ", "Supports"),
        BitsetSelection::Set => ("  ", label),
    };
    let heading = format!("{label} link modes:{gap}");
    // The rest of a list stands below its first line, two duplexes of one mode side by side.
    let indent = format!("\n\t{}", " ".repeat(heading.len()));
    let mut list = String::new();
    for bit in chosen(set, LinkModeClass::Real, which) {
        if !list.is_empty() {
            let beside = bit.name.ends_with("/Full") && list.ends_with("/Half");
            list.push_str(if beside { " " } else { &indent });
        }
        list.push_str(&bit.name);
    }
    let _ = writeln!(text, "\t{heading}{}", or(list, "Not reported"));
    let _ = writeln!(text, "\t{label} pause frame use: {}", pause(set, which));
    let negotiates = chosen(set, LinkModeClass::Autoneg, which).next().is_some();
    let yes_no = if negotiates { "Yes" } else { "No" };
    let _ = writeln!(text, "\t{verb} auto-negotiation: {yes_no}");
    let correction = words(set, LinkModeClass::Fec, which);
    let _ = writeln!(
        text,
        "\t{label} FEC modes: {}",
        or(correction, "Not reported")
    );
}

/// Names on one line, spaced as `ethtool` spaces them.
fn words(set: &[BitsetBit], class: LinkModeClass, which: BitsetSelection) -> String {
    let words: Vec<&str> = chosen(set, class, which)
        .map(|bit| bit.name.as_str())
        .collect();
    words.join("\t ")
}

fn or(list: String, if_none: &str) -> String {
    if list.is_empty() {
        if_none.to_owned()
    } else {
        list
    }
}

/// `PORT_*`
const PORTS: [&str; 6] = [
    "Twisted Pair",
    "AUI",
    "MII",
    "FIBRE",
    "BNC",
    "Direct Attach Copper",
];

pub(super) fn link_information(reply: NetlinkAttributes<'_>, text: &mut String) {
    if let Some(port) = reply.u8(2) {
        let name = match port {
            0xef => "None".to_owned(),
            0xff => "Other".to_owned(),
            other => PORTS
                .get(usize::from(other))
                .map_or_else(|| format!("Unknown! ({other})"), |name| (*name).to_owned()),
        };
        let _ = writeln!(text, "\tPort: {name}");
    }
    if let Some(address) = reply.u8(3) {
        let _ = writeln!(text, "\tPHYAD: {address}");
    }
    if let Some(transceiver) = reply.u8(6) {
        let _ = match transceiver {
            0 => writeln!(text, "\tTransceiver: internal"),
            1 => writeln!(text, "\tTransceiver: external"),
            other => writeln!(text, "\tTransceiver: Unknown! ({other})"),
        };
    }
}

/// `ETHTOOL_A_FEC_*`: modes 2, auto 3, active 4.
pub(super) fn error_correction(reply: NetlinkAttributes<'_>, text: &mut String) {
    let set = reply.nested(2).map(bits).unwrap_or_default();
    let mut configured: Vec<&str> = Vec::new();
    if reply.u8(3).unwrap_or(0) != 0 {
        configured.push("Auto");
    }
    configured.extend(set.iter().filter(|bit| bit.set).map(BitsetBit::correction));
    if configured.is_empty() {
        configured.push("None");
    }
    let configured = configured.join(" ");
    let _ = writeln!(text, "Supported/Configured FEC encodings: {configured}");
    let active = reply
        .u32(4)
        .map(|index| BitsetBit::new(index, String::new(), true));
    let active = active.as_ref().map_or("None", BitsetBit::correction);
    let _ = writeln!(text, "Active FEC encoding: {active}");
}

/// `ETHTOOL_A_PAUSE_*`: autoneg 2, rx 3, tx 4.
pub(super) fn global_pause(reply: NetlinkAttributes<'_>, text: &mut String) {
    for (kind, label) in [(2, "Autonegotiate:\t"), (3, "RX:\t\t"), (4, "TX:\t\t")] {
        if let Some(on) = reply.u8(kind) {
            let word = if on == 0 { "off" } else { "on" };
            let _ = writeln!(text, "{label}{word}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bit(index: u32, name: &str, set: bool) -> NetlinkRequest {
        let bit = NetlinkRequest::attributes().u32(1, index).text(2, name);
        if set { bit.bytes(3, &[]) } else { bit }
    }

    fn set(bits: &[NetlinkRequest], with_mask: bool) -> NetlinkRequest {
        let list = bits
            .iter()
            .fold(NetlinkRequest::attributes(), |list, bit| list.nest(1, bit));
        let set = NetlinkRequest::attributes().u32(2, 128).nest(3, &list);
        if with_mask { set } else { set.bytes(1, &[]) }
    }

    fn body(attributes: &NetlinkRequest) -> Vec<u8> {
        attributes.encode(0, 0)[16..].to_vec()
    }

    fn fabric_port() -> Vec<u8> {
        let ours = [
            bit(4, "1000baseT/Half", false),
            bit(5, "1000baseT/Full", true),
            bit(6, "Autoneg", true),
            bit(10, "FIBRE", true),
            bit(13, "Pause", true),
            bit(50, "RS", true),
            bit(51, "BASER", false),
            bit(66, "200000baseCR4/Full", true),
        ];
        let peer = [bit(66, "200000baseCR4/Full", true), bit(6, "Autoneg", true)];
        let modes = NetlinkRequest::attributes()
            .bytes(AUTONEG, &[1])
            .nest(OURS, &set(&ours, true))
            .nest(PEER, &set(&peer, false))
            .u32(SPEED, 200_000)
            .bytes(DUPLEX, &[1]);
        body(&modes)
    }

    #[test]
    fn a_fabric_port_reads_as_ethtool_prints_it() {
        let mut text = String::new();
        link_modes(NetlinkAttributes::new(&fabric_port()), &mut text);
        link_information(
            NetlinkAttributes::new(&body(
                &NetlinkRequest::attributes().bytes(2, &[5]).bytes(6, &[0]),
            )),
            &mut text,
        );
        let expected = "\
\tSupported ports: [ FIBRE ]
\tSupported link modes:   1000baseT/Half 1000baseT/Full
\t                        200000baseCR4/Full
\tSupported pause frame use: Symmetric
\tSupports auto-negotiation: Yes
\tSupported FEC modes: RS\t BASER
\tAdvertised link modes:  1000baseT/Full
\t                        200000baseCR4/Full
\tAdvertised pause frame use: Symmetric
\tAdvertised auto-negotiation: Yes
\tAdvertised FEC modes: RS
\tLink partner advertised link modes:  200000baseCR4/Full
\tLink partner advertised pause frame use: No
\tLink partner advertised auto-negotiation: Yes
\tLink partner advertised FEC modes: Not reported
\tSpeed: 200000Mb/s
\tDuplex: Full
\tAuto-negotiation: on
\tPort: Direct Attach Copper
\tTransceiver: internal
";
        assert_eq!(text, expected);
    }

    #[test]
    fn error_correction_reads_as_ethtool_prints_it() {
        let modes = set(&[bit(49, "None", true), bit(51, "BASER", true)], false);
        let reply = NetlinkRequest::attributes()
            .nest(2, &modes)
            .bytes(3, &[1])
            .u32(4, 50);
        let mut text = String::new();
        error_correction(NetlinkAttributes::new(&body(&reply)), &mut text);
        let expected =
            "Supported/Configured FEC encodings: Auto Off BaseR\nActive FEC encoding: RS\n";
        assert_eq!(text, expected);
        text.clear();
        error_correction(NetlinkAttributes::new(&[]), &mut text);
        let expected = "Supported/Configured FEC encodings: None\nActive FEC encoding: None\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn pause_reads_as_ethtool_prints_it() {
        let reply = NetlinkRequest::attributes()
            .bytes(2, &[0])
            .bytes(3, &[1])
            .bytes(4, &[0]);
        let mut text = String::new();
        global_pause(NetlinkAttributes::new(&body(&reply)), &mut text);
        assert_eq!(text, "Autonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n");
    }

    #[test]
    fn what_a_port_does_not_have_is_absent() {
        let mut ethtool = EthtoolSocket::open().unwrap();
        assert_eq!(ethtool.error_correction("lo"), Err(ReadGap::Absent));
        assert_eq!(ethtool.pause("lo"), Err(ReadGap::Absent));
        assert_eq!(ethtool.settings("no-such-port"), Err(ReadGap::Absent));
        let settings = ethtool.settings("lo").unwrap_or_default();
        assert!(settings.is_empty() || settings.contains("Link detected: yes"));
    }

    proptest! {
        #[test]
        fn damaged_replies_do_no_harm(at: u16, byte: u8, end: u16) {
            let mut bytes = fabric_port();
            let length = bytes.len();
            bytes[usize::from(at) % length] = byte;
            for part in [&bytes[..], &bytes[..usize::from(end) % length]] {
                let attributes = NetlinkAttributes::new(part);
                let mut text = String::new();
                link_modes(attributes, &mut text);
                link_information(attributes, &mut text);
                error_correction(attributes, &mut text);
                global_pause(attributes, &mut text);
            }
        }
    }
}
