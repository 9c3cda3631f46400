//! Settings of engines, from the cluster file and the nodes' facts, in any of their formats.

use std::path::{Path, PathBuf};

use crosstie_launch::format::{self, EnvFormat, EnvFormatError, NodeEnvironment, is_name};
use crosstie_model::plan::{EngineKind, EngineSetting};
use crosstie_plan::PlannedWiring;
use crosstie_report::env::{EnvNode, EnvReport};

use crate::{
    NodesFailed, RequestedTargets,
    files::{
        CreateFolderError, FileWriteError, InvalidFolderName, folder_name, make_folder, replace,
    },
    plan::{self, PlanError},
};

#[derive(Debug, thiserror::Error)]
pub enum EnvCommandError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Format(#[from] EnvFormatError),
    #[error("'{0}' is no NAME=VALUE, or its name is none of a variable")]
    Assignment(String),
    #[error("the variable {0} is not set here")]
    Unset(String),
    #[error("settings differ between {}: name one node, or write a file for each with --out DIR", .0.join(" and "))]
    Different(Vec<String>),
    #[error("there is nothing to set: none of the nodes has a port on the fabric")]
    Nothing,
    #[error(transparent)]
    FolderName(#[from] InvalidFolderName),
    #[error(transparent)]
    Folder(#[from] CreateFolderError),
    #[error(transparent)]
    Write(#[from] FileWriteError),
}

/// What a person adds: `NAME=VALUE`, or `NAME` for the value that it has here, which then is in no argument list.
pub fn custom(assignments: &[String]) -> Result<Vec<EngineSetting>, EnvCommandError> {
    let setting = |text: &String| {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text.as_str(), None),
        };
        if !is_name(name) {
            return Err(EnvCommandError::Assignment(text.clone()));
        }
        let here = || std::env::var(name).map_err(|_| EnvCommandError::Unset(name.to_owned()));
        Ok(EngineSetting {
            engine: EngineKind::Custom,
            name: name.to_owned(),
            value: value.map_or_else(here, Ok)?,
            why: "as you said".to_owned(),
        })
    };
    let mut settings: Vec<EngineSetting> = Vec::new();
    for one in assignments.iter().map(setting) {
        let one = one?;
        // The last one counts, as in a shell.
        settings.retain(|earlier| earlier.name != one.name);
        settings.push(one);
    }
    Ok(settings)
}

/// Of the nodes that could be read; the others are told beside it.
pub fn environments(
    targets: &RequestedTargets,
    assignments: &[String],
) -> Result<(EnvReport, NodesFailed), EnvCommandError> {
    let custom = custom(assignments)?;
    let (spec, facts, unread) = plan::read_planned(targets)?;
    let wiring = PlannedWiring::new(&spec, &facts);
    let wiring = wiring
        .map_err(|faults| PlanError::FaultsOfLab(crosstie_plan::InvalidSpecError { faults }))?;
    let nodes = wiring.nodes.iter().map(|node| {
        let (settings, notes) = crosstie_plan::settings(&wiring, node);
        EnvNode {
            host: node.facts.host.name.clone(),
            settings: with_custom(&settings, &custom),
            notes,
            has_gpus: node.facts.gpus.iter().next().is_some(),
        }
    });
    Ok((EnvReport::new(&spec.name, nodes.collect()), unread))
}

/// What a person says counts.
pub(crate) fn with_custom(ours: &[EngineSetting], custom: &[EngineSetting]) -> Vec<EngineSetting> {
    let ours = ours.iter();
    let said = |setting: &&EngineSetting| !custom.iter().any(|own| own.name == setting.name);
    ours.filter(said).chain(custom).cloned().collect()
}

fn node_environments(env: &EnvReport) -> Vec<NodeEnvironment> {
    let nodes = env.nodes.iter().map(|node| NodeEnvironment {
        node: node.host.clone(),
        cluster: env.cluster.clone(),
        settings: node.settings.clone(),
        has_gpus: node.has_gpus,
    });
    nodes.collect()
}

/// For one node, or for several that are alike.
pub fn formatted(env: &EnvReport, format: EnvFormat) -> Result<String, EnvCommandError> {
    let nodes = node_environments(env);
    let first = nodes.first().ok_or(EnvCommandError::Nothing)?;
    if format.is_shared() {
        return Ok(format::write(format, &nodes)?);
    }
    let settings = |node: &&NodeEnvironment| node.settings != first.settings;
    if let Some(other) = nodes.iter().find(settings) {
        return Err(EnvCommandError::Different(vec![
            first.node.clone(),
            other.node.clone(),
        ]));
    }
    Ok(format::write(format, &nodes[..1])?)
}

/// `DIR/NODE.ext`, readable by the user alone where somebody's own values are in it.
pub fn write(
    env: &EnvReport,
    format: EnvFormat,
    directory: &Path,
) -> Result<Vec<PathBuf>, EnvCommandError> {
    make_folder(directory)?;
    let nodes = node_environments(env);
    let mut written = Vec::new();
    let mut put = |name: &Path, text: &str| -> Result<(), EnvCommandError> {
        let path = directory.join(format!("{}.{}", name.display(), format.extension()));
        replace(&path, text)?;
        written.push(path);
        Ok(())
    };
    if format.is_shared() {
        put(Path::new("all-nodes"), &format::write(format, &nodes)?)?;
        return Ok(written);
    }
    for node in &nodes {
        let text = format::write(format, std::slice::from_ref(node))?;
        put(folder_name(&node.node)?, &text)?;
    }
    Ok(written)
}
