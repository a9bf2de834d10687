//! What hosts do with content that is not what its entry promises. Section "Integrity and
//! Verification".

use super::super::Check;
use super::view::{Outcome, View, bytes, item, member, place};
use crate::checks::entries::size_of;
use crate::verdict::Judgement;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-host-verify-digest", verify_digest),
    Check::host("sep-2640-host-size-mismatch-failure", size_mismatch),
];

/// Content whose digest is another than the listed one is not handed over.
fn verify_digest(view: &View<'_>, judgement: &mut Judgement) {
    for used in view.uses() {
        let Some((served, content)) = view.fetched(used.ask, used.server, used.uri) else {
            continue;
        };
        let Some(entry) = view.held(used.server, used.skill, used.ask.to) else {
            continue;
        };
        let (Some(item), Some((_, digest))) = (item(entry, used.uri), bytes(content)) else {
            continue;
        };
        let listed = member(item, "digest").unwrap_or_default();
        if listed == digest {
            continue;
        }
        match used.outcome {
            Outcome::Ok(_) if view.used(used.outcome, served) => judgement.violated(
                place(used.ask),
                used.uri,
                format!("content with the digest {listed} or none"),
                format!("content with the digest {digest} was handed over"),
            ),
            Outcome::Refused { .. } if view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}

/// Content whose length is another than the listed one is not handed over, even when its digest is
/// right.
fn size_mismatch(view: &View<'_>, judgement: &mut Judgement) {
    for used in view.uses() {
        let Some((served, content)) = view.fetched(used.ask, used.server, used.uri) else {
            continue;
        };
        let Some(entry) = view.held(used.server, used.skill, used.ask.to) else {
            continue;
        };
        let (Some(item), Some((len, digest))) = (item(entry, used.uri), bytes(content)) else {
            continue;
        };
        let size = item.get("size").and_then(size_of);
        if member(item, "digest") != Some(&digest) || size.is_none_or(|size| size == len) {
            continue;
        }
        match used.outcome {
            Outcome::Ok(_) if view.used(used.outcome, served) => judgement.violated(
                place(used.ask),
                used.uri,
                format!("content of {} bytes or none", size.unwrap_or(0)),
                format!("content of {len} bytes was handed over"),
            ),
            Outcome::Refused { .. } if view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}
