//! The YAML frontmatter of a `SKILL.md`: cutting it out, reading it as JSON,
//! and holding it against the Agent Skills format.

use serde_json::{Map, Number, Value};
use serde_yaml::Value as Yaml;

/// Cuts a file into the text between its fences and the body after them.
pub(crate) fn split(bytes: &[u8]) -> Result<(&str, &str), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next().unwrap_or("");
    if opening.trim_end() != "---" {
        return Err("it does not open with a `---` line".to_owned());
    }
    let start = opening.len();
    let mut end = start;
    for line in lines {
        if line.trim_end() == "---" {
            return Ok((&text[start..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    Err("its frontmatter has no closing `---` line".to_owned())
}

/// The frontmatter of a `SKILL.md` as a JSON object, every field as written.
pub(crate) fn read(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let (yaml, _) = split(bytes)?;
    let yaml: Yaml =
        serde_yaml::from_str(yaml).map_err(|error| format!("its YAML does not parse: {error}"))?;
    match json(&yaml)? {
        Value::Object(fields) => Ok(fields),
        _ => Err("its frontmatter is not a mapping".to_owned()),
    }
}

/// Renders YAML as JSON. What JSON cannot carry is refused, because a changed
/// value would no longer be the author's.
fn json(yaml: &Yaml) -> Result<Value, String> {
    Ok(match yaml {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => Value::Bool(*value),
        Yaml::Number(number) => Value::Number(
            if let Some(value) = number.as_u64() {
                Some(Number::from(value))
            } else if let Some(value) = number.as_i64() {
                Some(Number::from(value))
            } else {
                number.as_f64().and_then(Number::from_f64)
            }
            .ok_or_else(|| format!("the number {number} has no JSON form"))?,
        ),
        Yaml::String(value) => Value::String(value.clone()),
        Yaml::Sequence(items) => Value::Array(items.iter().map(json).collect::<Result<_, _>>()?),
        Yaml::Mapping(mapping) => {
            let mut fields = Map::new();
            for (key, value) in mapping {
                let Yaml::String(key) = key else {
                    return Err("a mapping has a key that is not a string".to_owned());
                };
                fields.insert(key.clone(), json(value)?);
            }
            Value::Object(fields)
        }
        Yaml::Tagged(tagged) => return Err(format!("the tag {} has no JSON form", tagged.tag)),
    })
}

/// Holds frontmatter against the Agent Skills format; `directory` is the name
/// of the directory the file lies in.
pub(crate) fn check(fields: &Map<String, Value>, directory: &str) -> Result<(), String> {
    let name = text(fields, "name")?.ok_or("it has no `name`")?;
    check_name(name)?;
    if name != directory {
        return Err(format!(
            "its name `{name}` differs from its directory `{directory}`"
        ));
    }
    let description = text(fields, "description")?.ok_or("it has no `description`")?;
    length("description", description, 1024)?;
    text(fields, "license")?;
    if let Some(compatibility) = text(fields, "compatibility")? {
        length("compatibility", compatibility, 500)?;
    }
    text(fields, "allowed-tools")?;
    match fields.get("metadata") {
        None => Ok(()),
        Some(Value::Object(metadata)) if metadata.values().all(Value::is_string) => Ok(()),
        Some(_) => Err("its `metadata` does not map strings to strings".to_owned()),
    }
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, String> {
    match fields.get(key) {
        None => Ok(None),
        Some(Value::String(value)) => Ok(Some(value)),
        Some(_) => Err(format!("its `{key}` is not a string")),
    }
}

fn length(field: &str, value: &str, limit: usize) -> Result<(), String> {
    let count = value.chars().count();
    if value.trim().is_empty() {
        Err(format!("its `{field}` is empty"))
    } else if count > limit {
        Err(format!(
            "its `{field}` has {count} characters, more than {limit}"
        ))
    } else {
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let well_formed = name.split('-').all(|part| {
        !part.is_empty() && part.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9'))
    });
    if !well_formed {
        Err(format!(
            "its name `{name}` is not made of a-z, 0-9 and single inner hyphens"
        ))
    } else if name.len() > 64 {
        Err("its name has more than 64 characters".to_owned())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(yaml: &str) -> Vec<u8> {
        format!("---\n{yaml}\n---\n# Body\n").into_bytes()
    }

    #[test]
    fn values_keep_their_types() {
        let fields = read(&file(
            "name: a\nx: {i: 7, f: 2.5, b: true, n: null, l: [1, two], s: \"1.0\"}\ny: |\n  one\n  two\nz: yes\no: 017",
        ))
        .unwrap();
        assert_eq!(
            Value::Object(fields),
            json!({"name": "a", "x": {"i": 7, "f": 2.5, "b": true, "n": null, "l": [1, "two"], "s": "1.0"},
                   "y": "one\ntwo\n", "z": "yes", "o": "017"})
        );
    }

    #[test]
    fn what_json_cannot_carry_is_refused() {
        for yaml in ["a: .nan", "a: !x 1", "1: a", "a: [", "- a", "a: 1\na: 2"] {
            assert!(read(&file(yaml)).is_err(), "{yaml}");
        }
        assert!(read(b"# no fence\n").is_err());
        assert!(read(b"---\nname: a\n").is_err());
        assert!(read(b"---\r\nname: a\r\n---\r\n").is_ok());
    }

    #[test]
    fn the_format_is_held_up() {
        let good = json!({"name": "a-1", "description": "d", "metadata": {"v": "1.0"}});
        assert_eq!(check(good.as_object().unwrap(), "a-1"), Ok(()));
        for (bad, directory) in [
            (json!({"name": "a", "description": "d"}), "b"),
            (json!({"name": "a--b", "description": "d"}), "a--b"),
            (json!({"name": "-a", "description": "d"}), "-a"),
            (json!({"name": "A", "description": "d"}), "A"),
            (json!({"name": "a"}), "a"),
            (json!({"name": "a", "description": " "}), "a"),
            (json!({"name": "a", "description": "x".repeat(1025)}), "a"),
            (
                json!({"name": "a", "description": "d", "compatibility": ""}),
                "a",
            ),
            (
                json!({"name": "a", "description": "d", "metadata": {"v": 1}}),
                "a",
            ),
            (
                json!({"name": "a", "description": "d", "allowed-tools": ["x"]}),
                "a",
            ),
        ] {
            assert!(check(bad.as_object().unwrap(), directory).is_err(), "{bad}");
        }
    }
}
