//! URIs and frontmatter.

use sep2640_conform::generate::frontmatter::block;
use sep2640_conform::model::frontmatter as yaml;
use sep2640_conform::model::uri as model;
use serde_json::{Map, Value, json};

use crate::{LONGEST, plans, text};

/// Two URIs, a line each: the normal form is a fixed point, equivalent URIs are equally inside,
/// and the directories above a file are inside as well.
pub fn uri(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let (root, uri) = text
        .split_once('\n')
        .unwrap_or(("skill://acme/refunds", text));
    let valid = model::check(uri).is_ok();
    let normal = model::normalize(uri);
    assert_eq!(valid, normal.is_some(), "{uri:?}");
    if let Some(normal) = &normal {
        assert_eq!(
            model::normalize(normal).as_deref(),
            Some(&**normal),
            "{uri:?}"
        );
        assert!(model::equivalent(uri, normal), "{uri:?}");
    }
    let inside = model::within(root, uri).is_ok();
    if inside {
        let directories = model::parent_dirs(root, uri);
        assert_eq!(directories.first().map(|root| &**root), Some(root));
        for directory in &directories[1..] {
            assert!(
                model::within(root, directory).is_ok(),
                "{directory:?} above {uri:?}"
            );
        }
    } else {
        assert!(model::parent_dirs(root, uri).is_empty());
    }
    let _ = (model::faults(uri, root), model::child_segment(root, uri));
    if let Some(root) = model::skill_root(uri) {
        let _ = model::skill_name(uri);
        assert!(uri.ends_with("/SKILL.md") && uri.len() == root.len() + "/SKILL.md".len());
    }
}

/// Any text is read as frontmatter or refused, in bounded time; what is read agrees with itself.
pub fn frontmatter(data: &[u8]) {
    let data = &data[..data.len().min(LONGEST)];
    let whole = yaml::block(data, true).ok();
    // Of a file that may be cut off, most often the same.
    let part = yaml::block(data, false)
        .ok()
        .filter(|part| whole != Some(part));
    if whole.is_none() && part.is_none() {
        if let Some(Ok(document)) = text(data).map(yaml::read) {
            let _ = document.root.type_words();
        }
        return;
    }
    for block in whole.into_iter().chain(part) {
        if let Ok(document) = yaml::read(block) {
            let found = yaml::compare(&document, &Value::Object(Map::new()));
            assert!(found.len() <= yaml::MAX_DIFFERENCES);
        }
    }
}

/// A generated frontmatter agrees with its rendering, and with a field taken away or given another
/// value it does not. The first byte chooses which of these is looked at, and the field.
pub fn frontmatter_compare(data: &[u8]) {
    let Some((asked, data)) = data.split_first() else {
        return;
    };
    let Ok(plan) = plans::frontmatter(plans::bytes(data)) else {
        return;
    };
    let fields = plan.fields("name");
    let text = block(&fields, &plan.layout);
    let Ok(yaml) = yaml::block(text.as_bytes(), true) else {
        panic!("no block: {text}")
    };
    let document = yaml::read(yaml).unwrap_or_else(|error| panic!("{error}: {text}"));
    let key = fields[usize::from(asked / 4) % fields.len()].key.clone();
    let members = fields
        .into_iter()
        .filter_map(|field| Some((field.key, field.json?)));
    let mut members: Map<String, Value> = members.collect();
    match asked % 4 {
        0 => drop(members.remove(&key)),
        // No field is generated as a list in a list in a list.
        1 => drop(members.insert(key.clone(), json!([[["another"]]]))),
        _ => {
            let found = yaml::compare(&document, &Value::Object(members));
            assert_eq!(found, [], "{text}");
            return;
        }
    }
    let found = yaml::compare(&document, &Value::Object(members));
    assert!(!found.is_empty(), "{key} is not missed: {text}");
}
