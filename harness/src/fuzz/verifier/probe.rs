//! A few cases through a process of their own.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::line::{self, Observed};
use crate::target::process::Process;
use crate::target::{TargetError, TargetSpec};

/// Plays lines, whose ids are replaced by their place, and says what came for each.
///
/// # Errors
///
/// The command cannot be started.
pub async fn probe(
    spec: &TargetSpec,
    lines: &[String],
    timeout: Duration,
) -> Result<Vec<Observed>, TargetError> {
    let (mut process, mut stdin, stdout) = Process::start(spec)?;
    let mut text = String::new();
    for (place, line) in lines.iter().enumerate() {
        text.push_str(&line.replacen("{\"id\":0,", &format!("{{\"id\":{place},"), 1));
        text.push('\n');
    }
    let mut answers: Vec<Option<Observed>> = vec![None; lines.len()];
    let feed = async {
        let _ = stdin.write_all(text.as_bytes()).await;
        let _ = stdin.shutdown().await;
        drop(stdin);
    };
    let take = async {
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        loop {
            line.clear();
            match tokio::time::timeout(timeout, reader.read_until(b'\n', &mut line)).await {
                Err(_) => return true,
                Ok(Ok(0) | Err(_)) => return false,
                Ok(Ok(_)) if line.trim_ascii().is_empty() => {}
                Ok(Ok(_)) => {
                    let (id, observed) = line::read(&line);
                    let open = answers.iter().position(Option::is_none);
                    let at = match id {
                        Some(id) => usize::try_from(id).ok(),
                        None => open,
                    };
                    if let Some(slot) = at.and_then(|at| answers.get_mut(at))
                        && slot.is_none()
                    {
                        *slot = Some(observed);
                    }
                }
            }
        }
    };
    let ((), hung) = tokio::join!(feed, take);
    let status = if hung {
        None
    } else {
        process.exit_status(true).await
    };
    let stderr = process.stderr_tail();
    process.stop(false).await;
    let ended_well = status
        .as_deref()
        .is_some_and(|status| status.ends_with(" 0"));
    let last = stderr.lines().last().unwrap_or_default();
    let how = format!(
        "{} {last}",
        status.as_deref().unwrap_or("it closed its output")
    );
    // Behind a case at which the verifier ended nothing is known.
    let mut known = true;
    Ok(answers
        .into_iter()
        .map(|answer| match answer {
            Some(answer) => answer,
            None if ended_well => Observed::Silence,
            None if !known => Observed::Unknown,
            None => {
                known = false;
                if hung {
                    Observed::Hang
                } else {
                    Observed::Ended(how.trim_end().to_owned())
                }
            }
        })
        .collect())
}
