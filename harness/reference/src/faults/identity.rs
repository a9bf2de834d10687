//! Faults that show only to who looks as two identities.

use serde_json::json;

use super::Fault;
use super::pick::within;
use super::sabotage::Scene;
use crate::message::{Channel, RpcError};
use crate::methods::{Outcome, dispatch};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "sep-2640-identity-listed-readable",
        "refuses to read a listed file to whom nothing private belongs",
    ),
    fault(
        "sep-2640-identity-listed-readable/get",
        "answers skills/get for a listed skill only to whom something private belongs",
    ),
    fault(
        "sep-2640-identity-listed-readable/digest",
        "lists one version of a file to everybody, and reads out another to some",
    ),
    fault(
        "sep-2640-identity-unlisted-served",
        "reads out the files of a private skill to anybody",
    ),
    fault(
        "sep-2640-identity-unlisted-served/get",
        "answers skills/get for a private skill to anybody",
    ),
    fault(
        "sep-2640-identity-public-scope",
        "marks listings as public that differ from one identity to the other",
    )
    .modern(),
    fault(
        "sep-2640-identity-public-scope/get",
        "marks the entries of private skills as public",
    )
    .modern(),
    fault(
        "sep-2640-identity-public-scope/read",
        "marks the files of private skills as public",
    )
    .modern(),
];

const fn fault(id: &'static str, about: &'static str) -> Fault {
    Fault::new(id, about)
        .over(Channel::Http)
        .needs(&["identities"])
}

pub(super) fn outcome(scene: &Scene<'_>, outcome: &mut Outcome) {
    let (private, call) = (&scene.server.options.private, scene.call);
    let stranger = !private
        .iter()
        .any(|(_, token)| Some(token) == call.token.as_ref());
    let method = call.method.as_str();
    let file = scene.uri().and_then(|uri| scene.catalog().files.get(uri));
    let is_private =
        file.is_some_and(|file| private.iter().any(|(path, _)| within(&file.path, path)));
    let is_victim = scene.uri().is_some() && scene.uri() == scene.picked.file.as_deref();
    let as_owner = || {
        let mut call = call.clone();
        call.token = private.first().map(|(_, token)| token.clone());
        dispatch(scene.server, &call)
    };
    let public = |outcome: &mut Outcome| {
        if let Ok(result) = outcome {
            result["cacheScope"] = json!("public");
        }
    };
    match (scene.id, method) {
        ("sep-2640-identity-listed-readable", "resources/read") if stranger && is_victim => {
            *outcome = Err(RpcError::invalid_params("not for you"));
        }
        ("sep-2640-identity-listed-readable/get", "skills/get") => {
            let victim = scene
                .picked
                .skill
                .map(|index| &scene.catalog().skills[index]);
            if stranger && victim.is_some_and(|victim| scene.uri() == Some(&victim.uri)) {
                *outcome = Err(RpcError::invalid_params("not for you"));
            }
        }
        ("sep-2640-identity-listed-readable/digest", "resources/read") if stranger && is_victim => {
            if let Ok(result) = outcome {
                result["contents"][0]["text"] = json!("another version\n");
            }
        }
        ("sep-2640-identity-unlisted-served", "resources/read")
        | ("sep-2640-identity-unlisted-served/get", "skills/get")
            if is_private =>
        {
            *outcome = as_owner();
        }
        ("sep-2640-identity-public-scope", "skills/list") => public(outcome),
        ("sep-2640-identity-public-scope/get", "skills/get")
        | ("sep-2640-identity-public-scope/read", "resources/read")
            if is_private =>
        {
            public(outcome);
        }
        _ => {}
    }
}
