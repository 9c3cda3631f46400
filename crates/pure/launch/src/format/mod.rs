//! One node's settings as files and flags, one file a format. A value that a format cannot hold is an error, never another value.

mod cluster_tools;
mod containers;
mod files;
mod kubernetes;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use crosstie_model::plan::EngineSetting;
use thiserror::Error;

pub use containers::reasons as container_reasons;
pub use files::{quoted, sh_line, systemd_file};

/// What a format is written from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEnvironment {
    /// Its host name.
    pub node: String,
    pub cluster: String,
    pub settings: Vec<EngineSetting>,
    pub has_gpus: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvFormat {
    Sh,
    Dotenv,
    Docker,
    Podman,
    Systemd,
    NcclConf,
    Slurm,
    Kubernetes,
    Sparkrun,
    SparkVllmDocker,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EnvFormatError {
    #[error("{format} cannot hold the value of {name}: {why}")]
    Value {
        format: &'static str,
        name: String,
        why: &'static str,
    },
    #[error("'{0}' is no name of a variable: letters, digits and _, and no digit first")]
    Name(String),
}

impl EnvFormat {
    pub const ALL: [Self; 10] = [
        Self::Sh,
        Self::Dotenv,
        Self::Docker,
        Self::Podman,
        Self::Systemd,
        Self::NcclConf,
        Self::Slurm,
        Self::Kubernetes,
        Self::Sparkrun,
        Self::SparkVllmDocker,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Sh => "sh",
            Self::Dotenv => "dotenv",
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Systemd => "systemd",
            Self::NcclConf => "nccl.conf",
            Self::Slurm => "slurm",
            Self::Kubernetes => "k8s",
            Self::Sparkrun => "sparkrun",
            Self::SparkVllmDocker => "spark-vllm-docker",
        }
    }

    /// Of a file that is written for a node.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Sh | Self::Slurm | Self::SparkVllmDocker => "sh",
            Self::Dotenv | Self::Systemd => "env",
            Self::Docker | Self::Podman => "args",
            Self::NcclConf => "nccl.conf",
            Self::Kubernetes | Self::Sparkrun => "yaml",
        }
    }

    /// Whether one file is for all nodes, each of which takes its own part of it.
    pub fn is_shared(self) -> bool {
        self == Self::Slurm
    }
}

/// One file for these nodes; several only where the format is shared.
pub fn write(format: EnvFormat, nodes: &[NodeEnvironment]) -> Result<String, EnvFormatError> {
    for setting in nodes.iter().flat_map(|node| &node.settings) {
        if !is_name(&setting.name) {
            return Err(EnvFormatError::Name(setting.name.clone()));
        }
        // No environment can hold it.
        refuse(format, setting, |c| c == '\0', "it has a NUL character")?;
    }
    if format == EnvFormat::Slurm {
        return cluster_tools::slurm(nodes);
    }
    nodes.iter().map(|node| one(format, node)).collect()
}

fn one(format: EnvFormat, node: &NodeEnvironment) -> Result<String, EnvFormatError> {
    match format {
        EnvFormat::Sh => Ok(files::sh(node)),
        EnvFormat::Dotenv => files::dotenv(node),
        EnvFormat::Docker | EnvFormat::Podman => Ok(containers::arguments(format, node)),
        EnvFormat::Systemd => Ok(files::systemd(node)),
        EnvFormat::NcclConf => files::nccl_conf(node),
        EnvFormat::Kubernetes => Ok(kubernetes::pod(node)),
        EnvFormat::Sparkrun => Ok(cluster_tools::sparkrun(node)),
        EnvFormat::SparkVllmDocker => cluster_tools::spark_vllm_docker(node),
        EnvFormat::Slurm => cluster_tools::slurm(std::slice::from_ref(node)),
    }
}

/// As POSIX has it.
pub fn is_name(name: &str) -> bool {
    let letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    name.as_bytes().first().is_some_and(letter)
        && name
            .bytes()
            .all(|byte| letter(&byte) || byte.is_ascii_digit())
}

/// An error if the value has such a character.
fn refuse(
    format: EnvFormat,
    setting: &EngineSetting,
    unfit: impl Fn(char) -> bool,
    why: &'static str,
) -> Result<(), EnvFormatError> {
    if !setting.value.contains(unfit) {
        return Ok(());
    }
    Err(EnvFormatError::Value {
        format: format.name(),
        name: setting.name.clone(),
        why,
    })
}

/// What is said above everything else.
fn headline(node: &NodeEnvironment) -> String {
    let (host, cluster) = (comment(&node.node), comment(&node.cluster));
    format!("# {host} in {cluster}. Written by crosstie env\n")
}

/// Each setting behind its reason.
fn with_reasons(node: &NodeEnvironment, line: impl Fn(&EngineSetting) -> String) -> String {
    let mut text = headline(node);
    for setting in &node.settings {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n# {}\n{}\n", comment(&setting.why), line(setting));
    }
    text
}

/// Text for a comment, on one line.
fn comment(text: &str) -> String {
    let shown = |c: char| match c {
        '\u{2028}' | '\u{2029}' => ' ',
        c if c.is_control() => ' ',
        c => c,
    };
    text.chars().map(shown).collect()
}
