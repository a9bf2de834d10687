//! Faults in resource metadata, in `resources/list` and directory reads alike.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Fault;
use super::entry::remove;
use crate::catalog::{Catalog, README};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-skillmd-mimetype",
        "announces every SKILL.md as text/plain",
    ),
    Fault::new(
        "sep-2640-skillmd-metadata-name",
        "names every SKILL.md resource SKILL.md",
    ),
    Fault::new(
        "sep-2640-skillmd-metadata-description",
        "describes no SKILL.md resource",
    ),
    Fault::new(
        "sep-2640-meta-prefix",
        "uses _meta keys without a prefix on skill resources",
    ),
    Fault::new(
        "sep-2640-meta-prefix-reserved",
        "uses the _meta prefix of skills on an ordinary resource",
    ),
    Fault::new(
        "sep-2640-metadata-size-agrees",
        "gives SKILL.md resources another size than their manifest",
    ),
    Fault::new(
        "sep-2640-uri-one-spelling/list",
        "writes the scheme of skills in capitals in resources/list",
    ),
    Fault::new(
        "sep-2640-resources-list-agrees",
        "lists and serves a synthetic file inside a skill that its manifest lacks",
    ),
];

pub(super) fn catalog(id: &str, catalog: &mut Catalog) {
    let skills: BTreeSet<&str> = catalog
        .skills
        .iter()
        .map(|skill| skill.uri.as_str())
        .collect();
    if id == "sep-2640-skillmd-mimetype" {
        for uri in &skills {
            if let Some(file) = catalog.files.get_mut(*uri) {
                file.mime = "text/plain".to_owned();
            }
        }
    }
    if id == "sep-2640-resources-list-agrees" {
        synthetic_file(catalog);
        return;
    }
    if id == "sep-2640-uri-one-spelling/list" {
        for resource in &mut catalog.resources {
            if let Some(rest) = resource["uri"]
                .as_str()
                .and_then(|uri| uri.strip_prefix("skill:"))
            {
                resource["uri"] = json!(format!("SKILL:{rest}"));
            }
        }
        return;
    }
    let children = catalog
        .directories
        .values_mut()
        .flat_map(|d| &mut d.children);
    for resource in children.chain(&mut catalog.resources) {
        let uri = resource["uri"].as_str().unwrap_or("");
        if skills.contains(uri) {
            skill_md(id, resource);
        } else if uri == README && id == "sep-2640-meta-prefix-reserved" {
            resource["_meta"] = json!({"io.modelcontextprotocol.skills/license": "MIT"});
        }
    }
}

fn synthetic_file(catalog: &mut Catalog) {
    let root = catalog.skills[0]
        .uri
        .trim_end_matches("/SKILL.md")
        .to_owned();
    let uri = format!("{root}/_manifest");
    let readme = catalog.files[README].clone();
    catalog
        .resources
        .push(json!({"uri": uri, "name": "_manifest", "mimeType": readme.mime}));
    catalog.files.insert(uri, readme);
}

fn skill_md(id: &str, resource: &mut Value) {
    match id {
        "sep-2640-skillmd-mimetype" => resource["mimeType"] = json!("text/plain"),
        "sep-2640-skillmd-metadata-name" => resource["name"] = json!("SKILL.md"),
        "sep-2640-skillmd-metadata-description" => remove(resource, "description"),
        "sep-2640-meta-prefix" => {
            if let Some(Value::Object(meta)) = resource.get("_meta") {
                let license = meta.values().next().cloned();
                resource["_meta"] = json!({"license": license});
            }
        }
        "sep-2640-metadata-size-agrees" => {
            if let Some(size) = resource["size"].as_u64() {
                resource["size"] = json!(size + 2);
            }
        }
        _ => {}
    }
}
