//! What `crosstie try` says besides what became of the node.

use crosstie_model::change::TryCommandResult;

use crate::text::{Palette, printable, wrap};

/// Before the command runs.
pub fn rollback_notice(palette: Palette) -> String {
    const NOTICE: &str = "Rolled back unless you keep it: files of the network managers, /etc/hosts, sysctl and nftables files, \
         the resolver's and udev's, and those of --file; links, addresses, routes, rules and the firewall; sysctls of \
         interfaces. Not rolled back: other files, pipes, sockets and device files; of links, names, tc, ethtool, XDP, virtual \
         functions, a bond's primary port, costs and VLANs of bridge ports, and settings of tunnels and VRFs; forwarding \
         tables, neighbours, IPsec, WireGuard's peers; packages, services, processes that it leaves running, kernel modules.";
    let lines = wrap(NOTICE, palette.prose(0)).into_iter();
    lines.map(|line| line + "\n").collect()
}

/// What the command said, and how it ended.
pub fn view(ended: &TryCommandResult) -> String {
    let mut lines: Vec<String> = ended.output.lines().map(printable).collect();
    match ended.status {
        Some(0) => {}
        Some(status) => lines.push(format!("the command ended with status {status}")),
        None => lines.push(
            "the command was ended: by a signal, or since it took more than half of --for"
                .to_owned(),
        ),
    }
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}
