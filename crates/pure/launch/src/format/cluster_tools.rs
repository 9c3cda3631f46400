//! Tools that start engines on clusters: Slurm, sparkrun, spark-vllm-docker.

use std::fmt::Write;

use crosstie_model::plan::EngineSetting;

use super::{
    EnvFormat, EnvFormatError, NodeEnvironment, comment, files::quoted, headline, kubernetes,
    refuse, with_reasons,
};

/// A `TaskProlog`: what it prints as `export NAME=value` is in the environment of each task. One file for all nodes.
pub(super) fn slurm(nodes: &[NodeEnvironment]) -> Result<String, EnvFormatError> {
    let mut text = "#!/bin/sh
# Slurm's TaskProlog (slurm.conf, or srun --task-prolog): each node prints its own settings. Written by crosstie env.
# Memory that cards read: set PropagateResourceLimitsExcept=MEMLOCK in slurm.conf, and LimitMEMLOCK=infinity for slurmd.
case \"$(uname -n)\" in
"
    .to_owned();
    for node in nodes {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{})", quoted(&node.node));
        for setting in &node.settings {
            let why = "a line of the prolog's output ends it";
            refuse(EnvFormat::Slurm, setting, |c| matches!(c, '\n' | '\r'), why)?;
            let line = format!("export {}={}", setting.name, setting.value);
            let why = comment(&setting.why);
            let _ = write!(text, "    # {why}\n    printf '%s\\n' {}\n", quoted(&line));
        }
        text += "    ;;\n";
    }
    Ok(text + "esac\n")
}

/// The `env` of a recipe.
pub(super) fn sparkrun(node: &NodeEnvironment) -> String {
    let mut text = headline(node) + "env:\n";
    for setting in &node.settings {
        let (why, name) = (comment(&setting.why), &setting.name);
        let value = kubernetes::string(&setting.value);
        // Writing to a String cannot fail.
        let _ = write!(text, "  # {why}\n  {name}: {value}\n");
    }
    text
}

/// Its script takes further flags of Docker from a variable, and splits them at blanks without looking at quotes.
pub(super) fn spark_vllm_docker(node: &NodeEnvironment) -> Result<String, EnvFormatError> {
    let why = "the script splits its flags at blanks and expands patterns";
    let unfit = |c: char| c.is_whitespace() || matches!(c, '*' | '?' | '[');
    for setting in &node.settings {
        refuse(EnvFormat::SparkVllmDocker, setting, unfit, why)?;
    }
    let flag = |setting: &EngineSetting| format!("-e {}={}", setting.name, setting.value);
    let flags: Vec<String> = node.settings.iter().map(flag).collect();
    let reasons = with_reasons(node, |setting| format!("#   {}", setting.name));
    let line = format!(
        "export VLLM_SPARK_EXTRA_DOCKER_ARGS={}\n",
        quoted(&flags.join(" "))
    );
    Ok(format!("{reasons}\n{line}"))
}
