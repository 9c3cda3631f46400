//! Commands that a person may want after a scan.

use crosstie_model::word;

use crate::{
    suggested_command::{CommandContext, CommandVerb},
    text::with_remark,
};

#[derive(Debug, Clone, Default)]
pub struct ScanHints {
    pub next: Option<String>,
    /// What reads the same as root.
    pub as_root: Option<String>,
}

impl ScanHints {
    /// `capture` is where the node was kept, `from` what was read instead of live nodes.
    pub fn new(
        offer: &CommandContext,
        capture: Option<&str>,
        from: &[String],
        failed: bool,
    ) -> Self {
        let next = if let Some(path) = capture {
            let path = word(path);
            let scan = format!("crosstie scan --from {path}");
            Some(with_remark(scan, "shows the capture, here or elsewhere"))
        } else if failed {
            None
        } else if !from.is_empty() {
            let from = from.iter().map(|path| format!(" --from {}", word(path)));
            let from: String = from.collect();
            let doctor = format!("crosstie doctor{from}");
            Some(with_remark(doctor, "tells what is wrong"))
        } else {
            let doctor = offer.command(CommandVerb::Doctor);
            Some(with_remark(doctor, "tells what is wrong"))
        };
        let as_root = offer.command(CommandVerb::Scan).as_root().to_string();
        Self {
            next,
            // Of captures it is too late.
            as_root: from.is_empty().then_some(as_root),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_of_the_next_command() {
        let offer = CommandContext {
            nodes: vec!["x; rm -rf ~".to_owned()],
            sudo: true,
            ssh_config: Some("my ssh".to_owned()),
            ..CommandContext::default()
        };
        let command = |capture: Option<&str>, from: &[String], failed| {
            let next = ScanHints::new(&offer, capture, from, failed).next?;
            Some(next.split_once("    # ")?.0.to_owned())
        };
        assert_eq!(
            command(None, &[], false).as_deref(),
            Some("crosstie doctor 'x; rm -rf ~' --sudo --ssh-config 'my ssh'")
        );
        assert_eq!(command(None, &[], true), None);
        assert_eq!(command(None, &["README.md".to_owned()], true), None);
        assert_eq!(
            command(Some("$(id).tar.gz"), &[], false).as_deref(),
            Some("crosstie scan --from '$(id).tar.gz'")
        );
        assert_eq!(
            command(None, &["a b".to_owned(), "c".to_owned()], false).as_deref(),
            Some("crosstie doctor --from 'a b' --from c")
        );
    }
}
