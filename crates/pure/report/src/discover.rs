//! What `crosstie scan --discover` says.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    suggested_command::{CommandContext, CommandVerb},
    text::{Palette, TextSpan, TextTone, line, quiet, with_remark},
};

/// One element of `scan --discover --json`: a machine on a local link that may be a node.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiscoveredMachine {
    /// The name that it gives itself (`spark-b.local`), else its first address.
    pub host: String,
    /// Link-local ones with their interface: `fe80::1%eth0`.
    pub addresses: Vec<String>,
    /// Of this machine: where it was heard.
    pub interfaces: Vec<String>,
    pub mac: Option<String>,
    /// `NVIDIA` or `Mellanox`, by the hardware address; others are not told.
    pub vendor: Option<&'static str>,
    /// What its ssh says first; none where ssh does not answer.
    pub ssh: Option<String>,
    /// `mdns`, `all-nodes`.
    pub via: Vec<&'static str>,
    /// What `crosstie scan` and ssh take; none where ssh does not answer.
    pub destination: Option<String>,
}

/// Where it was looked, for the case that nobody was found.
#[derive(Debug, Clone, Default)]
pub struct SearchedInterfaces {
    /// Interfaces where multicast DNS was asked.
    pub asked: Vec<String>,
    /// Interfaces where the IPv6 all-nodes group was greeted.
    pub greeted: Vec<String>,
    pub notes: Vec<String>,
}

/// The JSON schema of `scan --discover --json`.
pub fn schema() -> schemars::Schema {
    crate::document::closed_schema::<Vec<DiscoveredMachine>>()
}

/// The machines, where it could not be looked, and what to do next.
pub fn view(
    candidates: &[DiscoveredMachine],
    looked: &SearchedInterfaces,
    offer: &CommandContext,
    palette: Palette,
) -> String {
    let mut out = String::new();
    for candidate in candidates {
        draw(candidate, palette, &mut out);
        out.push('\n');
    }
    if candidates.is_empty() {
        nothing_found(looked, palette, &mut out);
    }
    for note in &looked.notes {
        line(
            palette,
            &[TextSpan::new(TextTone::Bad, format!("not asked: {note}"))],
            &mut out,
        );
    }
    let destinations: Vec<&str> = candidates
        .iter()
        .filter_map(|candidate| candidate.destination.as_deref())
        .collect();
    let offer = offer.for_nodes(destinations);
    next(&offer, !candidates.is_empty(), palette, &mut out);
    out
}

fn draw(candidate: &DiscoveredMachine, palette: Palette, out: &mut String) {
    let ssh = match &candidate.ssh {
        Some(banner) => TextSpan::new(TextTone::Good, format!("  {banner}")),
        None => TextSpan::new(TextTone::Bad, "  ssh does not answer"),
    };
    let host = TextSpan::new(TextTone::Strong, &candidate.host);
    line(palette, &[host, ssh], out);
    let mac = candidate.mac.iter().map(|mac| match candidate.vendor {
        Some(vendor) => format!("{mac} ({vendor})"),
        None => mac.clone(),
    });
    let heard = format!(
        "{} by {}",
        candidate.interfaces.join(", "),
        candidate.via.join(", ")
    );
    for (label, text) in [
        ("addresses", candidate.addresses.join(" · ")),
        ("MAC", mac.collect()),
        ("heard on", heard),
    ] {
        if !text.is_empty() {
            let label = quiet(format!("  {label:<11} "));
            line(palette, &[label, TextSpan::new(TextTone::Plain, text)], out);
        }
    }
}

fn nothing_found(looked: &SearchedInterfaces, palette: Palette, out: &mut String) {
    let on = |names: &[String]| match names {
        [] => "no interface".to_owned(),
        names => names.join(", "),
    };
    let mut say = |tone, text: String| line(palette, &[TextSpan::new(tone, text)], out);
    say(TextTone::Bad, "nobody answered".to_owned());
    say(
        TextTone::Plain,
        format!(
            "  multicast DNS (_ssh._tcp, _workstation._tcp) was asked on {}",
            on(&looked.asked)
        ),
    );
    say(
        TextTone::Plain,
        format!(
            "  the IPv6 all-nodes group was greeted on {}",
            on(&looked.greeted)
        ),
    );
    say(
        TextTone::Quiet,
        "  Is the cable in, and the port up on both ends (crosstie scan shows it)? A firewall may drop the answers. \
         --interface IF greets everybody on any interface; a node may also be named: crosstie scan HOST."
            .to_owned(),
    );
}

fn next(offer: &CommandContext, found: bool, palette: Palette, out: &mut String) {
    let lines = if offer.nodes.is_empty() {
        vec![if found {
            let cure = "sudo systemctl enable --now ssh";
            with_remark(cure, "on the machine, then crosstie scan --discover again")
        } else {
            "crosstie scan".to_owned()
        }]
    } else {
        let trust = offer.command(CommandVerb::Trust);
        vec![
            with_remark(trust, "to log in without a password"),
            offer.command(CommandVerb::Scan).to_string(),
        ]
    };
    for (index, text) in lines.iter().enumerate() {
        let label = if index == 0 { "Next: " } else { "      " };
        let mut spans = vec![quiet(label)];
        spans.extend(TextSpan::offer(TextTone::Accent, text));
        line(palette, &spans, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(host: &str, destination: Option<&str>) -> DiscoveredMachine {
        DiscoveredMachine {
            host: host.into(),
            addresses: vec!["192.0.2.7".into(), "fe80::7%f0".into()],
            interfaces: vec!["f0".into()],
            mac: Some("4c:bb:47:00:00:07".into()),
            vendor: Some("NVIDIA"),
            ssh: destination.map(|_| "SSH-2.0-OpenSSH_9.6".into()),
            via: vec!["mdns", "all-nodes"],
            destination: destination.map(Into::into),
        }
    }

    #[test]
    fn a_person_sees_who_is_there_and_what_to_type() {
        let both = [
            candidate("spark-a.local", Some("spark-a.local")),
            candidate("spark-b.local", None),
        ];
        let text = view(
            &both,
            &SearchedInterfaces::default(),
            &CommandContext::default(),
            Palette::Plain,
        );
        for expected in [
            "spark-a.local  SSH-2.0-OpenSSH_9.6\n  addresses   192.0.2.7 · fe80::7%f0\n",
            "  MAC         4c:bb:47:00:00:07 (NVIDIA)\n  heard on    f0 by mdns, all-nodes\n",
            "spark-b.local  ssh does not answer\n",
            "Next: crosstie trust spark-a.local ",
            "\n      crosstie scan spark-a.local\n",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn nobody_is_told_with_where_it_was_looked() {
        let looked = SearchedInterfaces {
            asked: vec!["eth0".into(), "f0".into()],
            greeted: Vec::new(),
            notes: vec!["IPv6 all-nodes on f0: only root may ask".into()],
        };
        let text = view(&[], &looked, &CommandContext::default(), Palette::Plain);
        for expected in [
            "asked on eth0, f0",
            "greeted on no interface",
            "not asked: IPv6",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}
