//! The file format of host scenarios: servers that are put up, and what is asked of the host.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::file::{ScenarioError, line_of, step_lines};
use crate::target::adapter::Decision;
use crate::target::serve::bend::Rule;
use crate::target::serve::methods::Server;
use crate::target::serve::shelf::Change;
use crate::target::serve::spec::ServerSpec;
use crate::wire::Revision;

/// The verbs of the adapter protocol that a step may use (docs/adapter-protocol.md).
pub const VERBS: &[&str] = &[
    "connect",
    "disconnect",
    "remove",
    "restart",
    "list",
    "load",
    "release",
    "acting",
    "read",
    "read_resource",
    "inspect",
    "list_directory",
    "run_tool",
    "context",
    "tools",
    "notices",
    "policy",
    "install_local",
    "cache",
    "mount",
];

/// A host scenario.
#[derive(Debug, Clone)]
pub struct Script {
    /// Its name, `host/…`.
    pub name: String,
    /// What it does, in one sentence.
    pub about: String,
    /// Revisions that it is played on; empty for all.
    pub revisions: Vec<Revision>,
    /// The servers, by the label that the user gives them.
    pub serve: BTreeMap<String, ServerSpec>,
    /// What the user answers, by kind of question.
    pub answers: Answers,
    /// What is asked of the host and done to the servers.
    pub steps: Vec<Step>,
    /// The checks that it gives something to judge.
    pub exercises: Vec<String>,
    /// The name under which drivers of the official suite know the scenario, where one covers it.
    pub official: Option<String>,
    file: String,
    text: String,
}

/// One step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Where it stands, 1-based.
    pub line: usize,
    /// What is done.
    pub act: Act,
    /// Name of the call, for checks to find it by.
    pub name: Option<String>,
    /// What the user answers during this step, where it differs.
    pub answers: Answers,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum Act {
    /// A call to the adapter.
    Verb {
        /// The verb.
        verb: String,
        /// Its parameters.
        params: Value,
    },
    /// A skill of a server changes.
    Change {
        /// Label of the server.
        server: String,
        /// Key of the skill.
        skill: String,
        /// What changes.
        change: Box<Change>,
    },
    /// A server's answers are bent from now on.
    Rule {
        /// Label of the server.
        server: String,
        /// The rule.
        rule: Box<Rule>,
    },
    /// A file in the host's cache is changed behind its back.
    Tamper {
        /// Label of the server that the file came from.
        server: String,
        /// The file.
        uri: String,
    },
    /// Time passes.
    Pause(Duration),
}

/// What the user answers, by kind of question.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Answers(BTreeMap<String, Answer>);

/// An answer of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    /// Yes, this once.
    Allow,
    /// Yes, for good.
    Remember,
    /// No.
    Deny,
}

impl Answers {
    /// The answer to `params` of `approve`: the strictest of the answers to what it covers, from
    /// `self` where given there, else from `general`, else what most users would say: skills may
    /// be loaded, and nothing may be run, granted or reached.
    pub fn decide(&self, general: &Answers, params: &Value) -> Decision {
        let kind = params.get("kind").and_then(Value::as_str);
        let covers = params.get("covers").and_then(Value::as_array);
        let covered = covers.into_iter().flatten().filter_map(Value::as_str);
        let loads = kind
            .into_iter()
            .chain(covered.clone())
            .any(|kind| matches!(kind, "load" | "changed" | "nested"));
        let answers: Vec<Answer> = kind
            .into_iter()
            .chain(covered)
            .map(|kind| {
                let given = self.0.get(kind).or_else(|| general.0.get(kind));
                given.copied().unwrap_or(match kind {
                    "load" | "changed" | "nested" | "server" => Answer::Remember,
                    "choose" => Answer::Allow,
                    // One question may spell out a load and what it brings with it.
                    _ if loads => Answer::Remember,
                    _ => Answer::Deny,
                })
            })
            .collect();
        Decision {
            allow: !answers.is_empty() && !answers.contains(&Answer::Deny),
            remember: !answers.is_empty()
                && answers.iter().all(|answer| *answer == Answer::Remember),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    scenario: String,
    about: String,
    #[serde(default)]
    revisions: Vec<Revision>,
    serve: BTreeMap<String, ServerSpec>,
    #[serde(default)]
    answers: Answers,
    steps: Vec<Value>,
    #[serde(default)]
    exercises: Vec<String>,
    official: Option<String>,
}

#[derive(Debug, Deserialize)]
struct RawChange {
    server: String,
    skill: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct RawRule {
    server: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTamper {
    server: String,
    uri: String,
}

impl Script {
    /// Reads a host scenario from the text of a file.
    ///
    /// # Errors
    ///
    /// Malformed YAML, unknown keys or verbs, a step that does nothing or two things, a label or a
    /// skill that `serve` lacks: with file, line, and what was expected.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let fail = |line: usize, message: String| ScenarioError {
            file: file.to_owned(),
            line,
            message,
        };
        let raw: RawScript = serde_yaml::from_str(text).map_err(|error| {
            let line = error.location().map_or(0, |location| location.line());
            fail(line, error.to_string())
        })?;
        if raw.steps.is_empty() {
            let message = "expected at least one step".into();
            return Err(fail(line_of(text, "steps"), message));
        }
        let lines = step_lines(text);
        let mut steps = Vec::new();
        for (index, step) in raw.steps.into_iter().enumerate() {
            let line = lines.get(index).copied().unwrap_or(0);
            steps.push(Step::read(step, line, &raw.serve).map_err(|message| fail(line, message))?);
        }
        Ok(Self {
            name: raw.scenario,
            about: raw.about,
            revisions: raw.revisions,
            serve: raw.serve,
            answers: raw.answers,
            steps,
            exercises: raw.exercises,
            official: raw.official,
            file: file.to_owned(),
            text: text.to_owned(),
        })
    }

    /// The scenario with its placeholders filled.
    ///
    /// # Errors
    ///
    /// As for [`Script::parse`], should what is filled in break the file.
    pub fn filled(&self, fill: impl Fn(&str) -> String) -> Result<Script, ScenarioError> {
        if self.baited() {
            Script::parse(&self.file, &fill(&self.text))
        } else {
            Ok(self.clone())
        }
    }

    /// Whether the scenario has placeholders for places that no host may reach.
    pub fn baited(&self) -> bool {
        ["{authority}", "{http}", "{run:"]
            .iter()
            .any(|mark| self.text.contains(mark))
    }

    /// The servers, ready to be put on stage.
    pub fn servers(&self) -> Vec<(Server, Vec<Rule>)> {
        self.serve
            .iter()
            .map(|(label, spec)| (Server::new(label, spec.clone()), spec.rules.clone()))
            .collect()
    }
}

impl Step {
    fn read(
        value: Value,
        line: usize,
        serve: &BTreeMap<String, ServerSpec>,
    ) -> Result<Self, String> {
        let mut members = match value {
            Value::String(verb) => Map::from_iter([(verb, Value::Null)]),
            Value::Object(members) => members,
            other => {
                return Err(format!(
                    "expected a step like `connect: LABEL`, found {other}"
                ));
            }
        };
        let name = match members.remove("as") {
            None => None,
            Some(Value::String(name)) => Some(name),
            Some(other) => return Err(format!("expected a name in `as`, found {other}")),
        };
        let answers = match members.remove("answers") {
            None => Answers::default(),
            Some(answers) => {
                serde_json::from_value(answers).map_err(|error| format!("in `answers`: {error}"))?
            }
        };
        let mut members = members.into_iter();
        let (Some((key, value)), None) = (members.next(), members.next()) else {
            return Err("expected exactly one thing to do in a step".into());
        };
        let act = Act::read(&key, value, serve)?;
        Ok(Step {
            line,
            act,
            name,
            answers,
        })
    }
}

impl Act {
    fn read(key: &str, value: Value, serve: &BTreeMap<String, ServerSpec>) -> Result<Self, String> {
        let within = |error: serde_json::Error| format!("in `{key}`: {error}");
        let known = |label: &str| match serve.get(label) {
            Some(server) => Ok(server),
            None => Err(format!("`{label}` is not one of the servers in `serve`")),
        };
        match key {
            "change" => {
                let raw: RawChange = serde_json::from_value(value).map_err(within)?;
                if !known(&raw.server)?.skills.contains_key(&raw.skill) {
                    return Err(format!("`{}` has no skill `{}`", raw.server, raw.skill));
                }
                let change = serde_json::from_value(Value::Object(raw.rest)).map_err(within)?;
                Ok(Act::Change {
                    server: raw.server,
                    skill: raw.skill,
                    change,
                })
            }
            "rule" => {
                let raw: RawRule = serde_json::from_value(value).map_err(within)?;
                known(&raw.server)?;
                let rule = serde_json::from_value(Value::Object(raw.rest)).map_err(within)?;
                Ok(Act::Rule {
                    server: raw.server,
                    rule,
                })
            }
            "tamper" => {
                let raw: RawTamper = serde_json::from_value(value).map_err(within)?;
                known(&raw.server)?;
                Ok(Act::Tamper {
                    server: raw.server,
                    uri: raw.uri,
                })
            }
            "pause" => {
                let text = value.as_str().unwrap_or_default();
                let pause = humantime::parse_duration(text)
                    .map_err(|error| format!("in `pause`: {error}; write e.g. 80ms"))?;
                Ok(Act::Pause(pause))
            }
            verb if VERBS.contains(&verb) => {
                let params = match value {
                    Value::Null => Value::Object(Map::new()),
                    Value::String(label) => {
                        known(&label)?;
                        serde_json::json!({"server": label})
                    }
                    Value::Object(params) => Value::Object(params),
                    other => return Err(format!("expected parameters in `{verb}`, found {other}")),
                };
                Ok(Act::Verb {
                    verb: verb.to_owned(),
                    params,
                })
            }
            other => Err(format!(
                "expected `change`, `rule`, `tamper`, `pause` or one of the verbs {}; found `{other}`",
                VERBS.join(", ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const GOOD: &str = "\
scenario: host/x
about: X.
serve:
  docs:
    skills:
      refunds: { files: { mail.md: Hello } }
steps:
  - connect: docs
  - list
  - load: { server: docs, uri: skill://refunds/SKILL.md }
    as: witness
  - change: { server: docs, skill: refunds, put: { mail.md: New } }
";

    #[test]
    fn a_good_one_is_read() {
        let script = Script::parse("x.yaml", GOOD).unwrap();
        let lines: Vec<usize> = script.steps.iter().map(|step| step.line).collect();
        assert_eq!(lines, [8, 9, 10, 12]);
        assert_eq!(script.steps[2].name.as_deref(), Some("witness"));
    }

    #[test]
    fn errors_name_line_and_expectation() {
        for (from, to, line, expected) in [
            ("connect: docs", "connect: dogs", 8, "`dogs` is not one of"),
            ("- list", "- lost", 9, "one of the verbs"),
            ("skill: refunds", "skill: funds", 12, "has no skill `funds`"),
            ("put:", "puts:", 12, "unknown field"),
            ("files:", "file:", 6, "unknown field"),
        ] {
            let error = Script::parse("x.yaml", &GOOD.replace(from, to)).unwrap_err();
            assert!(error.message.contains(expected), "{error}");
            assert!(
                error.line.abs_diff(line) <= 1,
                "{error}, wanted line {line}"
            );
        }
    }

    #[test]
    fn the_strictest_answer_counts() {
        let general: Answers = serde_json::from_value(json!({"execute": "allow"})).unwrap();
        let step = Answers::default();
        let decide = |kind: &str, covers: &[&str]| {
            let decision = step.decide(&general, &json!({"kind": kind, "covers": covers}));
            (decision.allow, decision.remember)
        };
        assert_eq!(decide("load", &[]), (true, true));
        assert_eq!(decide("execute", &[]), (true, false));
        assert_eq!(decide("load", &["execute"]), (true, false));
        // One question may spell out a load and what it brings with it.
        assert_eq!(decide("load", &["grant"]), (true, true));
        assert_eq!(decide("grant", &[]), (false, false));
    }
}
