//! Names that become part of a path or an argument.

/// `IFNAMSIZ` less the closing NUL.
const LONGEST_INTERFACE: usize = 15;
/// `IB_DEVICE_NAME_MAX` less the closing NUL.
const LONGEST_DEVICE: usize = 63;

pub fn is_interface(name: &str) -> bool {
    is_plain(name, LONGEST_INTERFACE)
}

/// Of an RDMA device.
pub fn is_device(name: &str) -> bool {
    is_plain(name, LONGEST_DEVICE)
}

fn is_plain(name: &str, longest: usize) -> bool {
    (1..=longest).contains(&name.len())
        && !name.starts_with(['-', '.'])
        && !name.contains(|character: char| {
            character == '/' || character.is_whitespace() || character.is_control()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_used() {
        for name in ["enP2p1s0f1np1", "bond0.177", "ib0", "rail0:1"] {
            assert!(is_interface(name), "{name}");
        }
        for name in ["", "-S", "..", ".", "a/b", "/", "a b", "a\nb", "a\0b"] {
            assert!(!is_interface(name) && !is_device(name), "{name}");
        }
        assert!(!is_interface("much-too-long-a-name"));
        assert!(is_device("rocep193s0f0-and-more"));
    }
}
