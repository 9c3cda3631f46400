//! The input hook of the packet filter, in the shape of `nft -j list ruleset`.

use crosstie_model::{
    Reading,
    facts::net::{Firewall, InputChain},
};
use serde_json::Value;

use super::string;
use crate::Raw;

/// A ruleset can hold any number of rules; past these, more would not change what a person does.
const MAX_RULES: usize = 2_000;
const MAX_DEPTH: usize = 8;

pub(super) fn firewall(raw: &Raw) -> Reading<Firewall> {
    raw.command("nft.json").and_then(|text| {
        let document: Option<Value> = serde_json::from_str(text).ok();
        match document
            .as_ref()
            .and_then(|document| document.get("nftables")?.as_array())
        {
            Some(items) => Reading::Value(Firewall {
                input: input_chains(items),
            }),
            None => Reading::malformed(text),
        }
    })
}

fn input_chains(items: &[Value]) -> Vec<InputChain> {
    items
        .iter()
        .filter_map(|item| item.get("chain"))
        .filter(|chain| chain.get("hook").and_then(Value::as_str) == Some("input"))
        .filter_map(|chain| {
            let (family, table, name) = (
                string(chain, "family")?,
                string(chain, "table")?,
                string(chain, "name")?,
            );
            let mut rules = Vec::new();
            rules_of(items, &family, &table, &name, 0, &mut rules);
            Some(InputChain {
                policy: string(chain, "policy").unwrap_or_else(|| "accept".to_owned()),
                family,
                table,
                chain: name,
                rules,
            })
        })
        .collect()
}

/// The rules of a chain, each followed by those of the chain it jumps to.
fn rules_of(
    items: &[Value],
    family: &str,
    table: &str,
    chain: &str,
    depth: usize,
    found: &mut Vec<String>,
) {
    let is =
        |rule: &Value, key: &str, value: &str| rule.get(key).and_then(Value::as_str) == Some(value);
    let rules = items
        .iter()
        .filter_map(|item| item.get("rule"))
        .filter(|rule| {
            is(rule, "family", family) && is(rule, "table", table) && is(rule, "chain", chain)
        });
    for rule in rules {
        if found.len() >= MAX_RULES {
            return;
        }
        let expressions = rule.get("expr").unwrap_or(&Value::Null);
        found.push(expressions.to_string());
        let targets = expressions
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|expression| {
                let jump = expression.get("jump").or_else(|| expression.get("goto"))?;
                jump.get("target")?.as_str()
            });
        for target in targets.filter(|_| depth < MAX_DEPTH) {
            rules_of(items, family, table, target, depth + 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn jumps_are_followed_and_loops_end() {
        let rule = |chain: &str, expr: Value| json!({"rule": {"family": "inet", "table": "t", "chain": chain, "expr": expr}});
        let items = [
            json!({"chain": {"family": "inet", "table": "t", "name": "in", "hook": "input", "policy": "drop"}}),
            rule("in", json!([{"jump": {"target": "a"}}])),
            rule("a", json!([{"jump": {"target": "a"}}])),
            rule("a", json!([{"accept": null}])),
        ];
        let chains = input_chains(&items);
        assert_eq!(chains[0].policy, "drop");
        assert!(chains[0].rules.iter().any(|rule| rule.contains("accept")));
        assert!(chains[0].rules.len() <= MAX_RULES);
    }
}
