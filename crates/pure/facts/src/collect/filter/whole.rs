//! Files that hold one value, or a table of the kernel's.

use std::ops::Range;

use super::{
    keyed,
    word::{is_description, leading},
};

/// As it is. The kernel writes neither comments nor assignments; where such a thing stands, someone else wrote it.
pub(in crate::collect) fn kernel_file(text: &str) -> Option<String> {
    let kept: String = text
        .split_inclusive('\n')
        .map(|line| {
            let kept = leading(line, usize::MAX, is_of_the_kernel);
            let rest = &line[kept.len()..];
            // What is nothing but white space stays as it is.
            if is_assignment_or_heading(line) || is_assignment_or_heading(kept) {
                String::new()
            } else if rest.trim().is_empty() {
                line.to_owned()
            } else if kept.trim().is_empty() {
                String::new()
            } else {
                format!("{kept}\n")
            }
        })
        .collect();
    (text.is_empty() || !kept.is_empty()).then_some(kept)
}

fn is_assignment_or_heading(line: &str) -> bool {
    let words = line.trim();
    words
        .split_once('=')
        .is_some_and(|(start, _)| !start.ends_with("tclass"))
        || (words.starts_with('[') && words.ends_with(']'))
}

/// OFED prints `Global tclass=106`.
fn is_of_the_kernel(word: &str) -> bool {
    is_description(word.strip_prefix("tclass=").unwrap_or(word))
}

/// NVIDIA's `/proc/driver/nvidia/version`, less who built the driver.
pub(in crate::collect) fn nvidia_version(text: &str) -> Option<String> {
    const KEYS: [&str; 2] = ["NVRM version", "GCC version"];
    let kept = keyed(text, ':', &KEYS, |value| {
        leading(value, usize::MAX, is_description)
    })?;
    let lines = kept.lines().map(|line| without_people(line) + "\n");
    Some(lines.collect())
}

/// The line without `(alice@buildbox)`: who built a kernel or a module, and where.
pub(in crate::collect) fn without_people(line: &str) -> String {
    let mut line = line.to_owned();
    // Without one, the line may have another.
    while let Some(builder) = builder(&line) {
        let start = line[..builder.start].trim_end().len();
        line.replace_range(start..builder.end, "");
    }
    line
}

fn builder(line: &str) -> Option<Range<usize>> {
    line.match_indices('(').find_map(|(open, _)| {
        let end = open + line[open..].find([')', ' '])?;
        let is_builder = line[end..].starts_with(')') && line[open..end].contains('@');
        is_builder.then_some(open..end + 1)
    })
}

/// The one word of the first line that is no comment.
pub(in crate::collect) fn first_word(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !super::is_comment(line))?;
    let is_name = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let word = leading(line.trim(), 1, is_name);
    let rest = line.trim()[word.len()..].trim_start();
    let is_alone = rest.is_empty() || rest.starts_with(['#', ';']);
    (!word.is_empty() && is_alone).then(|| format!("{word}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes_stays_byte_for_byte() {
        for text in [
            "",
            "\n",
            "4: ACTIVE\n",
            "32.0 GT/s PCIe",
            "200 Gb/sec (2X NDR)\n",
            "Global tclass=106\n",
            "[default] performance powersave \n",
            "4096\t131072\t6291456\n",
            "Micro-Star International Co., Ltd.\n",
            "NVRM version: NVIDIA UNIX  580.142  (dvs-builder@U22-I3)\nGCC version:  gcc 13.3.0-6ubuntu2~24.04 \n",
        ] {
            assert_eq!(kernel_file(text).as_deref(), Some(text));
        }
        let version = "NVRM version: NVIDIA UNIX  580.142  Release Build  (alice@acme)  Fri\nGCC version:  gcc (Ubuntu 13.3) \n";
        let kept = nvidia_version(version).unwrap();
        assert_eq!(
            kept,
            "NVRM version: NVIDIA UNIX  580.142  Release Build  Fri\nGCC version:  gcc (Ubuntu 13.3)\n"
        );
        assert_eq!(nvidia_version(&kept), Some(kept));
        assert_eq!(without_people("a (b (c@d)) (e@f"), "a (b) (e@f");
        assert_eq!(kernel_file("9000 # mine\n").as_deref(), Some("9000\n"));
        assert_eq!(
            kernel_file("# mine\n9000 x\nA=b").as_deref(),
            Some("9000 x\n")
        );
        assert_eq!(kernel_file("# mine"), None);
    }
}
