//! Faults in what entries say about files: digests, sizes, frontmatter.

use serde_json::{Value, json};

use super::Fault;
use super::entry::remove;
use super::pick::{Picked, rows_mut, set_field, victim};
use crate::catalog::{Catalog, digest};
use crate::tree::Tree;

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-resources-digest-accurate",
        "serves one file with a changed byte",
    ),
    Fault::new(
        "sep-2640-resources-digest-accurate/shifted",
        "swaps the digests of two files",
    ),
    Fault::new(
        "sep-2640-resources-digest-accurate/crlf",
        "digests a file as if its lines ended in LF, but serves CRLF",
    ),
    Fault::new(
        "sep-2640-resources-digest-accurate/bom",
        "digests a file without the byte order mark it is served with",
    ),
    Fault::new(
        "sep-2640-resources-digest-accurate/lossy",
        "sends files that are not UTF-8 as text with replacement characters",
    ),
    Fault::new(
        "sep-2640-resources-digest-accurate/newline",
        "sends one file with another newline at its end",
    ),
    Fault::new(
        "sep-2640-resources-size-accurate",
        "gives one file a size that is one too large",
    ),
    Fault::new(
        "sep-2640-resources-size-accurate/characters",
        "counts characters in place of bytes",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-identical",
        "shortens the description in one entry",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-identical/missing",
        "leaves the license out of one entry",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-identical/extra",
        "adds a field to the frontmatter of one entry",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-identical/retyped",
        "turns a metadata string into a number in one entry",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-identical/nested",
        "changes a value deep in the frontmatter of one entry",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-identical/boolean",
        "turns a boolean into a number in the frontmatter of one entry",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-identical/null-dropped",
        "drops a null field from the frontmatter of one entry",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-one-reading",
        "reads an unquoted yes as true, as only YAML 1.1 does",
    ),
    Fault::new(
        "sep-2640-entry-frontmatter-one-reading/octal",
        "reads 017 as fifteen, as only YAML 1.1 does",
    ),
];

const BOM: &[u8] = b"\xef\xbb\xbf";

pub(super) fn tree(id: &str, tree: &mut Tree) {
    let Some(skill) = victim(tree) else { return };
    match id {
        "sep-2640-resources-digest-accurate/bom" => {
            let skill_md = tree.skills[skill].skill_md();
            let root = tree.skills[skill].path.clone();
            let file = tree
                .below(&root)
                .map(|(path, _)| path.clone())
                .find(|path| *path != skill_md);
            if let Some(bytes) = file.and_then(|file| tree.files.get_mut(&file)) {
                bytes.splice(0..0, BOM.iter().copied());
            }
        }
        "sep-2640-entry-frontmatter-one-reading" => {
            set_field(tree, skill, "reviewed", "reviewed: yes");
        }
        "sep-2640-entry-frontmatter-one-reading/octal" => {
            set_field(tree, skill, "file-mode", "file-mode: 017");
        }
        _ => {}
    }
}

pub(super) fn catalog(id: &str, picked: &Picked, catalog: &mut Catalog) {
    match id {
        "sep-2640-resources-digest-accurate" => {
            let file = picked
                .file
                .as_ref()
                .and_then(|uri| catalog.files.get_mut(uri));
            if let Some(letter) = file
                .and_then(|file| (file.bytes.iter_mut()).rfind(|byte| byte.is_ascii_lowercase()))
            {
                *letter = if *letter == b'z' { b'a' } else { *letter + 1 };
            }
        }
        "sep-2640-resources-digest-accurate/shifted" => swap_digests(catalog),
        "sep-2640-resources-digest-accurate/crlf" => {
            let lf = |bytes: &[u8]| {
                let text = std::str::from_utf8(bytes).ok()?;
                text.contains("\r\n")
                    .then(|| text.replace("\r\n", "\n").into_bytes())
            };
            redigest(catalog, lf);
        }
        "sep-2640-resources-digest-accurate/bom" => {
            redigest(catalog, |bytes| Some(bytes.strip_prefix(BOM)?.to_vec()));
        }
        "sep-2640-resources-size-accurate" => {
            if let Some(uri) = &picked.file {
                let size = catalog.files[uri].bytes.len();
                resize(catalog, uri, size + 1);
            }
        }
        "sep-2640-resources-size-accurate/characters" => {
            let characters = |bytes: &[u8]| Some(std::str::from_utf8(bytes).ok()?.chars().count());
            let sizes: Vec<(String, usize)> = (catalog.files.iter())
                .filter(|(uri, file)| !file.changing && catalog.skill(uri).is_none())
                .filter_map(|(uri, file)| Some((uri.clone(), characters(&file.bytes)?)))
                .collect();
            for (uri, size) in sizes {
                resize(catalog, &uri, size);
            }
        }
        _ => frontmatter(id, picked, catalog),
    }
}

/// Gives every file the digest of other bytes, where `change` finds any.
fn redigest(catalog: &mut Catalog, change: impl Fn(&[u8]) -> Option<Vec<u8>>) {
    let files = &catalog.files;
    for skill in &mut catalog.skills {
        for row in rows_mut(&mut skill.entry).into_iter().flatten() {
            let file = row["uri"].as_str().and_then(|uri| files.get(uri));
            if let Some(bytes) = file.and_then(|file| change(&file.bytes)) {
                row["digest"] = json!(digest(&bytes));
            }
        }
    }
}

/// Swaps the digests of the last two files of the first skill that has two
/// besides its `SKILL.md` and no skill within it.
fn swap_digests(catalog: &mut Catalog) {
    let roots: Vec<String> = catalog.skills.iter().map(|s| s.path.clone()).collect();
    let alone = |path: &str| {
        let mut others = roots.iter();
        others.all(|root| !super::pick::within(root, path) && !super::pick::within(path, root))
    };
    for skill in catalog.skills.iter_mut().filter(|skill| alone(&skill.path)) {
        let Some(rows) = rows_mut(&mut skill.entry) else {
            continue;
        };
        if let [_, .., left, right] = rows.as_mut_slice()
            && left["digest"] != right["digest"]
        {
            std::mem::swap(&mut left["digest"], &mut right["digest"]);
            return;
        }
    }
}

/// Gives a file another size, in manifests and in resource metadata alike.
fn resize(catalog: &mut Catalog, uri: &str, size: usize) {
    let entries = catalog.skills.iter_mut().map(|skill| &mut skill.entry);
    let rows = entries.filter_map(rows_mut).flatten();
    let children = catalog
        .directories
        .values_mut()
        .flat_map(|d| &mut d.children);
    for item in rows.chain(children).chain(&mut catalog.resources) {
        if item["uri"] == uri && item.get("size").is_some() {
            item["size"] = json!(size);
        }
    }
}

/// Changes the frontmatter of one entry, but not the file.
fn frontmatter(id: &str, picked: &Picked, catalog: &mut Catalog) {
    // The entry the change is possible in; the picked one where any will do.
    let (place, outer, inner) = match id {
        "sep-2640-entry-frontmatter-identical/missing" => with(catalog, "license", |_| true),
        "sep-2640-entry-frontmatter-identical/retyped" => {
            with(catalog, "metadata", |value| value.get("version").is_some())
        }
        "sep-2640-entry-frontmatter-identical/nested" => within_field(catalog, Value::is_u64),
        "sep-2640-entry-frontmatter-identical/null-dropped" => {
            within_field(catalog, Value::is_null)
        }
        "sep-2640-entry-frontmatter-identical/boolean" => within_field(catalog, Value::is_boolean),
        _ => picked
            .skill
            .map(|place| (place, String::new(), String::new())),
    }
    .unwrap_or_default();
    let Some(skill) = catalog.skills.get_mut(place) else {
        return;
    };
    let fields = &mut skill.entry["frontmatter"];
    match id {
        "sep-2640-entry-frontmatter-identical" => {
            let text = fields["description"].as_str().unwrap_or("").to_owned();
            let short: String = text.chars().take(text.chars().count() / 2).collect();
            fields["description"] = json!(short.trim_end());
        }
        "sep-2640-entry-frontmatter-identical/missing" => remove(fields, "license"),
        "sep-2640-entry-frontmatter-identical/extra" => fields["x-added"] = json!("by the server"),
        "sep-2640-entry-frontmatter-identical/retyped" => {
            fields["metadata"]["version"] = json!(1.0);
        }
        "sep-2640-entry-frontmatter-identical/nested" => fields[&outer][&inner] = json!(11),
        "sep-2640-entry-frontmatter-identical/boolean" => fields[&outer][&inner] = json!(1),
        "sep-2640-entry-frontmatter-identical/null-dropped" => remove(&mut fields[&outer], &inner),
        "sep-2640-entry-frontmatter-one-reading" => fields["reviewed"] = json!(true),
        "sep-2640-entry-frontmatter-one-reading/octal" => fields["file-mode"] = json!(15),
        _ => {}
    }
}

type Place = (usize, String, String);

/// The first listed entry with such a field.
fn with(catalog: &Catalog, field: &str, test: impl Fn(&Value) -> bool) -> Option<Place> {
    let mut places = catalog.listing.iter().copied();
    let place = places.find(|place| {
        let fields = &catalog.skills[*place].entry["frontmatter"];
        fields.get(field).is_some_and(&test)
    })?;
    Some((place, field.to_owned(), String::new()))
}

/// The first listed entry with such a value inside a field, and both names.
fn within_field(catalog: &Catalog, test: impl Fn(&Value) -> bool) -> Option<Place> {
    for place in &catalog.listing {
        let fields = catalog.skills[*place].entry["frontmatter"].as_object();
        for (outer, value) in fields.into_iter().flatten() {
            let mut inner = value.as_object().into_iter().flatten();
            if let Some((inner, _)) = inner.find(|(_, value)| test(value)) {
                return Some((*place, outer.clone(), inner.clone()));
            }
        }
    }
    None
}
