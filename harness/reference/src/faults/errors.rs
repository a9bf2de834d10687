//! Faults in what errors say.

use serde_json::json;

use super::Fault;
use super::sabotage::Scene;
use crate::methods::Outcome;

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-error-informative",
        "sends errors with an empty message",
    ),
    Fault::new(
        "sep-2640-error-informative/generic",
        "sends errors that say nothing but error",
    ),
    Fault::new(
        "sep-2640-error-leaks",
        "names a path of its own disk in error messages",
    ),
    Fault::new(
        "sep-2640-error-leaks/trace",
        "sends a stack trace along with errors",
    ),
];

pub(super) fn outcome(scene: &Scene<'_>, outcome: &mut Outcome) {
    let concerned = matches!(
        scene.call.method.as_str(),
        "skills/list" | "skills/get" | "resources/read" | "resources/directory/read"
    );
    let Err(error) = outcome else { return };
    if !concerned {
        return;
    }
    match scene.id {
        "sep-2640-error-informative" => error.message.clear(),
        "sep-2640-error-informative/generic" => error.message = "error".to_owned(),
        "sep-2640-error-leaks" => {
            error.message = "cannot open /srv/mcp/skills/catalog/SKILL.md: no such file".to_owned();
        }
        "sep-2640-error-leaks/trace" => {
            error.data = Some(json!(
                "Traceback (most recent call last):\n  File \"/srv/mcp/server.py\", line 42, in handle\n    \
                 skill = catalog[uri]\nKeyError: 'uri'"
            ));
        }
        _ => {}
    }
}
