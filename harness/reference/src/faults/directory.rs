//! Faults of `resources/directory/read`.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Fault;
use super::entry::remove;
use super::kind::{Kind, is_deep, normalise};
use super::pick::{Picked, rows_mut, within};
use super::sabotage::Scene;
use crate::catalog::{Catalog, DIRECTORY, Directory};
use crate::message::RpcError;
use crate::methods::{Call, Outcome, skills::pages};
use crate::server::Server;
use crate::tree::file_name;

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-directory-read-result-resources-shape",
        "calls the children of a directory children",
    ),
    Fault::new(
        "sep-2640-directory-read-result-resources-shape/strings",
        "lists the children of a directory as bare strings",
    ),
    Fault::new(
        "sep-2640-directory-read-child-metadata",
        "leaves the name out of children",
    ),
    Fault::new(
        "sep-2640-directory-read-invalid-params",
        "answers an unknown directory as an empty one",
    ),
    Fault::new(
        "sep-2640-directory-read-invalid-params/file",
        "answers a file with itself as the only child",
    ),
    Fault::new(
        "sep-2640-directory-read-invalid-params/below",
        "answers an unknown directory inside another one as an empty one",
    ),
    Fault::new(
        "sep-2640-directory-read-invalid-params/deep-file",
        "answers a file in a subdirectory as an empty directory",
    ),
    Fault::new(
        "sep-2640-directory-read-invalid-params/slash",
        "answers a directory with a slash at its end with an internal error",
    ),
    Fault::new(
        "sep-2640-directory-read-invalid-params/empty",
        "answers an empty uri with an internal error",
    ),
    Fault::new(
        "sep-2640-directory-read-malformed-params",
        "answers a missing or mistyped uri with an internal error",
    ),
    Fault::new(
        "sep-2640-directory-read-malformed-params/not-found",
        "answers a missing or mistyped uri as an unknown method",
    ),
    Fault::new(
        "sep-2640-directory-read-malformed-params/object",
        "answers a uri that is an object with an internal error",
    ),
    Fault::new(
        "sep-2640-directory-read-dot-segments",
        "follows .. to the directory above",
    ),
    Fault::new(
        "sep-2640-directory-read-pagination",
        "ignores the cursor: page one comes for ever",
    ),
    Fault::new(
        "sep-2640-directory-read-unknown-cursor",
        "answers an unknown cursor with page one",
    ),
    Fault::new(
        "sep-2640-directory-read-unknown-cursor/foreign",
        "fails with an internal error on a cursor of skills/list",
    ),
    Fault::new(
        "sep-2640-directory-read-subdir-mimetype",
        "announces directories as application/x-directory",
    ),
    Fault::new(
        "sep-2640-directory-read-subdir-mimetype/missing",
        "announces directories without a MIME type",
    ),
    Fault::new(
        "sep-2640-directory-read-no-trailing-slash",
        "ends the URIs of directories in a slash",
    ),
    Fault::new(
        "sep-2640-directory-read-direct-children",
        "lists everything below a directory",
    ),
    Fault::new(
        "sep-2640-directory-read-every-directory",
        "does not know directories two levels below a skill",
    ),
    Fault::new(
        "sep-2640-directory-read-every-directory/root",
        "does not know the directories of skills themselves",
    ),
    Fault::new(
        "sep-2640-directory-read-every-directory/nested",
        "does not know the directory of a nested skill",
    ),
    Fault::new(
        "sep-2640-directory-read-every-directory/unlisted",
        "does not know the directory of a skill that is not listed",
    )
    .needs(&["unlisted-skill"]),
    Fault::new(
        "sep-2640-uri-one-spelling",
        "writes percent escapes in lower case in directories, unlike in manifests",
    ),
    Fault::new(
        "sep-2640-directory-read-empty",
        "does not know a directory that is empty",
    ),
    Fault::new(
        "sep-2640-resources-complete",
        "leaves dotfiles out of manifests but lists them in directories",
    ),
    Fault::new(
        "sep-2640-resources-complete/hidden",
        "leaves a file of a manifest out of its directory",
    ),
    Fault::new(
        "sep-2640-resources-complete/unlisted",
        "leaves a file out of the manifest of a skill that is not listed",
    )
    .needs(&["unlisted-skill"]),
];

pub(super) fn catalog(id: &str, picked: &Picked, catalog: &mut Catalog) {
    match id {
        "sep-2640-resources-complete" => {
            let files = &catalog.files;
            for skill in &mut catalog.skills {
                if let Some(rows) = rows_mut(&mut skill.entry) {
                    rows.retain(|row| {
                        let file = row["uri"].as_str().and_then(|uri| files.get(uri));
                        !file.is_some_and(|file| file_name(&file.path).starts_with('.'))
                    });
                }
            }
        }
        "sep-2640-resources-complete/hidden" => {
            let hidden = picked.file.clone().unwrap_or_default();
            for directory in catalog.directories.values_mut() {
                directory
                    .children
                    .retain(|child| child["uri"] != hidden.as_str());
            }
        }
        "sep-2640-resources-complete/unlisted" => {
            for skill in catalog.skills.iter_mut().filter(|skill| !skill.listed) {
                if let Some(rows) = rows_mut(&mut skill.entry) {
                    rows.truncate(1);
                }
            }
        }
        "sep-2640-directory-read-direct-children" => flatten(catalog),
        _ => {}
    }
    for child in catalog
        .directories
        .values_mut()
        .flat_map(|d| &mut d.children)
    {
        let is_directory = child["mimeType"] == DIRECTORY;
        match id {
            "sep-2640-uri-one-spelling" if !is_directory => {
                let uri = child["uri"].as_str().unwrap_or("").to_owned();
                let parts = uri.split('%').enumerate().map(|(index, part)| {
                    let (escape, rest) = part.split_at(if index > 0 { 2 } else { 0 });
                    format!("{}{rest}", escape.to_lowercase())
                });
                child["uri"] = json!(parts.collect::<Vec<_>>().join("%"));
            }
            "sep-2640-directory-read-child-metadata" => remove(child, "name"),
            "sep-2640-directory-read-subdir-mimetype" if is_directory => {
                child["mimeType"] = json!("application/x-directory");
            }
            "sep-2640-directory-read-subdir-mimetype/missing" if is_directory => {
                remove(child, "mimeType");
            }
            "sep-2640-directory-read-no-trailing-slash" if is_directory => {
                child["uri"] = json!(format!("{}/", child["uri"].as_str().unwrap_or("")));
            }
            _ => {}
        }
    }
}

/// Gives every directory what lies below its children as well.
fn flatten(catalog: &mut Catalog) {
    let direct: HashMap<String, Directory> = catalog.directories.clone();
    for directory in catalog.directories.values_mut() {
        let mut place = 0;
        while place < directory.children.len() {
            let uri = directory.children[place]["uri"].as_str().unwrap_or("");
            if directory.children[place]["mimeType"] == DIRECTORY
                && let Some(below) = direct.get(uri)
            {
                directory.children.extend(below.children.iter().cloned());
            }
            place += 1;
        }
    }
}

pub(super) fn request(id: &str, server: &Server, call: &mut Call) {
    if id != "sep-2640-directory-read-no-trailing-slash"
        || call.method != "resources/directory/read"
    {
        return;
    }
    let plain = call.uri().ok().and_then(|uri| uri.strip_suffix('/'));
    if let Some(plain) = plain.filter(|uri| server.catalog.directories.contains_key(*uri)) {
        let plain = json!(plain);
        call.params.insert("uri".to_owned(), plain);
    }
}

pub(super) fn outcome(scene: &Scene<'_>, outcome: &mut Outcome) {
    if matches!(outcome, Err(error) if error.code == -32601) {
        return;
    }
    let Some(uri) = scene.uri() else {
        let given = scene.call.params.get("uri");
        let empty = given.is_some_and(|uri| uri == "");
        match scene.id {
            "sep-2640-directory-read-invalid-params/empty" if empty => {
                *outcome = Err(RpcError::internal());
            }
            _ if empty => {}
            "sep-2640-directory-read-malformed-params/object"
                if given.is_some_and(Value::is_object) =>
            {
                *outcome = Err(RpcError::internal());
            }
            "sep-2640-directory-read-malformed-params" => *outcome = Err(RpcError::internal()),
            "sep-2640-directory-read-malformed-params/not-found" => {
                *outcome = Err(RpcError::method_not_found(&scene.call.method));
            }
            _ => {}
        }
        return;
    };
    match scene.catalog().directories.get(uri) {
        Some(directory) => known(scene, uri, directory, outcome),
        None => unknown(scene, uri, outcome),
    }
}

fn known(scene: &Scene<'_>, uri: &str, directory: &Directory, outcome: &mut Outcome) {
    let catalog = scene.catalog();
    let cursor = scene.call.cursor();
    let refused = match scene.id {
        "sep-2640-directory-read-every-directory" => depth(catalog, &directory.path) > 1,
        "sep-2640-directory-read-every-directory/root" => {
            let nested = |path: &str| catalog.skills.iter().any(|skill| within(path, &skill.path));
            let mut skills = catalog.skills.iter();
            skills.any(|skill| skill.root == uri && !nested(&skill.path))
        }
        "sep-2640-directory-read-every-directory/nested" => {
            let nested = scene.picked.nested;
            nested.is_some_and(|(_, inner)| catalog.skills[inner].root == uri)
        }
        "sep-2640-directory-read-every-directory/unlisted" => {
            catalog.unlisted().any(|skill| skill.root == uri)
        }
        "sep-2640-directory-read-empty" => directory.children.is_empty(),
        _ => false,
    };
    if refused {
        let text = format!("no directory has the URI {}", crate::uri::show(uri));
        *outcome = Err(RpcError::invalid_params(text));
        return;
    }
    match scene.id {
        "sep-2640-directory-read-pagination" if cursor.is_some() && outcome.is_ok() => {
            *outcome = scene.redo("cursor", None);
        }
        "sep-2640-directory-read-unknown-cursor/foreign"
            if outcome.is_err()
                && cursor.is_some_and(|cursor| pages(scene.server).knows(cursor)) =>
        {
            *outcome = Err(RpcError::internal());
        }
        "sep-2640-directory-read-unknown-cursor" if outcome.is_err() => {
            *outcome = scene.redo("cursor", None);
        }
        _ => {}
    }
    let Ok(result) = outcome else { return };
    match scene.id {
        "sep-2640-directory-read-result-resources-shape" => {
            result["children"] = result["resources"].take();
            remove(result, "resources");
        }
        "sep-2640-directory-read-result-resources-shape/strings" => {
            for child in result["resources"].as_array_mut().into_iter().flatten() {
                *child = child["uri"].take();
            }
        }
        _ => {}
    }
}

/// How many levels a directory lies below the outermost skill around it.
fn depth(catalog: &Catalog, path: &str) -> usize {
    let around = catalog
        .skills
        .iter()
        .filter(|skill| within(path, &skill.path));
    let root = around.map(|skill| skill.path.len()).min();
    root.map_or(0, |root| path[root + 1..].matches('/').count() + 1)
}

fn unknown(scene: &Scene<'_>, uri: &str, outcome: &mut Outcome) {
    let catalog = scene.catalog();
    let children = match (scene.id, Kind::of(catalog, uri)) {
        ("sep-2640-directory-read-invalid-params/slash", Kind::Variant) => {
            *outcome = Err(RpcError::internal());
            return;
        }
        ("sep-2640-directory-read-dot-segments", Kind::Traversal) => {
            let above = normalise(uri);
            if catalog.directories.contains_key(&above) {
                *outcome = scene.redo("uri", Some(&above));
            }
            return;
        }
        ("sep-2640-directory-read-invalid-params", Kind::Unknown) => json!([]),
        ("sep-2640-directory-read-invalid-params/below", Kind::Unknown)
            if is_deep(catalog, uri) =>
        {
            json!([])
        }
        ("sep-2640-directory-read-invalid-params/deep-file", Kind::File)
            if is_deep(catalog, uri) =>
        {
            json!([])
        }
        ("sep-2640-directory-read-invalid-params/file", Kind::Skill | Kind::File) => {
            let all = catalog.directories.values().flat_map(|d| &d.children);
            all.filter(|child| child["uri"] == uri)
                .cloned()
                .collect::<Vec<Value>>()
                .into()
        }
        _ => return,
    };
    let Some(any) = catalog.directories.keys().min() else {
        return;
    };
    *outcome = scene.redo("uri", Some(any)).map(|mut result| {
        remove(&mut result, "nextCursor");
        result["resources"] = children;
        result
    });
}
