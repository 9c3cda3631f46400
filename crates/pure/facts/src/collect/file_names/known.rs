//! Names of files that programs give, and ours in place of those that people do.

use std::{collections::BTreeSet, ops::Bound};

use crate::renderer;

/// Whole names that programs give, besides those that configure interfaces.
const WHOLE: [&str; 2] = [
    // procps: a link to /etc/sysctl.conf
    "99-sysctl.conf",
    // kmod: a link to /etc/modules
    "modules.conf",
];

/// In place of a name.
const PLACEHOLDER: &str = "file";
/// Where that would change the order in which files are read.
const BEFORE: &str = "a-";
const AFTER: &str = "z-";

/// How the names of files begin that others are compared with, whether they are there or not: what is read before ours does
/// another thing than what is read after them.
const OURS: [&str; 2] = ["05-crosstie-", "90-crosstie"];

/// Endings that tell which program reads a file, and nothing else; besides, those of whoever configures interfaces.
const ENDINGS: [&str; 2] = ["conf", "sh"];

pub(super) fn is_program_name(name: &str) -> bool {
    // A number alone says nothing.
    let is_told_by_number = is_number(split_ending(name).0);
    let is_renderers = || renderer::ALL.iter().any(|one| one.is_given(name));
    WHOLE.contains(&name) || is_told_by_number || is_renderers()
}

pub(super) fn is_placeholder(name: &str) -> bool {
    number(name).is_some()
}

/// The number of a placeholder: `50-file1.yaml`, `z-file02.conf`.
pub(super) fn number(name: &str) -> Option<usize> {
    let (stem, _) = split_ending(name);
    let (_, rest) = ordered(stem);
    let rest = [BEFORE, AFTER]
        .iter()
        .find_map(|first| rest.strip_prefix(first))
        .unwrap_or(rest);
    let number = rest.strip_prefix(PLACEHOLDER)?;
    number.parse().ok().filter(|_| is_number(number))
}

/// `50-somewhere.yaml` → `50-file1.yaml`: in the place that the name had among those that stay, and among all that are
/// numbered.
pub(super) fn placeholder(
    name: &str,
    number: usize,
    count: usize,
    stay: &BTreeSet<&str>,
) -> String {
    let (stem, ending) = split_ending(name);
    let (order, _) = ordered(stem);
    let ending = if ending.is_empty() {
        ""
    } else {
        &name[stem.len()..]
    };
    let width = count.to_string().len();
    let made = ["", BEFORE, AFTER]
        .map(|first| format!("{order}{first}{PLACEHOLDER}{number:0width$}{ending}"));
    let found = made.iter().find(|made| {
        last_before(stay, made) == last_before(stay, name)
            && fences().all(|fence| (made.as_str() < fence) == (name < fence))
    });
    found.unwrap_or(&made[0]).clone()
}

fn fences() -> impl Iterator<Item = &'static str> {
    OURS.into_iter().chain(renderer::made_prefixes())
}

fn last_before<'a>(names: &BTreeSet<&'a str>, name: &str) -> Option<&'a str> {
    let range = (Bound::Unbounded, Bound::Excluded(name));
    names.range::<str, _>(range).next_back().copied()
}

/// What is before a known ending, and that.
pub(crate) fn split_ending(name: &str) -> (&str, &str) {
    let mut endings = ENDINGS
        .iter()
        .chain(renderer::ALL.iter().flat_map(|one| one.endings()));
    match name.rsplit_once('.') {
        Some((stem, ending)) if endings.any(|known| *known == ending) => (stem, ending),
        _ => (name, ""),
    }
}

/// The number by which files are ordered, with what follows it, and the rest. That a generator made a file is told by how its
/// name begins.
fn ordered(stem: &str) -> (&str, &str) {
    if let Some(made) = renderer::made_prefixes().find(|made| stem.starts_with(made)) {
        return stem.split_at(made.len());
    }
    let digits = stem.bytes().take_while(u8::is_ascii_digit).count();
    let is_separated = digits > 0 && stem[digits..].starts_with(['-', '_']);
    stem.split_at(digits + usize::from(is_separated))
}

pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(crate) fn is_uuid(text: &str) -> bool {
    let is_hexadecimal = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.split('-').all(is_hexadecimal)
}
