//! Places that no host may reach: addresses that only skill URIs name, commands that nobody has
//! approved.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::stage::Stage;
use crate::wire::scene::Bait;

/// How long a connection may be without a request.
const PATIENCE: Duration = Duration::from_millis(100);

/// Listeners and a directory for one run.
#[derive(Debug)]
pub struct Baits {
    authority: SocketAddr,
    http: SocketAddr,
    directory: TempDir,
    tasks: Vec<JoinHandle<()>>,
    seen: BTreeSet<String>,
}

impl Baits {
    /// Lays the baits out; what is reached is told to the stage.
    ///
    /// # Errors
    ///
    /// No port or no temporary directory can be had.
    pub async fn lay(stage: &Stage) -> std::io::Result<Self> {
        let authority = TcpListener::bind(("127.0.0.1", 0)).await?;
        let http = TcpListener::bind(("127.0.0.1", 0)).await?;
        let (at, http_at) = (authority.local_addr()?, http.local_addr()?);
        let tasks = vec![
            tokio::spawn(watch(authority, stage.clone(), false)),
            tokio::spawn(watch(http, stage.clone(), true)),
        ];
        Ok(Self {
            authority: at,
            http: http_at,
            directory: tempfile::Builder::new().prefix("sep2640-").tempdir()?,
            tasks,
            seen: BTreeSet::new(),
        })
    }

    /// Fills `{authority}`, `{http}` and `{run:NAME}` (a command that leaves a trace and does nothing
    /// else) into a text.
    pub fn fill(&self, text: &str) -> String {
        let mut text = text
            .replace("{authority}", &self.authority.to_string())
            .replace("{http}", &self.http.to_string());
        while let Some((before, rest)) = text.split_once("{run:") {
            let Some((name, after)) = rest.split_once('}') else {
                break;
            };
            let path = self.directory.path().join(name);
            text = format!("{before}: > '{}'{after}", path.display());
        }
        text
    }

    /// Tells the stage of commands that ran since the last look.
    pub fn look(&mut self, stage: &Stage) {
        let Ok(entries) = std::fs::read_dir(self.directory.path()) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if self.seen.insert(name.clone()) {
                stage.touched(Bait::Command(name));
            }
        }
    }

    /// Forgets the commands that ran.
    pub fn clear(&mut self) {
        for name in std::mem::take(&mut self.seen) {
            let _ = std::fs::remove_file(self.directory.path().join(name));
        }
    }
}

impl Drop for Baits {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Takes connections; where a web address is the bait, a mere connection is told from a request.
async fn watch(listener: TcpListener, stage: Stage, web: bool) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let stage = stage.clone();
        if !web {
            stage.touched(Bait::Connection);
        }
        tokio::spawn(async move {
            if web {
                let mut first = [0; 16];
                let read = tokio::time::timeout(PATIENCE, stream.read(&mut first)).await;
                let asked = matches!(read, Ok(Ok(read)) if read > 0);
                stage.touched(if asked { Bait::Http } else { Bait::Connection });
            }
            let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes()).await;
        });
    }
}
