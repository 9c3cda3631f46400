//! What of a node's facts a plan rests on: all of them, but those that are declared [`VOLATILE`].
//!
//! The facts are serialised, what is volatile is taken out, and the rest is digested area by area. So a fact that is added
//! later counts until somebody declares, with a reason, that it does not.

mod volatile;

use crosstie_fabric::management;
use crosstie_model::{Facts, managed::checksum};
use serde_json::{Value, json};

pub use volatile::{VOLATILE, VolatileFact};

/// Lists whose elements have a name, and an area each: a person is told which one changed.
const NAMED_LISTS: [&str; 2] = ["network.interfaces", "rdma"];
/// One area: they are many, and none says much without the others.
const WHOLE: [&str; 1] = ["sysctls"];

/// `area=digest` for each area of the facts: equal as long as the plan would be.
pub fn basis(facts: &Facts) -> String {
    let Ok(mut value) = serde_json::to_value(facts) else {
        // Facts are plain data, and this cannot be. If it is, a plan that is refused is better than one that is not.
        return format!("facts={}", checksum(&format!("{facts:?}")));
    };
    for rule in VOLATILE {
        rule.remove_from(&mut value);
    }
    let mut parts = vec![part("management", &json!(management(facts)))];
    for (key, value) in value.as_object().into_iter().flatten() {
        match value.as_object().filter(|_| !WHOLE.contains(&key.as_str())) {
            Some(fields) => {
                for (field, value) in fields {
                    add(&mut parts, &format!("{key}.{field}"), value);
                }
            }
            None => add(&mut parts, key, value),
        }
    }
    parts.join(" ")
}

fn add(parts: &mut Vec<String>, path: &str, value: &Value) {
    match value.as_array().filter(|_| NAMED_LISTS.contains(&path)) {
        Some(elements) => parts.extend(elements.iter().map(|element| {
            let name = element.get("name").and_then(Value::as_str);
            part(
                &format!("{path}:{}", plain(name.unwrap_or_default())),
                element,
            )
        })),
        None => parts.push(part(path, value)),
    }
}

fn part(area: &str, value: &Value) -> String {
    format!("{area}={}", checksum(&value.to_string()))
}

/// A name may hold what divides the areas.
fn plain(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._:@-".contains(c);
    name.chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect()
}

/// The areas in which two bases differ, in words: `network routes`, `network interfaces eth1`, `rdma mlx5_0`.
pub fn changed(now: &str, then: &str) -> Vec<String> {
    if now == then {
        return Vec::new();
    }
    let (now, then): (Vec<&str>, Vec<&str>) = (areas(now), areas(then));
    let only_in = |one: &[&str], other: &[&str]| -> Vec<String> {
        let parts = one.iter().filter(|part| !other.contains(part));
        parts.map(|part| words(part)).collect()
    };
    let mut found = only_in(&now, &then);
    found.extend(only_in(&then, &now));
    found.sort_unstable();
    found.dedup();
    if found.is_empty() {
        found.push("the order of devices".to_owned());
    }
    found
}

fn areas(basis: &str) -> Vec<&str> {
    basis.split(' ').filter(|part| part.contains('=')).collect()
}

fn words(part: &str) -> String {
    let area = part.split_once('=').map_or(part, |(area, _)| area);
    let (path, name) = area.split_once(':').unwrap_or((area, ""));
    let path = path.replace(['.', '_'], " ");
    format!("{path} {name}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_named() {
        let now = "management=00 network.interfaces:eth0.1=01 network.routes=02 host.boot_id=03";
        assert_eq!(changed(now, now), [""; 0]);
        let then = "management=00 network.interfaces:eth0.1=07 rdma:mlx5_0=04 network.routes=02 host.boot_id=05";
        let expected = ["host boot id", "network interfaces eth0.1", "rdma mlx5_0"];
        assert_eq!(changed(now, then), expected);
        assert_eq!(changed(then, now), expected);
        assert_eq!(changed(now, "of another version").len(), 4);
        assert_eq!(changed("rdma:a=1 rdma:b=1", "rdma:b=1 rdma:a=1").len(), 1);
    }

    #[test]
    fn names_do_not_divide_areas() {
        assert_eq!(plain("eth0.1"), "eth0.1");
        assert_eq!(plain("a=b c\n"), "a_b_c_");
    }
}
