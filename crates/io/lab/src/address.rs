//! Addresses of a lab: derived from names, so that a node has the same ones each time.

use sha2::{Digest, Sha256};

use crate::profile::MANAGEMENT_OFFSET;

/// The management network, inside the lab only.
pub(crate) const NETWORK: &str = "10.77.0.0/24";
pub(crate) const GATEWAY: &str = "10.77.0.1";
const FIRST_NODE: usize = 11;

/// The node's address on the management network.
pub(crate) fn management(index: usize) -> String {
    format!("10.77.0.{}", FIRST_NODE + index)
}

/// A locally administered MAC: four bytes of the node, one of the NIC.
pub(crate) fn mac(profile: &str, node: &str, offset: u8) -> String {
    let mut hasher = Sha256::new();
    hasher.update(profile.as_bytes());
    hasher.update([0]);
    hasher.update(node.as_bytes());
    let hash = hasher.finalize();
    format!(
        "02:{:02x}:{:02x}:{:02x}:{:02x}:{offset:02x}",
        hash[0], hash[1], hash[2], hash[3]
    )
}

pub(crate) fn management_mac(profile: &str, node: &str) -> String {
    mac(profile, node, MANAGEMENT_OFFSET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_differ_and_stay_the_same() {
        assert_eq!(mac("p", "a", 4), mac("p", "a", 4));
        assert_ne!(mac("p", "a", 4), mac("p", "b", 4));
        assert!(mac("p", "a", 4).ends_with(":04"));
        assert_eq!(management(0), "10.77.0.11");
    }
}
