//! `skills/list` and `skills/get`.

use serde_json::{Value, json};

use super::{Call, Outcome, with};
use crate::message::RpcError;
use crate::paging::Pages;
use crate::server::Server;
use crate::uri::show;

/// The pages of the listing.
pub(crate) fn pages(server: &Server) -> Pages<'static> {
    Pages {
        method: "skills/list",
        scope: "",
        total: server.catalog.listing.len(),
        size: server.options.page_size,
    }
}

pub(super) fn list(server: &Server, call: &Call) -> Outcome {
    let catalog = server.view(call);
    let listing = &catalog.listing;
    let pages = Pages {
        total: listing.len(),
        ..pages(server)
    };
    let start = pages.start(call.cursor())?;
    let skills = listing[start..pages.end(start)].iter();
    let skills = skills.map(|index| catalog.skills[*index].entry.clone());
    let mut result = with("skills", Value::Array(skills.collect()));
    if let Some(cursor) = pages.next(start) {
        result["nextCursor"] = json!(cursor);
    }
    Ok(result)
}

pub(super) fn get(server: &Server, call: &Call) -> Outcome {
    let uri = call.uri()?;
    match server.view(call).skill(uri) {
        Some(skill) => Ok(with("skill", skill.entry.clone())),
        None => Err(RpcError::invalid_params(format!(
            "no skill has its SKILL.md at {}",
            show(uri)
        ))),
    }
}
