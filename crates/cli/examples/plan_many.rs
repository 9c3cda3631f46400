//! Plans for many nodes on one switch, timed: `plan_many CAPTURE NODES` prints one line of JSON.

use std::{path::PathBuf, time::Instant};

use anyhow::{Context, bail};
use crosstie_facts::facts;
use crosstie_model::{Cable, ClusterSpec, Facts, Mtu, PortRef, plan::ClusterPlan, spec};
use crosstie_node::capture;

#[allow(clippy::print_stdout)] // its output is what it is for
fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), Some(count)) = (arguments.next(), arguments.next()) else {
        bail!("usage: plan_many CAPTURE NODES");
    };
    let count: u32 = count.to_string_lossy().parse()?;
    let loaded = capture::load(&PathBuf::from(path))?;
    let raw = loaded.into_iter().next().context("no capture there")?.raw?;
    let sample = facts(&raw);
    let nodes: Vec<Facts> = (0..count)
        .map(|index| {
            let mut node = sample.clone();
            node.host.name = format!("node-{index}");
            node
        })
        .collect();
    let spec = cluster(&sample, &nodes)?;
    let start = Instant::now();
    let plan = crosstie_plan::plan(&spec, &nodes)?;
    let planned = start.elapsed().as_secs_f64();
    println!(
        "{}",
        serde_json::json!({
            "nodes": plan.nodes.len(),
            "refused": plan.nodes.iter().filter(|node| !node.refusals.is_empty()).count(),
            "steps": steps(&plan),
            "planned_s": planned,
        })
    );
    Ok(())
}

fn steps(plan: &ClusterPlan) -> usize {
    plan.nodes.iter().map(|node| node.steps.len()).sum()
}

/// Every active cage is cabled to one switch.
fn cluster(sample: &Facts, nodes: &[Facts]) -> anyhow::Result<ClusterSpec> {
    let cages = crosstie_fabric::cages(sample, None);
    let active: Vec<String> = cages
        .into_iter()
        .filter(|cage| cage.active)
        .map(|cage| cage.id)
        .collect();
    let cables = nodes.iter().flat_map(|node| {
        active.iter().map(|cage| Cable::Switched {
            port: PortRef {
                node: node.host.name.clone(),
                cage: cage.clone(),
            },
            plane: "leaf".to_owned(),
        })
    });
    Ok(ClusterSpec {
        format: spec::FORMAT,
        name: "many".to_owned(),
        fabric: spec::FabricSpec {
            mtu: Some(Mtu(9000)),
            pool: Some("10.64.0.0/10".parse()?),
            subnet_prefix: Some(20),
            ..spec::FabricSpec::default()
        },
        qos: Some(spec::QosSpec {
            priority: 3,
            dscp: 26,
            ecn: true,
        }),
        nodes: nodes
            .iter()
            .map(|node| spec::NodeSpec {
                name: node.host.name.clone(),
                number: None,
                ssh: None,
                cages: Vec::new(),
            })
            .collect(),
        cables: cables.collect(),
        planes: Vec::new(),
    })
}
