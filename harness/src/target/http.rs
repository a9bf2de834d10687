//! A Streamable HTTP endpoint, on both revisions.

use std::sync::{Mutex, Once};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use serde_json::Value;
use sse_stream::SseByteStream;
use tokio::sync::Semaphore;

use super::headers::header_value;
use super::pending::Pulse;
use super::recorder::Recorder;
use super::stdio::answer_to_server;
use super::{Limits, TargetError, TargetSpec};
use crate::wire::Revision;
use crate::wire::frame::{Direction, Envelope};
use crate::wire::json;
use crate::wire::jsonrpc::{self, Kind};
use crate::wire::trace::Unanswered;

/// POSTs under way at once. Fewer than on stdio, where a request costs no connection.
const CONNECTIONS: usize = 8;
/// How often a message is sent again for reasons that lie in HTTP.
const REPEATS: usize = 3;
/// How often a broken-off SSE stream of 2025-11-25 is taken up again for one request.
const RESUMPTIONS: usize = 8;

/// What came back for one POST.
#[derive(Debug, Default)]
pub struct Exchanged {
    /// Frame of the answer.
    pub answer: Option<usize>,
    /// Further frames that are answers.
    pub extra: Vec<usize>,
    /// Why there is no answer.
    pub unanswered: Option<Unanswered>,
    /// What the HTTP client said, when the endpoint could not be reached.
    pub error: Option<String>,
    /// HTTP status of the last response.
    pub status: Option<u16>,
    /// How long a busy server asked to wait.
    pub retry_after: Option<Duration>,
}

/// An endpoint.
#[derive(Debug)]
pub struct Link {
    client: Client,
    url: Url,
    headers: HeaderMap,
    revision: Revision,
    session: Mutex<Option<HeaderValue>>,
    initialized: Mutex<bool>,
    opening: Mutex<Option<(Option<u64>, Bytes)>>,
    lost: Mutex<bool>,
    recorder: Recorder,
    pulse: Pulse,
    slots: Semaphore,
    timeout: Duration,
    longest: usize,
}

impl Link {
    /// Prepares a client for the endpoint; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// A header is not one, or the HTTP client cannot be set up.
    pub fn new(
        spec: &TargetSpec,
        revision: Revision,
        recorder: &Recorder,
        limits: &Limits,
    ) -> Result<Self, TargetError> {
        let TargetSpec::Url { url, headers } = spec else {
            return Err(TargetError::new("a command is not a URL"));
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(name)
                .map_err(|_| TargetError::new(format!("`{name}` is not a header name")))?;
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                TargetError::new(format!(
                    "the value of header `{name}` is not allowed in HTTP"
                ))
            })?;
            value.set_sensitive(true);
            map.append(name, value);
        }
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Fails only when one is installed already, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let mut builder = Client::builder()
            // A redirect could carry the user's headers to another origin.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(limits.timeout)
            .user_agent(concat!(
                env!("CARGO_PKG_NAME"),
                "/",
                env!("CARGO_PKG_VERSION")
            ))
            .pool_max_idle_per_host(CONNECTIONS);
        if url.scheme() == "http" {
            // Loading the machine's certificates takes longer than a whole run.
            builder = builder.tls_certs_only([]);
        }
        let client = builder
            .build()
            .map_err(|error| TargetError::new(format!("cannot set up HTTP: {}", chain(&error))))?;
        Ok(Self {
            client,
            url: url.clone(),
            headers: map,
            revision,
            session: Mutex::default(),
            initialized: Mutex::default(),
            opening: Mutex::default(),
            lost: Mutex::default(),
            recorder: recorder.clone(),
            pulse: Pulse::default(),
            slots: Semaphore::new(CONNECTIONS),
            timeout: limits.timeout,
            longest: limits.message,
        })
    }

    /// POSTs one message and takes in what comes back. `id` is the request's; bytes that are no
    /// request have none.
    pub async fn post(
        &self,
        id: Option<u64>,
        method: &str,
        params: Option<&Value>,
        bytes: Bytes,
    ) -> Exchanged {
        let Ok(_slot) = self.slots.acquire().await else {
            return Exchanged::default();
        };
        if method == "initialize" {
            *lock(&self.opening) = Some((id, bytes.clone()));
        }
        let mut exchanged = self.attempt(id, method, params, bytes.clone()).await;
        for _ in 0..REPEATS {
            // What HTTP itself put in the way says nothing of the server; the frames stay.
            let Some(pause) = self.obstacle(method, &exchanged) else {
                break;
            };
            tokio::time::sleep(pause).await;
            exchanged = self.attempt(id, method, params, bytes.clone()).await;
        }
        exchanged
    }

    /// Whether an attempt failed for a reason that lies in HTTP and may be gone after a pause: a
    /// server that is busy, an idle connection that it closed, a session that it ended.
    fn obstacle(&self, method: &str, exchanged: &Exchanged) -> Option<Duration> {
        if let Some(pause) = exchanged.retry_after {
            return (pause <= self.timeout).then_some(pause);
        }
        let lost = exchanged.answer.is_none() && exchanged.error.is_some();
        if lost && !self.is_lost() {
            return Some(Duration::ZERO);
        }
        let gone = exchanged.status == Some(404) && method != "initialize";
        if gone && lock(&self.session).take().is_some() {
            *lock(&self.initialized) = false;
            return Some(Duration::ZERO);
        }
        None
    }

    async fn attempt(
        &self,
        id: Option<u64>,
        method: &str,
        params: Option<&Value>,
        bytes: Bytes,
    ) -> Exchanged {
        if self.revision == Revision::Legacy && method != "initialize" {
            self.open_again().await;
        }
        self.once(id, method, params, bytes).await
    }

    /// Begins a new session where the server has ended the one before, as 2025-11-25 asks.
    async fn open_again(&self) {
        let opening = lock(&self.opening).clone();
        let Some((id, bytes)) = opening.filter(|_| !*lock(&self.initialized)) else {
            return;
        };
        self.recorder.frame(Direction::Sent, None, bytes.clone());
        self.once(id, "initialize", None, bytes).await;
        let done = Bytes::from(jsonrpc::notification("notifications/initialized", None));
        self.recorder.frame(Direction::Sent, None, done.clone());
        self.once(None, "notifications/initialized", None, done)
            .await;
    }

    async fn once(
        &self,
        id: Option<u64>,
        method: &str,
        params: Option<&Value>,
        bytes: Bytes,
    ) -> Exchanged {
        let mut exchanged = Exchanged::default();
        let work = self.round_trip(id, method, params, bytes, &mut exchanged);
        let outcome = tokio::select! {
            biased;
            outcome = work => Some(outcome),
            () = self.pulse.silence(self.timeout) => None,
        };
        match outcome {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                let refused = error.is_connect();
                exchanged.error = Some(chain(&error));
                if exchanged.answer.is_none() {
                    exchanged.unanswered = Some(Unanswered::Lost);
                }
                if refused {
                    *lock(&self.lost) = true;
                }
            }
            None => exchanged.unanswered = Some(Unanswered::TimedOut),
        }
        if exchanged.answer.is_none() && exchanged.unanswered.is_none() && id.is_some() {
            exchanged.unanswered = Some(Unanswered::Lost);
        }
        exchanged
    }

    async fn round_trip(
        &self,
        id: Option<u64>,
        method: &str,
        params: Option<&Value>,
        bytes: Bytes,
        exchanged: &mut Exchanged,
    ) -> reqwest::Result<()> {
        let response = self
            .client
            .post(self.url.clone())
            .headers(self.request_headers(method, params))
            .body(bytes)
            .send()
            .await?;
        let status = response.status().as_u16();
        exchanged.status = Some(status);
        exchanged.retry_after = response
            .headers()
            .get("retry-after")
            .filter(|_| matches!(status, 429 | 503))
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        if method == "initialize" && response.status().is_success() {
            *lock(&self.session) = response.headers().get("mcp-session-id").cloned();
            *lock(&self.initialized) = true;
        }
        let mut last_event = self.take(id, response, exchanged).await?;
        for _ in 0..RESUMPTIONS {
            let Some(event) = last_event.take() else {
                break;
            };
            if exchanged.answer.is_some() || id.is_none() || self.revision != Revision::Legacy {
                break;
            }
            let mut headers = self.request_headers(method, params);
            headers.insert("last-event-id", event);
            let response = self
                .client
                .get(self.url.clone())
                .headers(headers)
                .send()
                .await?;
            last_event = self.take(id, response, exchanged).await?;
        }
        Ok(())
    }

    /// Takes in one HTTP response; returns the last SSE event id of a stream that ended without
    /// the answer.
    async fn take(
        &self,
        id: Option<u64>,
        response: Response,
        exchanged: &mut Exchanged,
    ) -> reqwest::Result<Option<HeaderValue>> {
        let content_type = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .map(|value| {
                value
                    .split(';')
                    .next()
                    .unwrap_or_default()
                    .trim()
                    .to_ascii_lowercase()
            });
        let envelope = Envelope {
            status: response.status().as_u16(),
            content_type,
        };
        if envelope.content_type.as_deref() != Some("text/event-stream") {
            let body = self.bounded(response.bytes_stream()).try_fold(
                BytesMut::new(),
                |mut body, chunk| async move {
                    body.extend_from_slice(&chunk);
                    Ok(body)
                },
            );
            let body = body.await?.freeze();
            self.message(id, envelope, body, exchanged);
            return Ok(None);
        }
        let mut last_event = None;
        let mut events = SseByteStream::new(self.bounded(response.bytes_stream()));
        while let Some(event) = events.next().await {
            let Ok(event) = event else { break };
            if let Some(event_id) = event.id {
                last_event = HeaderValue::try_from(event_id).ok();
            }
            match event.data {
                Some(data) if !data.is_empty() => {
                    self.message(id, envelope.clone(), data.into(), exchanged);
                }
                _ => {}
            }
            if exchanged.answer.is_some() {
                // The answer ends the stream for us, whether or not the server closes it.
                break;
            }
        }
        Ok(last_event)
    }

    fn bounded(
        &self,
        body: impl Stream<Item = reqwest::Result<Bytes>>,
    ) -> impl Stream<Item = reqwest::Result<Bytes>> {
        let longest = self.longest;
        let mut taken = 0;
        Box::pin(body.take_while(move |chunk| {
            taken += chunk.as_ref().map_or(0, Bytes::len);
            std::future::ready(taken <= longest)
        }))
    }

    /// Records one message and books it.
    fn message(
        &self,
        id: Option<u64>,
        envelope: Envelope,
        bytes: Bytes,
        exchanged: &mut Exchanged,
    ) {
        let streamed = envelope.content_type.as_deref() == Some("text/event-stream");
        let frame = self
            .recorder
            .frame(Direction::Received, Some(envelope), bytes);
        enum Meaning {
            Answer,
            Other,
            Request(Value, bool),
        }
        let meaning =
            self.recorder
                .with_frame(frame, |frame| match frame.json().map(jsonrpc::kind) {
                    Some(Kind::Response { id: Some(answered) })
                        if id.is_some()
                            && json::integer(answered).and_then(|id| u64::try_from(id).ok())
                                != id =>
                    {
                        Meaning::Other
                    }
                    Some(Kind::Response { .. }) => Meaning::Answer,
                    Some(Kind::Request { id, method }) => {
                        Meaning::Request(id.clone(), method == "ping")
                    }
                    Some(Kind::Notification { .. }) => Meaning::Other,
                    // A body that is no JSON-RPC at all still is what the server said to this POST.
                    _ if streamed => Meaning::Other,
                    _ => Meaning::Answer,
                });
        match meaning {
            Meaning::Answer if exchanged.answer.is_none() => {
                self.pulse.beat();
                exchanged.answer = Some(frame);
            }
            Meaning::Answer => exchanged.extra.push(frame),
            Meaning::Other if !streamed && exchanged.answer.is_none() => {
                exchanged.answer = Some(frame)
            }
            Meaning::Other => {}
            Meaning::Request(id, ping) => self.answer_server(&id, ping),
        }
    }

    /// Servers of 2025-11-25 may ask the client something on the stream.
    fn answer_server(&self, id: &Value, ping: bool) {
        let answer = answer_to_server(id, ping);
        self.recorder.frame(Direction::Sent, None, answer.clone());
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.request_headers("", None))
            .body(answer)
            .timeout(self.timeout);
        tokio::spawn(request.send());
    }

    fn request_headers(&self, method: &str, params: Option<&Value>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        match self.revision {
            Revision::Modern => {
                headers.insert(
                    "mcp-protocol-version",
                    HeaderValue::from_static(Revision::Modern.name()),
                );
                if let Some(value) = header_value(method).filter(|_| !method.is_empty()) {
                    headers.insert("mcp-method", value);
                }
                let name = params
                    .and_then(|params| params.get("uri"))
                    .and_then(Value::as_str);
                if method == "resources/read"
                    && let Some(value) = name.and_then(header_value)
                {
                    headers.insert("mcp-name", value);
                }
            }
            Revision::Legacy => {
                if *lock(&self.initialized) && method != "initialize" {
                    headers.insert(
                        "mcp-protocol-version",
                        HeaderValue::from_static(Revision::Legacy.name()),
                    );
                }
                if let Some(session) = &*lock(&self.session)
                    && method != "initialize"
                {
                    headers.insert("mcp-session-id", session.clone());
                }
            }
        }
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        headers
    }

    /// Whether the endpoint no longer accepts connections.
    pub fn is_lost(&self) -> bool {
        *lock(&self.lost)
    }

    /// Ends the session, where there is one.
    pub async fn stop(self) {
        if lock(&self.session).is_none() {
            return;
        }
        let mut headers = self.request_headers("", None);
        headers.remove(CONTENT_TYPE);
        headers.remove(ACCEPT);
        let request = self
            .client
            .delete(self.url.clone())
            .headers(headers)
            .timeout(Duration::from_secs(2));
        let _ = request.send().await;
    }
}

/// An error with what caused it, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
