//! A scan on one screen.

use std::collections::HashMap;

use crosstie_model::{Bytes, Gbps, facts::pci::LinkSpeed};

use super::overview::overview;
use super::{ScanHints, ScanResult, ScannedCage, ScannedInterface, ScannedNode, ScannedRdmaPort};
use crate::text::{Palette, TableRow, TextSpan, TextTone, line, plain, quiet, strong, table};

/// Where they are many an overview; the nodes, one below the other; then what to do next.
pub fn view(outcomes: &[ScanResult], hints: &ScanHints, palette: Palette) -> String {
    let mut out = String::new();
    overview(outcomes, palette, &mut out);
    for outcome in outcomes {
        match outcome {
            ScanResult::Node(node) => draw(node, hints, palette, &mut out),
            ScanResult::Failed { host, error } => {
                line(
                    palette,
                    &[
                        strong(host),
                        TextSpan::new(TextTone::Bad, format!("  not scanned: {error}")),
                    ],
                    &mut out,
                );
            }
        }
        out.push('\n');
    }
    if let Some(next) = &hints.next {
        let mut spans = vec![quiet("Next: ")];
        spans.extend(TextSpan::offer(TextTone::Accent, next));
        line(palette, &spans, &mut out);
    }
    out
}

fn draw(node: &ScannedNode, hints: &ScanHints, palette: Palette, out: &mut String) {
    let source = match (&node.source, &node.reached) {
        (Some(source), _) => Some(format!("  from {source}")),
        (None, Some(name)) if *name != node.host => Some(format!("  at {name}")),
        _ => None,
    };
    line(
        palette,
        &[strong(&node.host), quiet(source.unwrap_or_default())],
        out,
    );
    line(palette, &[quiet(format!("  {}", machine(node)))], out);
    out.push('\n');
    if node.rdma.is_empty() {
        line(
            palette,
            &[TextSpan::new(TextTone::Bad, "  no RDMA device")],
            out,
        );
    } else {
        table(palette, &ports(node), out);
    }
    out.push('\n');
    for (label, text) in notes(node) {
        line(
            palette,
            &[quiet(format!("  {label:<11} ")), plain(text)],
            out,
        );
    }
    for text in unread(node, hints) {
        line(
            palette,
            &[
                quiet(format!("  {:<11} ", "unread")),
                TextSpan::new(TextTone::Bad, text),
            ],
            out,
        );
    }
}

fn machine(node: &ScannedNode) -> String {
    let product = node
        .product
        .as_ref()
        .map(|product| product.replace('_', " "));
    let parts = [
        product,
        node.distro.clone(),
        node.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        node.arch.clone(),
        node.cpus.map(|cpus| format!("{cpus} CPUs")),
        node.memory_bytes.map(|bytes| Bytes(bytes).to_string()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// `● p1  196.1 Gb/s ceiling, set by the port rate · twins`
fn headline(cage: &ScannedCage, ports: &[&ScannedRdmaPort]) -> Vec<TextSpan> {
    let twins = quiet(if cage.members.len() > 1 {
        " · twins"
    } else {
        ""
    });
    if !cage.active {
        let is_up = |port: &&ScannedRdmaPort| port.physical_state.as_deref() == Some("LinkUp");
        let what = if ports.iter().any(is_up) {
            "link up, not active"
        } else {
            "no link"
        };
        return vec![quiet(format!("  ○ {}  {what}", cage.id)), twins];
    }
    let software = ports.iter().any(|port| port.software);
    let ceiling = match (cage.ceiling_gbps, cage.limit.as_deref()) {
        (Some(rate), Some("pcie")) => format!("{} ceiling, set by PCIe", Gbps(rate)),
        (Some(rate), _) => format!("{} ceiling, set by the port rate", Gbps(rate)),
        (None, _) if software => "active, a software device: no physical ceiling".to_owned(),
        (None, _) => "active, ceiling unknown".to_owned(),
    };
    vec![
        TextSpan::new(TextTone::Good, "  ● "),
        strong(&cage.id),
        plain(format!("  {ceiling}")),
        twins,
    ]
}

/// Cage by cage, those with a link first; what serves no cage comes last.
fn ports(node: &ScannedNode) -> Vec<TableRow> {
    const TITLES: [&str; 7] = [
        "device",
        "interface",
        "link",
        "PCIe",
        "MTU (path)",
        "address",
        "GID",
    ];
    let mut rows = vec![TableRow::Cells(4, TITLES.map(quiet).to_vec())];
    let mut behind: HashMap<Option<&str>, Vec<&ScannedRdmaPort>> = HashMap::new();
    for port in &node.rdma {
        behind.entry(port.cage.as_deref()).or_default().push(port);
    }
    let mut cages: Vec<&ScannedCage> = node.cages.iter().collect();
    cages.sort_by_key(|cage| !cage.active);
    for cage in cages {
        let ports = behind.remove(&Some(cage.id.as_str())).unwrap_or_default();
        rows.push(TableRow::Heading(headline(cage, &ports)));
        rows.extend(ports.into_iter().map(row));
    }
    if let Some(others) = behind.remove(&None) {
        rows.push(TableRow::Heading(vec![quiet("  virtual functions")]));
        rows.extend(others.into_iter().map(row));
    }
    rows
}

fn row(port: &ScannedRdmaPort) -> TableRow {
    let active = port.state.as_deref() == Some("ACTIVE");
    let tone = if active {
        TextTone::Plain
    } else {
        TextTone::Quiet
    };
    let cells = [
        if port.port == 1 {
            port.name.clone()
        } else {
            format!("{}/{}", port.name, port.port)
        },
        port.netdev.clone().unwrap_or_else(|| "–".to_owned()),
        link(port, active),
        pcie(port),
        mtu(port),
        addresses(port),
        gid(port),
    ];
    TableRow::Cells(4, cells.map(|cell| TextSpan::new(tone, cell)).to_vec())
}

/// Those that other machines can be told: link-local ones come by themselves.
fn addresses(port: &ScannedRdmaPort) -> String {
    let local = |address: &&String| address.starts_with("fe80:");
    let others: Vec<&String> = port
        .addresses
        .iter()
        .filter(|address| !local(address))
        .collect();
    match others.as_slice() {
        [] if port.addresses.is_empty() => "none".to_owned(),
        [] => "link-local".to_owned(),
        [only] => (*only).clone(),
        [first, more @ ..] => format!("{first} +{}", more.len()),
    }
}

fn link(port: &ScannedRdmaPort, active: bool) -> String {
    let infiniband = if port.link_layer.as_deref() == Some("InfiniBand") {
        " IB"
    } else {
        ""
    };
    match (active, port.rate_gbps) {
        (true, Some(rate)) => format!("{}{infiniband}", Gbps(rate)),
        (true, None) => "rate unknown".to_owned(),
        (false, _) => {
            let state = port.state.as_deref().unwrap_or("state unknown");
            let physical = port
                .physical_state
                .as_deref()
                .map(|state| format!(" ({state})"));
            format!("{}{}", state.to_lowercase(), physical.unwrap_or_default())
        }
    }
}

fn pcie(port: &ScannedRdmaPort) -> String {
    let Some(pcie) = &port.pcie else {
        return if port.software {
            "software".to_owned()
        } else {
            "unknown".to_owned()
        };
    };
    let (Some(speed), Some(width)) = (pcie.gt_per_s, pcie.width) else {
        return "unknown".to_owned();
    };
    let rate = pcie.gbps.map(|rate| format!(" {}", Gbps(rate)));
    let above = pcie.narrowest != port.pci;
    let narrower = if above { " above" } else { "" };
    format!(
        "{} x{width}{}{narrower}",
        LinkSpeed(speed),
        rate.unwrap_or_default()
    )
}

fn mtu(port: &ScannedRdmaPort) -> String {
    match (port.mtu, port.path_mtu) {
        (Some(mtu), Some(path)) => format!("{mtu} ({path})"),
        (Some(mtu), None) => mtu.to_string(),
        (None, _) => "–".to_owned(),
    }
}

/// The entry that engines should use: RoCE v2, of an address that is not link-local.
fn gid(port: &ScannedRdmaPort) -> String {
    let usable = |gid: &&super::ScannedGid| {
        gid.kind.as_deref() == Some("RoCE v2") && !gid.gid.starts_with("fe80:")
    };
    match port.gids.iter().find(usable) {
        Some(gid) => format!("{} RoCE v2", gid.index),
        None if port.link_layer.as_deref() == Some("InfiniBand") => "0 IB".to_owned(),
        None if port.gids.is_empty() => "none".to_owned(),
        None => "link-local only".to_owned(),
    }
}

fn notes(node: &ScannedNode) -> Vec<(&'static str, String)> {
    let mut notes = Vec::new();
    for (index, gpu) in node.gpus.iter().enumerate() {
        let memory = gpu.memory_bytes.map_or_else(
            || "memory shared with the CPU".to_owned(),
            |bytes| Bytes(bytes).to_string(),
        );
        let at = gpu
            .pci
            .as_ref()
            .map(|pci| format!(" at {pci}"))
            .unwrap_or_default();
        let mut text = format!("{}{at} · {memory}", gpu.name);
        if index == 0 {
            let driver = node
                .gpu_driver
                .as_ref()
                .map(|driver| format!(" · driver {driver}"));
            let cuda = node.cuda.as_ref().map(|cuda| format!(" · CUDA {cuda}"));
            text += &driver.unwrap_or_default();
            text += &cuda.unwrap_or_default();
        }
        notes.push(("GPU", text));
    }
    let interfaces = node.interfaces.iter();
    let by_name: HashMap<&str, &ScannedInterface> = interfaces
        .map(|interface| (interface.name.as_str(), interface))
        .collect();
    for name in &node.management {
        let found = by_name.get(name.as_str());
        let text = found.map_or_else(|| name.clone(), |found| management(found));
        notes.push(("management", text));
    }
    let drivers: Vec<String> = node.drivers.iter().map(driver).collect();
    if !drivers.is_empty() {
        notes.push(("drivers", drivers.join(" · ")));
    }
    notes
}

fn management(interface: &ScannedInterface) -> String {
    let mut parts = vec![interface.name.clone()];
    parts.extend(interface.addresses.first().cloned());
    parts.extend(interface.default_route.then(|| "default route".to_owned()));
    parts.extend(interface.ssh.then(|| "this ssh connection".to_owned()));
    parts.push(match interface.manager {
        "unknown" => "manager unknown".to_owned(),
        "nobody" => "managed by nobody".to_owned(),
        manager => format!("managed by {manager}"),
    });
    parts.join(" · ")
}

fn driver(driver: &super::ScannedDriver) -> String {
    let parts = [
        Some(driver.name.clone()),
        driver.version.clone(),
        driver.origin.clone(),
    ];
    let shown = if driver.kind == "library" { 2 } else { 3 };
    parts
        .into_iter()
        .take(shown)
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Files that root would have read count together: one cure for all of them.
fn unread(node: &ScannedNode, hints: &ScanHints) -> Vec<String> {
    let (denied, other): (Vec<_>, Vec<_>) = node.unread.iter().partition(|gap| gap.root_would);
    let mut lines: Vec<String> = other
        .iter()
        .map(|gap| format!("{}: {}", gap.what, gap.why))
        .collect();
    if !denied.is_empty() {
        let names: Vec<&str> = denied.iter().map(|gap| gap.what.as_str()).collect();
        let (shown, rest) = names.split_at(names.len().min(4));
        let more = if rest.is_empty() {
            String::new()
        } else {
            format!(" and {} more", rest.len())
        };
        let cure = hints.as_root.as_ref();
        let cure = cure.map_or_else(String::new, |command| format!(" ({command})"));
        lines.push(format!(
            "{}{more}: only root may read them{cure}",
            shown.join(", ")
        ));
    }
    lines
}
