//! How a node is reached, in commands that a person may run.

use std::path::Path;

use crosstie_model::word;

/// A node, and the ssh configuration that stands in for the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginCommands {
    node: String,
    config: Option<String>,
}

impl LoginCommands {
    pub(crate) fn new(node: impl Into<String>, config: Option<&Path>) -> Self {
        Self {
            node: node.into(),
            config: config.map(|path| path.display().to_string()),
        }
    }

    pub(super) fn node(&self) -> &str {
        &self.node
    }

    pub(super) fn ssh(&self) -> String {
        let config = self.option("-F");
        format!("ssh {config}{}", word(&self.node))
    }

    pub(super) fn trust(&self) -> String {
        let config = self.option("--ssh-config");
        format!("crosstie trust {config}{}", word(&self.node))
    }

    fn option(&self, name: &str) -> String {
        let config = self.config.as_deref();
        config.map_or_else(String::new, |path| format!("{name} {} ", word(path)))
    }
}
