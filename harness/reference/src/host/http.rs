//! Streamable HTTP, from the client's side: one POST a message, answered by a
//! JSON body or an event stream. Redirects are not followed and no proxy is used.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long an answer may take, all in all.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// How long an answer may be. A file of 16 MiB fits, in whatever encoding.
pub(super) const LIMIT: usize = 128 << 20;

/// An endpoint, with the connection to it that was used last.
#[derive(Debug)]
pub(super) struct Endpoint {
    uri: Uri,
    address: String,
    open: Option<SendRequest<Full<Bytes>>>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub status: u16,
    /// `Mcp-Session-Id`, if there is one.
    pub session: Option<String>,
    /// The message that answers the request, if there is one.
    pub message: Option<Value>,
}

impl Endpoint {
    pub fn new(url: &str) -> Result<Endpoint, String> {
        let uri: Uri = url.parse().map_err(|error| format!("{url}: {error}"))?;
        let host = match (uri.scheme_str(), uri.host()) {
            (Some("http"), Some(host)) => host,
            _ => return Err(format!("{url}: only http URLs can be connected to")),
        };
        let address = format!("{host}:{}", uri.port_u16().unwrap_or(80));
        Ok(Endpoint {
            uri,
            address,
            open: None,
        })
    }

    /// Sends a message and reads what answers the request with this id.
    pub async fn post(
        &mut self,
        headers: &[(&str, String)],
        body: String,
        id: u64,
    ) -> Result<Reply, String> {
        let exchange = async {
            let response = self.send(Method::POST, headers, body).await?;
            let status = response.status().as_u16();
            let header = |name: &str| {
                let value = response.headers().get(name)?;
                Some(value.to_str().ok()?.to_owned())
            };
            let session = header("mcp-session-id");
            let stream = header("content-type")
                .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/event-stream"));
            let message = if stream {
                from_stream(response.into_body(), id).await?
            } else {
                let bytes = collect(response.into_body()).await?;
                serde_json::from_slice(&bytes).ok()
            };
            Ok(Reply {
                status,
                session,
                message,
            })
        };
        timeout(PATIENCE, exchange)
            .await
            .map_err(|_| format!("no answer within {} s", PATIENCE.as_secs()))?
    }

    /// Ends a session.
    pub async fn delete(&mut self, headers: &[(&str, String)]) {
        // Whatever comes of it: the session is not used again.
        let _ = timeout(PATIENCE, self.send(Method::DELETE, headers, String::new())).await;
    }

    /// Fetches the body that the URL itself leads to. Nothing honest does that.
    pub async fn get(&mut self) -> Result<Vec<u8>, String> {
        let fetch = async {
            let response = self.send(Method::GET, &[], String::new()).await?;
            match response.status().as_u16() {
                200 => collect(response.into_body()).await,
                status => Err(format!("status {status}")),
            }
        };
        timeout(PATIENCE, fetch)
            .await
            .map_err(|_| "no answer".to_owned())?
    }

    async fn send(
        &mut self,
        method: Method,
        headers: &[(&str, String)],
        body: String,
    ) -> Result<Response<Incoming>, String> {
        let mut request = Request::builder()
            .method(method)
            .uri(self.uri.path_and_query().map_or("/", |path| path.as_str()))
            .header(
                "host",
                self.uri
                    .authority()
                    .map_or("", |authority| authority.as_str()),
            )
            .header("accept", "application/json, text/event-stream");
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let mut request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| error.to_string())?;
        if let Some(mut sender) = self.open.take()
            && sender.ready().await.is_ok()
        {
            match sender.try_send_request(request).await {
                Ok(response) => {
                    self.open = Some(sender);
                    return Ok(response);
                }
                // The server had closed the connection before it took the request.
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(error.into_error().to_string()),
                },
            }
        }
        let stream = TcpStream::connect(&self.address)
            .await
            .map_err(|error| format!("cannot connect to {}: {error}", self.address))?;
        let _ = stream.set_nodelay(true);
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        tokio::spawn(async move {
            // What breaks shows where the answer is missed.
            let _ = connection.await;
        });
        let response = sender
            .send_request(request)
            .await
            .map_err(|error| error.to_string())?;
        self.open = Some(sender);
        Ok(response)
    }
}

async fn collect(mut body: Incoming) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > LIMIT {
                return Err(format!("the answer has more than {LIMIT} bytes"));
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

/// Reads events until one answers the request.
async fn from_stream(mut body: Incoming, id: u64) -> Result<Option<Value>, String> {
    let mut buffer: Vec<u8> = Vec::new();
    let mut data = String::new();
    let mut total = 0;
    loop {
        let ended = match body.frame().await {
            None => true,
            Some(frame) => {
                let frame = frame.map_err(|error| error.to_string())?;
                if let Ok(bytes) = frame.into_data() {
                    total += bytes.len();
                    if total > LIMIT {
                        return Err(format!("the stream has more than {LIMIT} bytes"));
                    }
                    buffer.extend_from_slice(&bytes);
                }
                false
            }
        };
        if ended {
            buffer.extend_from_slice(b"\n\n");
        }
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if let Some(rest) = line.strip_prefix("data:") {
                if !data.is_empty() {
                    data.push('\n');
                }
                data.push_str(rest.strip_prefix(' ').unwrap_or(rest));
            } else if line.is_empty() {
                let event = std::mem::take(&mut data);
                if let Ok(message) = serde_json::from_str::<Value>(&event)
                    && message.get("method").is_none()
                    && message.get("id") == Some(&Value::from(id))
                {
                    return Ok(Some(message));
                }
            }
        }
        if ended {
            return Ok(None);
        }
    }
}
