//! Whether somebody listens at an address, without connecting: some servers take one client alone.

use std::{
    fs,
    net::{IpAddr, SocketAddr},
};

pub(super) fn is_listening(address: SocketAddr) -> bool {
    let file = match address.ip() {
        IpAddr::V4(_) => "/proc/net/tcp",
        IpAddr::V6(_) => "/proc/net/tcp6",
    };
    let table = fs::read_to_string(file).unwrap_or_default();
    has_listener(&table, address)
}

/// `  sl  local_address rem_address   st …`; addresses are words of the machine's own byte order (proc(5)).
fn has_listener(table: &str, address: SocketAddr) -> bool {
    const LISTEN: &str = "0A";
    let wanted = format!("{}:{:04X}", hexadecimal(address.ip()), address.port());
    let any = "0".repeat(wanted.len() - 5) + &wanted[wanted.len() - 5..];
    table.lines().any(|line| {
        let mut fields = line.split_whitespace();
        let (local, state) = (fields.nth(1), fields.nth(1));
        state == Some(LISTEN) && local.is_some_and(|local| local == wanted || local == any)
    })
}

fn hexadecimal(address: IpAddr) -> String {
    let bytes = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let words = bytes.chunks_exact(4).map(|word| {
        let word = [word[0], word[1], word[2], word[3]];
        format!("{:08X}", u32::from_ne_bytes(word))
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_is_seen_without_a_connection() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let address = listener.local_addr().unwrap();
            assert!(is_listening(address), "{address}");
            drop(listener);
            assert!(!is_listening(address), "{address}");
        }
        let any = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = any.local_addr().unwrap().port();
        assert!(is_listening(SocketAddr::new([127, 0, 0, 1].into(), port)));
    }
}
