//! YAML as JSON values, bounded.

use serde_json::Value;

/// Text that no YAML parser takes, recorded in place of a file that none took.
pub(super) const BROKEN: &str = "{broken: [\n";

/// Longest netplan file that makes sense; beyond it, parsing is a waste of someone's memory.
const LONGEST: usize = 1 << 20;

pub(super) fn parse(text: &str) -> Result<Value, String> {
    if text.len() > LONGEST {
        return Err("longer than 1 MiB".to_owned());
    }
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let message = error.to_string();
        message.lines().next().unwrap_or("not YAML").to_owned()
    })
}
