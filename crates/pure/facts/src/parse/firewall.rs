//! The input hook of the packet filter, in the shape of `nft -j list ruleset`.

use std::collections::HashMap;

use crosstie_model::{
    Reading,
    facts::net::{FirewallFacts, InputChain},
};
use serde_json::Value;

use super::string;
use crate::RawCapture;

/// A ruleset can hold any number of rules; past these, more would not change what a person does.
const MAX_RULES: usize = 2_000;
const MAX_BYTES: usize = 4 << 20;
const MAX_DEPTH: usize = 8;

pub(super) fn firewall(raw: &RawCapture) -> Reading<FirewallFacts> {
    raw.command("nft.json").and_then(|text| {
        let document: Option<Value> = serde_json::from_str(text).ok();
        match document
            .as_ref()
            .and_then(|document| document.get("nftables")?.as_array())
        {
            Some(items) => Reading::Value(FirewallFacts {
                input: input_chains(items),
            }),
            None => Reading::malformed(text),
        }
    })
}

fn input_chains(items: &[Value]) -> Vec<InputChain> {
    let rules = items.iter().filter_map(|item| item.get("rule"));
    let mut by_chain: HashMap<ChainKey, Vec<&Value>> = HashMap::new();
    for rule in rules {
        let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or("");
        let place = (text("family"), text("table"), text("chain"));
        by_chain.entry(place).or_default().push(rule);
    }
    // For all chains together.
    let mut left = (MAX_RULES, MAX_BYTES);
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
            let mut flattened = Flattened {
                by_chain: &by_chain,
                family: &family,
                table: &table,
                rules: Vec::new(),
                left,
            };
            flattened.chain(&name, &[], 0);
            left = flattened.left;
            let rules = flattened.rules;
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

/// Collects the rules of a chain and, after each that jumps, those of the chain it jumps to. A rule that is reached
/// by a jump carries the conditions of the jump before its own, so that each can be judged by itself.
struct Flattened<'a> {
    by_chain: &'a HashMap<ChainKey<'a>, Vec<&'a Value>>,
    family: &'a str,
    table: &'a str,
    rules: Vec<String>,
    /// Rules and bytes that may still be added.
    left: (usize, usize),
}

/// Family, table and chain.
type ChainKey<'a> = (&'a str, &'a str, &'a str);

impl Flattened<'_> {
    fn chain(&mut self, chain: &str, conditions: &[Value], depth: usize) {
        let rules = self.by_chain.get(&(self.family, self.table, chain));
        for rule in rules.into_iter().flatten() {
            if self.left.0 == 0 || self.left.1 == 0 {
                return;
            }
            let own = rule.get("expr").and_then(Value::as_array);
            let own = own.map_or(&[][..], Vec::as_slice);
            let all: Vec<Value> = conditions.iter().chain(own).cloned().collect();
            let (jumps, others): (Vec<Value>, Vec<Value>) = all
                .iter()
                .cloned()
                .partition(|expression| target(expression).is_some());
            let text = Value::Array(all).to_string();
            self.left.0 -= 1;
            self.left.1 = self.left.1.saturating_sub(text.len());
            self.rules.push(text);
            for jump in jumps.iter().filter(|_| depth < MAX_DEPTH) {
                self.chain(target(jump).unwrap_or(""), &others, depth + 1);
            }
        }
    }
}

/// Where a `jump` or `goto` leads.
fn target(expression: &Value) -> Option<&str> {
    let jump = expression.get("jump").or_else(|| expression.get("goto"))?;
    jump.get("target")?.as_str()
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
            rule("in", json!([{"match": 1}, {"jump": {"target": "a"}}])),
            rule("a", json!([{"jump": {"target": "a"}}])),
            rule("a", json!([{"accept": null}])),
        ];
        let chains = input_chains(&items);
        assert_eq!(chains[0].policy, "drop");
        let accept = r#"[{"match":1},{"accept":null}]"#;
        assert!(chains[0].rules.iter().any(|rule| rule == accept));
        assert!(chains[0].rules.len() <= MAX_RULES);
    }
}
