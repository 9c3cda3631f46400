//! Settings of engines as a shell takes them.

use std::fmt::Write;

use crosstie_model::plan::{Engine, Setting};
use crosstie_model::word;

use super::Environment;
use crate::text::{Palette, Span, Tone, line, printable};

/// A script for one node, to be sourced.
pub fn script(node: &str, cluster: &str, settings: &[Setting]) -> String {
    let mut out = format!(
        "# {} in {}: settings for NCCL, UCX, Gloo and Open MPI. Written by crosstie up; source it.\n",
        printable(node),
        printable(cluster)
    );
    for setting in settings {
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "\n# {}\n{}\n",
            printable(&setting.why),
            export(setting)
        );
    }
    out
}

fn export(setting: &Setting) -> String {
    // A name is ours, a value may hold a node's names. zsh takes a word after `=` for a command's path.
    let value = match setting.value.as_str() {
        odd if odd.starts_with(['-', '=']) => format!("'{}'", odd.replace('\'', r"'\''")),
        value => word(value).into_owned(),
    };
    format!("export {}={value}", setting.name)
}

/// Each node's, and those that are alike once.
pub fn environments(all: &[Environment], palette: Palette) -> String {
    let mut out = String::new();
    let mut told: Vec<&Environment> = Vec::new();
    for environment in all {
        if told
            .iter()
            .any(|other| other.settings == environment.settings)
        {
            continue;
        }
        told.push(environment);
        let alike = all
            .iter()
            .filter(|other| other.settings == environment.settings);
        let names: Vec<&str> = alike.map(|other| other.node.as_str()).collect();
        line(
            palette,
            &[Span::new(Tone::Strong, names.join(", "))],
            &mut out,
        );
        let mut engine: Option<Engine> = None;
        for setting in &environment.settings {
            if engine.replace(setting.engine) != Some(setting.engine) {
                let name = Span::new(Tone::Quiet, format!("  # {}", title(setting.engine)));
                line(palette, &[name], &mut out);
            }
            let export = Span::new(Tone::Plain, format!("  {}", export(setting)));
            line(palette, &[export], &mut out);
        }
        if environment.settings.is_empty() {
            let none = Span::new(
                Tone::Quiet,
                "  nothing to set: it has no port on the fabric",
            );
            line(palette, &[none], &mut out);
        }
        out.push('\n');
    }
    out
}

fn title(engine: Engine) -> &'static str {
    match engine {
        Engine::Nccl => "NCCL",
        Engine::Ucx => "UCX",
        Engine::Gloo => "Gloo",
        Engine::OpenMpi => "Open MPI",
    }
}
