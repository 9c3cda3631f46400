//! The packet filter's rules.

use serde_json::Value;

use crate::raw::Gap;

/// nft's JSON without comments, which people write, and counters, which change.
pub(super) fn reduce(text: &str) -> Result<String, Gap> {
    let mut ruleset: Value = serde_json::from_str(text)
        .map_err(|error| Gap::Failed(format!("nft printed no JSON: {error}")))?;
    strip(&mut ruleset);
    Ok(ruleset.to_string())
}

/// `serde_json` bounds the depth at 128.
fn strip(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("comment");
            object.values_mut().for_each(strip);
        }
        Value::Array(array) => {
            let is_counter = |value: &Value| {
                value
                    .as_object()
                    .is_some_and(|object| object.len() == 1 && object.contains_key("counter"))
            };
            array.retain(|value| !is_counter(value));
            array.iter_mut().for_each(strip);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_lose_comments_and_counters() {
        let ruleset = json!({ "nftables": [
            { "metainfo": { "version": "1.0.9" } },
            { "counter": { "family": "inet", "name": "total", "packets": 1 } },
            { "chain": { "family": "inet", "table": "filter", "name": "input", "hook": "input",
                         "policy": "drop", "comment": "call Bob" } },
            { "rule": { "family": "inet", "chain": "input", "comment": "x", "expr": [
                { "match": { "op": "==", "left": { "meta": { "key": "iifname" } }, "right": "lo" } },
                { "counter": { "packets": 7, "bytes": 9 } },
                { "accept": null } ] } },
        ] });
        let kept: Value = serde_json::from_str(&reduce(&ruleset.to_string()).unwrap()).unwrap();
        let list = kept["nftables"].as_array().unwrap();
        assert_eq!(list.len(), 3);
        assert_eq!(list[2]["rule"]["expr"].as_array().unwrap().len(), 2);
        let printed = kept.to_string();
        assert!(
            !printed.contains("comment") && !printed.contains("counter"),
            "{printed}"
        );
        assert!(matches!(reduce("Error"), Err(Gap::Failed(_))));
    }
}
