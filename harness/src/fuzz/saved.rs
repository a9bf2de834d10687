//! Saved cases: `regressions/FINGERPRINT.yaml`, scenarios with what is expected of the target.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use serde_yaml::Value as Yaml;

use super::finding::severity;
use crate::generate::entry::write_string;
use crate::verdict::Severity;

/// A saved case.
#[derive(Debug, Clone)]
pub struct Saved {
    /// Its name, `verifier/…`, `server/…` or `host/…`.
    pub name: String,
    /// What is wrong with whoever fails.
    pub about: String,
    /// The rule that it is about.
    pub rule: String,
    /// The check that tells more of it, where the file says so.
    pub check: Option<String>,
    /// What is expected: `accept` or `reject`, or whatever its kind of target knows.
    pub expect: String,
    /// The members besides these.
    pub rest: serde_yaml::Mapping,
}

/// Members that every saved case has, or may have.
const KNOWN: [&str; 6] = ["scenario", "about", "exercises", "expect", "seed", "case"];

impl Saved {
    /// Reads a saved case.
    ///
    /// # Errors
    ///
    /// Says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let yaml: Yaml = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        let Yaml::Mapping(mut rest) = yaml else {
            return Err("expected a mapping".into());
        };
        let member = |key: &str| match rest.get(key) {
            Some(Yaml::String(text)) => Ok(text.clone()),
            _ => Err(format!("expected a text in `{key}`")),
        };
        let (name, about) = (member("scenario")?, member("about")?);
        let expect = member("expect").unwrap_or_default();
        let exercised = |place: usize| {
            let text = rest.get("exercises")?.get(place)?.as_str()?;
            Some(text.to_owned())
        };
        let rule = exercised(0).ok_or("expected a rule in `exercises`")?;
        let check = exercised(1);
        for key in KNOWN {
            rest.remove(key);
        }
        Ok(Self {
            name,
            about,
            rule,
            check,
            expect,
            rest,
        })
    }

    /// The side that it is for: `verifier`, `server` or `host`.
    pub fn side(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// What it amounts to when it is answered wrongly. A verifier's rules all bind.
    pub fn severity(&self) -> Severity {
        let check = self.check.as_deref().unwrap_or_default();
        match self.side() {
            "verifier" => Severity::Fail,
            _ => severity(check),
        }
    }

    /// The line that a verifier gets, with the id 0.
    ///
    /// # Errors
    ///
    /// There is no entry, or a file that is neither text nor base64.
    pub fn verifier_line(&self) -> Result<String, String> {
        let mut line = "{\"id\":0,\"entry\":".to_owned();
        json(
            self.rest.get("entry").ok_or("expected an `entry`")?,
            &mut line,
        )?;
        line.push_str(",\"files\":{");
        let files = self
            .rest
            .get("files")
            .and_then(Yaml::as_mapping)
            .ok_or("expected `files`")?;
        for (place, (uri, body)) in files.iter().enumerate() {
            line.push_str(if place > 0 { "," } else { "" });
            write_string(uri.as_str().ok_or("expected URIs in `files`")?, &mut line);
            let text = body
                .get("text")
                .and_then(Yaml::as_str)
                .map(|text| BASE64.encode(text));
            let base64 = || body.get("base64").and_then(Yaml::as_str).map(str::to_owned);
            let body = text
                .or_else(base64)
                .ok_or("expected `text` or `base64` for a file")?;
            line.push(':');
            write_string(&body, &mut line);
        }
        line.push_str("}}");
        Ok(line)
    }
}

/// Writes YAML as JSON, the members of objects in their order.
fn json(yaml: &Yaml, out: &mut String) -> Result<(), String> {
    match yaml {
        Yaml::Mapping(members) => {
            out.push('{');
            for (place, (key, value)) in members.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                write_string(key.as_str().ok_or("expected texts for keys")?, out);
                out.push(':');
                json(value, out)?;
            }
            out.push('}');
        }
        Yaml::Sequence(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                json(item, out)?;
            }
            out.push(']');
        }
        scalar => {
            let value: Value =
                serde_yaml::from_value(scalar.clone()).map_err(|error| error.to_string())?;
            out.push_str(&value.to_string());
        }
    }
    Ok(())
}

/// A text as YAML reads it back: JSON, with everything escaped that YAML treats as a break or
/// does not allow.
pub fn quoted(text: &str) -> String {
    escaped(&Value::from(text).to_string())
}

/// JSON as YAML reads it back.
pub fn escaped(json: &str) -> String {
    let special = |c: char| {
        matches!(
            c,
            '\u{7f}'..='\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        ) || crate::report::text::is_hidden(c)
    };
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let mut units = [0; 2];
        if special(c) && c.len_utf16() == 1 {
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// The saved cases in a directory, by name.
///
/// # Errors
///
/// The directory cannot be read.
pub fn files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let within = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(within)? {
        let path = entry.map_err(within)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_read_back() {
        for text in [
            "a",
            "\u{85}\u{2028}\u{feff}\u{7f}",
            "\"\\\n\t",
            "😀\u{202e}",
            "",
        ] {
            let read: String = serde_yaml::from_str(&quoted(text)).unwrap();
            assert_eq!(read, text);
        }
    }
}
