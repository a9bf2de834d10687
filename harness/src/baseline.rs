//! The file of expected failures: `--expected-failures FILE`.
//!
//! ```yaml
//! server:
//!   - sep-2640-skills-list-unknown-cursor     # a check
//!   - server/cursors                          # or a scenario: all checks that it exercises
//! host:                                       # also spelled `client`
//!   - sep-2640-host-collisions-surfaced
//! ```

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::checks;
use crate::scenario::outline::{Outline, outlines};
use crate::verdict::{Side, Verdict};

#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a mapping with the lists `server` and `host`, of ids of checks and scenarios"
)]
struct File {
    #[serde(default)]
    server: Option<Vec<String>>,
    #[serde(default, alias = "host")]
    client: Option<Vec<String>>,
}

/// What is expected to fail on one side.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    /// As it stands in the file.
    name: String,
    checks: BTreeSet<String>,
}

impl Baseline {
    /// Reads the entries of `side` from the text of a baseline file.
    ///
    /// # Errors
    ///
    /// Malformed YAML, unknown keys, and names that are neither a check nor a scenario, with the
    /// line where there is one.
    pub fn parse(file: &str, text: &str, side: Side) -> Result<Self, String> {
        let parsed: Option<File> = serde_yaml::from_str(text).map_err(|error| {
            let line = error.location().map_or(0, |location| location.line());
            format!("{file}:{line}: {error}")
        })?;
        let parsed = parsed.unwrap_or_default();
        let names = match side {
            Side::Server => parsed.server,
            Side::Host => parsed.client,
        };
        let mut entries = Vec::new();
        for name in names.unwrap_or_default() {
            let of_side = |scenario: &Outline| scenario.name.starts_with(&format!("{side}/"));
            let scenario = outlines()
                .filter(of_side)
                .find(|scenario| scenario.name == name);
            let checks = match (checks::find(&name), scenario) {
                (Some(check), _) if check.side == side => BTreeSet::from([name.clone()]),
                (_, Some(scenario)) => scenario.exercises.iter().cloned().collect(),
                _ => {
                    let line = text
                        .lines()
                        .position(|line| line.contains(&name))
                        .map_or(0, |index| index + 1);
                    return Err(format!(
                        "{file}:{line}: `{name}` is no {side} check and no scenario; `list checks` and \
                         `list scenarios` have the ids"
                    ));
                }
            };
            entries.push(Entry { name, checks });
        }
        Ok(Self { entries })
    }

    /// Whether a violation of this check is expected.
    pub fn covers(&self, check: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.checks.contains(check))
    }

    /// The entries that expect something which did not happen: of their checks at least one
    /// passed, and none was broken. A check that had nothing to judge, or was not selected, tells
    /// nothing.
    pub fn stale<'a>(
        &self,
        verdicts: impl Iterator<Item = (&'a str, Verdict)> + Clone,
    ) -> Vec<String> {
        let stale = |entry: &&Entry| {
            let mut of_entry = verdicts
                .clone()
                .filter(|(id, _)| entry.checks.contains(*id))
                .map(|(_, verdict)| verdict);
            let broken = of_entry.clone().any(|verdict| verdict == Verdict::Expected);
            !broken && of_entry.any(|verdict| verdict == Verdict::Pass)
        };
        self.entries
            .iter()
            .filter(stale)
            .map(|entry| entry.name.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: &str = "sep-2640-skills-list-unknown-cursor";

    fn parse(text: &str) -> Result<Baseline, String> {
        Baseline::parse("known.yaml", text, Side::Server)
    }

    #[test]
    fn each_side_has_its_own_names() {
        let text = "host: [sep-2640-host-verify-digest, host/sizes]\n";
        let baseline = Baseline::parse("known.yaml", text, Side::Host).unwrap();
        assert!(baseline.covers("sep-2640-host-verify-digest"));
        assert!(baseline.covers("sep-2640-host-size-mismatch-failure"));
        let wrong = "host:\n  - server/get\n";
        let error = Baseline::parse("known.yaml", wrong, Side::Host).unwrap_err();
        assert!(error.starts_with("known.yaml:2:"), "{error}");
    }

    #[test]
    fn checks_and_scenarios_are_names() {
        let baseline = parse(&format!("server: [{CHECK}, server/get]\nclient: []\n")).unwrap();
        assert!(baseline.covers(CHECK) && baseline.covers("sep-2640-skills-get-equals-list"));
        assert!(!baseline.covers("sep-2640-uri-valid"));
        assert!(!parse("").unwrap().covers(CHECK));
        assert!(!parse("server:\n").unwrap().covers(CHECK));
    }

    #[test]
    fn errors_have_a_line() {
        assert_eq!(
            parse("server:\n  - no-such-check\n").unwrap_err(),
            "known.yaml:2: `no-such-check` is no server check and no scenario; `list checks` and `list \
             scenarios` have the ids"
        );
        assert!(
            parse("servers: []\n")
                .unwrap_err()
                .starts_with("known.yaml:1: ")
        );
    }

    #[test]
    fn an_entry_is_stale_only_when_its_check_passed() {
        let baseline = parse(&format!("server: [{CHECK}]")).unwrap();
        for (verdicts, stale) in [
            (vec![Verdict::Pass, Verdict::NotApplicable], true),
            (vec![Verdict::Pass, Verdict::Expected], false),
            (vec![Verdict::NotExercised], false),
            (vec![], false),
        ] {
            let verdicts = verdicts.into_iter().map(|verdict| (CHECK, verdict));
            assert_eq!(!baseline.stale(verdicts).is_empty(), stale);
        }
    }
}
