//! systemd.network files. There is no .link file: it would replace the one that names the interface.

use std::fmt::Write;

use super::Wanted;

pub(crate) fn network(wanted: &Wanted) -> String {
    let mut text = format!(
        "[Match]\nName={}\n\n[Link]\nRequiredForOnline=no\n",
        wanted.name
    );
    if let Some(mtu) = wanted.mtu {
        let _ = writeln!(text, "MTUBytes={mtu}");
    }
    text.push_str("\n[Network]\nDHCP=no\nIPv6AcceptRA=no\nLinkLocalAddressing=ipv6\n");
    // Addresses, and so GID indices, stay when the link flaps.
    text.push_str("ConfigureWithoutCarrier=yes\nIgnoreCarrierLoss=yes\n");
    for address in &wanted.addresses {
        let _ = writeln!(text, "Address={address}");
    }
    text
}
