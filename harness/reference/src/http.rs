//! The Streamable HTTP transport, for both revisions on one endpoint.

mod headers;
mod sessions;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use axum::serve::ListenerExt;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::message::{Answer, Channel, Era, LEGACY, Message, Parsed, RpcError, Then};
use crate::server::Server;
use sessions::Sessions;

/// Serves HTTP at `/mcp` on the listener until the future is dropped.
///
/// It returns when a fault makes the server exit; connections that are open
/// then get no further answer, and end with the process.
pub async fn serve_http(server: impl Into<Arc<Server>>, listener: TcpListener) -> io::Result<()> {
    let endpoint = Arc::new(Endpoint {
        server: server.into(),
        sessions: Sessions::default(),
        exit: Notify::new(),
        events: AtomicU64::new(0),
    });
    let router = Router::new()
        .route("/mcp", post(accept).delete(end_session))
        .with_state(Arc::clone(&endpoint));
    let listener = listener.tap_io(|stream| {
        // Small answers must not wait for more to send.
        let _ = stream.set_nodelay(true);
    });
    tokio::select! {
        ended = async { axum::serve(listener, router).await } => ended,
        () = endpoint.exit.notified() => Ok(()),
    }
}

struct Endpoint {
    server: Arc<Server>,
    sessions: Sessions,
    /// Wakes when a fault makes the server exit.
    exit: Notify,
    /// Numbers the events of all streams.
    events: AtomicU64,
}

async fn accept(
    State(endpoint): State<Arc<Endpoint>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if endpoint.server.gone() != Then::GoOn {
        return std::future::pending().await;
    }
    if !headers::origin_allowed(&headers) {
        return plain(StatusCode::FORBIDDEN);
    }
    let (answer, session) = endpoint.answer(&headers, &body);
    match answer.then {
        Then::GoOn => endpoint.respond(answer, session),
        Then::Exit => {
            endpoint.exit.notify_one();
            std::future::pending().await
        }
        Then::Hang => std::future::pending().await,
    }
}

async fn end_session(State(endpoint): State<Arc<Endpoint>>, headers: HeaderMap) -> Response {
    if !headers::origin_allowed(&headers) {
        return plain(StatusCode::FORBIDDEN);
    }
    if !endpoint.server.options.sessions {
        return plain(StatusCode::METHOD_NOT_ALLOWED);
    }
    plain(match headers::text(&headers, headers::SESSION) {
        None => StatusCode::BAD_REQUEST,
        Some(id) if endpoint.sessions.end(id) => StatusCode::NO_CONTENT,
        Some(_) => StatusCode::NOT_FOUND,
    })
}

impl Endpoint {
    /// The answer to a POST, and the id of the session it opens.
    fn answer(&self, headers: &HeaderMap, body: &[u8]) -> (Answer, Option<String>) {
        let message = match Message::parse(body) {
            Parsed::Bad { id, error } => return (self.server.refuse(400, &id, &error), None),
            Parsed::Response => return (Answer::silence(), None),
            Parsed::Message(message) => message,
        };
        if self.is_modern(headers, &message) {
            return (self.modern(headers, &message), None);
        }
        if let Some(refusal) = self.check_legacy(headers, &message) {
            return (refusal, None);
        }
        let token = headers::token(headers);
        let answer = self
            .server
            .answer(&message, Ok(Era::Legacy), Channel::Http, token);
        let opens = self.server.options.sessions && message.method == "initialize";
        (answer, opens.then(|| self.sessions.open()))
    }

    /// A request is modern by its metadata, or by a header that names any
    /// version but the one that starts with a handshake.
    fn is_modern(&self, headers: &HeaderMap, message: &Message) -> bool {
        message.is_modern()
            || message.method != "initialize"
                && headers::text(headers, headers::VERSION).is_some_and(|version| version > LEGACY)
    }

    fn modern(&self, headers: &HeaderMap, message: &Message) -> Answer {
        if let Some(id) = &message.id
            && let Err(error) = headers::check(headers, message)
        {
            return Answer::error(400, id, &error);
        }
        let token = headers::token(headers);
        self.server
            .answer(message, Ok(Era::Modern), Channel::Http, token)
    }

    /// What stands in the way of a legacy message: a version or session that
    /// is not the negotiated one.
    fn check_legacy(&self, headers: &HeaderMap, message: &Message) -> Option<Answer> {
        if message.method == "initialize" {
            return None;
        }
        let id = message.id.clone().unwrap_or(Value::Null);
        let refuse = |status, text: &str| {
            let error = RpcError::invalid_request(text);
            Some(Answer::error(status, &id, &error))
        };
        if let Some(version) = headers.get(headers::VERSION)
            && version != LEGACY
        {
            return refuse(400, "MCP-Protocol-Version is not the negotiated version");
        }
        if !self.server.options.sessions {
            return None;
        }
        match headers::text(headers, headers::SESSION) {
            None => refuse(
                400,
                "no Mcp-Session-Id: send initialize first, or send per-request metadata",
            ),
            Some(session) if !self.sessions.is_open(session) => {
                refuse(404, "unknown Mcp-Session-Id: send initialize again")
            }
            Some(_) => None,
        }
    }

    fn respond(&self, answer: Answer, session: Option<String>) -> Response {
        let mut response = Response::builder().status(answer.status);
        if let Some(session) = session {
            response = response.header(headers::SESSION, session);
        }
        let body = match answer.body {
            None => Body::empty(),
            Some(body) if self.server.options.sse && answer.status == 200 => {
                response = response
                    .header(header::CONTENT_TYPE, "text/event-stream")
                    .header(header::CACHE_CONTROL, "no-store")
                    .header("x-accel-buffering", "no");
                Body::from(self.stream(&body))
            }
            Some(body) => {
                response = response.header(header::CONTENT_TYPE, answer.content_type);
                Body::from(body)
            }
        };
        response.body(body).unwrap_or_else(|error| {
            // Only a header value of our own making could bring us here.
            eprintln!("sep2640-reference: {error}");
            plain(StatusCode::INTERNAL_SERVER_ERROR)
        })
    }

    /// A whole event stream: an event that only gives an id, a comment, and
    /// the message.
    fn stream(&self, message: &[u8]) -> Vec<u8> {
        let first = self.events.fetch_add(2, Ordering::Relaxed);
        let mut stream = format!(
            "id: {first}\ndata:\n\n: the answer follows\n\nid: {}\nevent: message\ndata: ",
            first + 1
        )
        .into_bytes();
        stream.extend_from_slice(message);
        stream.extend_from_slice(b"\n\n");
        stream
    }
}

fn plain(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
