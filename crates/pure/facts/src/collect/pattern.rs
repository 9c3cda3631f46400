//! One component of a rule's path: a name, a glob, or alternatives of both: `{address,mtu}`, `uverbs*`.

use crosstie_model::glob_matches;

/// Writes out alternatives that are more or less than a component: `{etc,usr/lib}/netplan` and `{system,user}.conf` are
/// two paths each.
pub(super) fn expand(path: String) -> Vec<String> {
    let group = path.match_indices('{').find_map(|(open, _)| {
        let close = open + path[open..].find('}')?;
        let (before, after) = (&path[..open], &path[close + 1..]);
        let is_component = (before.is_empty() || before.ends_with('/'))
            && (after.is_empty() || after.starts_with('/'));
        (path[open..close].contains('/') || !is_component).then_some((open, close))
    });
    let Some((open, close)) = group else {
        return vec![path];
    };
    path[open + 1..close]
        .split(',')
        .flat_map(|part| expand(format!("{}{part}{}", &path[..open], &path[close + 1..])))
        .collect()
}

/// Names or globs of which one must match.
pub(super) struct PathComponent<'a> {
    alternatives: Vec<&'a str>,
}

impl<'a> PathComponent<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let inner = text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        let alternatives = inner.map_or_else(|| vec![text], |inner| inner.split(',').collect());
        Self { alternatives }
    }

    /// The names themselves, if no directory has to be listed to know them.
    pub(super) fn literals(&self) -> Option<&[&'a str]> {
        let literal = !self.alternatives.iter().any(|part| part.contains('*'));
        literal.then_some(&self.alternatives)
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        self.alternatives
            .iter()
            .any(|glob| glob_matches(glob, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_across_components_are_written_out() {
        let paths = expand("{etc,usr/lib}/x/{a,b}".to_owned());
        assert_eq!(paths, ["etc/x/{a,b}", "usr/lib/x/{a,b}"]);
        let paths = expand("etc/{a,b}.conf.d/{c,d*}".to_owned());
        assert_eq!(paths, ["etc/a.conf.d/{c,d*}", "etc/b.conf.d/{c,d*}"]);
    }

    #[test]
    fn alternatives_without_a_star_need_no_listing() {
        assert_eq!(
            PathComponent::new("{a,b}").literals(),
            Some(&["a", "b"][..])
        );
        assert!(PathComponent::new("{a,b*}").literals().is_none());
        assert!(PathComponent::new("{a,b*}").matches("bcd"));
    }
}
