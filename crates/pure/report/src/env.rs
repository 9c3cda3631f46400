//! Settings of engines, for people and for programs.

use crosstie_launch::format::{container_reasons, sh_line};
use crosstie_model::plan::{EngineKind, EngineSetting};
use schemars::JsonSchema;
use serde::Serialize;

use crate::text::{Palette, TextSpan, TextTone, item, line};

/// Version of the JSON.
const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EnvReport {
    pub format: u32,
    pub cluster: String,
    pub nodes: Vec<EnvNode>,
    /// What a container needs besides the variables: a flag of Docker's or podman's, and why.
    pub container_flags: Vec<ContainerFlag>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EnvNode {
    pub host: String,
    pub settings: Vec<EngineSetting>,
    /// What a person should know about them.
    pub notes: Vec<String>,
    #[serde(skip)]
    pub has_gpus: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContainerFlag {
    pub flag: String,
    pub why: String,
}

pub fn schema() -> schemars::Schema {
    crate::document::closed_schema::<EnvReport>()
}

impl EnvReport {
    pub fn new(cluster: &str, nodes: Vec<EnvNode>) -> Self {
        let flags = container_reasons().map(|(flag, why)| ContainerFlag {
            flag,
            why: why.to_owned(),
        });
        Self {
            format: FORMAT,
            cluster: cluster.to_owned(),
            nodes,
            container_flags: flags.collect(),
        }
    }
}

/// With reasons; nodes that are alike once.
pub fn view(env: &EnvReport, palette: Palette) -> String {
    let nodes = env.nodes.iter();
    let all: Vec<(&str, &[EngineSetting])> = nodes
        .map(|node| (node.host.as_str(), node.settings.as_slice()))
        .collect();
    let mut out = exports(&all, true, palette);
    for node in &env.nodes {
        for note in &node.notes {
            let note = format!("{}: {note}", node.host);
            item(palette, (TextTone::Bad, "! "), &note, &mut out);
        }
    }
    let title = TextSpan::new(TextTone::Strong, "containers");
    line(palette, &[title], &mut out);
    for ContainerFlag { flag, why } in &env.container_flags {
        let flag = TextSpan::command(TextTone::Plain, format!("  {flag:<34}"));
        line(
            palette,
            &[flag, TextSpan::new(TextTone::Quiet, format!("  {why}"))],
            &mut out,
        );
    }
    out
}

/// As a shell takes them: each node's, and those that are alike once.
pub fn exports(all: &[(&str, &[EngineSetting])], with_reasons: bool, palette: Palette) -> String {
    let mut out = String::new();
    for (index, (_, settings)) in all.iter().enumerate() {
        let is_alike = |other: &&(&str, &[EngineSetting])| other.1 == *settings;
        if all[..index].iter().any(|other| is_alike(&other)) {
            continue;
        }
        let names: Vec<&str> = all.iter().filter(is_alike).map(|(name, _)| *name).collect();
        let title = TextSpan::new(TextTone::Strong, names.join(", "));
        line(palette, &[title], &mut out);
        let mut engine: Option<EngineKind> = None;
        for setting in *settings {
            if engine.replace(setting.engine) != Some(setting.engine) {
                let name =
                    TextSpan::new(TextTone::Quiet, format!("  # {}", title_of(setting.engine)));
                line(palette, &[name], &mut out);
            }
            let export = TextSpan::command(TextTone::Plain, format!("  {}", sh_line(setting)));
            line(palette, &[export], &mut out);
            if with_reasons {
                let why = TextSpan::new(TextTone::Quiet, format!("      {}", setting.why));
                line(palette, &[why], &mut out);
            }
        }
        if settings.is_empty() {
            let none = "  nothing to set: it has no port on the fabric";
            line(palette, &[TextSpan::new(TextTone::Quiet, none)], &mut out);
        }
        out.push('\n');
    }
    out
}

fn title_of(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::Nccl => "NCCL",
        EngineKind::Ucx => "UCX",
        EngineKind::Gloo => "Gloo",
        EngineKind::OpenMpi => "Open MPI",
        EngineKind::Ray => "Ray",
        EngineKind::Vllm => "vLLM",
        EngineKind::Sglang => "SGLang",
        EngineKind::LlamaCpp => "llama.cpp",
        EngineKind::Custom => "your own",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_copied_is_not_broken() {
        let setting = EngineSetting {
            engine: EngineKind::Ucx,
            name: "UCX_NET_DEVICES".to_owned(),
            value: "rocep1s0f0:1,roceP2p1s0f0:1".to_owned(),
            why: "the ports of the fabric, each with its number".to_owned(),
        };
        let all = [("spark-a", std::slice::from_ref(&setting))];
        let shown = exports(&all, true, Palette::Plain.within(40));
        let whole = "\n  export UCX_NET_DEVICES=rocep1s0f0:1,roceP2p1s0f0:1\n";
        assert!(shown.contains(whole), "{shown}");
    }
}
