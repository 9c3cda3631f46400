//! What this tool wrote itself, and may be kept whole: its checksum says that nothing was added.

use crosstie_model::managed::{FileOrigin, ManagedBlock, head, origin, plain_begin, plain_head};

use super::engine_settings;
use crate::collect::secret::without_secrets;

/// In place of an addition that stays on the node.
const CHANGED: &str = "# changed by hand\n";

/// The whole of a file that is ours, else what the filter keeps. Of a file that was changed by hand, the mark stays.
pub(in crate::collect) fn or_ours(
    text: &str,
    filter: fn(&str) -> Option<String>,
) -> Option<String> {
    match origin(text) {
        // The checksum is against edits, not against an enemy.
        FileOrigin::Ours if without_secrets(text) == text => Some(text.to_owned()),
        FileOrigin::Foreign => filter(text),
        FileOrigin::Ours | FileOrigin::Edited => {
            let mark = head(text).unwrap_or_default();
            let body = filter(text.strip_prefix(mark).unwrap_or_default()).unwrap_or_default();
            let kept = plain_head(mark) + &without_secrets(&body);
            // What was added may be all that the filter has taken out.
            Some(match origin(&kept) {
                FileOrigin::Ours => kept + CHANGED,
                _ => kept,
            })
        }
    }
}

/// For files that are ours or nobody's business.
pub(crate) fn nothing(_: &str) -> Option<String> {
    None
}

/// Our block alone; its marks alone if it was changed by hand.
pub(in crate::collect) fn block(text: &str) -> Option<String> {
    ManagedBlock::find(text).map(|block| kept(&block, ""))
}

/// Our block, and the settings around it.
pub(in crate::collect) fn nccl_conf(text: &str) -> Option<String> {
    let Some(block) = ManagedBlock::find(text) else {
        return engine_settings(text);
    };
    let settings = |text: &str| engine_settings(text).unwrap_or_default();
    let body = kept(&block, &settings(block.body));
    Some(settings(block.before) + &body + &settings(block.after))
}

fn kept(block: &ManagedBlock, edited: &str) -> String {
    let begin = plain_begin(block.begin);
    // The checksum is against edits, not against an enemy.
    let body = if block.is_intact() && without_secrets(block.body) == block.body {
        block.body
    } else {
        edited
    };
    [&begin, body, block.end].concat()
}

#[cfg(test)]
mod tests {
    use crosstie_model::managed::{BlockPlace, seal, with_block};

    use super::*;

    #[test]
    fn an_addition_that_is_filtered_out_is_still_an_edit() {
        let text = seal("net.ipv4.ip_forward = 1\n");
        let keep = |text: &str| or_ours(text, |text| Some(text.replace("# mine\n", ""))).unwrap();
        assert_eq!(keep(&text), text);
        let edited = keep(&(text.clone() + "# mine\n"));
        assert_eq!(origin(&edited), FileOrigin::Edited);
        assert!(!edited.contains("mine"));
    }

    #[test]
    fn an_edited_file_is_cut_down_like_any_other() {
        let ours = seal("* - memlock unlimited\n");
        let edited = format!("{ours}root hard nofile 5\n* soft memlock 7\n");
        assert_eq!(
            or_ours(&ours, super::super::login_limits),
            Some(ours.clone())
        );
        let kept = or_ours(&edited, super::super::login_limits).unwrap();
        assert!(kept.starts_with("# Written by crosstie, ") && !kept.contains("nofile"));
        assert_eq!(
            or_ours(&kept, super::super::login_limits),
            Some(kept.clone())
        );
        assert_eq!(origin(&kept), FileOrigin::Edited);
    }

    #[test]
    fn of_a_shared_file_only_our_block_leaves_the_node() {
        let text = with_block(
            Some("10.0.0.9 hidden\n"),
            Some("10.0.0.1 a\n"),
            BlockPlace::End,
        );
        let text = text.unwrap() + "10.0.0.8 hidden\n";
        let kept = block(&text).unwrap();
        assert!(kept.contains("10.0.0.1 a") && !kept.contains("hidden"));
        assert_eq!(block(&kept), Some(kept.clone()));
        let edited = text.replace("0.1 a", "0.1 a\nsecret");
        let kept = block(&edited).unwrap();
        assert!(!kept.contains("secret"));
        assert_eq!(block(&kept), Some(kept.clone()));
        assert_eq!(block("10.0.0.9 hidden\n"), None);
    }

    #[test]
    fn settings_around_our_block_are_kept() {
        let text = with_block(
            Some("NCCL_DEBUG=INFO\nTOKEN=x\n"),
            Some("# why\nNCCL_IB_HCA==a\n"),
            BlockPlace::Top,
        );
        let kept = nccl_conf(&text.unwrap()).unwrap();
        assert!(kept.contains("# why") && kept.contains("DEBUG") && !kept.contains("TOKEN"));
        assert_eq!(nccl_conf(&kept), Some(kept.clone()));
    }
}
