//! What a thing is called for good. Interface and device names are labels: they change with udev, netplan and slots.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Debug, Error, PartialEq, Eq)]
#[error("not a {what}")]
pub struct ParseIdError {
    what: &'static str,
}

/// Strings on the outside, numbers inside: serde through `Display` and `FromStr`.
macro_rules! serde_as_text {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = ParseIdError;
            fn try_from(text: String) -> Result<Self, ParseIdError> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    };
}

/// A 64-bit global identifier of an RDMA node, port or system image, as `4e10:20ff:fe30:0b13`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Guid(pub u64);
serde_as_text!(Guid);

impl FromStr for Guid {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        hex_groups::<4>(text)
            .map(|groups| {
                Self(
                    groups
                        .iter()
                        .fold(0, |id, group| id << 16 | u64::from(*group)),
                )
            })
            .ok_or(ParseIdError { what: "GUID" })
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = [48, 32, 16, 0].map(|shift| format!("{:04x}", (self.0 >> shift) & 0xffff));
        f.write_str(&groups.join(":"))
    }
}

/// An entry of a port's GID table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Gid(pub std::net::Ipv6Addr);
serde_as_text!(Gid);

impl Gid {
    pub fn is_empty(self) -> bool {
        self.0.is_unspecified()
    }

    pub fn is_link_local(self) -> bool {
        self.0.is_unicast_link_local()
    }

    /// The IP address that a RoCE GID stands for.
    pub fn address(self) -> std::net::IpAddr {
        self.0.to_canonical()
    }
}

impl FromStr for Gid {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        hex_groups::<8>(text)
            .map(|groups| Self(groups.into()))
            .ok_or(ParseIdError { what: "GID" })
    }
}

impl fmt::Display for Gid {
    /// All eight groups in full, as sysfs and every RDMA tool print it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.0.segments().map(|group| format!("{group:04x}"));
        f.write_str(&groups.join(":"))
    }
}

/// Exactly `N` groups of four hex digits.
fn hex_groups<const N: usize>(text: &str) -> Option<[u16; N]> {
    let mut groups = [0; N];
    let mut parts = text.split(':');
    for group in &mut groups {
        let part = parts
            .next()
            .filter(|part| part.len() == 4 && is_hex(part))?;
        *group = u16::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(groups)
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A link-layer address: six bytes on Ethernet, twenty on IP over InfiniBand.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HardwareAddress(Vec<u8>);
serde_as_text!(HardwareAddress);

impl HardwareAddress {
    /// The kernel's `MAX_ADDR_LEN`.
    const MAX_ADDRESS_BYTES: usize = 32;

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for HardwareAddress {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let error = ParseIdError {
            what: "hardware address",
        };
        let bytes: Option<Vec<u8>> = text
            .split(':')
            .take(Self::MAX_ADDRESS_BYTES + 1)
            .map(|part| {
                if part.len() == 2 && is_hex(part) {
                    u8::from_str_radix(part, 16).ok()
                } else {
                    None
                }
            })
            .collect();
        bytes
            .filter(|bytes| bytes.len() <= Self::MAX_ADDRESS_BYTES)
            .map(Self)
            .ok_or(error)
    }
}

impl fmt::Display for HardwareAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        f.write_str(&parts.join(":"))
    }
}

/// Where a function sits in the PCI tree: `000f:01:00.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PciAddress {
    pub domain: u32,
    pub bus: u8,
    pub device: u8,
    pub function: u8,
}
serde_as_text!(PciAddress);

impl FromStr for PciAddress {
    type Err = ParseIdError;

    /// The kernel writes a four-digit domain (or more), NVIDIA's tools an eight-digit one.
    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        fn parse(text: &str) -> Option<PciAddress> {
            let hex = |part: &str, longest: usize| {
                (part.len() <= longest && is_hex(part))
                    .then(|| u32::from_str_radix(part, 16).ok())?
            };
            let (rest, function) = text.split_once('.')?;
            let mut parts = rest.split(':');
            let (domain, bus, device) = (parts.next()?, parts.next()?, parts.next()?);
            let address = PciAddress {
                domain: hex(domain, 8).filter(|_| domain.len() >= 4)?,
                bus: hex(bus, 2)?.try_into().ok()?,
                device: hex(device, 2)
                    .filter(|device| *device < 32)?
                    .try_into()
                    .ok()?,
                function: hex(function, 1)
                    .filter(|function| *function < 8)?
                    .try_into()
                    .ok()?,
            };
            parts.next().is_none().then_some(address)
        }
        parse(text).ok_or(ParseIdError {
            what: "PCI address",
        })
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            domain,
            bus,
            device,
            function,
        } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_as_they_were_read() {
        for text in ["4e10:20ff:fe30:0b13", "0000:0000:0000:0000"] {
            assert_eq!(text.parse::<Guid>().unwrap().to_string(), text);
        }
        let gid = "0000:0000:0000:0000:0000:ffff:c0a8:b10b";
        assert_eq!(gid.parse::<Gid>().unwrap().to_string(), gid);
        assert_eq!(
            gid.parse::<Gid>().unwrap().address().to_string(),
            "192.168.177.11"
        );
        assert_eq!(
            "0000000F:01:00.0"
                .parse::<PciAddress>()
                .unwrap()
                .to_string(),
            "000f:01:00.0"
        );
        assert_eq!(
            "10002:01:00.1".parse::<PciAddress>().unwrap().to_string(),
            "10002:01:00.1"
        );
        assert_eq!(
            "4e:10:20:30:0b:13"
                .parse::<HardwareAddress>()
                .unwrap()
                .to_string(),
            "4e:10:20:30:0b:13"
        );
    }

    #[test]
    fn near_misses_are_refused() {
        for text in [
            "",
            "4e10:20ff:fe30",
            "4e10:20ff:fe30:0b13:0000",
            "+e10:20ff:fe30:0b13",
            "4e10:20ff:fe30:é",
        ] {
            assert!(text.parse::<Guid>().is_err(), "{text}");
        }
        for text in [
            "",
            "0000:01:00",
            "01:00.0",
            "0000:01:20.0",
            "0000:01:00.8",
            "0000:01:00.0:1",
            "x:1:1.1",
        ] {
            assert!(text.parse::<PciAddress>().is_err(), "{text}");
        }
        assert!("00:".repeat(40).parse::<HardwareAddress>().is_err());
        assert!("".parse::<HardwareAddress>().is_err());
    }
}
