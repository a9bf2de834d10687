//! One round of a step: a call, its further pages, and what it leads to.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use super::file::{Follow, Step};
use super::play::Bounds;
use crate::target::session::{Call, Session};
use crate::wire::trace::Page;

/// One round of a step that may run beside others.
pub(super) struct Job<'a> {
    /// The step.
    pub step: &'a Step,
    /// Where it is played.
    pub session: &'a Session,
    /// Bounds.
    pub bounds: Bounds,
    /// Number of the walk over pages.
    pub walk: usize,
}

/// What came of a round.
#[derive(Default)]
pub(super) struct Outcome {
    /// Captured values.
    pub saved: Vec<(String, Value)>,
    /// A bound that was hit.
    pub cut: Option<String>,
    /// Exchanges of this round.
    pub exchanges: Vec<usize>,
    /// Whether a request stayed unanswered, or was not sent since the target no longer answers.
    pub lost: bool,
}

impl Job<'_> {
    /// Plays the round.
    pub async fn run(&self, call: Call) -> Outcome {
        let mut outcome = Outcome::default();
        if self.step.follow.is_none() {
            self.pages(call, &mut outcome).await;
            return outcome;
        }
        let mut visited: HashSet<String> = call
            .params
            .as_deref()
            .and_then(uri_of)
            .into_iter()
            .collect();
        let mut queue = VecDeque::from([call.clone()]);
        while let Some(next) = queue.pop_front() {
            for uri in self.pages(next, &mut outcome).await {
                if visited.len() >= self.bounds.directories {
                    outcome.cut =
                        Some(format!("more than {} directories", self.bounds.directories));
                    return outcome;
                }
                if visited.insert(uri.clone()) {
                    let mut params = call.params.clone().unwrap_or_else(|| Arc::new(json!({})));
                    Arc::make_mut(&mut params)["uri"] = Value::from(uri);
                    queue.push_back(Call {
                        params: Some(params),
                        ..call.clone()
                    });
                }
            }
        }
        outcome
    }

    /// Makes the call, follows its pages if the step says so, and captures values. Returns the
    /// URIs that `follow` leads to.
    async fn pages(&self, mut call: Call, outcome: &mut Outcome) -> Vec<String> {
        let mut leads = Vec::new();
        let mut cursors = HashSet::new();
        let mut items = 0;
        let step = self.step;
        for page in 0.. {
            if step.all_pages {
                call.page = Some(Page {
                    walk: self.walk,
                    page,
                    cut: false,
                });
            }
            if self.session.is_lost() || self.session.is_stuck() {
                outcome.lost = true;
                break;
            }
            let reply = self.session.call(&call).await;
            outcome.exchanges.push(reply.exchange);
            outcome.lost |= reply.answer.is_none();
            let Some(frame) = reply.answer else { break };
            let recorder = self.session.recorder();
            let next = recorder.with_frame(frame, |frame| {
                let answer = frame.json().unwrap_or(&Value::Null);
                items += ["/result/skills", "/result/resources"]
                    .iter()
                    .filter_map(|list| answer.pointer(list)?.as_array())
                    .map(Vec::len)
                    .sum::<usize>();
                for (name, pointer) in &step.save {
                    if let Some(value) = answer.pointer(pointer) {
                        outcome.saved.push((name.clone(), value.clone()));
                    }
                }
                if let Some(follow) = &step.follow {
                    leads.extend(found(follow, answer));
                }
                answer
                    .pointer("/result/nextCursor")
                    .filter(|cursor| !cursor.is_null())
                    .cloned()
            });
            let Some(cursor) = next.filter(|_| step.all_pages) else {
                break;
            };
            // A cursor that comes back would never end; the walk shows it, and stops.
            let again = !cursors.insert(cursor.to_string());
            if again || page + 1 >= self.bounds.pages || items >= self.bounds.items {
                if !again {
                    outcome.cut = Some(format!(
                        "{} goes on after {} pages and {items} items",
                        call.method,
                        page + 1
                    ));
                }
                recorder.update(reply.exchange, |exchange| {
                    if let Some(page) = &mut exchange.page {
                        page.cut = true;
                    }
                });
                break;
            }
            let params = call.params.get_or_insert_with(|| Arc::new(json!({})));
            if let Value::Object(params) = Arc::make_mut(params) {
                params.insert("cursor".to_owned(), cursor);
            }
        }
        leads
    }
}

fn uri_of(params: &Value) -> Option<String> {
    params.get("uri")?.as_str().map(str::to_owned)
}

/// The URIs that `follow` leads to.
fn found(follow: &Follow, answer: &Value) -> Vec<String> {
    let objects = follow.into.parts(answer);
    objects
        .into_iter()
        .filter(|object| {
            follow
                .with
                .iter()
                .all(|(key, value)| object.get(key) == Some(value))
        })
        .filter_map(uri_of)
        .collect()
}
