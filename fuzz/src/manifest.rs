//! Entries and what arrived, as three parties see them: the generator, the reference's verifier,
//! and the model that the checks are made of.

use arbitrary::{Arbitrary, Unstructured};
use sep2640_conform::generate::Rule;
use sep2640_conform::generate::case::{Case, CasePlan};
use sep2640_conform::generate::entry::{Frontmatter, Resources};
use sep2640_conform::generate::skill::digest;
use sep2640_conform::model::{frontmatter, uri};
use sep2640_reference::{Verifier, VerifierOptions};
use serde_json::Value;

use crate::PLAN;

/// Where readings do not differ, all three agree. The last byte chooses who is asked.
pub fn manifest(data: &[u8]) {
    let data = &data[..data.len().min(PLAN)];
    let Ok(plan) = CasePlan::arbitrary(&mut Unstructured::new(data)) else {
        return;
    };
    let case = plan.build();
    if data.last().is_some_and(|byte| byte % 2 == 1) {
        let accepted = case.rules.contains(&Rule::Entry);
        let accepted = if accepted { None } else { model_accepts(&case) };
        assert!(
            accepted.is_none_or(|accepted| case.agrees(accepted)),
            "model accepts: {accepted:?}, {}: {case:?}",
            case.about
        );
        return;
    }
    let mut line = String::new();
    case.write(1, &mut line);
    let message: Value =
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let Ok(verifier) = Verifier::new(&VerifierOptions::default()) else {
        return;
    };
    let verdict = verifier.verify(&message, &line);
    assert!(
        case.agrees(verdict.is_ok()),
        "reference: {verdict:?}, {}: {line}",
        case.about
    );
}

/// What the model makes of a case; `None` for what it has no word for.
fn model_accepts(case: &Case) -> Option<bool> {
    let entry_uri = case.entry.uri.as_ref()?.as_str()?;
    let root = uri::skill_root(entry_uri)?;
    let Frontmatter::Fields(fields) = &case.entry.frontmatter else {
        return None;
    };
    let Resources::Files(listed) = &case.entry.resources else {
        return None;
    };
    let twice = |at: usize| listed[..at].iter().any(|other| other.uri == listed[at].uri);
    if !listed.iter().any(|file| file.uri == entry_uri)
        || listed
            .iter()
            .any(|file| uri::within(root, &file.uri).is_err())
        || (0..listed.len()).any(twice)
    {
        return Some(false);
    }
    for (uri, bytes) in &case.files {
        let Some(file) = listed.iter().find(|file| file.uri == *uri) else {
            return Some(false);
        };
        let right = file.digest.as_ref().and_then(Value::as_str) == Some(&digest(bytes))
            && file.size.as_ref().and_then(Value::as_u64) == Some(bytes.len() as u64);
        if !right {
            return Some(false);
        }
    }
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
