//! A subprocess in a process group of its own, which does not outlive the harness.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use super::{TargetError, TargetSpec};

/// How much of the end of standard error is kept, in bytes.
const STDERR_KEPT: usize = 8 * 1024;
/// How long a target may take to exit after its input was closed.
const GRACE: Duration = Duration::from_secs(2);
const SIGTERM: i32 = 15;

/// A running subprocess.
#[derive(Debug)]
pub struct Process {
    child: Box<dyn ChildWrapper>,
    stderr: Arc<Mutex<Vec<u8>>>,
    /// Reads standard error until it ends.
    errors: JoinSet<()>,
}

impl Process {
    /// Starts the command; its standard input and output are the caller's.
    ///
    /// # Errors
    ///
    /// The command cannot be started; the message names it.
    pub fn start(spec: &TargetSpec) -> Result<(Self, ChildStdin, ChildStdout), TargetError> {
        let TargetSpec::Command { argv, cwd, env } = spec else {
            return Err(TargetError::new("a URL is not a command"));
        };
        let mut command = Command::new(&argv[0]);
        command
            .args(&argv[1..])
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(cwd) = cwd {
            command.current_dir(cwd);
        }
        let mut wrap = CommandWrap::from(command);
        wrap.wrap(KillOnDrop).wrap(ProcessGroup::leader());
        let mut child = wrap.spawn().map_err(|error| {
            TargetError::new(format!("cannot start `{}`: {error}", argv.join(" ")))
        })?;
        let stderr = Arc::default();
        let mut errors = JoinSet::new();
        if let Some(stream) = child.stderr().take() {
            errors.spawn(keep_tail(stream, Arc::clone(&stderr)));
        }
        match (child.stdin().take(), child.stdout().take()) {
            (Some(stdin), Some(stdout)) => Ok((
                Self {
                    child,
                    stderr,
                    errors,
                },
                stdin,
                stdout,
            )),
            // Both were asked for above.
            _ => Err(TargetError::new("the standard streams are not there")),
        }
    }

    /// The end of what the process wrote to standard error.
    pub fn stderr_tail(&self) -> String {
        let tail = self
            .stderr
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        String::from_utf8_lossy(&tail).trim_end().to_owned()
    }

    /// How the process ended, if it has; `soon` when its output has ended, since the exit status
    /// and the last of standard error can be seen only a moment later.
    pub async fn exit_status(&mut self, soon: bool) -> Option<String> {
        if soon {
            let ended = tokio::time::timeout(GRACE, self.child.wait()).await;
            if ended.is_ok() {
                let _ = tokio::time::timeout(GRACE, self.errors.join_next()).await;
            }
        }
        Some(self.child.try_wait().ok()??.to_string())
    }

    /// Waits until the process ends by itself; returns whether it ended well.
    pub async fn wait(&mut self) -> std::io::Result<bool> {
        Ok(self.child.wait().await?.success())
    }

    /// Ends the process, whose input the caller has closed: waits (unless the process has shown
    /// that it does not listen), terminates the whole group, kills it.
    pub async fn stop(mut self, listens: bool) {
        let grace = if listens {
            GRACE
        } else {
            Duration::from_millis(100)
        };
        if tokio::time::timeout(grace, self.child.wait())
            .await
            .is_err()
        {
            let _ = self.child.signal(SIGTERM);
            let _ = tokio::time::timeout(grace, self.child.wait()).await;
        }
        // Also where the leader has exited: children that it left behind share its group.
        let _ = self.child.start_kill();
        let _ = tokio::time::timeout(GRACE, self.child.wait()).await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Not reached through `stop` on a panic or when the run is cancelled.
        let _ = self.child.start_kill();
    }
}

async fn keep_tail(mut stream: impl AsyncRead + Unpin, tail: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(read) = stream.read(&mut chunk).await {
        if read == 0 {
            return;
        }
        let mut tail = tail.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        tail.extend_from_slice(&chunk[..read]);
        let excess = tail.len().saturating_sub(STDERR_KEPT);
        tail.drain(..excess);
    }
}
