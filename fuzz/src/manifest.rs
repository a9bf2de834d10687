//! Entries and what arrived, as three parties see them: the generator, the reference's verifier,
//! and the model that the checks are made of.

use std::collections::HashSet;

use sep2640_conform::generate::Rule;
use sep2640_conform::generate::case::Case;
use sep2640_conform::generate::entry::{Frontmatter, Resources};
use sep2640_conform::generate::skill::digest;
use sep2640_conform::model::{frontmatter, uri};
use sep2640_reference::{Verifier, VerifierOptions};
use serde_json::Value;

use crate::plans;

/// Where readings do not differ, all three agree. The model has two parts; the one is asked that a
/// broken rule is about.
pub fn manifest(data: &[u8]) {
    let data = plans::bytes(data);
    let Ok(plan) = plans::case(data) else {
        return;
    };
    let case = plan.build();
    // The reference reads two formats, and takes three times as long as the model.
    let (party, accepted) = match (plans::lot(data) % 7, case.rules.first()) {
        // For what breaks the last two rules the model has no word.
        (0, _) | (_, Some(Rule::Entry | Rule::Resources)) => {
            ("reference", reference_accepts(&case))
        }
        (_, Some(Rule::Frontmatter)) | (1 | 2, None) => {
            ("model of frontmatter", frontmatter_agrees(&case))
        }
        _ => ("model of manifests", files_agree(&case)),
    };
    assert!(
        accepted.is_none_or(|accepted| case.agrees(accepted)),
        "{party} accepts: {accepted:?}, {}: {case:?}",
        case.about
    );
}

fn reference_accepts(case: &Case) -> Option<bool> {
    let mut line = String::new();
    case.write(1, &mut line);
    let message: Value =
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let verifier = Verifier::new(&VerifierOptions::default()).ok()?;
    Some(verifier.verify(&message, &line).is_ok())
}

/// Whether what arrived is what the manifest lists, by the model; `None` for what it has no word
/// for.
fn files_agree(case: &Case) -> Option<bool> {
    let entry_uri = case.entry.uri.as_ref()?.as_str()?;
    let root = uri::skill_root(entry_uri)?;
    let Resources::Files(listed) = &case.entry.resources else {
        return None;
    };
    let mut seen = HashSet::new();
    let outside = |uri: &str| uri::within(root, uri).is_err();
    if !listed.iter().any(|file| file.uri == entry_uri)
        || listed.iter().any(|file| outside(&file.uri))
        || !listed.iter().all(|file| seen.insert(&file.uri))
    {
        return Some(false);
    }
    let right = |(uri, bytes): &(String, Vec<u8>)| {
        let file = listed.iter().find(|file| file.uri == *uri)?;
        let digest_is_right = file.digest.as_ref()?.as_str()? == digest(bytes);
        Some(digest_is_right && file.size.as_ref()?.as_u64()? == bytes.len() as u64)
    };
    Some(case.files.iter().all(|file| right(file) == Some(true)))
}

/// Whether the frontmatter of the entry is that of SKILL.md, by the model; `None` for what it has
/// no word for.
fn frontmatter_agrees(case: &Case) -> Option<bool> {
    let entry_uri = case.entry.uri.as_ref()?.as_str()?;
    let Frontmatter::Fields(fields) = &case.entry.frontmatter else {
        return None;
    };
    let (_, skill_md) = case.files.iter().find(|(uri, _)| uri == entry_uri)?;
    let Ok(block) = frontmatter::block(skill_md, true) else {
        return Some(false);
    };
    let Ok(document) = frontmatter::read(block) else {
        return Some(false);
    };
    let object = Value::Object(fields.iter().cloned().collect());
    Some(frontmatter::compare(&document, &object).is_empty())
}
