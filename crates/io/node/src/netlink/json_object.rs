//! JSON objects, built one key at a time.

use serde_json::{Map, Value};

#[derive(Debug, Default)]
pub(super) struct JsonObject(Map<String, Value>);

impl JsonObject {
    pub(super) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// Puts what is there, and no key for what is not.
    pub(super) fn put_some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }
}

impl From<JsonObject> for Value {
    fn from(object: JsonObject) -> Self {
        Self::Object(object.0)
    }
}
