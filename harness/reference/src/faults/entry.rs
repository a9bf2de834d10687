//! Faults in entries, the same in `skills/list` and `skills/get`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Fault;
use super::pick::{Picked, rows_mut, supporting_row, within};
use crate::catalog::{Catalog, File, row};
use crate::tree::Tree;

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-entry-uri-required",
        "calls the URI of one listed entry id",
    ),
    Fault::new(
        "sep-2640-entry-uri-required/number",
        "gives one listed entry a number as uri",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-required",
        "leaves the frontmatter out of one entry",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-required/string",
        "gives one entry the YAML text as frontmatter",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-required/flat",
        "puts name and description on one entry itself",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-name",
        "leaves the name out of one entry's frontmatter",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-name/number",
        "gives one entry's frontmatter a number as name",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-description",
        "leaves the description out of one entry's frontmatter",
    ),
    Fault::new(
        "sep-2640-entry-resources-required",
        "leaves resources out of one entry",
    ),
    Fault::new(
        "sep-2640-resources-dynamic-marker",
        "gives one entry \"static\" as resources",
    ),
    Fault::new(
        "sep-2640-resources-dynamic-marker/null",
        "gives one entry null as resources",
    ),
    Fault::new(
        "sep-2640-resources-dynamic-marker/object",
        "gives one entry an object as resources",
    ),
    Fault::new(
        "sep-2640-resources-dynamic-marker/case",
        "writes the dynamic marker with a capital letter",
    ),
    Fault::new(
        "sep-2640-resources-uri-required",
        "calls the URI of one manifest item path",
    ),
    Fault::new(
        "sep-2640-resources-uri-required/string-items",
        "lists the supporting files of one skill as bare strings",
    ),
    Fault::new(
        "sep-2640-resources-digest-required",
        "gives one manifest item null as digest",
    ),
    Fault::new(
        "sep-2640-resources-digest-required/missing",
        "leaves the digest out of one manifest item",
    ),
    Fault::new(
        "sep-2640-resources-digest-format",
        "writes one digest in upper-case hexadecimal",
    ),
    Fault::new(
        "sep-2640-resources-digest-format/base64",
        "writes one digest in base64",
    ),
    Fault::new(
        "sep-2640-resources-digest-format/prefix",
        "writes one digest with the prefix sha-256",
    ),
    Fault::new(
        "sep-2640-resources-digest-format/bare",
        "writes one digest without a prefix",
    ),
    Fault::new(
        "sep-2640-resources-digest-format/short",
        "cuts one digest to half its length",
    ),
    Fault::new(
        "sep-2640-resources-size-required",
        "leaves the size out of one manifest item",
    ),
    Fault::new(
        "sep-2640-resources-size-integer",
        "writes one size as a string",
    ),
    Fault::new(
        "sep-2640-resources-size-integer/float",
        "writes one size with a fraction",
    ),
    Fault::new(
        "sep-2640-resources-size-integer/negative",
        "gives one manifest item a size of -1",
    ),
    Fault::new(
        "sep-2640-resources-size-integer/null",
        "gives one manifest item null as size",
    ),
    Fault::new(
        "sep-2640-resources-uri-within-skill",
        "lists a file of a directory whose name only begins like the skill's",
    ),
    Fault::new(
        "sep-2640-resources-uri-within-skill/dotdot",
        "lists a file above the skill by way of ..",
    ),
    Fault::new(
        "sep-2640-resources-uri-within-skill/encoded",
        "lists a file above the skill by way of %2e%2e",
    ),
    Fault::new(
        "sep-2640-resources-uri-within-skill/scheme",
        "lists a file:// URI in a skill's manifest",
    ),
    Fault::new(
        "sep-2640-resources-uri-within-skill/query",
        "lists a URI with a query in a skill's manifest",
    ),
    Fault::new(
        "sep-2640-resources-uri-within-skill/empty-segment",
        "lists a URI with an empty segment in a skill's manifest",
    ),
    Fault::new(
        "sep-2640-resources-uri-within-skill/fragment",
        "lists a URI with a fragment in a skill's manifest",
    ),
    Fault::new(
        "sep-2640-resources-lists-skillmd",
        "leaves SKILL.md out of one manifest",
    ),
    Fault::new(
        "sep-2640-resources-each-once",
        "lists SKILL.md twice in one manifest",
    ),
    Fault::new(
        "sep-2640-resources-each-once/shared",
        "gives two files of one skill the same URI",
    ),
    Fault::new(
        "sep-2640-resources-nested-completeness",
        "leaves the files of a nested skill out of the manifest around it",
    ),
    Fault::new(
        "sep-2640-nested-digests-equal",
        "keeps a stale digest of a nested SKILL.md in the manifest around it",
    ),
    Fault::new(
        "sep-2640-entry-uri-matches-frontmatter-name",
        "publishes another name in one entry than its URI and file have",
    ),
    Fault::new(
        "sep-2640-entry-members",
        "marks the entry of a nested skill with nested: true",
    ),
];

pub(super) fn tree(id: &str, tree: &mut Tree) {
    if id == "sep-2640-resources-uri-within-skill"
        && let Some(skill) = super::pick::victim(tree)
    {
        let path = format!("{}-shared/x.md", tree.skills[skill].path);
        tree.add(path, SHARED);
    }
}

const SHARED: &[u8] = b"Shared by several skills.\n";

pub(super) fn catalog(id: &str, picked: &Picked, catalog: &mut Catalog) {
    match id {
        "sep-2640-resources-dynamic-marker/case" => {
            for skill in catalog.skills.iter_mut().filter(|skill| skill.dynamic) {
                skill.entry["resources"] = json!("Dynamic");
            }
        }
        _ if id.starts_with("sep-2640-resources-uri-within-skill") => {
            foreign_file(id, picked, catalog);
        }
        _ => {}
    }
    if let Some((outer, inner)) = picked.nested {
        nested(id, outer, inner, catalog);
    }
    if let Some(entry) = picked.entry(catalog) {
        members(id, entry);
        manifest(id, entry);
        if let Some(row) = supporting_row(entry) {
            item(id, row);
        }
    }
}

/// Changes members of the entry itself.
fn members(id: &str, entry: &mut Value) {
    match id {
        "sep-2640-entry-frontmatter-required" => remove(entry, "frontmatter"),
        "sep-2640-entry-frontmatter-required/string" => {
            let yaml = serde_yaml::to_string(&entry["frontmatter"]).unwrap_or_default();
            entry["frontmatter"] = json!(yaml);
        }
        "sep-2640-entry-frontmatter-required/flat" => {
            entry["name"] = entry["frontmatter"]["name"].take();
            entry["description"] = entry["frontmatter"]["description"].take();
            remove(entry, "frontmatter");
        }
        "sep-2640-entry-frontmatter-name" => remove(&mut entry["frontmatter"], "name"),
        "sep-2640-entry-frontmatter-name/number" => entry["frontmatter"]["name"] = json!(7),
        "sep-2640-entry-frontmatter-description" => {
            remove(&mut entry["frontmatter"], "description");
        }
        "sep-2640-entry-resources-required" => remove(entry, "resources"),
        "sep-2640-resources-dynamic-marker" => entry["resources"] = json!("static"),
        "sep-2640-resources-dynamic-marker/null" => entry["resources"] = Value::Null,
        "sep-2640-resources-dynamic-marker/object" => entry["resources"] = json!({}),
        "sep-2640-entry-uri-matches-frontmatter-name" => {
            entry["frontmatter"]["name"] = json!("returns");
        }
        _ => {}
    }
}

/// Changes the manifest as a whole.
fn manifest(id: &str, entry: &mut Value) {
    let Some(rows) = rows_mut(entry) else { return };
    match id {
        "sep-2640-resources-uri-required/string-items" => {
            for row in rows.iter_mut().skip(1) {
                *row = row["uri"].take();
            }
        }
        "sep-2640-resources-lists-skillmd" => {
            rows.remove(0);
        }
        "sep-2640-resources-each-once" => rows.push(rows[0].clone()),
        "sep-2640-resources-each-once/shared" => {
            if let Some(uri) = rows.last().and_then(|row| row["uri"].as_str()) {
                rows.push(row(uri, SHARED));
            }
        }
        _ => {}
    }
}

/// Changes one item of the manifest.
fn item(id: &str, row: &mut Value) {
    let digest = row["digest"].as_str().unwrap_or("").to_owned();
    let hex = digest.strip_prefix("sha256:").unwrap_or("");
    let size = row["size"].as_u64().unwrap_or(0);
    match id {
        "sep-2640-resources-uri-required" => {
            row["path"] = row["uri"].take();
            remove(row, "uri");
        }
        "sep-2640-resources-digest-required" => row["digest"] = Value::Null,
        "sep-2640-resources-digest-required/missing" => remove(row, "digest"),
        "sep-2640-resources-digest-format" => {
            row["digest"] = json!(format!("sha256:{}", hex.to_uppercase()));
        }
        "sep-2640-resources-digest-format/base64" => {
            let bytes: Vec<u8> = (0..hex.len() / 2)
                .filter_map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok())
                .collect();
            row["digest"] = json!(format!("sha256:{}", STANDARD.encode(bytes)));
        }
        "sep-2640-resources-digest-format/prefix" => {
            row["digest"] = json!(format!("sha-256:{hex}"));
        }
        "sep-2640-resources-digest-format/bare" => row["digest"] = json!(hex),
        "sep-2640-resources-digest-format/short" => {
            row["digest"] = json!(format!("sha256:{}", &hex[..hex.len() / 2]));
        }
        "sep-2640-resources-size-required" => remove(row, "size"),
        "sep-2640-resources-size-integer" => row["size"] = json!(size.to_string()),
        "sep-2640-resources-size-integer/float" => row["size"] = json!(size as f64 + 0.5),
        "sep-2640-resources-size-integer/negative" => row["size"] = json!(-1),
        "sep-2640-resources-size-integer/null" => row["size"] = Value::Null,
        _ => {}
    }
}

/// Adds a file to the manifest that is no file of the skill. It can be read,
/// and what the manifest says about it is true.
fn foreign_file(id: &str, picked: &Picked, catalog: &mut Catalog) {
    let Some(index) = picked.skill else { return };
    let skill = &mut catalog.skills[index];
    let root = &skill.root;
    let uri = match id {
        "sep-2640-resources-uri-within-skill/dotdot" => format!("{root}/../x.md"),
        "sep-2640-resources-uri-within-skill/encoded" => format!("{root}/%2e%2e/x.md"),
        "sep-2640-resources-uri-within-skill/scheme" => "file:///x.md".to_owned(),
        "sep-2640-resources-uri-within-skill/empty-segment" => format!("{root}//x.md"),
        "sep-2640-resources-uri-within-skill/fragment" => format!("{root}/x.md#top"),
        "sep-2640-resources-uri-within-skill/query" => format!("{root}/x.md?v=1"),
        _ => format!("{root}-shared/x.md"),
    };
    if let Some(rows) = rows_mut(&mut skill.entry) {
        rows.push(row(&uri, SHARED));
    }
    catalog.files.entry(uri).or_insert_with(|| File {
        path: "x.md".to_owned(),
        bytes: SHARED.to_vec(),
        mime: "text/markdown".to_owned(),
        changing: false,
    });
}

/// Changes what two entries say about the same files.
fn nested(id: &str, outer: usize, inner: usize, catalog: &mut Catalog) {
    let (root, uri) = (
        catalog.skills[inner].root.clone(),
        catalog.skills[inner].uri.clone(),
    );
    let around = &mut catalog.skills[outer].entry;
    match id {
        "sep-2640-resources-nested-completeness" => {
            if let Some(rows) = rows_mut(around) {
                rows.retain(|row| !row["uri"].as_str().is_some_and(|uri| within(uri, &root)));
            }
        }
        "sep-2640-nested-digests-equal" => {
            for row in rows_mut(around).into_iter().flatten() {
                if row["uri"] == uri.as_str() {
                    row["digest"] = json!(crate::catalog::digest(b"an earlier version"));
                }
            }
        }
        "sep-2640-entry-members" => catalog.skills[inner].entry["nested"] = json!(true),
        _ => {}
    }
}

/// Changes the picked entry only as it is listed: whoever asks for the skill
/// by its URI still gets it.
pub(super) fn listed(id: &str, picked: &Picked, catalog: &Catalog, entries: &mut [Value]) {
    let Some(index) = picked.skill else { return };
    let uri = catalog.skills[index].uri.as_str();
    for entry in entries.iter_mut().filter(|entry| entry["uri"] == uri) {
        match id {
            "sep-2640-entry-uri-required" => {
                remove(entry, "uri");
                entry["id"] = json!(uri);
            }
            "sep-2640-entry-uri-required/number" => entry["uri"] = json!(7),
            "sep-2640-skills-get-equals-list/enumerated" => entry["resources"] = json!("dynamic"),
            _ => {}
        }
    }
}

/// Removes a member.
pub(super) fn remove(object: &mut Value, member: &str) {
    if let Some(object) = object.as_object_mut() {
        object.remove(member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_size_is_no_integer() {
        let mut row = json!({"uri": "a", "digest": "sha256:ab", "size": 4});
        item("sep-2640-resources-size-integer/float", &mut row);
        assert_eq!(row["size"], json!(4.5));
    }
}
