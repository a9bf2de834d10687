//! The scenario file format.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::expr::{Expression, Template};
use crate::wire::Revision;

/// A scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name, `server/…` or `host/…`.
    pub name: Arc<str>,
    /// What it does, in one sentence.
    pub about: String,
    /// Revisions that it is played on; empty for all.
    pub revisions: Vec<Revision>,
    /// What must be the case for it to be played.
    pub when: Option<Condition>,
    /// Scenarios whose captured values it uses; they are played before it.
    pub needs: Vec<String>,
    /// Whether it is played on a connection of its own.
    pub fresh: bool,
    /// Whether it is played even after a failure has stopped the others (`--fail-fast`).
    pub confirms: bool,
    /// What is sent.
    pub steps: Vec<Step>,
    /// The checks that it gives something to judge.
    pub exercises: Vec<String>,
}

/// What must be the case for a scenario to be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// The server declares `directoryRead: true`.
    DirectoryRead,
    /// The server declares the extension without `directoryRead: true`, and the user asked for
    /// the probe.
    ProbeUndeclared,
    /// The user named skills with `--skill`; `$named` holds their URIs.
    NamedSkills,
    /// `--root` names the directory that is served. `$root_skills` holds URIs under which those
    /// of its skills that `$skills` lacks may be served, `$root_escapes` those under which files
    /// outside would be, were links followed.
    Root,
    /// `--as` names further identities; the scenario is played as each of them.
    Identities,
}

/// One step: something sent, perhaps many times.
#[derive(Debug, Clone)]
pub struct Step {
    /// Where it stands, 1-based.
    pub line: usize,
    /// What is sent.
    pub send: Send,
    /// The parameters; `None` leaves the member out.
    pub params: Option<Template>,
    /// Name of the exchange, for checks to find it by.
    pub name: Option<Arc<str>>,
    /// Whether `nextCursor` is followed to the end.
    pub all_pages: bool,
    /// Variables captured from the result, by JSON pointer into the answer. The values of all
    /// pages, or of all rounds of a loop, are joined into one array.
    pub save: BTreeMap<String, String>,
    /// The loop: a variable, and the values that it takes one after the other (each value once).
    pub each: Option<(String, Vec<Expression>)>,
    /// Whether a liveness request follows each exchange.
    pub probe: bool,
    /// Whether the client capabilities name the extension.
    pub declare: bool,
    /// Calls the method again for what the answer names.
    pub follow: Option<Follow>,
    /// How often the step is repeated with the same parameters.
    pub times: usize,
    /// Whether `--max-reads` may leave rounds of the loop out.
    pub sample: bool,
}

/// What a step sends.
#[derive(Debug, Clone, PartialEq)]
pub enum Send {
    /// A request.
    Call(Arc<str>),
    /// The same without an id.
    Notify(Arc<str>),
    /// Bytes as they are.
    Raw(Vec<u8>),
}

/// Recursion: the method is called again with the `uri` of each object found at `into` that has
/// all members of `where`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    /// Pointer from the answer, in which `*` stands for every member.
    #[serde(deserialize_with = "from_answer")]
    pub into: Expression,
    /// Members that the object must have.
    #[serde(rename = "where", default)]
    pub with: BTreeMap<String, Value>,
}

/// A scenario that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file.
    pub file: String,
    /// 1-based line; 0 when unknown.
    pub line: usize,
    /// What was expected.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for ScenarioError {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScenario {
    scenario: String,
    about: String,
    #[serde(default)]
    revisions: Vec<Revision>,
    when: Option<Condition>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    fresh: bool,
    #[serde(default)]
    confirms: bool,
    steps: Vec<RawStep>,
    #[serde(default)]
    exercises: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    call: Option<String>,
    notify: Option<String>,
    raw: Option<String>,
    raw_base64: Option<String>,
    params: Option<Value>,
    #[serde(rename = "as")]
    name: Option<String>,
    pages: Option<Pages>,
    #[serde(default)]
    save: BTreeMap<String, String>,
    #[serde(rename = "for")]
    each: Option<BTreeMap<String, OneOrMany>>,
    #[serde(default)]
    probe: bool,
    #[serde(default = "yes")]
    declare: bool,
    follow: Option<Follow>,
    #[serde(default = "once")]
    times: usize,
    #[serde(default)]
    sample: bool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Pages {
    All,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

fn from_answer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Expression, D::Error> {
    let pointer = String::deserialize(deserializer)?;
    if !pointer.starts_with('/') {
        return Err(D::Error::custom(format!(
            "expected a pointer like `/result/resources/*` in `into`, found `{pointer}`"
        )));
    }
    Expression::parse(&format!("$answer{pointer}")).map_err(D::Error::custom)
}

fn yes() -> bool {
    true
}

fn once() -> usize {
    1
}

impl Scenario {
    /// Reads a scenario from the text of a file.
    ///
    /// # Errors
    ///
    /// Malformed YAML, unknown keys, a step that sends nothing or two things, malformed
    /// expressions, a variable that nothing before has captured (unless the scenario `needs`
    /// another one): with file, line, and what was expected.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let fail = |line: usize, message: String| ScenarioError {
            file: file.to_owned(),
            line,
            message,
        };
        let raw: RawScenario = serde_yaml::from_str(text).map_err(|error| {
            let line = error.location().map_or(0, |location| location.line());
            fail(line, error.to_string())
        })?;
        if raw.steps.is_empty() {
            return Err(fail(
                line_of(text, "steps"),
                "expected at least one step".into(),
            ));
        }
        let lines = step_lines(text);
        let mut known: BTreeSet<String> = BTreeSet::new();
        if raw.when == Some(Condition::NamedSkills) {
            known.insert("named".into());
        }
        if raw.when == Some(Condition::Root) {
            known.extend(["root_skills".into(), "root_escapes".into()]);
        }
        let open = !raw.needs.is_empty();
        let mut steps = Vec::new();
        for (index, step) in raw.steps.into_iter().enumerate() {
            let line = lines.get(index).copied().unwrap_or(0);
            let step = step
                .check(line, &known, open)
                .map_err(|message| fail(line, message))?;
            known.extend(step.save.keys().cloned());
            steps.push(step);
        }
        Ok(Self {
            name: raw.scenario.into(),
            about: raw.about,
            revisions: raw.revisions,
            when: raw.when,
            needs: raw.needs,
            fresh: raw.fresh,
            confirms: raw.confirms,
            steps,
            exercises: raw.exercises,
        })
    }
}

impl RawStep {
    fn check(self, line: usize, known: &BTreeSet<String>, open: bool) -> Result<Step, String> {
        let send =
            match (self.call, self.notify, self.raw, self.raw_base64) {
                (Some(method), None, None, None) => Send::Call(method.into()),
                (None, Some(method), None, None) => Send::Notify(method.into()),
                (None, None, Some(text), None) => Send::Raw(text.into_bytes()),
                (None, None, None, Some(text)) => Send::Raw(
                    BASE64
                        .decode(&text)
                        .map_err(|error| format!("expected base64 in `raw_base64`: {error}"))?,
                ),
                _ => return Err(
                    "expected exactly one of `call`, `notify`, `raw` and `raw_base64` in a step"
                        .into(),
                ),
            };
        let is_call = matches!(send, Send::Call(_));
        if !is_call && (self.pages.is_some() || self.follow.is_some() || !self.save.is_empty()) {
            return Err("`pages`, `follow` and `save` need a `call`".into());
        }
        if matches!(send, Send::Raw(_)) && self.params.is_some() {
            return Err("`raw` bytes take no `params`".into());
        }
        let params = self.params.map(Template::parse).transpose()?;
        let each = match self.each {
            None => None,
            Some(map) => {
                let mut entries = map.into_iter();
                let (Some((name, values)), None) = (entries.next(), entries.next()) else {
                    return Err("expected exactly one variable in `for`".into());
                };
                let values = match values {
                    OneOrMany::One(text) => vec![text],
                    OneOrMany::Many(texts) => texts,
                };
                let values = values
                    .iter()
                    .map(|text| Expression::parse(text))
                    .collect::<Result<Vec<_>, _>>()?;
                Some((name, values))
            }
        };
        let looped = each.as_ref().map(|(name, _)| name.as_str());
        let used = params
            .iter()
            .flat_map(Template::variables)
            .filter(|name| Some(*name) != looped)
            .chain(
                each.iter()
                    .flat_map(|(_, values)| values.iter().map(|value| value.variable.as_str())),
            );
        for name in used {
            if !open && !known.contains(name) {
                return Err(format!(
                    "`${name}` is not captured by a step before this one (add `save`, or `needs`)"
                ));
            }
        }
        for pointer in self.save.values() {
            if !pointer.starts_with('/') {
                return Err(format!(
                    "expected a JSON pointer like `/result/skills` in `save`, found `{pointer}`"
                ));
            }
        }
        if self.sample && each.is_none() {
            return Err("`sample` needs a `for`".into());
        }
        if self.times == 0 {
            return Err("expected `times` to be at least 1".into());
        }
        Ok(Step {
            line,
            send,
            params,
            name: self.name.map(Arc::from),
            all_pages: self.pages.is_some(),
            save: self.save,
            each,
            probe: self.probe,
            declare: self.declare,
            follow: self.follow,
            times: self.times,
            sample: self.sample,
        })
    }
}

/// The 1-based lines on which the items of the top-level `steps` list begin.
pub(super) fn step_lines(text: &str) -> Vec<usize> {
    item_lines(text, "steps")
}

/// The 1-based lines on which the items of a top-level list begin.
pub fn item_lines(text: &str, list: &str) -> Vec<usize> {
    let begin = line_of(text, list);
    let mut indent = None;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate().skip(begin) {
        let trimmed = line.trim_start();
        let depth = line.len() - trimmed.len();
        if depth == 0 && !trimmed.is_empty() && !trimmed.starts_with(['-', '#']) {
            break;
        }
        if trimmed.starts_with("- ") && *indent.get_or_insert(depth) == depth {
            lines.push(index + 1);
        }
    }
    lines
}

/// The 1-based line of a top-level key.
pub(super) fn line_of(text: &str, key: &str) -> usize {
    let is_key = |line: &str| {
        line.strip_prefix(key)
            .is_some_and(|rest| rest.starts_with(':'))
    };
    text.lines().position(is_key).map_or(0, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
scenario: server/x
about: X.
steps:
  - call: skills/list
    pages: all
    save: { skills: /result/skills }
  - for: { uri: $skills/*/uri | string }
    call: resources/read
    params: { uri: $uri }
";

    #[test]
    fn a_good_one_is_read() {
        let scenario = Scenario::parse("x.yaml", GOOD).unwrap();
        assert_eq!(scenario.steps.len(), 2);
        assert_eq!((scenario.steps[0].line, scenario.steps[1].line), (4, 7));
        assert!(scenario.steps[0].all_pages);
    }

    #[test]
    fn errors_name_line_and_expectation() {
        for (from, to, line, expected) in [
            ("pages: all", "pages: some", 5, "unknown variant"),
            ("    pages: all", "    page: all", 5, "unknown field"),
            ("call: resources/read", "as: x", 7, "exactly one of `call`"),
            ("$uri }", "$url }", 7, "`$url` is not captured"),
            (
                "$skills/*/uri | string",
                "$skills/*/uri | sting",
                7,
                "expected one of the filters",
            ),
            (
                "/result/skills",
                "result.skills",
                4,
                "expected a JSON pointer",
            ),
            (
                "pages: all",
                "follow: { into: result }",
                5,
                "expected a pointer like",
            ),
            ("about: X.", "about: [", 3, ""),
        ] {
            let text = GOOD.replace(from, to);
            assert_ne!(text, GOOD);
            let error = Scenario::parse("x.yaml", &text).unwrap_err();
            assert!(error.message.contains(expected), "{error}");
            assert!(
                error.line.abs_diff(line) <= 1,
                "{error}, wanted line {line}"
            );
        }
    }
}
