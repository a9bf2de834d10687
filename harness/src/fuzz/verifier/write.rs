//! A case of a verifier as a scenario file.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use crate::fuzz::Finding;
use crate::fuzz::saved::quoted;
use crate::generate::case::Case;
use crate::generate::entry::{Frontmatter, Resources};

/// The case, and what is right, in the form of a scenario. Members keep their order.
pub(super) fn scenario(case: &Case, finding: &Finding) -> String {
    let mut text = String::new();
    let about = format!("{} ({})", finding.sentence, finding.about);
    let _ = writeln!(text, "scenario: verifier/{}", finding.fingerprint());
    let _ = writeln!(text, "about: {}", quoted(&about));
    let _ = writeln!(text, "expect: {}", case.expected.name());
    let _ = writeln!(text, "exercises: {}", finding.exercises());
    text.push_str("entry:");
    let mut entry = String::new();
    if let Some(uri) = &case.entry.uri {
        let _ = writeln!(entry, "  uri: {}", value(uri));
    }
    match &case.entry.frontmatter {
        Frontmatter::Other(None) => {}
        Frontmatter::Other(Some(other)) => {
            let _ = writeln!(entry, "  frontmatter: {}", value(other));
        }
        Frontmatter::Fields(fields) if fields.is_empty() => entry.push_str("  frontmatter: {}\n"),
        Frontmatter::Fields(fields) => {
            entry.push_str("  frontmatter:\n");
            for (key, field) in fields {
                let _ = writeln!(entry, "    {}: {}", quoted(key), value(field));
            }
        }
    }
    match &case.entry.resources {
        Resources::Other(None) => {}
        Resources::Other(Some(other)) => {
            let _ = writeln!(entry, "  resources: {}", value(other));
        }
        Resources::Files(files) if files.is_empty() => entry.push_str("  resources: []\n"),
        Resources::Files(files) => {
            entry.push_str("  resources:\n");
            for file in files {
                let _ = writeln!(entry, "    - uri: {}", quoted(&file.uri));
                for (key, member) in [("digest", &file.digest), ("size", &file.size)] {
                    if let Some(member) = member {
                        let _ = writeln!(entry, "      {key}: {}", value(member));
                    }
                }
            }
        }
    }
    text.push_str(if entry.is_empty() { " {}\n" } else { "\n" });
    text.push_str(&entry);
    text.push_str("files:\n");
    for (uri, bytes) in &case.files {
        let body = match std::str::from_utf8(bytes) {
            Ok(body) => format!("{{ text: {} }}", quoted(body)),
            Err(_) => format!("{{ base64: {} }}", quoted(&BASE64.encode(bytes))),
        };
        let _ = writeln!(text, "  {}: {body}", quoted(uri));
    }
    text
}

/// A value as YAML; JSON is YAML where nothing in it is special to YAML.
fn value(value: &Value) -> String {
    crate::fuzz::saved::escaped(&value.to_string())
}
