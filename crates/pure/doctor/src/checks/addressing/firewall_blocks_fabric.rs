//! The packet filter turns away connections that come in over the fabric.

use std::collections::HashMap;

use crosstie_model::{
    Facts,
    facts::net::{InputChain, Interface, InterfaceAddress},
};

use crate::{
    Check, CheckFunctions, CheckHit, ExaminedNode,
    firewall::{ChainEvaluator, FirstPacket},
    terms::{address_source, dedicated},
    word,
};

pub(super) const CHECK: Check = Check {
    id: "firewall-blocks-fabric",
    title: "The firewall turns away connections that come in over the fabric",
    severity: "warning (fault when a TCP probe fails)",
    fires: "A chain on the input hook drops what no rule accepts, and no rule of it accepts the fabric interface, its \
        subnet, or everything. A port with the default route counts only where a cluster file names it.",
    reads: &["nft list ruleset", "ip addr show"],
    cause: "ufw, firewalld or a ruleset of one's own is on, and the fabric was not let in",
    meaning: "RDMA in hardware bypasses the firewall, but everything around it is TCP: NCCL's bootstrap, Gloo, MPI, Ray, \
        ssh. Ping passes, since most rulesets accept it, and jobs hang when the first connection is opened. Soft-RoCE is \
        UDP on port 4791 and is dropped altogether.",
    fix: "Accept everything that comes in through the fabric interfaces: nothing but the nodes is on that network.",
    verify: "`nc -zv ADDRESS PORT` from a peer reaches a program that listens on the fabric address.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let Some(firewall) = node.facts.network.firewall.known() else {
        return Vec::new();
    };
    let mut judged: Vec<(&Interface, &InterfaceAddress)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (netdev, address) in dedicated(node).flat_map(crate::ExaminedPort::lasting_addresses) {
        // One address an interface; IPv4 is what engines use where there is any.
        match places.get(netdev.name.as_str()) {
            Some(place) if judged[*place].1.net.addr().is_ipv6() => judged[*place].1 = address,
            Some(_) => {}
            None => {
                places.insert(&netdev.name, judged.len());
                judged.push((netdev, address));
            }
        }
    }
    let chains: Vec<ChainEvaluator> = firewall.input.iter().map(ChainEvaluator::new).collect();
    judged
        .into_iter()
        .filter_map(|(netdev, address)| {
            let packet = FirstPacket {
                interface: &netdev.name,
                to: address.net,
            };
            // A packet has to pass every chain.
            let chain = chains.iter().find(|judge| judge.blocks(packet))?.chain;
            let path = format!("{} {} {}", chain.family, chain.table, chain.chain);
            Some(
                CheckHit::warning(&netdev.name)
                    .saw("address", address.net, address_source(&netdev.name))
                    .saw(
                        "input chain",
                        format!("{path}, policy {}", chain.policy),
                        "nft list ruleset",
                    )
                    .saw(
                        "rules that accept the interface, its subnet or everything",
                        "none",
                        format!("nft list chain {path}"),
                    )
                    .command(command(node.facts, chain, &netdev.name)),
            )
        })
        .collect()
}

/// In the words of whatever wrote the ruleset: what is slipped in beside it is lost when it writes again.
fn command(facts: &Facts, chain: &InputChain, interface: &str) -> String {
    let name = word(interface);
    let is_ufw = chain.rules.iter().any(|rule| rule.contains("\"ufw-"));
    if is_ufw {
        return format!("sudo ufw allow in on {name}");
    }
    if chain.table == "firewalld" {
        return format!(
            "sudo firewall-cmd --permanent --zone=trusted --add-interface={name} && sudo firewall-cmd --reload"
        );
    }
    let iptables = facts.software.package("iptables").is_some()
        && chain.table == "filter"
        && chain.chain == "INPUT";
    match (iptables, chain.family.as_str()) {
        (true, "ip") => format!("sudo iptables -I INPUT -i {name} -j ACCEPT"),
        (true, "ip6") => format!("sudo ip6tables -I INPUT -i {name} -j ACCEPT"),
        _ => format!(
            "sudo nft insert rule {} {} {} iifname {name} accept",
            word(&chain.family),
            word(&chain.table),
            word(&chain.chain)
        ),
    }
}
