//! The long form of a check: the same text for `crosstie explain` and for its page in the guide.

use std::fmt::Write;

use crate::{CauseScope, Check};

/// A page of Markdown.
pub fn page(check: &Check) -> String {
    let mut page = format!(
        "# {}\n\n{}.\n\n| severity | scope |\n|---|---|\n| {} | {} |\n",
        check.id,
        check.title,
        check.severity,
        check.scope()
    );
    if let Some(needs) = check.needs() {
        let _ = write!(
            page,
            "\n**The doctor alone cannot tell:** {}.\n",
            needs.words()
        );
    }
    section(&mut page, "What it means", check.meaning);
    section(&mut page, "When it is reported", check.fires);
    let reads: Vec<String> = check
        .reads
        .iter()
        .map(|read| format!("- `{read}`"))
        .collect();
    section(&mut page, "What is read", &reads.join("\n"));
    section(&mut page, "Why it happens", check.cause);
    let causes: Vec<String> = check
        .explained_by
        .iter()
        .map(|by| {
            // Found between nodes, it follows from one of them.
            if by.id == check.id && by.over == CauseScope::Node {
                return format!(
                    "- where it is found between nodes: `{}` of one node alone",
                    by.id
                );
            }
            format!("- `{}`, {}", by.id, by.over.words())
        })
        .collect();
    if !causes.is_empty() {
        section(&mut page, "What may lie behind it", &causes.join("\n"));
    }
    section(&mut page, "How to mend it", check.fix);
    section(&mut page, "How to see that it is mended", check.verify);
    page
}

fn section(page: &mut String, heading: &str, text: &str) {
    // Writing to a String cannot fail.
    let _ = write!(page, "\n## {heading}\n\n{}\n", text.trim());
}
