//! Faults of `resources/read`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Fault;
use super::entry::remove;
use super::kind::{Kind, broken_escape, decoded_dots, dot_dot, is_deep, normalise};
use super::pick::within;
use super::sabotage::Scene;
use crate::catalog::{Catalog, README};
use crate::message::RpcError;
use crate::methods::Outcome;
use crate::methods::resources::{content, not_found};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-skillmd-required",
        "does not find the SKILL.md of one listed skill",
    ),
    Fault::new(
        "sep-2640-skillmd-required/unlisted",
        "does not find the SKILL.md of a skill that is not listed",
    )
    .needs(&["unlisted-skill"]),
    Fault::new(
        "sep-2640-resources-readable",
        "does not find files with a space in their name",
    ),
    Fault::new(
        "sep-2640-resources-readable/subdir",
        "does not find files that lie two directories deep",
    ),
    Fault::new(
        "sep-2640-resources-readable/unlisted",
        "does not find the supporting files of a skill that is not listed",
    )
    .needs(&["unlisted-skill"]),
    Fault::new(
        "sep-2640-read-content-for-uri",
        "sends one file under a file:// URI",
    ),
    Fault::new(
        "sep-2640-read-content-for-uri/decoded",
        "sends files under the decoded form of their URI",
    ),
    Fault::new(
        "sep-2640-read-content-for-uri/first",
        "sends files under a file:// URI until skills/list was called",
    )
    .modern()
    .stdio(),
    Fault::new(
        "sep-2640-read-single-content",
        "sends a second file along with one file",
    ),
    Fault::new(
        "sep-2640-read-content-wellformed",
        "sends a blob that is no base64",
    ),
    Fault::new(
        "sep-2640-read-content-wellformed/both",
        "sends one file as text and as blob",
    ),
    Fault::new(
        "sep-2640-read-content-wellformed/neither",
        "sends one file as neither text nor blob",
    ),
    Fault::new(
        "sep-2640-read-unknown-file-invalid-params",
        "answers an unknown file of a skill with an internal error",
    ),
    Fault::new(
        "sep-2640-read-unknown-file-invalid-params/below",
        "answers an unknown file in a subdirectory with another file",
    ),
    Fault::new(
        "sep-2640-read-unknown-file-invalid-params/no-extension",
        "answers an unknown file whose name has no dot with another file",
    ),
    Fault::new(
        "sep-2640-read-unknown-file-invalid-params/legacy-code",
        "answers an unknown file of a skill with the retired -32002",
    )
    .modern(),
    Fault::new(
        "sep-2640-read-no-empty-contents",
        "answers an unknown file of a skill with empty contents",
    ),
    Fault::new(
        "sep-2640-read-no-empty-contents/empty-file",
        "answers an empty file with empty contents",
    ),
    Fault::new(
        "sep-2640-read-malformed-params",
        "answers a missing or mistyped uri with an internal error",
    ),
    Fault::new(
        "sep-2640-read-malformed-params/boolean",
        "answers uri: true with an internal error",
    ),
    Fault::new(
        "sep-2640-read-hostile-uri",
        "fails with an internal error on a broken percent escape",
    ),
    Fault::new(
        "sep-2640-read-hostile-uri/long",
        "answers a URI of 64 KiB with -32000",
    ),
    Fault::new(
        "sep-2640-read-hostile-uri/nul",
        "answers a URI with NUL with empty text",
    ),
    Fault::new(
        "sep-2640-read-traversal",
        "follows .. out of the served files",
    ),
    Fault::new(
        "sep-2640-read-traversal/encoded",
        "follows %2e%2e out of the served files",
    ),
    Fault::new(
        "sep-2640-read-traversal/separators",
        "follows .. with separators that are encoded as %2f",
    ),
    Fault::new(
        "sep-2640-read-traversal/double",
        "decodes twice, and then follows .. out of the served files",
    ),
    Fault::new(
        "sep-2640-read-traversal/backslash",
        "follows .. between backslashes out of the served files",
    ),
    Fault::new(
        "sep-2640-read-encoded-separator",
        "takes %2f for a separator",
    ),
    Fault::new(
        "sep-2640-file-mimetype",
        "announces binary files as text/markdown",
    ),
];

/// What a traversal finds; no file of any tree holds it.
const SECRET: &str = "sep2640-reference: this text lies outside the served files\n";

pub(super) fn catalog(id: &str, catalog: &mut Catalog) {
    if id != "sep-2640-file-mimetype" {
        return;
    }
    for (uri, file) in &mut catalog.files {
        if std::str::from_utf8(&file.bytes).is_ok() {
            continue;
        }
        file.mime = "text/markdown".to_owned();
        let children = catalog
            .directories
            .values_mut()
            .flat_map(|d| &mut d.children);
        for child in children.filter(|child| child["uri"] == uri.as_str()) {
            child["mimeType"] = json!(file.mime);
        }
    }
}

pub(super) fn outcome(scene: &Scene<'_>, outcome: &mut Outcome) {
    let Some(uri) = scene.uri() else {
        let boolean = scene.call.params.get("uri").is_some_and(Value::is_boolean);
        match scene.id {
            "sep-2640-read-malformed-params" => *outcome = Err(RpcError::internal()),
            "sep-2640-read-malformed-params/boolean" if boolean => {
                *outcome = Err(RpcError::internal());
            }
            _ => {}
        }
        return;
    };
    if outcome.is_err() {
        unserved(scene, uri, outcome);
        return;
    }
    let catalog = scene.catalog();
    let path = catalog.files.get(uri).map_or("", |file| &file.path);
    let victim = scene.picked.skill.map(|index| &catalog.skills[index]);
    let missing = match scene.id {
        "sep-2640-skillmd-required" => victim.is_some_and(|victim| victim.uri == uri),
        "sep-2640-skillmd-required/unlisted" => catalog.unlisted().any(|skill| skill.uri == uri),
        "sep-2640-resources-readable" => path.contains(' '),
        "sep-2640-resources-readable/subdir" => depth(catalog, path) > 1,
        "sep-2640-resources-readable/unlisted" => catalog
            .unlisted()
            .any(|skill| skill.uri != uri && within(path, &skill.path)),
        _ => false,
    };
    if missing {
        *outcome = Err(not_found(uri, scene.call.era));
    } else if let Ok(result) = outcome {
        contents(scene, uri, result);
    }
}

/// How many directories lie between a file and the nearest skill around it.
fn depth(catalog: &Catalog, path: &str) -> usize {
    let around = catalog
        .skills
        .iter()
        .filter(|skill| within(path, &skill.path));
    let root = around.map(|skill| skill.path.len()).max();
    root.map_or(0, |root| path[root + 1..].matches('/').count())
}

fn contents(scene: &Scene<'_>, uri: &str, result: &mut Value) {
    let catalog = scene.catalog();
    let is_victim = scene.picked.file.as_deref() == Some(uri);
    let item = &mut result["contents"][0];
    match scene.id {
        "sep-2640-read-content-for-uri" if is_victim => {
            item["uri"] = json!(format!("file:///{}", catalog.files[uri].path));
        }
        "sep-2640-read-content-for-uri/first" if !scene.memory().listed => {
            item["uri"] = json!(format!("file:///{}", catalog.files[uri].path));
        }
        "sep-2640-read-content-for-uri/decoded" => {
            let decoded = percent_encoding::percent_decode_str(uri).decode_utf8_lossy();
            item["uri"] = json!(decoded);
        }
        "sep-2640-read-content-wellformed" if item.get("blob").is_some() => {
            item["blob"] = json!("*not base64*");
        }
        "sep-2640-read-content-wellformed/both" if is_victim => {
            item["blob"] = json!(STANDARD.encode(&catalog.files[uri].bytes));
        }
        "sep-2640-read-content-wellformed/neither" if is_victim => {
            remove(item, "text");
            remove(item, "blob");
        }
        "sep-2640-read-no-empty-contents/empty-file" if catalog.files[uri].bytes.is_empty() => {
            result["contents"] = json!([]);
        }
        "sep-2640-resources-digest-accurate/lossy" if item.get("blob").is_some() => {
            item["text"] = json!(String::from_utf8_lossy(&catalog.files[uri].bytes));
            remove(item, "blob");
        }
        "sep-2640-resources-digest-accurate/newline" if is_victim => {
            let text = item["text"].as_str().unwrap_or("").to_owned();
            item["text"] = json!(format!("{text}\n"));
        }
        "sep-2640-read-single-content" if is_victim => {
            let readme = content(scene.server, README, &catalog.files[README]);
            if let Some(contents) = result["contents"].as_array_mut() {
                contents.push(readme);
            }
        }
        _ => {}
    }
}

fn unserved(scene: &Scene<'_>, uri: &str, outcome: &mut Outcome) {
    let catalog = scene.catalog();
    let unknown_file = || {
        let inside = catalog.skills.iter().any(|skill| within(uri, &skill.root));
        inside && Kind::of(catalog, uri) == Kind::Unknown
    };
    let with_contents = |contents: Value| {
        scene.redo("uri", Some(README)).map(|mut result| {
            result["contents"] = contents;
            result
        })
    };
    match scene.id {
        "sep-2640-read-unknown-file-invalid-params" if unknown_file() => {
            *outcome = Err(RpcError::internal());
        }
        "sep-2640-read-unknown-file-invalid-params/below"
            if unknown_file() && is_deep(catalog, uri) =>
        {
            *outcome = scene.redo("uri", Some(README));
        }
        "sep-2640-read-unknown-file-invalid-params/no-extension"
            if unknown_file() && !uri.contains(['.', '%', '\\']) =>
        {
            *outcome = scene.redo("uri", Some(README));
        }
        "sep-2640-read-unknown-file-invalid-params/legacy-code" if unknown_file() => {
            let error = not_found(uri, scene.call.era);
            *outcome = Err(RpcError::new(-32002, error.message));
        }
        "sep-2640-read-no-empty-contents" if unknown_file() => {
            *outcome = with_contents(json!([]));
        }
        "sep-2640-read-hostile-uri" if broken_escape(uri) => *outcome = Err(RpcError::internal()),
        "sep-2640-read-hostile-uri/long" if uri.len() > 32_768 => {
            *outcome = Err(RpcError::new(-32000, "the URI is too long"));
        }
        "sep-2640-read-hostile-uri/nul" if uri.contains('\0') => {
            *outcome = with_contents(json!([{"uri": uri, "text": ""}]));
        }
        "sep-2640-read-traversal" if escapes(catalog, uri) => {
            *outcome = with_contents(secret(uri));
        }
        "sep-2640-read-traversal/separators"
            if uri.to_ascii_lowercase().contains("%2f") && escapes(catalog, uri) =>
        {
            *outcome = with_contents(secret(uri));
        }
        "sep-2640-read-traversal/double"
            if uri.contains("%25") && escapes(catalog, &uri.replace("%25", "%")) =>
        {
            *outcome = with_contents(secret(uri));
        }
        "sep-2640-read-traversal/backslash" if uri.contains('\\') && escapes(catalog, uri) => {
            *outcome = with_contents(secret(uri));
        }
        "sep-2640-read-encoded-separator" => {
            let plain = uri.replace("%2F", "/").replace("%2f", "/");
            if catalog.files.contains_key(&plain) {
                *outcome = scene.redo("uri", Some(&plain));
            }
        }
        "sep-2640-read-traversal/encoded" if !dot_dot(uri) && escapes(catalog, uri) => {
            *outcome = with_contents(secret(uri));
        }
        _ => {}
    }
}

/// Whether a URI climbs out of what is served.
fn escapes(catalog: &Catalog, uri: &str) -> bool {
    let decoded = decoded_dots(uri);
    let target = normalise(&decoded);
    dot_dot(&decoded)
        && !catalog.files.contains_key(&target)
        && !catalog.directories.contains_key(&target)
}

fn secret(uri: &str) -> Value {
    json!([{"uri": uri, "mimeType": "text/plain", "text": SECRET}])
}
