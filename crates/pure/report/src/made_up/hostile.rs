//! A run that is an attack.

use super::*;

/// Text that wants to be more than text.
pub(crate) const HOSTILE: [&str; 6] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(2)>",
    "' onmouseover='alert(3)",
    "]]><!--",
    "\u{202e}gnp.evil\u{2066}",
    "</style></title><svg onload=alert(4)>&amp;&#60;",
];

/// Two Sparks whose names, errors and everything else are hostile.
pub(crate) fn hostile() -> StoredRun {
    let mut run = two_sparks(true);
    let wild = |index: usize| HOSTILE[index % HOSTILE.len()].to_owned();
    let names = [
        format!("spark-{}", HOSTILE.concat()),
        format!("b{}", HOSTILE[4]),
    ];
    let rename = |host: &str| names[usize::from(host == "spark-b")].clone();
    let header = &mut run.header;
    header.cluster = Some(HOSTILE.concat());
    header.crosstie = wild(0);
    header.started = wild(1);
    for (index, node) in header.nodes.iter_mut().enumerate() {
        node.host = rename(&node.host);
        node.kernel = Some(wild(index));
        node.machine = Some(wild(index + 1));
        node.gpus = vec![wild(index + 2), wild(index + 3)];
        for port in &mut node.ports {
            port.model = Some(wild(5));
            port.firmware = Some(wild(2));
            port.cage = port
                .cage
                .as_ref()
                .map(|cage| format!("{cage}{}", HOSTILE[0]));
        }
    }
    for cable in &mut header.cabling {
        if let Cable::Direct { a, b, .. } = cable {
            for end in [a, b] {
                end.node = rename(&end.node);
                end.cage += HOSTILE[0];
            }
        }
    }
    let cables: Vec<String> = header.cabling.iter().map(ToString::to_string).collect();
    for end in run.header.groups.iter_mut().flatten() {
        end.host = rename(&end.host);
        end.cable = Some(cables[(end.rail / 2) as usize].clone());
    }
    for (index, one) in run.measurements.iter_mut().enumerate() {
        for end in [&mut one.from, &mut one.to] {
            end.host = rename(&end.host);
            end.cable = Some(cables[(end.rail / 2) as usize].clone());
        }
        one.doubts.push(wild(index));
        if one.kind == TestKind::TcpLatency {
            one.outcome = MeasurementOutcome::Failed {
                error: HOSTILE.concat(),
            };
        }
    }
    run
}
