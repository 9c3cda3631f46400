//! The part of a JSON document that is kept, by the shape it should have.

use serde_json::{Map, Value};

use crate::collect::{filter::is_plain, secret::holds_token};

/// What may stand at one place. Anything else that stands there is left out.
pub(super) enum ValueShape {
    /// A word, a number or a switch.
    Plain,
    /// A word in capitals.
    Flag,
    Number,
    /// On or off.
    Switch,
    List(&'static ValueShape),
    /// The keys that are kept.
    Object(&'static [(&'static str, ValueShape)]),
    /// Any number of values of one shape, by names in small letters and digits.
    Named(&'static ValueShape),
    /// The first that fits.
    Either(&'static [ValueShape]),
}

/// Longest word kept, in bytes; an interface's alternative name has 127.
const MAX_WORD_BYTES: usize = 128;

impl ValueShape {
    pub(super) fn cut(&self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Self::Plain | Self::Number, Value::Number(_)) | (Self::Plain, Value::Bool(_)) => {
                Some(value.clone())
            }
            (Self::Switch, Value::Bool(_)) => Some(value.clone()),
            (Self::Switch, Value::String(text)) => {
                matches!(text.as_str(), "on" | "off").then(|| value.clone())
            }
            (Self::Plain, Value::String(text)) => word(text).map(Value::from),
            (Self::Flag, Value::String(text)) => {
                let is_flag = |byte: u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-');
                text.bytes().all(is_flag).then(|| value.clone())
            }
            (Self::List(shape), Value::Array(items)) => {
                Some(items.iter().filter_map(|item| shape.cut(item)).collect())
            }
            (Self::Object(shapes), Value::Object(fields)) => {
                let kept = shapes.iter().filter_map(|(key, shape)| {
                    let value = shape.cut(fields.get(*key)?)?;
                    Some(((*key).to_owned(), value))
                });
                Some(Value::Object(kept.collect::<Map<_, _>>()))
            }
            (Self::Named(shape), Value::Object(fields)) => {
                let is_name =
                    |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
                let fields = fields.iter();
                let listed = fields.filter(|(name, _)| name.bytes().all(is_name));
                let kept =
                    listed.filter_map(|(name, value)| Some((name.clone(), shape.cut(value)?)));
                Some(Value::Object(kept.collect::<Map<_, _>>()))
            }
            (Self::Either(shapes), value) => shapes.iter().find_map(|shape| shape.cut(value)),
            _ => None,
        }
    }
}

/// The first word of a text, if there is nothing in it that does not belong there.
pub(super) fn word(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next().unwrap_or("");
    (word.len() <= MAX_WORD_BYTES && is_plain(word) && !holds_token(word)).then_some(word)
}
