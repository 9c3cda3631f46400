//! What programs read: every object says its format, and its schema allows nothing that it does not name.

use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

const FORMAT: u32 = 1;

/// An output whose type has no `format` of its own.
#[derive(Debug, Serialize)]
pub struct JsonDocument<'a, T> {
    format: u32,
    #[serde(flatten)]
    content: &'a T,
}

impl<'a, T> JsonDocument<'a, T> {
    pub fn new(content: &'a T) -> Self {
        let format = FORMAT;
        Self { format, content }
    }
}

/// What `--json` prints where a command could not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailureReport {
    /// What went wrong.
    pub error: String,
    /// Why, the nearest cause first.
    pub causes: Vec<String>,
    /// The nodes that failed, where it was some in particular.
    pub nodes: Vec<NodeFailure>,
}

impl FailureReport {
    /// A command line that was not understood, in the words that a person is told.
    pub fn of_usage(text: &str) -> Self {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default();
        Self {
            error: first.trim_start_matches("error: ").to_owned(),
            causes: lines.map(|line| line.trim().to_owned()).collect(),
            nodes: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeFailure {
    pub host: String,
    pub error: String,
}

/// The JSON schema of what is printed instead of any of the others.
pub fn failure_schema() -> Schema {
    document_schema::<FailureReport>()
}

/// The schema of a [`JsonDocument`].
pub fn document_schema<T: JsonSchema>() -> Schema {
    let mut schema = schemars::schema_for!(T);
    if let Some(object) = schema.as_object_mut() {
        let format = json!({"type": "integer", "const": FORMAT});
        property(object, "format", format, true);
    }
    closed(schema)
}

/// The schema of a list, or of an object with a `format` of its own.
pub fn closed_schema<T: JsonSchema>() -> Schema {
    closed(schemars::schema_for!(T))
}

fn closed(mut schema: Schema) -> Schema {
    if let Some(object) = schema.as_object_mut() {
        let named = object.get("$defs").cloned().unwrap_or_default();
        close(object, &named);
    }
    schema
}

/// Adds to an object's schema what its type does not have.
pub(crate) fn property(object: &mut Map<String, Value>, name: &str, schema: Value, required: bool) {
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(name.to_owned(), schema);
    }
    let list = object.entry("required").or_insert_with(|| json!([]));
    if let (Some(list), true) = (list.as_array_mut(), required) {
        list.insert(0, name.into());
    }
}

/// Every object below, and this one, has the properties that are named and no others.
fn close(schema: &mut Map<String, Value>, named: &Value) {
    if schema.contains_key("properties") {
        let own = Own::take(schema);
        if schema.contains_key("oneOf") {
            // A flattened enum: each of its variants is the whole object.
            schema.remove("type");
            for variant in schema["oneOf"].as_array_mut().into_iter().flatten() {
                own.give_to(variant.as_object_mut());
            }
        } else {
            if let Some(Value::String(name)) = schema.remove("$ref") {
                // A tag beside the fields of the type that it tells.
                let name = name.trim_start_matches("#/$defs/");
                Own::take(&mut named[name].as_object().cloned().unwrap_or_default())
                    .give_to(Some(schema));
            }
            own.give_to(Some(schema));
            schema
                .entry("additionalProperties")
                .or_insert(Value::Bool(false));
        }
    }
    for (keyword, value) in schema.iter_mut() {
        match keyword.as_str() {
            // By name, and not by keyword.
            "properties" | "$defs" => {
                let schemas = value.as_object_mut().into_iter().flatten();
                schemas.for_each(|(_, schema)| close_below(schema, named));
            }
            "enum" | "const" | "default" | "required" => {}
            _ => close_below(value, named),
        }
    }
}

fn close_below(value: &mut Value, named: &Value) {
    match value {
        Value::Object(schema) => close(schema, named),
        Value::Array(items) => items.iter_mut().for_each(|item| close_below(item, named)),
        _ => {}
    }
}

/// An object's properties, and which of them are always there.
struct Own {
    properties: Vec<(String, Value)>,
    required: Vec<Value>,
}

impl Own {
    fn take(schema: &mut Map<String, Value>) -> Self {
        let properties = match schema.remove("properties") {
            Some(Value::Object(properties)) => properties.into_iter().collect(),
            _ => Vec::new(),
        };
        let required = match schema.remove("required") {
            Some(Value::Array(required)) => required,
            _ => Vec::new(),
        };
        Self {
            properties,
            required,
        }
    }

    fn give_to(&self, schema: Option<&mut Map<String, Value>>) {
        let Some(schema) = schema else {
            return;
        };
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.extend(self.properties.iter().cloned());
        }
        if self.required.is_empty() {
            return;
        }
        let required = schema.entry("required").or_insert_with(|| json!([]));
        if let Some(required) = required.as_array_mut() {
            required.extend(self.required.iter().cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Inner {
        size: u32,
    }

    #[derive(Serialize, JsonSchema)]
    struct Other {
        weight: u32,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "kebab-case")]
    enum Tagged {
        With(Other),
        Plain { word: String },
    }

    #[derive(Serialize, JsonSchema)]
    struct Outer {
        /// A property that is called like a keyword.
        properties: Option<Inner>,
        #[serde(flatten)]
        inner: Inner,
        #[serde(flatten)]
        tagged: Tagged,
    }

    fn of(tagged: Tagged) -> Outer {
        Outer {
            properties: Some(Inner { size: 2 }),
            inner: Inner { size: 1 },
            tagged,
        }
    }

    #[test]
    fn what_is_printed_is_allowed_and_nothing_else() {
        let schema = document_schema::<Outer>().to_value();
        let mut compiler = boon::Compiler::new();
        compiler
            .add_resource("schema.json", schema.clone())
            .unwrap();
        let mut schemas = boon::Schemas::new();
        let index = compiler.compile("schema.json", &mut schemas).unwrap();
        let is_valid = |value: &Value| schemas.validate(value, index).is_ok();
        let word = "x".to_owned();
        for outer in [
            of(Tagged::Plain { word }),
            of(Tagged::With(Other { weight: 3 })),
        ] {
            let printed = serde_json::to_value(JsonDocument::new(&outer)).unwrap();
            assert!(is_valid(&printed), "{printed:#} {schema:#}");
            let mut more = printed.clone();
            more["node"] = "spark-a".into();
            assert!(!is_valid(&more), "{schema:#}");
            let mut deeper = printed;
            deeper["properties"]["node"] = "spark-a".into();
            assert!(!is_valid(&deeper), "{schema:#}");
        }
    }
}
