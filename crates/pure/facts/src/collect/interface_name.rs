//! Names of interfaces that the kernel and udev give. Others are people's: a site, a tunnel to somebody.

/// `eth0`, `ib1`, `enP2p1s0f0np0`, `enx001122aabbcc`, `ibp1s0`, `bond0.177`: nothing in it but what the hardware's place makes of it
/// (systemd.net-naming-scheme(7)), and a VLAN's number.
pub(crate) fn is_given_by_system(name: &str) -> bool {
    const NUMBERED: [&str; 6] = ["eth", "ib", "bond", "br", "team", "wlan"];
    const PLACED: [&str; 2] = ["en", "ib"];
    let (name, vlan) = name.split_once('.').unwrap_or((name, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_numbered = |prefix: &&str| name.strip_prefix(*prefix).is_some_and(is_number);
    let is_placed = |prefix: &&str| name.strip_prefix(*prefix).is_some_and(is_place);
    is_number(vlan) && (NUMBERED.iter().any(is_numbered) || PLACED.iter().any(is_placed))
}

/// `P2p1s0f0np0`: letters, two at most, and a number, again and again; or `x` and a MAC address.
fn is_place(text: &str) -> bool {
    const MOST_LETTERS: usize = 2;
    if let Some(mac) = text.strip_prefix('x') {
        return mac.len() == 12 && mac.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let mut letters = 0;
    let mut last = b' ';
    for byte in text.bytes() {
        letters = match byte {
            b'0'..=b'9' if last == b' ' => return false,
            b'0'..=b'9' => 0,
            _ if byte.is_ascii_alphabetic() => letters + 1,
            _ => return false,
        };
        if letters > MOST_LETTERS {
            return false;
        }
        last = byte;
    }
    last.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hardware_are_told_from_names_of_people() {
        for name in [
            "eth0",
            "ib1",
            "enp1s0f0np0",
            "enP2p1s0f1np1",
            "eno1",
            "ens3f0np0",
            "ibp1s0",
            "enx001122aabbcc",
            "bond0.177",
        ] {
            assert!(is_given_by_system(name), "{name}");
        }
        for name in [
            "", "en", "en0x", "enalice1", "alice0", "wg-acme", "eth", "eth0.", "bond0.a",
            "enxacme", "br-acme",
        ] {
            assert!(!is_given_by_system(name), "{name}");
        }
    }
}
