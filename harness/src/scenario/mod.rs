//! Scenarios: YAML scripts that drive a target. A scenario never judges.

pub mod expr;
pub mod file;
mod job;
pub mod outline;
pub mod perform;
pub mod play;
pub mod script;

use std::sync::OnceLock;

use file::Scenario;
use script::Script;

macro_rules! scenarios {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../", $path)))),*]
    };
}

/// The scenarios that are compiled in, in the order in which they are played.
const BUILT_IN: &[(&str, &str)] = scenarios![
    "scenarios/server/catalog.yaml",
    "scenarios/server/get.yaml",
    "scenarios/server/read.yaml",
    "scenarios/server/named-skills.yaml",
    "scenarios/server/root-skills.yaml",
    "scenarios/server/resources.yaml",
    "scenarios/server/directories.yaml",
    "scenarios/server/absent-skills.yaml",
    "scenarios/server/unserved-files.yaml",
    "scenarios/server/directory-errors.yaml",
    "scenarios/server/directory-undeclared.yaml",
    "scenarios/server/cursors.yaml",
    "scenarios/server/undeclared-client.yaml",
    "scenarios/server/malformed-params.yaml",
    "scenarios/server/hostile-uris.yaml",
    "scenarios/server/malformed-messages.yaml",
    "scenarios/server/identities.yaml",
    "scenarios/server/catalog-again.yaml",
    "scenarios/server/first-on-connection.yaml",
];

/// The host scenarios that are compiled in, in the order in which they are played.
const SCRIPTS: &[(&str, &str)] = scenarios![
    "scenarios/host/capabilities.yaml",
    "scenarios/host/directory-read-words.yaml",
    "scenarios/host/pages.yaml",
    "scenarios/host/cursor-refused.yaml",
    "scenarios/host/cursor-kept.yaml",
    "scenarios/host/freshness.yaml",
    "scenarios/host/result-types.yaml",
    "scenarios/host/not-found.yaml",
    "scenarios/host/unlisted-skills.yaml",
    "scenarios/host/empty-listings.yaml",
    "scenarios/host/decoys.yaml",
    "scenarios/host/fields.yaml",
    "scenarios/host/limits.yaml",
    "scenarios/host/same-name.yaml",
    "scenarios/host/two-origins.yaml",
    "scenarios/host/local-namesake.yaml",
    "scenarios/host/local-later.yaml",
    "scenarios/host/same-uri.yaml",
    "scenarios/host/same-uri-approvals.yaml",
    "scenarios/host/nested.yaml",
    "scenarios/host/nested-after-release.yaml",
    "scenarios/host/nested-approvals.yaml",
    "scenarios/host/lazy.yaml",
    "scenarios/host/left-alone.yaml",
    "scenarios/host/loaded-again.yaml",
    "scenarios/host/spellings.yaml",
    "scenarios/host/authority.yaml",
    "scenarios/host/references.yaml",
    "scenarios/host/reference-contents.yaml",
    "scenarios/host/digests.yaml",
    "scenarios/host/digests-malformed.yaml",
    "scenarios/host/raw-bytes.yaml",
    "scenarios/host/by-handle.yaml",
    "scenarios/host/changed-between-reads.yaml",
    "scenarios/host/sizes.yaml",
    "scenarios/host/frontmatter.yaml",
    "scenarios/host/frontmatter-unreadable.yaml",
    "scenarios/host/frontmatter-cached.yaml",
    "scenarios/host/annotations.yaml",
    "scenarios/host/unlisted-files.yaml",
    "scenarios/host/invalid-entries.yaml",
    "scenarios/host/acting-window.yaml",
    "scenarios/host/recovery.yaml",
    "scenarios/host/directories.yaml",
    "scenarios/host/cross-origin.yaml",
    "scenarios/host/cross-origin-unnamed.yaml",
    "scenarios/host/origin.yaml",
    "scenarios/host/generic-read.yaml",
    "scenarios/host/neighbour.yaml",
    "scenarios/host/policy.yaml",
    "scenarios/host/declined.yaml",
    "scenarios/host/policy-by-name.yaml",
    "scenarios/host/policy-same-uri.yaml",
    "scenarios/host/approvals.yaml",
    "scenarios/host/approvals-execution.yaml",
    "scenarios/host/approvals-session.yaml",
    "scenarios/host/approvals-unlisted.yaml",
    "scenarios/host/dynamic.yaml",
    "scenarios/host/execution.yaml",
    "scenarios/host/execution-unattributed.yaml",
    "scenarios/host/execution-released.yaml",
    "scenarios/host/hooks.yaml",
    "scenarios/host/trusted-server.yaml",
    "scenarios/host/grants.yaml",
    "scenarios/host/grants-kept.yaml",
    "scenarios/host/cache.yaml",
    "scenarios/host/cache-tampered.yaml",
    "scenarios/host/cache-origin.yaml",
    "scenarios/host/disconnected.yaml",
    "scenarios/host/labels-alike.yaml",
    "scenarios/host/driver-no-prefetch.yaml",
    "scenarios/host/driver-digest.yaml",
    "scenarios/host/driver-size.yaml",
    "scenarios/host/driver-frontmatter.yaml",
];

/// The built-in host scenarios.
pub fn scripts() -> &'static [Script] {
    static SCRIPTS_READ: OnceLock<Vec<Script>> = OnceLock::new();
    SCRIPTS_READ.get_or_init(|| {
        SCRIPTS
            .iter()
            .map(|(path, text)| Script::parse(path, text).unwrap_or_else(|error| panic!("{error}")))
            .collect()
    })
}

/// The built-in scenarios.
pub fn built_in() -> &'static [Scenario] {
    static SCENARIOS: OnceLock<Vec<Scenario>> = OnceLock::new();
    SCENARIOS.get_or_init(|| {
        BUILT_IN
            .iter()
            .map(|(path, text)| {
                Scenario::parse(path, text).unwrap_or_else(|error| panic!("{error}"))
            })
            .collect()
    })
}
