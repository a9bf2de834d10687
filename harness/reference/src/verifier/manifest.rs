//! The entry, and what it says of the files that arrived.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use super::content::{compare, hash};
use super::faults::Switch;
use crate::host::address::{normal, plain, within};

/// What the manifest says of a file.
struct Item<'a> {
    digest: Option<&'a str>,
    size: Option<f64>,
}

/// Holds everything against everything.
pub(super) fn verify(
    entry: &Value,
    files: &Map<String, Value>,
    text: &str,
    fault: Switch,
) -> Result<(), String> {
    let uri = match entry["uri"].as_str() {
        Some(uri) => uri,
        None if fault.on("entry/uri") => return Ok(()),
        None => return Err("the entry has no string `uri`".to_owned()),
    };
    let root = uri
        .strip_suffix("/SKILL.md")
        .ok_or("its `uri` does not end with /SKILL.md")?;
    let over_cautious = fault.on("accept/nested") && root.matches('/').count() > 4
        || fault.on("accept/scheme") && !uri.starts_with("skill://");
    if over_cautious {
        return Err("a skill like this is not supported".to_owned());
    }
    let no_fields = Map::new();
    let fields = match &entry["frontmatter"] {
        Value::Object(fields) => fields,
        _ if fault.on("entry/frontmatter") => &no_fields,
        _ => return Err("the entry has no object `frontmatter`".to_owned()),
    };
    if fault.on("accept/unknown-field") && fields.keys().any(|key| !KNOWN.contains(&key.as_str())) {
        return Err("the frontmatter has an unknown field".to_owned());
    }
    let manifest = match entry.get("resources") {
        Some(Value::Array(items)) => Some(read(uri, root, items, fault)?),
        Some(Value::String(word)) if word == "dynamic" => None,
        None if fault.on("resources/missing") => None,
        Some(Value::Null) if fault.on("resources/null") => None,
        Some(Value::String(word)) if fault.on("resources/any-string") && !word.is_empty() => None,
        Some(Value::String(word))
            if fault.on("resources/case") && word.eq_ignore_ascii_case("dynamic") =>
        {
            None
        }
        Some(Value::Object(_)) if fault.on("resources/object") => None,
        _ => return Err("`resources` is neither a list nor \"dynamic\"".to_owned()),
    };
    let decoded = decode(files)?;
    if let Some(items) = &manifest {
        for (file, bytes) in &decoded {
            content(file, bytes, uri, root, items, fault)?;
        }
    }
    let skill_md = if fault.on("accept/first-block") {
        let first = decoded.iter().min_by_key(|(file, _)| {
            text.find(&format!("{}:\"", Value::from(**file)))
                .unwrap_or(usize::MAX)
        });
        first.map(|(_, bytes)| bytes)
    } else {
        decoded.get(uri)
    };
    match skill_md {
        Some(bytes) => compare(bytes, fields, text, fault),
        None => Err("SKILL.md did not arrive".to_owned()),
    }
}

const KNOWN: &[&str] = &[
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];

fn decode(files: &Map<String, Value>) -> Result<BTreeMap<&str, Vec<u8>>, String> {
    let mut decoded = BTreeMap::new();
    for (uri, body) in files {
        let body = body.as_str().ok_or("a file is no string")?;
        let bytes = BASE64
            .decode(body)
            .map_err(|error| format!("{uri}: {error}"))?;
        decoded.insert(uri.as_str(), bytes);
    }
    Ok(decoded)
}

/// Reads a manifest, or says what is wrong with it.
fn read<'a>(
    uri: &str,
    root: &str,
    list: &'a [Value],
    fault: Switch,
) -> Result<BTreeMap<String, Item<'a>>, String> {
    if fault.on("accept/limit") && list.len() > 256 {
        return Err("it has more than 256 files".to_owned());
    }
    let mut items: BTreeMap<String, Item> = BTreeMap::new();
    let mut listed = false;
    for value in list {
        let file = value["uri"].as_str().ok_or("a file has no string `uri`")?;
        if !inside(root, file, fault) {
            return Err(format!("{file} is no file of the skill"));
        }
        if fault.on("accept/escapes") && file.contains('%')
            || fault.on("accept/dots") && file.contains("..")
        {
            return Err(format!("{file} has a suspicious name"));
        }
        let item = Item {
            digest: digest(&value["digest"], fault)?,
            size: size(&value["size"], fault)?,
        };
        listed |= file == uri;
        if items.contains_key(&normal(file)) {
            if fault.on("duplicate/first") {
                continue;
            }
            if !fault.on("duplicate/last") {
                return Err(format!("{file} is listed twice"));
            }
        }
        items.insert(normal(file), item);
    }
    let let_pass = fault.on("skill-md/unlisted") || fault.on("skill-md/empty") && list.is_empty();
    if listed || let_pass {
        Ok(items)
    } else {
        Err("the manifest does not list SKILL.md".to_owned())
    }
}

/// Whether a file of the manifest lies within the skill.
fn inside(root: &str, file: &str, fault: Switch) -> bool {
    let below = |root: &str, file: &str| {
        file.strip_prefix(root)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    if fault.on("containment/unchecked") {
        return true;
    }
    if fault.on("containment/prefix") {
        return file.starts_with(root) && plain(file);
    }
    if fault.on("containment/dotdot") {
        return below(root, file);
    }
    if fault.on("containment/escaped-dotdot") {
        return below(root, file) && file.split('/').all(|segment| segment != "..");
    }
    if fault.on("containment/scheme") {
        let bare = |uri: &str| {
            uri.split_once("://")
                .map_or("", |(_, rest)| rest)
                .to_owned()
        };
        return below(&bare(root), &bare(file)) && plain(file);
    }
    if fault.on("containment/path") {
        let name = root.rsplit('/').next().unwrap_or(root);
        return file.contains(&format!("/{name}/")) && plain(file);
    }
    plain(file) && file.starts_with(root) && within(root, file) && below(root, file)
}

fn digest(value: &Value, fault: Switch) -> Result<Option<&str>, String> {
    let well_formed = |digest: &&str| {
        let hex = digest.strip_prefix("sha256:").unwrap_or("");
        hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    match value.as_str() {
        Some(digest) if well_formed(&digest) => Ok(Some(digest)),
        Some(digest)
            if fault.on("digest/case") && well_formed(&digest.to_ascii_lowercase().as_str()) =>
        {
            Ok(Some(digest))
        }
        Some(digest) if fault.on("digest/bare") && digest.len() == 64 => Ok(Some(digest)),
        Some(digest) if fault.on("digest/trimmed") && well_formed(&digest.trim()) => {
            Ok(Some(digest.trim()))
        }
        Some(digest)
            if fault.on("digest/longer") && digest.len() > 71 && digest.is_char_boundary(71) =>
        {
            Ok(Some(&digest[..71]))
        }
        _ if fault.on("digest/malformed") => Ok(None),
        None if fault.on("digest/missing") => Ok(None),
        _ => Err("a digest is not well-formed".to_owned()),
    }
}

fn size(value: &Value, fault: Switch) -> Result<Option<f64>, String> {
    match value.as_u64() {
        Some(size) => Ok(Some(size as f64)),
        None if fault.on("size/ignored") => Ok(None),
        None if fault.on("size/rounded") && value.is_f64() => Ok(value.as_f64().map(f64::floor)),
        None => Err("a size is no integer".to_owned()),
    }
}

/// Holds what arrived for one file against the manifest.
fn content(
    file: &str,
    bytes: &[u8],
    uri: &str,
    root: &str,
    items: &BTreeMap<String, Item>,
    fault: Switch,
) -> Result<(), String> {
    if fault.on("accept/empty-file") && bytes.is_empty() {
        return Err(format!("{file} is empty"));
    }
    if fault.on("accept/binary") && std::str::from_utf8(bytes).is_err() {
        return Err(format!("{file} is no text"));
    }
    let item = match items.get(&normal(file)) {
        Some(item) => item,
        None if fault.on("unlisted/used") => return Ok(()),
        None if fault.on("unlisted/nested") && file.ends_with("/SKILL.md") && file != uri => {
            return Ok(());
        }
        None if file == uri && (fault.on("skill-md/unlisted") || fault.on("skill-md/empty")) => {
            return Ok(());
        }
        None if within(root, file) => return Err(format!("{file} is not listed")),
        None => return Err(format!("{file} is no file of the skill")),
    };
    let sizes = [item.size, Some(length(bytes, fault))];
    let passed = fault.on("size/ignored")
        || fault.on("size/zero") && item.size == Some(0.0)
        || fault.on("size/at-most") && sizes[1] <= sizes[0]
        || fault.on("size/skill-md-only") && file != uri;
    if sizes[0] != sizes[1] && !passed {
        return Err(format!("{file} has another size than the manifest says"));
    }
    let Some(expected) = item.digest else {
        return Ok(());
    };
    let passed = fault.on("digest/ignored")
        || fault.on("digest/skill-md-only") && file != uri
        || fault.on("digest/files-only") && file == uri
        || fault.on("digest/text-only") && std::str::from_utf8(bytes).is_err();
    if passed {
        return Ok(());
    }
    let actual = hash(bytes, fault);
    let expected = match expected.strip_prefix("sha256:") {
        Some(hex) => hex.to_owned(),
        None if fault.on("digest/case") => expected[7..].to_owned(),
        None => expected.to_owned(),
    };
    let same = if fault.on("digest/prefix") {
        expected[..8] == actual[..8]
    } else if fault.on("digest/case") {
        expected.eq_ignore_ascii_case(&actual)
    } else if fault.on("digest/any-listed") {
        let listed = format!("sha256:{actual}");
        items.values().any(|item| item.digest == Some(&listed))
    } else {
        expected == actual
    };
    if same {
        Ok(())
    } else {
        Err(format!("{file} has another digest than the manifest says"))
    }
}

fn length(bytes: &[u8], fault: Switch) -> f64 {
    let length = if fault.on("size/characters") {
        String::from_utf8_lossy(bytes).chars().count()
    } else if fault.on("size/utf-16") {
        String::from_utf8_lossy(bytes).encode_utf16().count()
    } else {
        bytes.len()
    };
    length as f64
}
