//! SKILL.md as it is served: frontmatter and field rules. Section "Skill Format", and the Agent
//! Skills format that it delegates to.

use super::Check;
use super::evidence::{Evidence, NoFrontmatter, Skillmd};
use crate::model::format;
use crate::model::frontmatter::{Document, Node};
use crate::verdict::Judgement;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server(FRONTMATTER, opens_with_frontmatter),
    Check::server("sep-2640-skillmd-frontmatter-undisputed", undisputed),
    Check::server("sep-2640-skillmd-frontmatter-unique-keys", unique_keys),
    Check::server("sep-2640-format-name-required", |trace| {
        required(trace, "name")
    })
    .after(&[FRONTMATTER]),
    Check::server("sep-2640-format-description-required", |trace| {
        required(trace, "description")
    })
    .after(&[FRONTMATTER]),
    Check::server("sep-2640-format-description-length", description_length),
    Check::server("sep-2640-format-compatibility-length", compatibility_length),
    Check::server("sep-2640-format-metadata-strings", metadata_strings),
    Check::server("sep-2640-format-allowed-tools-string", allowed_tools),
    Check::server("sep-2640-metadata-reserved-prefix", reserved_prefix),
];

const FRONTMATTER: &str = "sep-2640-skillmd-frontmatter";

/// The file opens with a frontmatter block that parses as a mapping.
fn opens_with_frontmatter(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for skillmd in trace.skillmds() {
        match &skillmd.frontmatter {
            Ok(document) if document.root.pairs().is_some() => judgement.holds(),
            Ok(document) => judgement.violated(
                skillmd.at.clone(),
                skillmd.uri,
                "a YAML mapping between `---` lines",
                document.root.type_words(),
            ),
            Err(NoFrontmatter::Faulty(why)) => {
                judgement.violated(
                    skillmd.at.clone(),
                    skillmd.uri,
                    "YAML frontmatter between `---` lines",
                    why,
                );
            }
            Err(NoFrontmatter::Unknown(_)) => {}
        }
    }
    judgement
}

/// The frontmatter can be read here too: what cannot is not judged any further.
fn undisputed(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for skillmd in trace.skillmds() {
        match &skillmd.frontmatter {
            Ok(_) => judgement.holds(),
            // Judged by `sep-2640-skillmd-frontmatter`.
            Err(NoFrontmatter::Faulty(_)) => {}
            Err(NoFrontmatter::Unknown(why)) => judgement.violated(
                skillmd.at.clone(),
                skillmd.uri,
                "frontmatter that every YAML reader takes; this one is not judged any further",
                why,
            ),
        }
    }
    judgement
}

/// No mapping of the frontmatter has a key twice.
fn unique_keys(trace: &Evidence<'_>) -> Judgement {
    field(trace, |document, _| {
        Some(match document.duplicate_keys.as_slice() {
            [] => Ok(()),
            keys => Err((
                "each key once in a mapping".into(),
                format!("again: {}", keys.join(", ")),
            )),
        })
    })
}

/// Judges one field of every frontmatter; `None` counts for nothing.
fn field(
    trace: &Evidence<'_>,
    judge: impl Fn(&Document, &Skillmd<'_>) -> Option<Result<(), (String, String)>>,
) -> Judgement {
    let mut judgement = Judgement::new();
    for skillmd in trace.skillmds() {
        let Ok(document) = &skillmd.frontmatter else {
            continue;
        };
        match judge(document, skillmd) {
            None => {}
            Some(Ok(())) => judgement.holds(),
            Some(Err((expected, actual))) => {
                judgement.violated(skillmd.at.clone(), skillmd.uri, expected, actual);
            }
        }
    }
    judgement
}

/// The field is there, as a scalar.
fn required(trace: &Evidence<'_>, name: &str) -> Judgement {
    field(trace, |document, _| {
        Some(match document.get(name) {
            Some(node) if node.text().is_some() => Ok(()),
            other => Err((
                format!("a string `{name}` in the frontmatter"),
                other.map_or_else(|| "absent".to_owned(), |node| node.type_words().to_string()),
            )),
        })
    })
}

/// 1 to 1024 characters, not all of them blank.
fn description_length(trace: &Evidence<'_>) -> Judgement {
    field(trace, |document, _| {
        let text = document.get("description")?.text()?;
        Some(length(text, format::DESCRIPTION_MAX))
    })
}

/// 1 to 500 characters.
fn compatibility_length(trace: &Evidence<'_>) -> Judgement {
    field(trace, |document, _| {
        let node = document.get("compatibility")?;
        Some(match node.text() {
            Some(text) => length(text, format::COMPATIBILITY_MAX),
            None => Err(("one string".into(), node.type_words().to_string())),
        })
    })
}

fn length(text: &str, most: usize) -> Result<(), (String, String)> {
    let count = text.chars().count();
    if count <= most && !text.trim().is_empty() {
        return Ok(());
    }
    let actual = if text.trim().is_empty() {
        "blank".to_owned()
    } else {
        format!("{count} characters")
    };
    Err((format!("1 to {most} characters"), actual))
}

/// Metadata values are strings.
fn metadata_strings(trace: &Evidence<'_>) -> Judgement {
    field(trace, |document, _| {
        let metadata = document.get("metadata")?;
        let Some(pairs) = metadata.pairs() else {
            return Some(Err((
                "a mapping of strings to strings".into(),
                metadata.type_words().to_string(),
            )));
        };
        let odd = pairs.iter().find(|(_, value)| value.as_str().is_none());
        Some(match odd {
            None => Ok(()),
            Some((key, value)) => Err((
                "a mapping of strings to strings".into(),
                format!("{}: {}", key.text().unwrap_or("a key"), value.type_words()),
            )),
        })
    })
}

/// `allowed-tools` is one string.
fn allowed_tools(trace: &Evidence<'_>) -> Judgement {
    field(trace, |document, _| {
        let tools = document.get("allowed-tools")?;
        Some(match tools.as_str() {
            Some(_) => Ok(()),
            None => Err((
                "one string of space-separated tools".into(),
                tools.type_words().to_string(),
            )),
        })
    })
}

/// Authors do not use the prefix that is reserved for extensions of MCP.
fn reserved_prefix(trace: &Evidence<'_>) -> Judgement {
    field(trace, |document, _| {
        let keys = document
            .get("metadata")
            .and_then(Node::pairs)?
            .iter()
            .filter_map(|(key, _)| key.text());
        let reserved: Vec<&str> = keys
            .filter(|key| key.starts_with("io.modelcontextprotocol/"))
            .collect();
        Some(if reserved.is_empty() {
            Ok(())
        } else {
            Err((
                "no metadata key under io.modelcontextprotocol/".into(),
                reserved.join(", "),
            ))
        })
    })
}
