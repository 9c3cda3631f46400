//! `NetworkManager`'s profiles.

use std::fmt::Write;

use ipnet::IpNet;

use super::Wanted;

/// A profile without a UUID gets one from its file's name, so it stays the same.
pub(crate) fn keyfile(wanted: &Wanted) -> String {
    let name = &wanted.name;
    let mut text = format!(
        "[connection]\nid=crosstie-{name}\ntype=ethernet\ninterface-name={name}\nautoconnect=true\nautoconnect-priority=100\n\n[ethernet]\n"
    );
    if let Some(mtu) = wanted.mtu {
        let _ = writeln!(text, "mtu={mtu}");
    }
    family(&mut text, "ipv4", &wanted.addresses, "disabled", |net| {
        matches!(net, IpNet::V4(_))
    });
    family(&mut text, "ipv6", &wanted.addresses, "link-local", |net| {
        matches!(net, IpNet::V6(_))
    });
    text
}

fn family(
    text: &mut String,
    section: &str,
    addresses: &[IpNet],
    otherwise: &str,
    is_own: fn(&IpNet) -> bool,
) {
    let own: Vec<&IpNet> = addresses.iter().filter(|net| is_own(net)).collect();
    let method = if own.is_empty() { otherwise } else { "manual" };
    let _ = write!(text, "\n[{section}]\nmethod={method}\n");
    for (number, address) in (1..).zip(&own) {
        let _ = writeln!(text, "address{number}={address}");
    }
    if !own.is_empty() {
        // A fabric is no way out.
        text.push_str("never-default=true\n");
    }
}

/// Addresses, and so GID indices, stay when the link flaps.
pub(crate) fn carrier(interfaces: &[&Wanted]) -> String {
    let names = interfaces
        .iter()
        .map(|wanted| format!("interface-name:{}", wanted.name));
    let names: Vec<String> = names.collect();
    format!(
        "[device-crosstie]\nmatch-device={}\nignore-carrier=yes\n",
        names.join(",")
    )
}
