//! Scripted servers over stdio: the host starts `sep2640-conform relay`, which joins its standard
//! streams to the stage.

use std::net::SocketAddr;

use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::codec::{Framed, LinesCodec};

use super::stage::Stage;

/// The longest line that is taken in, in bytes.
const LONGEST: usize = 4 * 1024 * 1024;

/// A running listener; it ends when this is dropped.
#[derive(Debug)]
pub struct Exchange {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Exchange {
    /// Takes relays in on a free port of the loopback interface.
    ///
    /// # Errors
    ///
    /// No port can be had.
    pub async fn open(stage: Stage) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, stage.clone()));
            }
        });
        Ok(Self { address, task })
    }

    /// The arguments of `sep2640-conform` that join a server of a scene.
    pub fn arguments(&self, scene: usize, label: &str) -> Vec<String> {
        vec![
            "relay".to_owned(),
            self.address.to_string(),
            scene.to_string(),
            label.to_owned(),
        ]
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Speaks with one relay: its first line names scene and server.
async fn serve(stream: TcpStream, stage: Stage) {
    let _ = stream.set_nodelay(true);
    let mut lines = Framed::new(stream, LinesCodec::new_with_max_length(LONGEST));
    let Some(Ok(first)) = lines.next().await else {
        return;
    };
    let Some((scene, label)) = first.split_once(' ') else {
        return;
    };
    let Ok(scene) = scene.parse::<usize>() else {
        return;
    };
    while let Some(Ok(line)) = lines.next().await {
        let Some(answer) = stage.answer(scene, label, line.as_bytes()) else {
            return;
        };
        if !answer.delay.is_zero() {
            tokio::time::sleep(answer.delay).await;
        }
        if let Some(body) = answer.body
            && lines.send(String::from_utf8_lossy(&body)).await.is_err()
        {
            return;
        }
    }
}

/// What `sep2640-conform relay` does: joins standard input and output to the stage at `address`.
///
/// # Errors
///
/// The stage cannot be reached, or a stream breaks.
pub async fn join(address: &str, scene: &str, label: &str) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    stream
        .write_all(format!("{scene} {label}\n").as_bytes())
        .await?;
    let (mut from, mut to) = stream.into_split();
    let inward = async {
        copy(&mut tokio::io::stdin(), &mut to).await?;
        to.shutdown().await
    };
    let outward = async {
        copy(&mut from, &mut tokio::io::stdout()).await?;
        Ok(())
    };
    // Whichever side ends first ends both: a host that is gone, or a scene that is over.
    tokio::select! {
        done = inward => done,
        done = outward => done,
    }
}
