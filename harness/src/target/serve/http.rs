//! Scripted servers over Streamable HTTP: one listener, a path for each server.

use std::net::SocketAddr;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::stage::Stage;

/// The largest request that is taken in, in bytes.
const LARGEST: usize = 4 * 1024 * 1024;

/// A running listener; it ends when this is dropped.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Endpoint {
    /// Serves what is on stage on a free port of the loopback interface.
    ///
    /// # Errors
    ///
    /// No port can be had.
    pub async fn open(stage: Stage) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new()
            .route("/{scene}/{label}", post(accept).delete(end))
            .layer(axum::extract::DefaultBodyLimit::max(LARGEST))
            .with_state(stage);
        let listener = listener.tap_io(|stream| {
            // Small answers must not wait for more to send.
            let _ = stream.set_nodelay(true);
        });
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, task })
    }

    /// The address of a server of a scene.
    pub fn url(&self, scene: usize, label: &str) -> String {
        format!("http://{}/{scene}/{label}", self.address)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(
    State(stage): State<Stage>,
    Path((scene, label)): Path<(usize, String)>,
    body: Bytes,
) -> Response {
    let Some(answer) = stage.answer(scene, &label, &body) else {
        return plain(StatusCode::NOT_FOUND);
    };
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    let Some(bytes) = answer.body else {
        return plain(StatusCode::ACCEPTED);
    };
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
    );
    if answer.opens_session {
        headers.insert(
            "mcp-session-id",
            header::HeaderValue::from(u64::try_from(scene).unwrap_or(0)),
        );
    }
    response
}

async fn end() -> Response {
    plain(StatusCode::NO_CONTENT)
}

fn plain(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
