//! What hosts keep of skills on disk. Sections "Integrity and Verification", "Security
//! Considerations".

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::Check;
use super::ask::{Outcome, at, member, offered, outcome, place};
use super::integrity::fetched;
use super::tokens::tokens_of;
use super::view::{View, name_of};
use crate::verdict::Judgement;
use crate::wire::scene::{Ask, CachedFile};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-host-cache-verified-content", reused),
    Check::host("sep-2640-host-cache-stale-refetched", stale_refetched),
    Check::host("sep-2640-host-cache-reverified", reverified),
    Check::host("sep-2640-host-cache-write-isolation", write_isolation),
    Check::host("sep-2640-host-cache-excluded-from-discovery", excluded),
    Check::host("sep-2640-host-cache-removal-on-server-removal", removed),
];

/// What was retrieved and verified is kept: the same file is not fetched twice.
fn reused(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view
        .named("cached")
        .filter(|ask| matches!(outcome(ask), Outcome::Ok(_)))
    {
        let again = view
            .during(ask)
            .find(|served| served.method == "resources/read");
        match again {
            None => judgement.holds(),
            Some(served) => judgement.violated(
                at(served.at),
                member(&served.params, "uri").unwrap_or("resources/read"),
                "a cached copy of a file whose digest is still the listed one",
                "it was fetched again",
            ),
        }
    }
}

/// A cached file whose digest is no longer the listed one is fetched again.
fn stale_refetched(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.named("changed") {
        let Some(fetched) = fetched(view)
            .into_iter()
            .find(|fetched| fetched.used.ask.from == ask.from)
        else {
            continue;
        };
        let fresh = fetched.served.at > ask.from;
        match fetched.used.outcome {
            Outcome::Ok(_) if fresh => judgement.holds(),
            Outcome::Ok(_)
                if fetched.digests().is_some()
                    && view.used(fetched.used.outcome, fetched.served)
                    && !fetched.stays(view) =>
            {
                judgement.violated(
                    place(ask),
                    fetched.used.uri,
                    "the file fetched again, since its digest has changed",
                    "the cached copy was handed over",
                );
            }
            Outcome::Refused { .. } if fresh && view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}

/// A cached file that was changed on disk is not handed over.
fn reverified(view: &View<'_>, judgement: &mut Judgement) {
    for tampered in &view.scene.tampered {
        for ask in view.scene.asks.iter().filter(|ask| ask.from >= tampered.at) {
            if member(&ask.params, "uri") != Some(tampered.uri.as_str()) {
                continue;
            }
            match outcome(ask) {
                Outcome::Ok(result) if tokens_of(result).contains(&tampered.token) => {
                    judgement.violated(
                        place(ask),
                        tampered.uri.as_str(),
                        "cached content verified at each access",
                        "the file that was changed on disk was handed over",
                    );
                }
                Outcome::Ok(_) => judgement.holds(),
                Outcome::Refused { .. } if view.witnessed() => judgement.holds(),
                _ => {}
            }
        }
    }
}

/// A cache that relies on nobody else writing to it is kept from being written, and never changed in
/// place.
fn write_isolation(view: &View<'_>, judgement: &mut Judgement) {
    let mut earlier: Vec<&CachedFile> = Vec::new();
    for look in &view.scene.cache {
        let claim = view
            .results("cache")
            .filter(|(ask, _)| ask.to <= look.at)
            .last();
        let Some((ask, claim)) = claim else { continue };
        if claim.get("host_only") != Some(&Value::Bool(true)) {
            continue;
        }
        for file in &look.files {
            let in_place = earlier.iter().any(|before| {
                before.path == file.path
                    && before.identity == file.identity
                    && file.identity.is_some()
                    && before.digest != file.digest
            });
            if file.writable_by_others {
                judgement.violated(
                    place(ask),
                    "the cache",
                    "a cache that only the host can write to",
                    "files or directories that other users can write to",
                );
                return;
            }
            if in_place && view.scene.tampered.is_empty() {
                judgement.violated(
                    place(ask),
                    "the cache",
                    "no cached file changed in place",
                    "a file with other content under the same inode",
                );
                return;
            }
            judgement.holds();
        }
        earlier.extend(&look.files);
    }
}

/// The cache lies where no local skills are looked for.
fn excluded(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, cache) in view.results("cache") {
        let directories = cache.get("discovery").and_then(Value::as_array);
        let directories: Vec<&str> = directories
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for path in paths(cache, |_| true) {
            let within = directories.iter().find(|directory| {
                path.strip_prefix(directory.trim_end_matches('/'))
                    .is_some_and(|rest| rest.starts_with('/'))
            });
            match within {
                Some(directory) => judgement.violated(
                    place(ask),
                    "the cache",
                    "a place outside all directories of local skills",
                    format!("{path} lies in {directory}"),
                ),
                None if !directories.is_empty() => judgement.holds(),
                None => {}
            }
        }
    }
    for (ask, list) in view.results("list").filter(|(ask, _)| restarted(view, ask)) {
        for (uri, name) in imposters(view, list) {
            judgement.violated(
                place(ask),
                uri,
                "no local skill but those that were installed",
                format!("\"{name}\" is offered as a local skill"),
            );
        }
    }
}

/// The local skills of a `list` result, by URI and name, that nobody installed and that bear the name of
/// a server's skill.
pub(super) fn imposters<'a>(view: &View<'a>, list: &'a Value) -> Vec<(&'a str, &'a str)> {
    let installed: BTreeSet<&str> = view
        .asks("install_local")
        .filter_map(|ask| member(&ask.params, "name"))
        .collect();
    // A host may have local skills of its own; what nobody installed and a server has is its cache.
    let of_server = |name: &str| {
        view.deliveries()
            .iter()
            .any(|delivery| name_of(delivery.entry) == Some(name))
    };
    let connected = view.asks("connect").next().map_or(0, |ask| ask.from);
    let before = |name: &str| {
        view.results("list").any(|(ask, list)| {
            ask.to < connected
                && offered(list)
                    .iter()
                    .any(|(server, _, item)| server.is_none() && member(item, "name") == Some(name))
        })
    };
    let rows = offered(list).into_iter().filter_map(|(server, uri, item)| {
        let name = member(item, "name").unwrap_or_default();
        let imposter = !installed.contains(name) && of_server(name) && !before(name);
        (server.is_none() && imposter).then_some((uri, name))
    });
    rows.collect()
}

pub(super) fn restarted(view: &View<'_>, ask: &Ask) -> bool {
    view.asks("restart").any(|restart| restart.to < ask.from)
}

/// The paths in a `cache` result of files whose server passes.
fn paths(cache: &Value, wanted: impl Fn(Option<&str>) -> bool) -> Vec<&str> {
    let files = cache.get("files").and_then(Value::as_array);
    files
        .into_iter()
        .flatten()
        .filter(|file| wanted(member(file, "server")))
        .filter_map(|file| member(file, "path"))
        .collect()
}

/// When the user removes a server, what was cached of it goes too.
fn removed(view: &View<'_>, judgement: &mut Judgement) {
    for (removal, _) in view.results("remove") {
        let Some(server) = member(&removal.params, "server") else {
            continue;
        };
        let of_server = |cache: &Value| !paths(cache, |origin| origin == Some(server)).is_empty();
        let had = view
            .last("cache", removal.from)
            .is_some_and(|(_, cache)| of_server(cache));
        let after = view.results("cache").find(|(ask, _)| ask.from > removal.to);
        let (true, Some((ask, cache))) = (had, after) else {
            continue;
        };
        if of_server(cache) {
            judgement.violated(
                place(ask),
                server,
                "no cached files of a server that the user removed",
                "they are still there",
            );
        } else {
            judgement.holds();
        }
    }
}
