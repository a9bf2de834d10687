//! Scenarios: YAML scripts that drive a target. A scenario never judges.

pub mod expr;
pub mod file;
mod job;
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
    "scenarios/server/catalog-again.yaml",
    "scenarios/server/first-on-connection.yaml",
];

/// The host scenarios that are compiled in, in the order in which they are played.
const SCRIPTS: &[(&str, &str)] = scenarios!["scenarios/host/digest.yaml",];

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
