//! Where each node is, while a person waits.

use std::time::Duration;

use crate::up::TerminalSize;

/// Nodes that are listed at most; the others are counted.
const MAX_LINES: usize = 16;

/// `doing` is in words, and `None` once a node is done.
pub fn lines(
    nodes: &[String],
    doing: &[Option<String>],
    elapsed: Duration,
    size: TerminalSize,
) -> Vec<String> {
    let most = size.lines.saturating_sub(2).clamp(1, MAX_LINES);
    let done = doing.iter().filter(|doing| doing.is_none()).count();
    let mut lines = vec![format!(
        "{done} of {} done, {} s",
        nodes.len(),
        elapsed.as_secs()
    )];
    let open: Vec<_> = nodes
        .iter()
        .zip(doing)
        .filter_map(|(node, doing)| Some((node, doing.as_ref()?)))
        .collect();
    let width = open
        .iter()
        .take(most)
        .map(|(node, _)| node.chars().count())
        .max();
    let width = width.unwrap_or(0).min(40);
    for (node, doing) in open.iter().take(most) {
        let node: String = node.chars().take(40).collect();
        lines.push(format!("  {node:<width$}  {doing}"));
    }
    if open.len() > most {
        lines.push(format!("  and {} more", open.len() - most));
    }
    let cut = |line: String| line.chars().take(size.columns).collect();
    lines.into_iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_nodes_are_listed_and_many_are_counted() {
        let nodes: Vec<String> = (0..20).map(|index| format!("spark-{index}")).collect();
        let mut doing = vec![Some("connecting".to_owned()); 20];
        doing[0] = None;
        doing[2] = Some("reading".to_owned());
        let size = |columns, lines| TerminalSize { columns, lines };
        let elapsed = Duration::from_secs(3);
        let listed = lines(&nodes, &doing, elapsed, size(79, 24));
        assert_eq!(listed[0], "1 of 20 done, 3 s");
        assert_eq!(listed[1], "  spark-1   connecting");
        assert_eq!(listed[2], "  spark-2   reading");
        assert_eq!(listed.last().unwrap(), "  and 3 more");
        assert_eq!(listed.len(), 18);
        let none = lines(&nodes[..1], &doing[..1], elapsed, size(79, 24));
        assert_eq!(none.len(), 1);
        let small = lines(&nodes, &doing, elapsed, size(16, 6));
        assert_eq!(small.len(), 6);
        assert!(small.iter().all(|line| line.chars().count() <= 16));
    }
}
