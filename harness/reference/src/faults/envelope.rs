//! Faults in what results of the modern revision carry around their content:
//! `resultType`, `ttlMs` and `cacheScope`.

use serde_json::{Value, json};

use super::Fault;
use super::sabotage::Scene;
use crate::methods::{Outcome, skills::pages};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-skills-list-result-type",
        "leaves resultType out on the second page of skills/list",
    )
    .modern(),
    Fault::new(
        "sep-2640-skills-list-result-type/all",
        "leaves resultType out on every page of skills/list",
    )
    .modern(),
    Fault::new(
        "sep-2640-skills-list-result-type/other",
        "calls the result of skills/list a list",
    )
    .modern(),
    Fault::new(
        "sep-2640-skills-list-cache-attributes",
        "leaves ttlMs and cacheScope out of skills/list",
    )
    .modern(),
    Fault::new(
        "sep-2640-skills-list-cache-attributes/ttl",
        "leaves ttlMs out on the last page of skills/list",
    )
    .modern(),
    Fault::new(
        "sep-2640-skills-list-cache-attributes/scope",
        "leaves cacheScope out of skills/list",
    )
    .modern(),
    Fault::new(
        "sep-2640-skills-list-cache-attributes/inside-skills",
        "puts ttlMs and cacheScope into the entries of skills/list",
    )
    .modern(),
    Fault::new(
        "sep-2640-cache-ttl-valid",
        "gives skills/list a ttlMs of -1",
    )
    .modern(),
    Fault::new(
        "sep-2640-cache-ttl-valid/float",
        "gives skills/get a ttlMs of 1.5",
    )
    .modern(),
    Fault::new(
        "sep-2640-cache-ttl-valid/string",
        "gives resources/read a string as ttlMs",
    )
    .modern(),
    Fault::new(
        "sep-2640-cache-scope-valid",
        "calls the scope of skills/list shared",
    )
    .modern(),
    Fault::new(
        "sep-2640-cache-scope-valid/get",
        "calls the scope of skills/get shared",
    )
    .modern(),
    Fault::new(
        "sep-2640-cache-scope-consistent",
        "calls page one public and the pages after it private",
    )
    .modern(),
    Fault::new(
        "sep-2640-skills-get-result-type",
        "leaves resultType out of skills/get",
    )
    .modern(),
    Fault::new(
        "sep-2640-skills-get-cache-attributes",
        "leaves ttlMs and cacheScope out of skills/get",
    )
    .modern(),
    Fault::new(
        "sep-2640-skills-get-cache-attributes/inside-skill",
        "puts ttlMs and cacheScope into the entry of skills/get",
    )
    .modern(),
    Fault::new(
        "sep-2640-no-input-required",
        "asks for more input in place of one entry of skills/get",
    )
    .modern(),
    Fault::new(
        "sep-2640-read-result-type",
        "leaves resultType out of resources/read",
    )
    .modern(),
    Fault::new(
        "sep-2640-read-cache-attributes",
        "leaves ttlMs and cacheScope out of resources/read",
    )
    .modern(),
    Fault::new(
        "sep-2640-directory-read-result-type",
        "leaves resultType out of resources/directory/read",
    )
    .modern(),
];

pub(super) fn outcome(scene: &Scene<'_>, outcome: &mut Outcome) {
    let Ok(result) = outcome else { return };
    match scene.call.method.as_str() {
        "skills/list" => list(scene, result),
        "skills/get" => get(scene, result),
        "resources/read" => read(scene, result),
        "resources/directory/read" if scene.id == "sep-2640-directory-read-result-type" => {
            remove(result, &["resultType"]);
        }
        _ => {}
    }
}

fn list(scene: &Scene<'_>, result: &mut Value) {
    let pages = pages(scene.server);
    let start = pages.start(scene.call.cursor()).unwrap_or(0);
    match scene.id {
        "sep-2640-skills-list-result-type" if start == pages.size => {
            remove(result, &["resultType"]);
        }
        "sep-2640-skills-list-result-type/all" => remove(result, &["resultType"]),
        "sep-2640-skills-list-result-type/other" => result["resultType"] = json!("list"),
        "sep-2640-skills-list-cache-attributes" => remove(result, &["ttlMs", "cacheScope"]),
        "sep-2640-skills-list-cache-attributes/ttl" if result.get("nextCursor").is_none() => {
            remove(result, &["ttlMs"]);
        }
        "sep-2640-skills-list-cache-attributes/scope" => remove(result, &["cacheScope"]),
        "sep-2640-skills-list-cache-attributes/inside-skills" => {
            let (ttl, scope) = (result["ttlMs"].take(), result["cacheScope"].take());
            remove(result, &["ttlMs", "cacheScope"]);
            for entry in result["skills"].as_array_mut().into_iter().flatten() {
                entry["ttlMs"] = ttl.clone();
                entry["cacheScope"] = scope.clone();
            }
        }
        "sep-2640-cache-ttl-valid" => result["ttlMs"] = json!(-1),
        "sep-2640-cache-scope-valid" => result["cacheScope"] = json!("shared"),
        "sep-2640-cache-scope-consistent" if start > 0 => {
            result["cacheScope"] = json!("private");
        }
        _ => {}
    }
}

fn get(scene: &Scene<'_>, result: &mut Value) {
    match scene.id {
        "sep-2640-skills-get-result-type" => remove(result, &["resultType"]),
        "sep-2640-skills-get-cache-attributes" => remove(result, &["ttlMs", "cacheScope"]),
        "sep-2640-skills-get-cache-attributes/inside-skill" => {
            let (ttl, scope) = (result["ttlMs"].take(), result["cacheScope"].take());
            remove(result, &["ttlMs", "cacheScope"]);
            result["skill"]["ttlMs"] = ttl;
            result["skill"]["cacheScope"] = scope;
        }
        "sep-2640-cache-ttl-valid/float" => result["ttlMs"] = json!(1.5),
        "sep-2640-cache-scope-valid/get" => result["cacheScope"] = json!("shared"),
        "sep-2640-no-input-required" => {
            let last = scene.catalog().listed().last();
            if last.is_some_and(|skill| result["skill"]["uri"] == skill.uri.as_str()) {
                remove(result, &["skill", "ttlMs", "cacheScope"]);
                result["resultType"] = json!("input_required");
                result["requestState"] = json!("awaiting-approval");
            }
        }
        _ => {}
    }
}

fn read(scene: &Scene<'_>, result: &mut Value) {
    match scene.id {
        "sep-2640-cache-ttl-valid/string" => result["ttlMs"] = json!("300000"),
        "sep-2640-read-result-type" => remove(result, &["resultType"]),
        "sep-2640-read-cache-attributes" => remove(result, &["ttlMs", "cacheScope"]),
        _ => {}
    }
}

fn remove(result: &mut Value, members: &[&str]) {
    if let Some(result) = result.as_object_mut() {
        for member in members {
            result.remove(*member);
        }
    }
}
