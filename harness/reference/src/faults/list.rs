//! Faults of `skills/list`: its shape, its pages, its order.

use serde_json::{Map, Value, json};

use super::pick::rows_mut;
use super::sabotage::{Memory, Scene};
use super::{Fault, entry};
use crate::message::RpcError;
use crate::methods::{Call, Outcome, resources::pages as resource_pages, skills::pages};
use crate::server::Server;

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-skills-list-implemented",
        "does not know skills/list",
    ),
    Fault::new(
        "sep-2640-skills-list-implemented/internal",
        "fails with an internal error on skills/list",
    ),
    Fault::new("sep-2640-skills-list-result-shape", "lists skills: null"),
    Fault::new(
        "sep-2640-skills-list-result-shape/missing",
        "lists without a skills member",
    ),
    Fault::new(
        "sep-2640-skills-list-result-shape/object",
        "lists an object keyed by URI in place of an array",
    ),
    Fault::new(
        "sep-2640-skills-list-pagination",
        "ignores the cursor: page one comes for ever",
    ),
    Fault::new(
        "sep-2640-skills-list-pagination/error",
        "refuses the cursors it handed out itself",
    ),
    Fault::new(
        "sep-2640-skills-list-next-cursor-type",
        "ends the listing with nextCursor: null",
    ),
    Fault::new(
        "sep-2640-skills-list-next-cursor-type/number",
        "hands out numbers as cursors",
    ),
    Fault::new(
        "sep-2640-skills-list-each-once",
        "repeats the last entry of a page at the head of the next one",
    ),
    Fault::new(
        "sep-2640-skills-list-entry-atomic",
        "splits the files of one entry over two pages",
    ),
    Fault::new(
        "sep-2640-skills-list-unknown-cursor",
        "answers an unknown cursor with page one",
    ),
    Fault::new(
        "sep-2640-skills-list-unknown-cursor/internal",
        "fails with an internal error on an unknown cursor",
    ),
    Fault::new(
        "sep-2640-skills-list-unknown-cursor/cut",
        "fails with an internal error on a cursor that is cut short",
    ),
    Fault::new(
        "sep-2640-skills-list-unknown-cursor/foreign",
        "fails with an internal error on a cursor of resources/list",
    ),
    Fault::new(
        "sep-2640-skills-list-mistyped-cursor",
        "answers a cursor that is no string with page one",
    ),
    Fault::new(
        "sep-2640-skills-list-cursor-repeatable",
        "accepts each cursor only once",
    ),
    Fault::new(
        "sep-2640-skills-list-stable",
        "lists in another order on each walk: every walk begins one skill further on",
    ),
    Fault::new(
        "sep-2640-skills-list-stable/grows",
        "lists the unlisted skill once skills/get was asked for it",
    )
    .needs(&["unlisted-skill"]),
    Fault::new(
        "sep-2640-schema-conforms",
        "gives the result of skills/list a string as _meta",
    ),
];

/// Whether the fault shows only in a listing of several pages.
pub(super) fn needs_pages(id: &str) -> bool {
    id.starts_with("sep-2640-skills-list-")
        || id.starts_with("sep-2640-skills-get-answers-listed")
        || id == "sep-2640-cache-scope-consistent"
}

pub(super) fn request(id: &str, server: &Server, memory: &mut Memory, call: &mut Call) {
    if call.method != "skills/list" {
        return;
    }
    let honest = match (id, call.cursor()) {
        ("sep-2640-skills-list-next-cursor-type/number", Some(cursor)) => {
            let pages = pages(server);
            cursor
                .as_u64()
                .and_then(|offset| usize::try_from(offset).ok())
                .filter(|offset| *offset > 0 && offset % pages.size == 0)
                .and_then(|offset| pages.next(offset - pages.size))
                .map(Value::String)
        }
        ("sep-2640-skills-list-cursor-repeatable", Some(Value::String(cursor))) => {
            memory.cursors.remove(cursor)
        }
        ("sep-2640-skills-list-stable", None) => {
            call.mark = memory.walks;
            memory.walks += 1;
            None
        }
        ("sep-2640-skills-list-stable", Some(Value::String(cursor))) => {
            // The cursor remembers which walk it belongs to.
            let parts = cursor.split_once('.');
            let walk = parts.and_then(|(walk, rest)| Some((walk.parse().ok()?, rest.to_owned())));
            walk.map(|(walk, rest)| {
                call.mark = walk;
                Value::String(rest)
            })
        }
        _ => None,
    };
    if let Some(cursor) = honest {
        call.params.insert("cursor".to_owned(), cursor);
    }
}

pub(super) fn outcome(scene: &Scene<'_>, outcome: &mut Outcome) {
    let cursor = scene.call.cursor();
    let page_one = || scene.redo("cursor", None);
    match scene.id {
        "sep-2640-skills-list-implemented" => {
            *outcome = Err(RpcError::method_not_found("skills/list"));
        }
        "sep-2640-skills-list-implemented/internal" => *outcome = Err(RpcError::internal()),
        "sep-2640-skills-list-pagination" if cursor.is_some() && outcome.is_ok() => {
            *outcome = page_one();
        }
        "sep-2640-skills-list-pagination/error" if cursor.is_some() && outcome.is_ok() => {
            *outcome = Err(RpcError::invalid_params("the cursor has expired"));
        }
        "sep-2640-skills-list-unknown-cursor" if unknown(cursor, outcome) => *outcome = page_one(),
        "sep-2640-skills-list-unknown-cursor/internal" if unknown(cursor, outcome) => {
            *outcome = Err(RpcError::internal());
        }
        "sep-2640-skills-list-unknown-cursor/cut"
            if unknown(cursor, outcome) && is_cut(scene.server, cursor) =>
        {
            *outcome = Err(RpcError::internal());
        }
        "sep-2640-skills-list-unknown-cursor/foreign"
            if unknown(cursor, outcome)
                && cursor.is_some_and(|cursor| resource_pages(scene.server).knows(cursor)) =>
        {
            *outcome = Err(RpcError::internal());
        }
        "sep-2640-skills-list-mistyped-cursor" if cursor.is_some_and(|c| !c.is_string()) => {
            *outcome = page_one();
        }
        _ => {}
    }
    if let Ok(result) = outcome
        && let Ok(start) = pages(scene.server).start(cursor)
    {
        page(scene, start, result);
        if let Some(entries) = result.get_mut("skills").and_then(Value::as_array_mut) {
            entry::listed(scene.id, scene.picked, scene.catalog(), entries);
        }
    }
}

fn unknown(cursor: Option<&Value>, outcome: &Outcome) -> bool {
    cursor.is_some_and(Value::is_string) && outcome.is_err()
}

/// Whether this is the beginning of a cursor of the listing.
fn is_cut(server: &Server, cursor: Option<&Value>) -> bool {
    let pages = pages(server);
    let cursor = cursor.and_then(Value::as_str).unwrap_or_default();
    let mut starts = (0..pages.total).step_by(pages.size);
    starts.any(|start| {
        pages
            .next(start)
            .is_some_and(|known| known.starts_with(cursor))
    })
}

/// Changes the page that begins at `start`.
fn page(scene: &Scene<'_>, start: usize, result: &mut Value) {
    let pages = pages(scene.server);
    match scene.id {
        "sep-2640-skills-list-result-shape" => result["skills"] = Value::Null,
        "sep-2640-skills-list-result-shape/missing" => {
            if let Some(result) = result.as_object_mut() {
                result.remove("skills");
            }
        }
        "sep-2640-skills-list-result-shape/object" => {
            let entries = result["skills"].as_array().cloned().unwrap_or_default();
            let keyed: Map<String, Value> = entries
                .into_iter()
                .map(|entry| (entry["uri"].as_str().unwrap_or("").to_owned(), entry))
                .collect();
            result["skills"] = Value::Object(keyed);
        }
        "sep-2640-skills-list-next-cursor-type" if result.get("nextCursor").is_none() => {
            result["nextCursor"] = Value::Null;
        }
        "sep-2640-skills-list-next-cursor-type/number" if result.get("nextCursor").is_some() => {
            result["nextCursor"] = json!(pages.end(start));
        }
        "sep-2640-skills-list-each-once" if start > 0 => {
            let before = scene.catalog().listing[start - 1];
            push_front(result, scene.catalog().skills[before].entry.clone());
        }
        "sep-2640-skills-list-entry-atomic" => split(scene, start, result),
        "sep-2640-skills-list-cursor-repeatable" => {
            if let Some(cursor) = result.get_mut("nextCursor") {
                let mut memory = scene.memory();
                memory.issued += 1;
                let once = format!("{}-{}", cursor.as_str().unwrap_or(""), memory.issued);
                memory.cursors.insert(once.clone(), cursor.take());
                *cursor = json!(once);
            }
        }
        "sep-2640-skills-list-stable" => {
            let (walk, listing) = (scene.call.mark, &scene.catalog().listing);
            let turned = |place: usize| listing[(place + walk) % listing.len()];
            result["skills"] = (start..pages.end(start))
                .map(|place| scene.catalog().skills[turned(place)].entry.clone())
                .collect();
            if let Some(cursor) = result.get_mut("nextCursor") {
                *cursor = json!(format!("{walk}.{}", cursor.as_str().unwrap_or("")));
            }
        }
        "sep-2640-skills-list-stable/grows"
            if scene.memory().named && result.get("nextCursor").is_none() =>
        {
            if let Some(skills) = result["skills"].as_array_mut() {
                let unlisted = scene.catalog().unlisted();
                skills.extend(unlisted.map(|skill| skill.entry.clone()));
            }
        }
        "sep-2640-skills-get-implemented/empty-listing" => {
            result["skills"] = json!([]);
            super::entry::remove(result, "nextCursor");
        }
        "sep-2640-schema-conforms" => result["_meta"] = json!("served by sep2640-reference"),
        _ => {}
    }
}

fn push_front(result: &mut Value, entry: Value) {
    if let Some(skills) = result["skills"].as_array_mut() {
        skills.insert(0, entry);
    }
}

/// Leaves half of one entry's files to the page after its own.
fn split(scene: &Scene<'_>, start: usize, result: &mut Value) {
    let (catalog, pages) = (scene.catalog(), pages(scene.server));
    let files = |place: &usize| {
        let entry = &catalog.skills[catalog.listing[*place]].entry;
        entry["resources"].as_array().map_or(0, Vec::len)
    };
    // A skill of the last page has no page to spread to.
    let last = (pages.total - 1) / pages.size * pages.size;
    let Some(place) = (0..last).max_by_key(files) else {
        return;
    };
    let half = files(&place).div_ceil(2);
    let own = place / pages.size * pages.size;
    if start == own {
        if let Some(rows) = rows_mut(&mut result["skills"][place - own]) {
            rows.truncate(half);
        }
    } else if start == own + pages.size {
        let mut rest = catalog.skills[catalog.listing[place]].entry.clone();
        if let Some(rows) = rows_mut(&mut rest) {
            rows.drain(..half);
        }
        push_front(result, rest);
    }
}
