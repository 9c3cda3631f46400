//! What looks like an address, a GUID or a serial number in somebody's text.

use std::net::IpAddr;

use super::names::NameReplacements;

/// The text with each of them replaced.
pub(super) fn replace_tokens(text: &str, names: &mut NameReplacements) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        out += &token_replaced(token, &out, names);
        let next = after.chars().next();
        if let Some(next) = next {
            out.push(next);
        }
        rest = &after[next.map_or(0, char::len_utf8)..];
    }
    out
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, ':' | '.' | '-' | '_' | '%')
}

/// A full stop or colon of the sentence is none of the token's.
fn token_replaced(token: &str, before: &str, names: &mut NameReplacements) -> String {
    let core = token.trim_end_matches(['.', ':', '-']);
    let tail = &token[core.len()..];
    let head = core.trim_start_matches(['.', '-']);
    let lead = &core[..core.len() - head.len()];
    let made = known(head, before, names).unwrap_or_else(|| head.to_owned());
    format!("{lead}{made}{tail}")
}

fn known(token: &str, before: &str, names: &mut NameReplacements) -> Option<String> {
    // `fe80::1%eth0`, `10.0.0.1:22`
    let (address, zone) = token
        .split_once('%')
        .map_or((token, ""), |(address, zone)| (address, zone));
    if let Ok(address) = address.parse::<IpAddr>() {
        if address.is_loopback() || address.is_unspecified() {
            return None;
        }
        // A GID written in full is told from an address by its length.
        if token.len() == 39 {
            return Some(names.guid(token));
        }
        let made = names.address(address).to_string();
        return Some(if zone.is_empty() {
            made
        } else {
            format!("{made}%{zone}")
        });
    }
    if let Some((address, port)) = token.rsplit_once(':')
        && let Ok(address @ IpAddr::V4(_)) = address.parse::<IpAddr>()
    {
        return Some(format!("{}:{port}", names.address(address)));
    }
    if is_groups(token, 2, 6) || is_groups(token, 2, 20) {
        return Some(names.hardware_address(token));
    }
    if is_groups(token, 4, 4) || is_groups(token, 4, 8) {
        return Some(names.guid(token));
    }
    if let Some(hex) = token
        .strip_prefix("0x")
        .filter(|hex| hex.len() == 16 && is_hex(hex))
    {
        return Some(names.guid(hex));
    }
    if is_uuid(token.strip_prefix("GPU-").unwrap_or(token)) || is_serial(token, before) {
        return Some(names.serial(token));
    }
    named_by_address(token, names)
}

/// udev names interfaces and devices after their address where it has nothing better: `enxb8cef6a1b2c3`, `ibx…`.
fn named_by_address(token: &str, names: &mut NameReplacements) -> Option<String> {
    let (prefix, hex) = token.split_once('x')?;
    let is_prefix = matches!(prefix, "en" | "ib" | "wl" | "roce" | "iw" | "rdma");
    if !is_prefix || !matches!(hex.len(), 12 | 16) || !is_hex(hex) {
        return None;
    }
    let pairs: Vec<&str> = (0..hex.len())
        .step_by(2)
        .filter_map(|at| hex.get(at..at + 2))
        .collect();
    let made = names.hardware_address(&pairs.join(":"));
    Some(format!("{prefix}x{}", made.replace(':', "")))
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// So many groups of so many hex digits, with colons or, of bytes, hyphens between them.
fn is_groups(token: &str, digits: usize, groups: usize) -> bool {
    let is = |separator: char| {
        let mut parts = token.split(separator);
        parts.clone().count() == groups && parts.all(|part| part.len() == digits && is_hex(part))
    };
    is(':') || (digits == 2 && is('-'))
}

fn is_uuid(token: &str) -> bool {
    let parts: Vec<&str> = token.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| is_hex(part))
}

/// A card's (`MT2023X12345`), or whatever the words before it call one.
fn is_serial(token: &str, before: &str) -> bool {
    let mixed = token.bytes().any(|byte| byte.is_ascii_digit()) && token.len() >= 6;
    let card = token.starts_with("MT")
        && token.len() >= 11
        && token.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let before = before
        .trim_end_matches([' ', ':', '=', '#', '"', '\''])
        .to_ascii_lowercase();
    let named = [
        "serial",
        "serial number",
        "s/n",
        "serial no",
        "asset tag",
        "uuid",
    ];
    mixed && (card || named.iter().any(|name| before.ends_with(name)))
}
