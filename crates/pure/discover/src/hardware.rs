//! What a hardware address tells.

use std::net::Ipv6Addr;

use crosstie_model::HardwareAddress;

/// Prefixes that the IEEE gave to the makers of the cards and machines that we look for.
const MELLANOX: [[u8; 3]; 22] = [
    [0x00, 0x02, 0xc9],
    [0x00, 0x25, 0x8b],
    [0x04, 0x3f, 0x72],
    [0x08, 0xc0, 0xeb],
    [0x0c, 0x42, 0xa1],
    [0x10, 0x70, 0xfd],
    [0x1c, 0x34, 0xda],
    [0x24, 0x8a, 0x07],
    [0x50, 0x6b, 0x4b],
    [0x58, 0xa2, 0xe1],
    [0x7c, 0xfe, 0x90],
    [0x90, 0x0a, 0x84],
    [0x94, 0x6d, 0xae],
    [0x98, 0x03, 0x9b],
    [0x9c, 0x05, 0x91],
    [0xb8, 0x3f, 0xd2],
    [0xb8, 0x59, 0x9f],
    [0xb8, 0xce, 0xf6],
    [0xe4, 0x1d, 0x2d],
    [0xe8, 0xeb, 0xd3],
    [0xec, 0x0d, 0x9a],
    [0xf4, 0x52, 0x14],
];
const NVIDIA: [[u8; 3]; 3] = [
    [0x00, 0x04, 0x4b],
    [0x48, 0xb0, 0x2d],
    // DGX Spark.
    [0x4c, 0xbb, 0x47],
];

/// Set in an address that somebody made up.
const LOCAL: u8 = 0b10;

pub fn vendor(mac: &HardwareAddress) -> Option<&'static str> {
    let prefix = mac.bytes().first_chunk::<3>()?;
    if NVIDIA.contains(prefix) {
        return Some("NVIDIA");
    }
    MELLANOX.contains(prefix).then_some("Mellanox")
}

/// The hardware address in a link-local address that was made of one (modified EUI-64; RFC 4291, appendix A).
pub fn mac_of(address: Ipv6Addr) -> Option<HardwareAddress> {
    let octets = address.octets();
    if octets[11..13] != [0xff, 0xfe] || !address.is_unicast_link_local() {
        return None;
    }
    let own = [&[octets[8] ^ LOCAL], &octets[9..11], &octets[13..]].concat();
    let bytes: Vec<String> = own.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(":").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_its_card() {
        let mac = mac_of("fe80::4ebb:47ff:fe00:2bab".parse().unwrap()).unwrap();
        assert_eq!(mac.to_string(), "4c:bb:47:00:2b:ab");
        assert_eq!(vendor(&mac), Some("NVIDIA"));
        assert_eq!(
            vendor(&"b8:3f:d2:01:02:03".parse().unwrap()),
            Some("Mellanox")
        );
        assert_eq!(vendor(&"02:00:00:01:02:03".parse().unwrap()), None);
        for other in [
            "fe80::1",
            "2001:db8::4ebb:47ff:fe00:2bab",
            "fe80::1234:5678:9abc:def0",
        ] {
            assert_eq!(mac_of(other.parse().unwrap()), None);
        }
    }
}
