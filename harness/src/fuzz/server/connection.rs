//! A connection to the server, as many requests under way as it takes.

use std::time::Duration;

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::UNDER_WAY;
use super::answer::{ALIVE, Wrong, judge};
use crate::generate::request::{Known, Message, Request};
use crate::target::handshake::{Refusal, liveness_method};
use crate::target::session::{Call, Session};
use crate::target::{Limits, TargetError, TargetSpec};
use crate::wire::Revision;

/// The name under which requests are recorded.
const NAME: &str = "fuzz";
/// Skills that are asked about; a larger catalog is not read to its end.
const SKILLS: usize = 256;

pub(super) struct Connection {
    session: Session,
}

impl Connection {
    /// Connects on the newest revision that the server speaks.
    pub async fn open(spec: &TargetSpec, timeout: Duration) -> Result<Self, TargetError> {
        let limits = Limits {
            timeout,
            in_flight: 2 * UNDER_WAY,
            bytes: false,
            ..Limits::default()
        };
        let mut reason = TargetError::new("no revision was tried");
        for revision in [Revision::Modern, Revision::Legacy] {
            match Session::open(spec, revision, limits).await {
                Ok(session) => return Ok(Self { session }),
                Err(Refusal::Unreachable(error)) => return Err(error),
                Err(refusal) => reason = TargetError::new(format!("{refusal:?}")),
            }
        }
        Err(reason)
    }

    /// The first entries of the listing.
    pub async fn catalog(&mut self) -> Result<Known, TargetError> {
        let mut known = Known::default();
        let mut cursor: Option<Value> = None;
        loop {
            let params = cursor
                .take()
                .map_or(json!({}), |cursor| json!({"cursor": cursor}));
            let reply = self
                .session
                .call(&Call::new(NAME, "skills/list", Some(params)))
                .await;
            let frame = reply
                .answer
                .ok_or_else(|| TargetError::new("skills/list is not answered"))?;
            let result = self.session.recorder().with_frame(frame, |frame| {
                frame.json().and_then(|value| value.get("result")).cloned()
            });
            let result =
                result.ok_or_else(|| TargetError::new("skills/list is answered with an error"))?;
            for entry in result["skills"].as_array().into_iter().flatten() {
                if let Some(uri) = entry["uri"].as_str() {
                    known.entries.push((uri.to_owned(), entry.clone()));
                }
            }
            match result.get("nextCursor") {
                Some(next) if known.entries.len() < SKILLS => cursor = Some(next.clone()),
                _ => return Ok(known),
            }
        }
    }

    /// Plays requests; what is wrong with the answer to each.
    pub async fn play(&mut self, requests: &[(u64, Request)]) -> Vec<(u64, Option<Wrong>)> {
        let calls = requests
            .iter()
            .filter_map(|(number, request)| match &request.message {
                Message::Call { method, params } => {
                    Some((*number, request, *method, params.clone()))
                }
                _ => None,
            });
        let session = &self.session;
        let mut answers: Vec<(u64, Option<Wrong>)> = stream::iter(calls)
            .map(|(number, request, method, params)| async move {
                let call = Call::new(NAME, method, params);
                let reply = session.call(&call).await;
                let wrong = match reply.answer {
                    Some(frame) => session.recorder().with_frame(frame, |frame| {
                        judge(frame, &request.awaited, session.revision())
                    }),
                    None => Some(Wrong {
                        rule: ALIVE,
                        actual: format!("no answer: {:?}", reply.unanswered),
                    }),
                };
                // The server has to go on answering.
                let alive = Call::new(NAME, liveness_method(session.revision()), None);
                let alive = session.call(&alive).await.answer.is_some();
                let dead = || Wrong {
                    rule: ALIVE,
                    actual: "no answer to the request behind it".into(),
                };
                (number, wrong.or_else(|| (!alive).then(dead)))
            })
            .buffer_unordered(UNDER_WAY)
            .collect()
            .await;
        for (number, request) in requests {
            let bytes = match &request.message {
                Message::Call { .. } => continue,
                Message::Notify { .. } => None,
                Message::Raw(bytes) => Some(bytes.clone().into()),
            };
            let method = match &request.message {
                Message::Notify { method } => *method,
                _ => "",
            };
            if self.session.is_lost() {
                break;
            }
            self.session
                .probe(&Call::new(NAME, method, Some(json!({}))), bytes)
                .await;
            let alive = !self.session.is_lost();
            let dead = || Wrong {
                rule: ALIVE,
                actual: "no answer to the request behind it".into(),
            };
            answers.push((*number, (!alive).then(dead)));
        }
        answers
    }

    /// Whether the server has gone.
    pub fn is_lost(&self) -> bool {
        self.session.is_lost() || self.session.is_stuck()
    }

    pub async fn close(self) {
        drop(self.session.close().await);
    }
}
