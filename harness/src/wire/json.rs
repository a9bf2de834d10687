//! JSON as it was sent: a parse that also reports repeated object keys.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::surrogates;

/// Parses `bytes` as one JSON value.
///
/// Returns the value (the last of repeated keys wins, as in most parsers) and the JSON pointers
/// of every key that an object repeats.
///
/// Halves of surrogate pairs, which the grammar of JSON allows and Unicode does not, are read as U+FFFD.
///
/// # Errors
///
/// Whatever `serde_json` says of malformed input, including nesting deeper than 128.
pub fn parse(bytes: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    parse_strictly(bytes).or_else(|error| match surrogates::replace(bytes) {
        Some(bytes) => parse_strictly(&bytes),
        None => Err(error),
    })
}

fn parse_strictly(bytes: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    let mut keys = Keys::default();
    let value = read(bytes, &mut keys)?;
    if !keys.any_repeated {
        return Ok((value, Vec::new()));
    }
    // Rare enough that following every path can wait until it is needed.
    let mut keys = Keys {
        following: true,
        ..Keys::default()
    };
    let value = read(bytes, &mut keys)?;
    Ok((value, keys.repeated))
}

fn read(bytes: &[u8], keys: &mut Keys) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Node(keys).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Escapes one reference token of a JSON pointer (RFC 6901).
pub fn escape_token(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// A number that is an integer, also when it is spelled `7.0`: JSON does not tell the two apart.
pub fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let float = value.as_f64()?;
        (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
    })
}

/// The JSON type of a value, in words.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a fractional number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A value on one line, cut at about `limit` characters.
pub fn excerpt(value: &Value, limit: usize) -> String {
    let text = value.to_string();
    if text.chars().count() <= limit {
        return text;
    }
    let cut: String = text.chars().take(limit).collect();
    format!("{cut}…")
}

/// What is known of repeated keys while a value is read.
#[derive(Default)]
struct Keys {
    /// Whether `path` is kept, so that `repeated` can be filled.
    following: bool,
    path: String,
    any_repeated: bool,
    repeated: Vec<String>,
}

struct Node<'a>(&'a mut Keys);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let keys = self.0;
        let mut items = Vec::new();
        let length = keys.path.len();
        loop {
            if keys.following {
                keys.path.push_str(&format!("/{}", items.len()));
            }
            let next = seq.next_element_seed(Node(keys))?;
            keys.path.truncate(length);
            match next {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let keys = self.0;
        let mut object = Map::new();
        let length = keys.path.len();
        while let Some(key) = map.next_key::<String>()? {
            if keys.following {
                keys.path.push('/');
                keys.path.push_str(&escape_token(&key));
            }
            let value = map.next_value_seed(Node(keys))?;
            if object.insert(key, value).is_some() {
                keys.any_repeated = true;
                if keys.following {
                    keys.repeated.push(keys.path.clone());
                }
            }
            keys.path.truncate(length);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_are_found_at_any_depth() {
        let (value, repeated) = parse(br#"{"a":[{"x/y":1,"x/y":2}],"b":0,"b":1}"#).unwrap();
        assert_eq!(value, serde_json::json!({"a": [{"x/y": 2}], "b": 1}));
        assert_eq!(repeated, ["/a/0/x~1y", "/b"]);
    }

    #[test]
    fn numbers_keep_their_value() {
        let (value, _) = parse(b"[9007199254740993, -1, 1.5, 18446744073709551615]").unwrap();
        assert_eq!(
            value.to_string(),
            "[9007199254740993,-1,1.5,18446744073709551615]"
        );
    }

    #[test]
    fn half_a_surrogate_pair_is_json() {
        let (value, _) = parse(br#"["skill://\ud800/x", "\udC00", "\ud83d\ude00"]"#).unwrap();
        let wanted = serde_json::json!(["skill://\u{fffd}/x", "\u{fffd}", "\u{1f600}"]);
        assert_eq!(value, wanted);
        assert!(parse(br#"["\ud800"#).is_err());
    }

    #[test]
    fn trailing_bytes_and_depth_are_errors() {
        assert!(parse(b"{} {}").is_err());
        assert!(parse("[".repeat(200).as_bytes()).is_err());
    }
}
