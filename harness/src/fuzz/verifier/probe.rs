//! A few cases through a process of their own.

use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};

use super::line::{self, Observed};
use crate::target::process::Process;
use crate::target::{TargetError, TargetSpec};

/// How a process ended.
pub(super) struct End {
    /// Whether it ended by itself, and well.
    pub well: bool,
    /// What is known of it, in a line.
    how: String,
    stderr: String,
}

impl End {
    /// Ends a process whose output has ended, or which does not answer.
    pub async fn of(mut process: Process, hung: bool) -> Self {
        let status = if hung {
            Some("answers nothing".to_owned())
        } else {
            process.exit_status(true).await
        };
        let stderr = process.stderr_tail();
        process.stop(false).await;
        let status = status.unwrap_or_else(|| "it closed its output".into());
        let last = stderr.lines().last().unwrap_or_default();
        Self {
            well: status.ends_with(" 0"),
            how: format!("{status} {last}").trim_end().to_owned(),
            stderr,
        }
    }

    pub fn into_error(self, what: &str) -> TargetError {
        TargetError {
            message: format!("{what}: {}", self.how),
            stderr: self.stderr,
        }
    }
}

/// Plays lines, whose ids are replaced by their place, and says what came for each. The first one
/// without an answer stands for the end of the verifier, whichever it was (see [`observe`]).
///
/// # Errors
///
/// The command cannot be started.
pub(super) async fn probe(
    spec: &TargetSpec,
    lines: &[String],
    timeout: Duration,
) -> Result<Vec<Observed>, TargetError> {
    let (process, mut stdin, stdout) = Process::start(spec)?;
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
        let mut open = lines.len();
        while open > 0 {
            line.clear();
            match tokio::time::timeout(timeout, line::next(&mut reader, &mut line)).await {
                Err(_) => return true,
                Ok(Ok(0) | Err(_)) => return false,
                Ok(Ok(_)) if line.trim_ascii().is_empty() => {}
                Ok(Ok(_)) => {
                    let (id, observed) = line::read(&line);
                    let at = match id {
                        Some(id) => usize::try_from(id).ok(),
                        None => answers.iter().position(Option::is_none),
                    };
                    if let Some(slot) = at.and_then(|at| answers.get_mut(at))
                        && slot.is_none()
                    {
                        *slot = Some(observed);
                        open -= 1;
                    }
                }
            }
        }
        false
    };
    let hung = {
        let mut take = std::pin::pin!(take);
        tokio::select! {
            // Whoever does not answer any more may not read either: it is not waited for.
            hung = &mut take => hung,
            () = feed => take.await,
        }
    };
    if answers.iter().all(Option::is_some) {
        process.stop(true).await;
        return Ok(answers.into_iter().flatten().collect());
    }
    let end = End::of(process, hung).await;
    // Behind a case at which the verifier ended nothing is known.
    let mut known = true;
    Ok(answers
        .into_iter()
        .map(|answer| match answer {
            Some(answer) => answer,
            None if end.well => Observed::Silence,
            None if !known => Observed::Unknown,
            None => {
                known = false;
                if hung {
                    Observed::Hang
                } else {
                    Observed::Ended(end.how.clone())
                }
            }
        })
        .collect())
}

/// The line without an answer at which the verifier ended or hung, or seems to have.
fn broken(answers: &[Observed]) -> Option<(usize, Observed)> {
    let mut answers = answers.iter().enumerate();
    let (at, observed) =
        answers.find(|(_, answer)| matches!(answer, Observed::Ended(_) | Observed::Hang))?;
    Some((at, observed.clone()))
}

/// The line at which the verifier ends or hangs when it gets these, and how; nothing when it does
/// neither. Found by sending fewer of them: answers that it had not yet written are lost, so that
/// those that came do not tell.
///
/// # Errors
///
/// The command cannot be started.
pub(super) async fn culprit(
    spec: &TargetSpec,
    lines: &[String],
    timeout: Duration,
) -> Result<Option<(usize, Observed)>, TargetError> {
    // With the first `good` lines it goes on, with the first `bad` ones it does not.
    let (mut good, mut bad) = (0, lines.len() + 1);
    let mut last = None;
    // Most often it is the first: all that was answered before is not among the lines.
    let mut next = 1;
    while good < next && next < bad && next <= lines.len() {
        let told = match broken(&probe(spec, &lines[..next], timeout).await?) {
            Some((answered, observed)) => {
                bad = next;
                last = Some((bad - 1, observed));
                // What was answered is no reason to end; it does so at the next one, if answers
                // are written as they come.
                let told = answered > good;
                good = good.max(answered);
                told
            }
            None => {
                good = next;
                false
            }
        };
        next = match (bad > lines.len(), told) {
            (true, _) => lines.len(),
            (false, true) => good + 1,
            (false, false) => good.midpoint(bad),
        };
    }
    Ok(last)
}

/// What a verifier answers to each line, up to the one at which it ends or hangs.
///
/// # Errors
///
/// The command cannot be started.
pub async fn observe(
    spec: &TargetSpec,
    lines: &[String],
    timeout: Duration,
) -> Result<Vec<Observed>, TargetError> {
    let answers = probe(spec, lines, timeout).await?;
    if lines.len() == 1 || broken(&answers).is_none() {
        return Ok(answers);
    }
    let Some((at, observed)) = culprit(spec, lines, timeout).await? else {
        let unknown = |answer| match answer {
            Observed::Ended(_) | Observed::Hang => Observed::Unknown,
            answer => answer,
        };
        return Ok(answers.into_iter().map(unknown).collect());
    };
    let mut answers = probe(spec, &lines[..at], timeout).await?;
    answers.push(observed);
    answers.resize(lines.len(), Observed::Unknown);
    Ok(answers)
}
