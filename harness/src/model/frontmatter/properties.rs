//! What holds of any frontmatter.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// JSON as YAML in block style, every string in double quotes.
fn emit(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, value) in object {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                out.push_str(&emit_string(key));
                out.push_str(": ");
                emit(value, indent + 2, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                out.push_str("- ");
                emit(item, indent + 2, out);
            }
        }
        Value::String(text) => out.push_str(&emit_string(text)),
        other => out.push_str(&other.to_string()),
    }
}

fn emit_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            c => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    out.push('"');
    out
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Value::from),
        "(yes|no|1\\.0|0x1|~||2026-01-31|[a-z]{1,5})".prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i16>().prop_map(|number| Value::from(f64::from(number) / 16.0)),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            json_object(inner).prop_map(Value::Object),
        ]
    })
}

fn json_object(
    inner: impl Strategy<Value = Value>,
) -> impl Strategy<Value = serde_json::Map<String, Value>> {
    let key = prop_oneof!["[a-z<./~]{1,4}", any::<String>()];
    prop::collection::btree_map(key, inner, 0..5).prop_map(|map| map.into_iter().collect())
}

/// Pointers to all values that hold no others.
fn leaves(value: &Value, pointer: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, value) in object {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(value, &format!("{pointer}/{key}"), out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                leaves(value, &format!("{pointer}/{index}"), out);
            }
        }
        _ => out.push(pointer.to_owned()),
    }
}

/// Another value than this one, at least to one who looks closely.
fn changed(value: &Value, way: usize) -> Value {
    match value {
        Value::Null => [json!(false), json!({}), json!("x"), json!(0)][way % 4].clone(),
        Value::Bool(value) => {
            [json!(!value), json!(u8::from(*value)), json!(null)][way % 3].clone()
        }
        Value::Number(number) => match number.as_f64() {
            Some(float) => [json!(float / 2.0 + 1.5), json!(null), json!(true)][way % 3].clone(),
            None => json!(null),
        },
        Value::String(text) => [
            json!(format!("{text}x")),
            json!(null),
            json!(12),
            json!([text]),
        ][way % 4]
            .clone(),
        Value::Array(_) => [json!(null), json!({}), json!([null])][way % 3].clone(),
        Value::Object(_) => [json!(null), json!([]), json!({"x": 1})][way % 3].clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_faithful_rendering_agrees(object in json_object(json_value())) {
        let entry = Value::Object(object);
        let mut yaml = String::new();
        emit(&entry, 0, &mut yaml);
        let document = read(&yaml);
        prop_assert!(document.is_ok(), "{:?} in {}", document, yaml);
        if let Ok(document) = document {
            prop_assert_eq!(compare(&document, &entry), vec![]);
        }
    }

    #[test]
    fn one_changed_leaf_is_found(
        object in json_object(json_value()),
        which in any::<prop::sample::Index>(),
        way in 0_usize..12,
    ) {
        let entry = Value::Object(object);
        let mut yaml = String::new();
        emit(&entry, 0, &mut yaml);
        let Ok(document) = read(&yaml) else {
            return Err(TestCaseError::fail("unreadable"));
        };
        let mut pointers = Vec::new();
        leaves(&entry, "", &mut pointers);
        let pointer = which.get(&pointers);
        let mut other = entry.clone();
        let Some(leaf) = other.pointer_mut(pointer) else {
            return Err(TestCaseError::fail("no such leaf"));
        };
        let new = changed(leaf, way);
        prop_assume!(new != *leaf && new.as_f64() != leaf.as_f64().or(Some(f64::NAN)));
        *leaf = new;
        let found = compare(&document, &other);
        prop_assert!(found.iter().any(|difference| difference.kind == Kind::Neither), "{:?}", found);
    }

    #[test]
    fn arbitrary_text_is_survived(
        text in prop_oneof![
            any::<String>(),
            "([a-c]|[\\[\\]{}:,&*!|>%@`'\"#?~<.-]|: |- |\n|\n  |\t|\r|0x1|<<: |&a |\\*a){0,400}",
            "[\\[{\\-? \n]{0,4096}",
        ],
        entry in json_value(),
    ) {
        let begin = Instant::now();
        if let Ok(document) = read(&text) {
            let _ = compare(&document, &entry);
            let _ = format!("{:?}", document.root.type_words());
        }
        let _ = block(text.as_bytes(), true);
        let _ = block(format!("---\n{text}").as_bytes(), false);
        prop_assert!(begin.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn plain_scalars_agree_with_themselves(text in "[0-9a-zA-Z_.:+~-]{0,12}") {
        let Ok(document) = read(&format!("k: {text}\n")) else { return Ok(()); };
        if document.get("k").and_then(Node::text) == Some(text.as_str()) {
            let found = compare(&document, &json!({"k": text}));
            prop_assert!(found.iter().all(|difference| difference.kind != Kind::Neither));
        }
    }
}
