//! The packet filter's rules.

use serde_json::{Map, Value, json};

use super::shape::{ValueShape, word};
use crate::{collect::secret::WITHHELD, raw::ReadGap};

use ValueShape::{Number, Object, Plain};

const CHAIN: ValueShape = Object(&[
    ("family", Plain),
    ("table", Plain),
    ("name", Plain),
    ("type", Plain),
    ("hook", Plain),
    ("prio", Number),
    ("policy", Plain),
]);
const RULE: ValueShape = Object(&[("family", Plain), ("table", Plain), ("chain", Plain)]);
const VERSION: ValueShape = Object(&[("version", Plain), ("json_schema_version", Number)]);

/// Statements that decide about a packet: what they say is kept.
const VERDICTS: [&str; 11] = [
    "match", "vmap", "accept", "drop", "reject", "return", "continue", "jump", "goto", "limit",
    "xt",
];

/// Keys of expressions and verdicts (libnftables-json(5)).
const KEYS: [&str; 48] = [
    "op", "left", "right", "meta", "key", "payload", "protocol", "field", "base", "offset", "len",
    "ct", "dir", "family", "rt", "fib", "result", "flags", "socket", "osf", "ttl", "exthdr",
    "name", "prefix", "addr", "range", "set", "map", "data", "elem", "val", "concat", "&", "|",
    "^", "<<", ">>", "accept", "drop", "return", "continue", "jump", "goto", "target", "type",
    "expr", "rate", "per",
];

const OPERATORS: [&str; 6] = ["==", "!=", "<", ">", "<=", ">="];

/// nft's JSON: chains, and what their rules test and decide. Without comments and the prefixes of log lines, which people
/// write, and without counters, which change.
pub(super) fn reduce(text: &str) -> Result<String, ReadGap> {
    let ruleset: Value = serde_json::from_str(text)
        .map_err(|error| ReadGap::Failed(format!("nft printed no JSON: {error}")))?;
    let items = ruleset.get("nftables").and_then(Value::as_array);
    let items = items.ok_or_else(|| super::refused("nft"))?;
    let kept: Vec<Value> = items.iter().filter_map(item).collect();
    Ok(json!({ "nftables": kept }).to_string())
}

fn item(item: &Value) -> Option<Value> {
    let (kind, value) = item.as_object()?.iter().next()?;
    let kept = match kind.as_str() {
        "metainfo" => VERSION.cut(value)?,
        "chain" => CHAIN.cut(value)?,
        "rule" => {
            let mut rule = RULE.cut(value)?;
            let statements = value.get("expr").and_then(Value::as_array);
            let statements = statements.map(Vec::as_slice).unwrap_or_default();
            rule["expr"] = statements.iter().filter_map(statement).collect();
            rule
        }
        _ => return None,
    };
    Some(json!({ kind: kept }))
}

/// A statement that is left out would make its rule say something else: its name stays, or that there is one.
fn statement(statement: &Value) -> Option<Value> {
    let Some((kind, value)) = statement
        .as_object()
        .and_then(|fields| fields.iter().next())
    else {
        return Some(json!({ WITHHELD: null }));
    };
    match kind.as_str() {
        "counter" => None,
        // Of a limit that has a name, it is the name.
        "limit" if value.is_string() => Some(json!({ "limit": null })),
        kind if VERDICTS.contains(&kind) => Some(json!({ kind: expression(value) })),
        "log" | "mangle" | "queue" | "quota" | "snat" | "dnat" | "masquerade" | "redirect"
        | "dup" | "fwd" | "notrack" | "tproxy" | "set" | "map" | "meter" | "last" | "ct helper"
        | "ct timeout" | "ct expectation" | "ct count" | "synproxy" | "flow" | "secmark" => {
            Some(json!({ kind: null }))
        }
        _ => Some(json!({ WITHHELD: null })),
    }
}

/// `serde_json` bounds the depth at 128.
fn expression(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let listed = fields
                .iter()
                .filter(|(key, _)| KEYS.contains(&key.as_str()));
            let kept = listed.map(|(key, value)| (key.clone(), expression(value)));
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(expression).collect(),
        Value::String(text) if OPERATORS.contains(&text.as_str()) => value.clone(),
        // Sets are called by names that people gave them: `@peers`.
        Value::String(text) if text.starts_with('@') => Value::from("@set"),
        Value::String(text) => Value::from(word(text).unwrap_or(WITHHELD)),
        plain => plain.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_keep_what_they_test_and_decide() {
        let ruleset = json!({ "nftables": [
            { "metainfo": { "version": "1.0.9", "release_name": "x" } },
            { "counter": { "family": "inet", "name": "total", "packets": 1 } },
            { "set": { "family": "inet", "name": "peers", "elem": ["10.0.0.1"] } },
            { "chain": { "family": "inet", "table": "filter", "name": "input", "hook": "input",
                         "policy": "drop", "comment": "call Bob" } },
            { "rule": { "family": "inet", "chain": "input", "comment": "x", "expr": [
                { "match": { "op": "==", "left": { "meta": { "key": "iifname" } }, "right": "lo" } },
                { "counter": { "packets": 7, "bytes": 9 } },
                { "limit": "mine" },
                { "log": { "prefix": "call Bob", "level": "info" } },
                { "new-statement": "call Bob" },
                { "match": { "op": "==", "left": { "meta": { "key": "iifname" } }, "right": "@bobs" } },
                { "accept": null } ] } },
        ] });
        let kept = reduce(&ruleset.to_string()).unwrap();
        let expected = json!({ "nftables": [
            { "metainfo": { "version": "1.0.9" } },
            { "chain": { "family": "inet", "table": "filter", "name": "input", "hook": "input",
                         "policy": "drop" } },
            { "rule": { "family": "inet", "chain": "input", "expr": [
                { "match": { "op": "==", "left": { "meta": { "key": "iifname" } }, "right": "lo" } },
                { "limit": null },
                { "log": null },
                { "withheld": null },
                { "match": { "op": "==", "left": { "meta": { "key": "iifname" } }, "right": "@set" } },
                { "accept": null } ] } },
        ] });
        assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), expected);
        assert_eq!(reduce(&kept).unwrap(), kept);
        assert!(matches!(reduce("Error"), Err(ReadGap::Failed(_))));
        assert!(matches!(reduce("{}"), Err(ReadGap::Failed(_))));
    }
}
