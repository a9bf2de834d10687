//! Faults of `skills/get`.

use serde_json::{Value, json};

use super::Fault;
use super::entry::remove;
use super::kind::{Kind, broken_escape, is_deep, variant_of};
use super::pick::{rows_mut, within};
use super::sabotage::Scene;
use crate::catalog::{Skill, row};
use crate::message::RpcError;
use crate::methods::Outcome;

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-skills-get-implemented",
        "does not know skills/get",
    ),
    Fault::new(
        "sep-2640-skills-get-no-cursor",
        "adds nextCursor to the result of skills/get",
    ),
    Fault::new(
        "sep-2640-skills-get-entry-shape",
        "puts the members of the entry on top of the result",
    ),
    Fault::new(
        "sep-2640-skills-get-entry-shape/array",
        "answers with an array of one entry",
    ),
    Fault::new(
        "sep-2640-skills-get-entry-shape/first",
        "answers with the bare entry until skills/list was called",
    )
    .modern()
    .stdio(),
    Fault::new(
        "sep-2640-skills-get-uri-echo",
        "answers one URI with the entry of another skill",
    ),
    Fault::new(
        "sep-2640-skills-get-equals-list",
        "leaves a file out of one entry that the listing has",
    ),
    Fault::new(
        "sep-2640-skills-get-equals-list/dynamic",
        "calls a skill dynamic that the listing enumerates",
    ),
    Fault::new(
        "sep-2640-skills-get-equals-list/frontmatter",
        "drops the license that the listing has",
    ),
    Fault::new(
        "sep-2640-skills-get-equals-list/enumerated",
        "enumerates a skill that the listing calls dynamic",
    ),
    Fault::new(
        "sep-2640-skills-get-equals-list/first",
        "calls skills dynamic until skills/list was called",
    )
    .modern()
    .stdio(),
    Fault::new(
        "sep-2640-skills-get-answers-listed",
        "does not answer for skills beyond the first page",
    ),
    Fault::new(
        "sep-2640-skills-get-answers-listed/nested",
        "does not answer for a listed nested skill",
    ),
    Fault::new(
        "sep-2640-skills-get-answers-listed/storage",
        "says that a skill is unknown when its storage fails",
    ),
    Fault::new(
        "sep-2640-skills-get-answers-unlisted",
        "does not answer for a skill that is not listed",
    )
    .needs(&["unlisted-skill"]),
    Fault::new(
        "sep-2640-skills-get-unknown-uri-invalid-params",
        "answers an unknown skill with -32002",
    ),
    Fault::new(
        "sep-2640-skills-get-unknown-uri-invalid-params/null",
        "answers an unknown skill with skill: null",
    ),
    Fault::new(
        "sep-2640-skills-get-unknown-uri-invalid-params/internal",
        "answers an unknown skill with an internal error",
    ),
    Fault::new(
        "sep-2640-skills-get-unknown-uri-invalid-params/inside",
        "answers SKILL.md in a directory that has none with the skill around it, under that URI",
    ),
    Fault::new(
        "sep-2640-skills-get-file-invalid-params",
        "answers a supporting file with the entry of its skill",
    ),
    Fault::new(
        "sep-2640-skills-get-directory-invalid-params",
        "answers a skill's directory with its entry",
    ),
    Fault::new(
        "sep-2640-skills-get-non-skill-invalid-params",
        "makes up an entry for an ordinary resource",
    ),
    Fault::new(
        "sep-2640-skills-get-malformed-params",
        "answers a missing or mistyped uri with an internal error",
    ),
    Fault::new(
        "sep-2640-skills-get-malformed-params/not-found",
        "answers a missing or mistyped uri as an unknown method",
    ),
    Fault::new(
        "sep-2640-skills-get-malformed-params/null-only",
        "answers uri: null with an internal error",
    ),
    Fault::new(
        "sep-2640-skills-get-malformed-params/object",
        "answers a uri that is an object or absent with an internal error",
    ),
    Fault::new(
        "sep-2640-skills-get-hostile-uri",
        "fails with an internal error on a broken percent escape",
    ),
    Fault::new(
        "sep-2640-skills-get-hostile-uri/traversal",
        "answers a URI with .. segments with -32000",
    ),
    Fault::new(
        "sep-2640-skills-get-hostile-uri/nul",
        "fails with an internal error on a URI with NUL",
    ),
    Fault::new(
        "sep-2640-skills-get-hostile-uri/long",
        "answers a URI of 64 KiB with -32000",
    ),
    Fault::new(
        "sep-2640-skills-get-implemented/empty-listing",
        "lists nothing and does not know skills/get",
    ),
    Fault::new(
        "sep-2640-skills-get-uri-variant/case",
        "finds skills whatever the case of the letters in their URI",
    ),
    Fault::new(
        "sep-2640-skills-get-uri-variant/query",
        "answers the URI of a skill with a query with its entry",
    ),
    Fault::new(
        "sep-2640-skills-get-uri-variant",
        "answers other spellings of a skill's URI with its entry",
    ),
];

pub(super) fn outcome(scene: &Scene<'_>, outcome: &mut Outcome) {
    let Some(uri) = scene.uri() else {
        malformed(scene, outcome);
        return;
    };
    match scene.catalog().skill(uri) {
        Some(skill) => served(scene, skill, outcome),
        None => unserved(scene, uri, outcome),
    }
    if scene.id.starts_with("sep-2640-skills-get-implemented") {
        *outcome = Err(RpcError::method_not_found("skills/get"));
    }
}

fn malformed(scene: &Scene<'_>, outcome: &mut Outcome) {
    match scene.id {
        "sep-2640-skills-get-implemented" | "sep-2640-skills-get-malformed-params/not-found" => {
            *outcome = Err(RpcError::method_not_found("skills/get"));
        }
        "sep-2640-skills-get-malformed-params" => *outcome = Err(RpcError::internal()),
        "sep-2640-skills-get-malformed-params/object"
            if scene.call.params.get("uri").is_none_or(Value::is_object) =>
        {
            *outcome = Err(RpcError::internal());
        }
        "sep-2640-skills-get-malformed-params/null-only"
            if scene.call.params.get("uri") == Some(&Value::Null) =>
        {
            *outcome = Err(RpcError::internal());
        }
        _ => {}
    }
}

/// The URI is that of a skill.
fn served(scene: &Scene<'_>, skill: &Skill, outcome: &mut Outcome) {
    let catalog = scene.catalog();
    let place = (catalog.listing.iter()).position(|index| catalog.skills[*index].uri == skill.uri);
    let refuse = || {
        Err(RpcError::invalid_params(format!(
            "no skill at {}",
            skill.uri
        )))
    };
    if place.is_none() {
        scene.memory().named = true;
    }
    match (scene.id, place) {
        ("sep-2640-skills-get-answers-listed", Some(place))
            if place >= scene.server.options.page_size =>
        {
            *outcome = refuse();
        }
        ("sep-2640-skills-get-answers-listed/nested", _)
            if scene
                .picked
                .nested
                .is_some_and(|(_, inner)| catalog.skills[inner].uri == skill.uri) =>
        {
            *outcome = refuse();
        }
        ("sep-2640-skills-get-answers-unlisted", None) => *outcome = refuse(),
        // The honest answer to trouble of its own would be -32603.
        ("sep-2640-skills-get-answers-listed/storage", _)
            if (scene.picked.skill).is_some_and(|index| catalog.skills[index].uri == skill.uri) =>
        {
            *outcome = refuse();
        }
        _ => {}
    }
    let Ok(result) = outcome else { return };
    let victim = scene.picked.skill.map(|index| &catalog.skills[index]);
    let is_victim = victim.is_some_and(|victim| victim.uri == skill.uri);
    match scene.id {
        "sep-2640-skills-get-no-cursor" => result["nextCursor"] = json!("more"),
        "sep-2640-skills-get-entry-shape/first" if scene.memory().listed => {}
        "sep-2640-skills-get-entry-shape" | "sep-2640-skills-get-entry-shape/first" => {
            let entry = result["skill"].take();
            remove(result, "skill");
            for (member, value) in entry.as_object().into_iter().flatten() {
                result[member] = value.clone();
            }
        }
        "sep-2640-skills-get-entry-shape/array" => {
            result["skills"] = json!([result["skill"].take()]);
            remove(result, "skill");
        }
        "sep-2640-skills-get-uri-echo" if is_victim => {
            let other = catalog.listed().find(|other| other.uri != skill.uri);
            if let Some(other) = other {
                result["skill"] = other.entry.clone();
            }
        }
        "sep-2640-skills-get-equals-list" if is_victim => {
            if let Some(rows) = rows_mut(&mut result["skill"]) {
                rows.truncate(rows.len().max(2) - 1);
            }
        }
        "sep-2640-skills-get-equals-list/first" if !scene.memory().listed => {
            result["skill"]["resources"] = json!("dynamic");
        }
        "sep-2640-skills-get-equals-list/dynamic" if is_victim => {
            result["skill"]["resources"] = json!("dynamic");
        }
        "sep-2640-skills-get-equals-list/frontmatter" => {
            let mut listed = catalog.listed();
            let first = listed.find(|other| other.entry["frontmatter"].get("license").is_some());
            if first.is_some_and(|first| first.uri == skill.uri) {
                remove(&mut result["skill"]["frontmatter"], "license");
            }
        }
        _ => {}
    }
}

/// The URI is that of anything else.
fn unserved(scene: &Scene<'_>, uri: &str, outcome: &mut Outcome) {
    let catalog = scene.catalog();
    let kind = Kind::of(catalog, uri);
    let entry_of = |skill: Option<&Skill>| skill.map(|skill| scene.redo("uri", Some(&skill.uri)));
    let forged = |entry: Value| {
        let honest = entry_of(catalog.skills.first())?;
        Some(honest.map(|mut result| {
            result["skill"] = entry;
            result
        }))
    };
    let answer = match (scene.id, kind) {
        ("sep-2640-skills-get-unknown-uri-invalid-params", Kind::Unknown) => Some(Err(
            RpcError::new(-32002, format!("no skill at {}", crate::uri::show(uri))),
        )),
        ("sep-2640-skills-get-unknown-uri-invalid-params/null", Kind::Unknown) => {
            forged(Value::Null)
        }
        ("sep-2640-skills-get-unknown-uri-invalid-params/internal", Kind::Unknown) => {
            Some(Err(RpcError::internal()))
        }
        ("sep-2640-skills-get-unknown-uri-invalid-params/inside", Kind::Unknown)
            if is_deep(catalog, uri) =>
        {
            let around = |skill: &&Skill| uri.starts_with(&format!("{}/", skill.root));
            entry_of(catalog.skills.iter().find(around)).map(|answer| {
                answer.map(|mut result| {
                    result["skill"]["uri"] = json!(uri);
                    result
                })
            })
        }
        ("sep-2640-skills-get-file-invalid-params", Kind::File) => {
            let path = &catalog.files[uri].path;
            let around = catalog
                .skills
                .iter()
                .filter(|skill| within(path, &skill.path));
            entry_of(around.max_by_key(|skill| skill.path.len()))
        }
        ("sep-2640-skills-get-directory-invalid-params", Kind::Directory) => {
            entry_of(catalog.skills.iter().find(|skill| skill.root == uri))
        }
        ("sep-2640-skills-get-non-skill-invalid-params", Kind::Plain) => forged(json!({
            "uri": uri,
            "frontmatter": {"name": "readme", "description": "What this server is for."},
            "resources": [row(uri, &catalog.files[uri].bytes)],
        })),
        ("sep-2640-skills-get-hostile-uri", _) if broken_escape(uri) => {
            Some(Err(RpcError::internal()))
        }
        ("sep-2640-skills-get-hostile-uri/nul", _) if uri.contains('\0') => {
            Some(Err(RpcError::internal()))
        }
        ("sep-2640-skills-get-hostile-uri/long", _) if uri.len() > 32_768 => {
            Some(Err(RpcError::new(-32000, "the URI is too long")))
        }
        ("sep-2640-skills-get-hostile-uri/traversal", Kind::Traversal) => Some(Err(RpcError::new(
            -32000,
            "the URI was rejected by the path filter",
        ))),
        ("sep-2640-skills-get-uri-variant/query", _) if uri.contains('?') => {
            let (plain, _) = uri.split_once('?').unwrap_or((uri, ""));
            entry_of(catalog.skills.iter().find(|skill| skill.uri == plain))
        }
        ("sep-2640-skills-get-uri-variant/case", Kind::Variant) if uri.ends_with("/SKILL.md") => {
            let other_case = |skill: &&Skill| skill.uri.eq_ignore_ascii_case(uri);
            entry_of(catalog.skills.iter().find(other_case))
        }
        ("sep-2640-skills-get-uri-variant", Kind::Variant) => entry_of(variant_of(catalog, uri)),
        _ => None,
    };
    if let Some(answer) = answer {
        *outcome = answer;
    }
}
