//! Tells a bad adapter from a bad host: speaks the adapter protocol with a small honest server, and
//! holds every line against the schema of the protocol.

use std::sync::OnceLock;
use std::time::Duration;

use futures::StreamExt;
use jsonschema::Validator;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio_util::codec::{AnyDelimiterCodec, FramedRead};

use crate::exit::Exit;
use crate::scenario::script::{Script, VERBS};
use crate::target::process::Process;
use crate::target::serve::http::Endpoint;
use crate::target::serve::relay::Exchange;
use crate::target::serve::stage::Stage;
use crate::target::{TargetError, TargetSpec};
use crate::wire::jsonrpc::METHOD_NOT_FOUND;
use crate::wire::{Revision, Transport, json as wire_json};

/// The schema file of the protocol.
pub const SCHEMA: &str = include_str!("../schema/adapter-protocol.schema.json");

/// What is served while an adapter is asked: honest, and small.
const SERVED: &str = "\
scenario: host/smoke
about: One honest server.
serve:
  docs:
    resources: { \"docs://readme\": \"Read me.\\n\" }
    skills:
      refunds: { body: \"See [the mail](examples/email.md).\", files: { examples/email.md: Dear customer } }
steps: [{ connect: docs }]
";

const SKILL: &str = "skill://refunds/SKILL.md";
/// A verb that no adapter has.
const NO_VERB: &str = "no_such_verb";
/// The longest line that is taken in, in bytes.
const LONGEST: usize = 64 * 1024 * 1024;
/// How much of a line is shown, in characters.
const SHOWN: usize = 160;

/// What to run.
#[derive(Debug)]
pub struct Plan {
    /// The adapter.
    pub target: TargetSpec,
    /// What the server speaks.
    pub revision: Revision,
    /// What carries the messages between host and server.
    pub transport: Transport,
    /// How long the adapter may take for one call.
    pub timeout: Duration,
}

/// One thing that was looked at.
#[derive(Debug, Clone)]
pub struct Row {
    /// What.
    pub what: String,
    /// What is wrong with it, if anything.
    pub wrong: Option<Wrong>,
    /// What a reader may want to know besides.
    pub note: Option<String>,
}

/// Something that an adapter may not do.
#[derive(Debug, Clone)]
pub struct Wrong {
    /// What the protocol asks for.
    pub expected: String,
    /// What came.
    pub actual: String,
    /// The line in which it came, as far as it is shown.
    pub line: Option<String>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// How the process should exit.
    pub exit: Exit,
    /// Why the adapter could not be started.
    pub trouble: Option<TargetError>,
    /// The end of what the adapter wrote to standard error.
    pub stderr: String,
}

/// The schema of the protocol.
pub fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| serde_json::from_str(SCHEMA).expect("the schema file is JSON"))
}

/// A validator for one of its definitions.
///
/// # Errors
///
/// There is no such definition.
pub fn validator(definition: &str) -> Result<Validator, String> {
    let mut schema = document().clone();
    schema["$ref"] = json!(format!("#/$defs/{definition}"));
    jsonschema::draft202012::new(&schema).map_err(|error| error.to_string())
}

/// The definition for the result of a verb: `ListDirectoryResult` for `list_directory`.
pub fn definition(verb: &str) -> String {
    let words = verb.split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect::<String>() + "Result"
}

/// What is wrong with a value under a definition, if anything.
fn disagreement(definition: &str, value: &Value) -> Option<String> {
    let validator = match validator(definition) {
        Ok(validator) => validator,
        Err(error) => return Some(error),
    };
    let error = validator.iter_errors(value).next()?;
    let place = error.instance_path().to_string();
    let place = if place.is_empty() { "/" } else { &place };
    Some(format!("at {place}: {error}"))
}

/// Runs a plan; `tell` is given each row as it comes.
pub async fn run(plan: &Plan, tell: impl FnMut(&Row)) -> Outcome {
    let begun = async {
        let fail =
            |error: std::io::Error| TargetError::new(format!("cannot set the stage: {error}"));
        let stage = Stage::new(plan.revision, plan.transport);
        let script =
            Script::parse("smoke", SERVED).map_err(|error| TargetError::new(error.to_string()))?;
        let number = stage.set(&script.name, script.servers());
        let doors = Doors::open(plan.transport, &stage, number)
            .await
            .map_err(fail)?;
        let state = tempfile::Builder::new()
            .prefix("sep2640-")
            .tempdir()
            .map_err(fail)?;
        let (process, stdin, stdout) = Process::start(&plan.target)?;
        Ok::<_, TargetError>((doors, state, process, stdin, stdout))
    };
    let (doors, state, process, stdin, stdout) = match begun.await {
        Ok(begun) => begun,
        Err(error) => {
            return Outcome {
                exit: Exit::Target,
                trouble: Some(error),
                stderr: String::new(),
            };
        }
    };
    let codec = AnyDelimiterCodec::new_with_max_length(b"\n".into(), b"\n".into(), LONGEST);
    let mut talk = Talk {
        process,
        stdin: Some(stdin),
        lines: FramedRead::with_capacity(stdout, codec, 64 * 1024),
        timeout: plan.timeout,
        next_id: 1,
        lines_seen: 0,
        gone: false,
        faults: 0,
        tell,
    };
    let verbs = talk.all(plan, &doors, state.path()).await;
    let stderr = talk.process.stderr_tail();
    let never_spoke = talk.gone && talk.lines_seen == 0;
    let faults = talk.faults;
    let trouble = match talk.process.exit_status(talk.gone).await {
        Some(status) if never_spoke => Some(TargetError::new(format!(
            "the adapter ended before it said anything ({status})"
        ))),
        _ => None,
    };
    talk.stdin = None;
    talk.process.stop(false).await;
    Outcome {
        exit: match (trouble.is_some(), faults, verbs) {
            (true, ..) => Exit::Target,
            (_, 0, 0) => Exit::Nothing,
            (_, 0, _) => Exit::Conformant,
            _ => Exit::Failed,
        },
        trouble,
        stderr,
    }
}

/// How the host reaches the server.
enum Doors {
    Http(Endpoint, usize),
    Stdio(Exchange, String, usize),
}

impl Doors {
    async fn open(transport: Transport, stage: &Stage, number: usize) -> std::io::Result<Self> {
        Ok(match transport {
            Transport::Http => Doors::Http(Endpoint::open(stage.clone()).await?, number),
            Transport::Stdio => {
                let program = std::env::current_exe()?.to_string_lossy().into_owned();
                Doors::Stdio(Exchange::open(stage.clone()).await?, program, number)
            }
        })
    }

    /// Parameters of `connect`.
    fn connect(&self) -> Value {
        match self {
            Doors::Http(endpoint, number) => {
                json!({"server": "docs", "url": endpoint.url(*number, "docs")})
            }
            Doors::Stdio(exchange, program, number) => {
                let mut command = vec![program.clone()];
                command.extend(exchange.arguments(*number, "docs"));
                json!({"server": "docs", "command": command})
            }
        }
    }
}

/// An answer, with the line that it came in.
struct Answered {
    message: Value,
    line: String,
}

/// A conversation with an adapter.
struct Talk<F> {
    process: Process,
    stdin: Option<ChildStdin>,
    lines: FramedRead<ChildStdout, AnyDelimiterCodec>,
    timeout: Duration,
    next_id: u64,
    lines_seen: usize,
    gone: bool,
    faults: usize,
    tell: F,
}

impl<F: FnMut(&Row)> Talk<F> {
    /// Everything; returns how many verbs `hello` names.
    async fn all(&mut self, plan: &Plan, doors: &Doors, state: &std::path::Path) -> usize {
        let Some(hello) = self.hello("hello", plan, &state.join("1")).await else {
            return 0;
        };
        let named = hello.get("verbs").and_then(Value::as_array);
        let named: Vec<&str> = named
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (verb, forms) in calls(doors) {
            if self.gone {
                return named.len();
            }
            self.verb(verb, &forms, named.contains(&verb)).await;
        }
        self.unknown("a verb that nobody knows").await;
        self.unknown("the adapter lives on after that").await;
        if hello.get("resets") == Some(&Value::Bool(true)) && !self.gone {
            self.reset(plan, doors, &state.join("2"), &named).await;
        }
        if !self.gone {
            self.end().await;
        }
        named.iter().filter(|verb| **verb != "hello").count()
    }

    async fn hello(&mut self, what: &str, plan: &Plan, state: &std::path::Path) -> Option<Value> {
        let _ = std::fs::create_dir(state);
        let params = json!({"protocol": 1, "state_dir": state, "revision": plan.revision.name()});
        let answered = self.ask(what, "hello", &params).await?;
        let Some(result) = answered.message.get("result") else {
            self.wrong(what, "a result", "an error", Some(&answered.line));
            return None;
        };
        match disagreement("HelloResult", result) {
            Some(why) => {
                let expected = "{name, version, verbs: [VERB…], resets?: BOOL}";
                self.wrong(what, expected, why, Some(&answered.line));
            }
            None => self.ok(what, None),
        }
        Some(result.clone())
    }

    /// A verb in its forms, of which one at least has to be there if `hello` names the verb.
    async fn verb(&mut self, verb: &str, forms: &[Value], named: bool) {
        let mut missing = None;
        for params in forms {
            let Some(answered) = self.ask(verb, verb, params).await else {
                return;
            };
            let line = Some(answered.line.as_str());
            let code = answered
                .message
                .pointer("/error/code")
                .and_then(Value::as_i64);
            match answered.message.get("result") {
                Some(_) if !named => {
                    return self.wrong(
                        verb,
                        "error -32601, since hello does not name the verb",
                        "a result",
                        line,
                    );
                }
                Some(result) => {
                    return match disagreement(&definition(verb), result) {
                        Some(why) => {
                            let expected =
                                format!("the result of `{verb}` (schema {})", definition(verb));
                            self.wrong(verb, expected, why, line);
                        }
                        None => self.ok(verb, remark(result)),
                    };
                }
                None if code == Some(METHOD_NOT_FOUND) => missing = Some(answered.line),
                None if named => {
                    let expected = "a result; a host that declines has the outcome `refused`";
                    return self.wrong(verb, expected, "an error other than -32601", line);
                }
                None => {
                    let expected = "error -32601, since hello does not name the verb";
                    return self.wrong(verb, expected, "another error", line);
                }
            }
        }
        if named {
            let expected = "a result, since hello names the verb";
            self.wrong(verb, expected, "error -32601", missing.as_deref());
        } else {
            self.ok(&format!("{verb}: not implemented"), None);
        }
    }

    async fn unknown(&mut self, what: &str) {
        if self.gone {
            return;
        }
        let Some(answered) = self.ask(what, NO_VERB, &json!({})).await else {
            return;
        };
        let code = answered
            .message
            .pointer("/error/code")
            .and_then(Value::as_i64);
        if code == Some(METHOD_NOT_FOUND) {
            self.ok(what, None);
        } else {
            self.wrong(what, "error -32601", "another answer", Some(&answered.line));
        }
    }

    /// After another `hello` nothing is left of what was before.
    async fn reset(&mut self, plan: &Plan, doors: &Doors, state: &std::path::Path, named: &[&str]) {
        if named.contains(&"connect") {
            self.ask("connect again", "connect", &doors.connect()).await;
        }
        let what = "hello once more, since it says `resets`";
        if self.hello(what, plan, state).await.is_none() || !named.contains(&"list") {
            return;
        }
        let what = "list after that";
        let Some(answered) = self.ask(what, "list", &json!({})).await else {
            return;
        };
        let skills = answered
            .message
            .pointer("/result/skills")
            .and_then(Value::as_array);
        let left = skills
            .into_iter()
            .flatten()
            .any(|skill| skill["server"] == "docs");
        if left {
            let expected = "no skills of a server that was connected before";
            self.wrong(what, expected, "skills of `docs`", Some(&answered.line));
        } else {
            self.ok(what, None);
        }
    }

    /// The adapter ends when its input ends.
    async fn end(&mut self) {
        let what = "the end of input";
        self.stdin = None;
        let rest = async {
            while let Some(Ok(line)) = self.lines.next().await {
                if !line.is_empty() {
                    return Some(excerpt(&line));
                }
            }
            None
        };
        let ended = tokio::time::timeout(self.timeout, rest).await;
        let exited = tokio::time::timeout(self.timeout, self.process.wait()).await;
        match (ended, exited) {
            (Ok(None), Ok(_)) => self.ok(what, None),
            (Ok(Some(line)), _) => {
                self.wrong(
                    what,
                    "no further message",
                    "a line that nothing asked for",
                    Some(&line),
                );
            }
            _ => {
                let actual = format!(
                    "it still runs after {}",
                    humantime::format_duration(self.timeout)
                );
                self.wrong(what, "the adapter exits", actual, None);
            }
        }
    }

    /// Makes a call and waits for its answer; whatever else comes is looked at. None where there is
    /// no answer, which is told.
    async fn ask(&mut self, what: &str, method: &str, params: &Value) -> Option<Answered> {
        let id = self.next_id;
        self.next_id += 1;
        let call = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&call).await;
        let limit = self.timeout;
        match tokio::time::timeout(limit, self.wait(what, id)).await {
            Ok(answered) => answered,
            Err(_) => {
                let actual = format!("nothing within {}", humantime::format_duration(limit));
                self.wrong(what, format!("an answer to call {id}"), actual, None);
                // What would come now belongs to nothing.
                self.gone = true;
                None
            }
        }
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(line.as_bytes()).await;
            let _ = stdin.flush().await;
        }
    }

    async fn wait(&mut self, what: &str, id: u64) -> Option<Answered> {
        loop {
            let Some(Ok(bytes)) = self.lines.next().await else {
                self.gone = true;
                let status = self.process.exit_status(true).await;
                let actual = match status {
                    Some(status) => format!("the adapter ended ({status})"),
                    None => "the adapter closed its output".to_owned(),
                };
                self.wrong(what, format!("an answer to call {id}"), actual, None);
                return None;
            };
            self.lines_seen += 1;
            let line = excerpt(&bytes);
            let message = match wire_json::parse(&bytes) {
                Ok((message, _)) if message.is_object() => message,
                Ok(_) => {
                    self.wrong(
                        what,
                        "one JSON object a line",
                        "JSON of another kind",
                        Some(&line),
                    );
                    continue;
                }
                Err(error) => {
                    let expected =
                        "nothing but messages on standard output, one JSON object a line";
                    if line.trim().is_empty() {
                        self.wrong(what, expected, "an empty line", None);
                    } else {
                        self.wrong(what, expected, error.to_string(), Some(&line));
                    }
                    continue;
                }
            };
            if message.get("method").is_some() {
                self.called_back(what, &message, &line).await;
                continue;
            }
            let kind = if message.get("error").is_some() {
                "Error"
            } else {
                "Result"
            };
            if let Some(why) = disagreement(kind, &message) {
                let expected = "{\"jsonrpc\": \"2.0\", \"id\": ID, \"result\": {…}} or \"error\"";
                self.wrong(what, expected, why, Some(&line));
            }
            match message.get("id") {
                Some(other) if *other == json!(id) => return Some(Answered { message, line }),
                Some(other) => {
                    let actual = format!("an answer to {other}");
                    self.wrong(
                        what,
                        format!("the id {id} as it was sent"),
                        actual,
                        Some(&line),
                    );
                    // It answers this call all the same, unless it answers an earlier one.
                    if other.as_u64().is_none_or(|other| other >= id) {
                        return Some(Answered { message, line });
                    }
                }
                None => return Some(Answered { message, line }),
            }
        }
    }

    /// Looks at a call of the adapter, and says yes to it.
    async fn called_back(&mut self, what: &str, message: &Value, line: &str) {
        let Some(id) = message.get("id") else {
            self.wrong(what, "calls with an id", "a notification", Some(line));
            return;
        };
        let what = format!("{what}: approve");
        let answer = if message["method"] == "approve" {
            match disagreement("Approve", message) {
                Some(why) => self.wrong(&what, "a question (schema Approve)", why, Some(line)),
                None => self.ok(&what, message.pointer("/params/kind").map(Value::to_string)),
            }
            json!({"jsonrpc": "2.0", "id": id, "result": {"decision": "allow", "remember": false}})
        } else {
            let actual = format!("a call of {}", message["method"]);
            self.wrong(&what, "`approve`, the only call back", actual, Some(line));
            json!({"jsonrpc": "2.0", "id": id, "error":
                {"code": METHOD_NOT_FOUND, "message": "the suite offers `approve` only"}})
        };
        self.send(&answer).await;
    }

    fn ok(&mut self, what: &str, note: Option<String>) {
        (self.tell)(&Row {
            what: what.to_owned(),
            wrong: None,
            note,
        });
    }

    fn wrong(
        &mut self,
        what: &str,
        expected: impl Into<String>,
        actual: impl Into<String>,
        line: Option<&str>,
    ) {
        self.faults += 1;
        (self.tell)(&Row {
            what: what.to_owned(),
            wrong: Some(Wrong {
                expected: expected.into(),
                actual: actual.into(),
                line: line.map(str::to_owned),
            }),
            note: None,
        });
    }
}

/// The beginning of a line, safe to show.
fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]).into_owned();
    let short: String = text.chars().take(SHOWN).collect();
    let more = if short.len() < bytes.len() { "…" } else { "" };
    format!(
        "{}{more}",
        short.escape_debug().to_string().replace("\\\"", "\"")
    )
}

/// What a result says of the host rather than of the adapter.
fn remark(result: &Value) -> Option<String> {
    let refused = result.get("outcome").and_then(Value::as_str) == Some("refused");
    let reason = result
        .get("reason")
        .and_then(Value::as_str)
        .unwrap_or("no reason given");
    refused.then(|| format!("the host refused: {}", excerpt(reason.as_bytes())))
}

/// Every verb, in an order in which each finds something to do, with the forms that it has.
fn calls(doors: &Doors) -> Vec<(&'static str, Vec<Value>)> {
    let skill = json!({"server": "docs", "uri": SKILL});
    let mail = "skill://refunds/examples/email.md";
    let connect = doors.connect();
    let order = [
        (
            "policy",
            vec![json!({"server": "docs", "uri": SKILL, "allow": true})],
        ),
        (
            "install_local",
            vec![json!({"name": "deploy", "files":
            {"SKILL.md": "---\nname: deploy\ndescription: Deploys.\n---\n"}})],
        ),
        ("connect", vec![connect]),
        ("list", vec![json!({})]),
        ("inspect", vec![skill.clone()]),
        (
            "load",
            vec![
                skill.clone(),
                json!({"uri": SKILL}),
                json!({"name": "refunds"}),
            ],
        ),
        ("acting", vec![json!({})]),
        (
            "read",
            vec![
                json!({"uri": mail, "acting_on": skill}),
                json!({"reference": "examples/email.md", "acting_on": skill}),
            ],
        ),
        (
            "read_resource",
            vec![json!({"server": "docs", "uri": "docs://readme"})],
        ),
        (
            "list_directory",
            vec![
                json!({"server": "docs", "uri": "skill://refunds"}),
                json!({"server": "docs", "uri": "skill://refunds", "acting_on": skill}),
            ],
        ),
        (
            "run_tool",
            vec![json!({"tool": "shell", "input": {"command": "true"}, "acting_on": skill})],
        ),
        ("context", vec![json!({})]),
        ("tools", vec![json!({})]),
        ("notices", vec![json!({})]),
        ("cache", vec![json!({})]),
        ("mount", vec![json!({})]),
        ("release", vec![skill]),
        ("disconnect", vec![json!({"server": "docs"})]),
        ("restart", vec![json!({})]),
        ("remove", vec![json!({"server": "docs"})]),
    ];
    debug_assert_eq!(order.len(), VERBS.len());
    order.into_iter().collect()
}
