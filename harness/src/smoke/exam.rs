//! What an adapter is asked, one thing after the other.

use futures::StreamExt;
use serde_json::{Value, json};

use super::doors::{Doors, calls};
use super::schema::{definition, disagreement};
use super::talk::{Talk, excerpt};
use super::{Plan, Row};
use crate::wire::jsonrpc::METHOD_NOT_FOUND;

/// A verb that no adapter has.
const NO_VERB: &str = "no_such_verb";

impl<F: FnMut(&Row)> Talk<F> {
    /// Everything; returns how many verbs `hello` names.
    pub(super) async fn all(
        &mut self,
        plan: &Plan,
        doors: &Doors,
        state: &std::path::Path,
    ) -> usize {
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
