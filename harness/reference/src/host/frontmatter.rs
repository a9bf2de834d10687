//! Comparing the frontmatter of an entry with that of its SKILL.md.
//!
//! YAML 1.1 and YAML 1.2 read some plain scalars differently. A value agrees
//! when it is what either of them reads.

use serde_json::{Map, Value};

use super::entry::{Entry, Source};
use super::faults::Switch;
use crate::frontmatter;

/// Says in what the frontmatter of the file differs from that of the entry.
pub(super) fn compare(bytes: &[u8], entry: &Entry, fault: Switch) -> Result<(), String> {
    if entry.source == Source::Nowhere
        || entry.source == Source::Get && fault.on("host-frontmatter-comparison/get")
        || entry.is_dynamic() && fault.on("host-frontmatter-comparison/dynamic")
    {
        return Ok(());
    }
    let file = match frontmatter::read(bytes) {
        Ok(file) => file,
        Err(_) if fault.on("host-frontmatter-comparison/unreadable") => return Ok(()),
        Err(reason) => return Err(format!("SKILL.md: {reason}")),
    };
    let (yaml, _) = frontmatter::split(bytes)?;
    let reading = Reading { yaml, fault };
    let skip = |key: &str| {
        fault.on("host-frontmatter-comparison") && key != "name"
            || fault.on("host-frontmatter-comparison/value")
                && !matches!(key, "name" | "description")
    };
    for (key, listed) in &entry.frontmatter {
        let Some(written) = file.get(key) else {
            if skip(key) || fault.on("host-frontmatter-comparison/missing") {
                continue;
            }
            return Err(format!("the entry's field `{key}` is not in SKILL.md"));
        };
        let unseen = fault.on("host-frontmatter-comparison/nested") && key == "metadata";
        if !skip(key) && !unseen && !reading.same(written, listed) {
            return Err(format!(
                "the field `{key}` of SKILL.md is not what the entry says"
            ));
        }
    }
    let extra = file
        .keys()
        .find(|key| !entry.frontmatter.contains_key(*key) && !skip(key));
    match extra {
        Some(key) if !fault.on("host-frontmatter-comparison/extra") => {
            Err(format!("the field `{key}` of SKILL.md is not in the entry"))
        }
        _ => Ok(()),
    }
}

struct Reading<'a> {
    yaml: &'a str,
    fault: Switch,
}

impl Reading<'_> {
    fn same(&self, written: &Value, listed: &Value) -> bool {
        match (written, listed) {
            (Value::Object(written), Value::Object(listed)) => self.same_objects(written, listed),
            (Value::Array(written), Value::Array(listed)) => {
                written.len() == listed.len()
                    && written
                        .iter()
                        .zip(listed)
                        .all(|(written, listed)| self.same(written, listed))
            }
            (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => {
                false
            }
            (written, listed) if self.fault.on("host-frontmatter-comparison/retyped") => {
                as_text(written) == as_text(listed)
            }
            (Value::Number(written), Value::Number(listed)) => {
                written == listed || written.as_f64() == listed.as_f64()
            }
            (Value::String(written), Value::String(listed))
                if self.fault.on("host-frontmatter-comparison/case") =>
            {
                written.eq_ignore_ascii_case(listed)
            }
            (Value::String(written), listed) => {
                listed.as_str() == Some(written)
                    || !self.quoted(written) && read_1_1(written, listed)
            }
            (Value::Number(written), Value::String(listed)) => {
                !self.quoted(listed)
                    && only_1_2(listed).is_some_and(|value| written.as_f64() == Some(value))
            }
            (written, listed) => written == listed,
        }
    }

    fn same_objects(&self, written: &Map<String, Value>, listed: &Map<String, Value>) -> bool {
        written.len() == listed.len()
            && written.iter().all(|(key, written)| {
                listed
                    .get(key)
                    .is_some_and(|listed| self.same(written, listed))
            })
    }

    /// Whether the scalar stands in quotes anywhere, so that it is text in
    /// every version of YAML.
    fn quoted(&self, scalar: &str) -> bool {
        self.yaml.contains(&format!("\"{scalar}\"")) || self.yaml.contains(&format!("'{scalar}'"))
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether YAML 1.1 reads the plain scalar, which is text in YAML 1.2, as the value.
fn read_1_1(scalar: &str, value: &Value) -> bool {
    match value {
        Value::Bool(value) => match scalar.to_ascii_lowercase().as_str() {
            "yes" | "on" | "y" => *value,
            "no" | "off" | "n" => !*value,
            _ => false,
        },
        Value::Number(number) => number_1_1(scalar) == number.as_f64(),
        Value::String(text) => is_date(scalar) && same_instant(scalar, text),
        _ => false,
    }
}

fn number_1_1(scalar: &str) -> Option<f64> {
    let plain = scalar.replace('_', "");
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    if !digits.starts_with(|character: char| character.is_ascii_digit()) {
        return None;
    }
    let whole = |digits: &str, radix| i64::from_str_radix(digits, radix).ok();
    let value = if let Some(binary) = digits.strip_prefix("0b") {
        whole(binary, 2)? as f64
    } else if let Some(hex) = digits.strip_prefix("0x") {
        whole(hex, 16)? as f64
    } else if digits.contains(':') {
        let mut value = 0.0;
        for part in digits.split(':') {
            value = value * 60.0 + part.parse::<f64>().ok()?;
        }
        value
    } else if digits.len() > 1
        && digits.starts_with('0')
        && digits.bytes().all(|b| b.is_ascii_digit())
    {
        whole(digits, 8)? as f64
    } else {
        digits.parse().ok()?
    };
    Some(sign * value)
}

/// The number that YAML 1.2 alone reads in a plain scalar.
fn only_1_2(scalar: &str) -> Option<f64> {
    if let Some(octal) = scalar.strip_prefix("0o") {
        return i64::from_str_radix(octal, 8).ok().map(|value| value as f64);
    }
    let exponent = scalar.contains(['e', 'E']) && !scalar.contains('.');
    exponent.then(|| scalar.parse().ok()).flatten()
}

fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 8
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || b"-:+.TtZz ".contains(&b))
}

/// Whether two spellings of a date, with or without a time, say the same.
fn same_instant(left: &str, right: &str) -> bool {
    fn canonical(text: &str) -> String {
        let text = text.to_ascii_uppercase().replacen(' ', "T", 1);
        let text = text
            .strip_suffix('Z')
            .or_else(|| text.strip_suffix("+00:00"))
            .unwrap_or(&text)
            .to_owned();
        let text = match text.split_once('.') {
            Some((whole, fraction)) if fraction.bytes().all(|b| b == b'0') => whole.to_owned(),
            _ => text,
        };
        text.strip_suffix("T00:00:00")
            .map(str::to_owned)
            .unwrap_or(text)
    }
    is_date(right) && canonical(left) == canonical(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn agrees(yaml: &str, listed: Value) -> bool {
        let bytes = format!("---\nname: a\ndescription: d\n{yaml}\n---\n").into_bytes();
        let entry = json!({"uri": "skill://a/SKILL.md", "resources": "dynamic",
            "frontmatter": {"name": "a", "description": "d", "x": listed}});
        let fault = Switch::new(None).unwrap();
        let entry = Entry::read(&entry, Source::List, fault).unwrap();
        compare(&bytes, &entry, fault).is_ok()
    }

    #[test]
    fn honest_renderings_agree() {
        for (yaml, listed) in [
            ("x: 1", json!(1.0)),
            ("x: {b: 1, a: [t, null]}", json!({"a": ["t", null], "b": 1})),
            ("x: yes", json!(true)),
            ("x: yes", json!("yes")),
            ("x: 017", json!(15)),
            ("x: 0o17", json!("0o17")),
            ("x: 0o17", json!(15)),
            ("x: 1_000", json!(1000)),
            ("x: 1:30", json!(90)),
            ("x: 2026-01-02", json!("2026-01-02T00:00:00.000Z")),
            ("x: 2026-01-02", json!("2026-01-02")),
        ] {
            assert!(agrees(yaml, listed.clone()), "{yaml} {listed}");
        }
    }

    #[test]
    fn differences_are_found() {
        for (yaml, listed) in [
            ("x: \"1.0\"", json!(1.0)),
            ("x: 1.0", json!("1.0")),
            ("x: \"yes\"", json!(true)),
            ("x: no", json!(true)),
            ("x: null", json!("")),
            ("y: 1", json!(null)),
            ("x: {a: 1}", json!({"a": 2})),
            ("x: {a: 1}", json!({"a": 1, "b": 2})),
            ("x: [1]", json!(["1"])),
            ("x: 2026-01-02", json!("2026-01-03")),
        ] {
            assert!(!agrees(yaml, listed.clone()), "{yaml} {listed}");
        }
    }
}
