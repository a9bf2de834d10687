//! Many cases through one process, in batches and with as many under way as pipes hold.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Notify;

use super::line::{self, Observed};
use super::probe::{End, culprit, probe};
use super::shrink::line_of;
use super::{is_wrong, kind};
use crate::fuzz::candidates::Candidates;
use crate::fuzz::{Numbers, Progress};
use crate::generate::case::{CasePlan, Expected};
use crate::generate::seed;
use crate::target::process::Process;
use crate::target::{TargetError, TargetSpec};

/// Cases under way at most; more than fill the buffers of a verifier that writes in blocks.
const WINDOW: usize = 4_096;
/// The same once the verifier has ended in the middle: those under way have to be played again.
const NARROW: usize = 64;
/// Cases that are written together.
const BATCH: usize = 128;
/// Starts in a row without a single answer after which it is asked whether it is a verifier.
const STARTS: usize = 3;
/// Cases by which that is seen.
const ALONE: u64 = 12;
/// Ends that do not come again after which a job gives up.
const UNEXPLAINED: usize = 24;
/// How many ends a hang stands for: it takes as long to wait for.
const HANG: usize = 8;

/// One of the jobs of a run.
pub(super) struct Job {
    pub spec: TargetSpec,
    pub seed: u64,
    pub timeout: Duration,
    pub numbers: Arc<Numbers>,
    pub candidates: Arc<Candidates>,
    pub progress: Arc<Progress>,
}

/// Cases behind the one that was answered last from which on a case counts as left out.
const BEHIND: usize = WINDOW / 2;

/// What is under way, oldest first.
#[derive(Default)]
struct Underway {
    cases: Mutex<VecDeque<(u64, Expected)>>,
    /// Something was answered, or nobody listens any more.
    moved: Notify,
    closed: AtomicBool,
    /// Everything was sent.
    complete: AtomicBool,
}

impl Underway {
    fn cases(&self) -> std::sync::MutexGuard<'_, VecDeque<(u64, Expected)>> {
        self.cases
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Job {
    pub async fn run(self) -> Result<(), TargetError> {
        let mut again: VecDeque<u64> = VecDeque::new();
        let (mut window, mut fruitless, mut unexplained) = (WINDOW, 0, 0);
        loop {
            again.retain(|number| self.numbers.has(*number));
            let underway = Underway::default();
            let (process, stdin, stdout) = Process::start(&self.spec)?;
            let (answered, hung) = {
                let mut answers = std::pin::pin!(self.answers(stdout, &underway));
                tokio::select! {
                    // Whoever does not answer any more may not read either: it is not waited for.
                    answers = &mut answers => answers,
                    () = self.feed(stdin, &underway, window, &mut again) => answers.await,
                }
            };
            let mut open = Vec::from(std::mem::take(&mut *underway.cases()));
            let complete = underway.complete.load(Ordering::Acquire);
            if complete && open.is_empty() {
                process.stop(true).await;
                return Ok(());
            }
            let end = End::of(process, hung).await;
            if complete && end.well {
                for (number, expected) in std::mem::take(&mut open) {
                    self.judge(number, expected, &Observed::Silence);
                }
            }
            fruitless = if answered == 0 { fruitless + 1 } else { 0 };
            if fruitless >= STARTS {
                if !self.answers_at_all().await? {
                    return Err(end.into_error("no verifier"));
                }
                fruitless = 0;
            }
            // Answers that the verifier had not yet written went with it, so that it need not be
            // the first of the open cases at which it ended.
            let lines: Vec<String> = open.iter().map(|(number, _)| self.line(*number)).collect();
            match culprit(&self.spec, &lines, self.timeout).await? {
                Some((at, observed)) => {
                    let (number, expected) = open.remove(at);
                    self.judge(number, expected, &observed);
                    let weight = if observed == Observed::Hang { HANG } else { 1 };
                    self.numbers.broke(number, weight);
                }
                None if open.is_empty() => {}
                None => unexplained += 1,
            }
            if unexplained >= UNEXPLAINED {
                return Err(end.into_error("ends at no case in particular"));
            }
            for (number, _) in open.into_iter().rev() {
                again.push_front(number);
            }
            if complete && again.is_empty() {
                return Ok(());
            }
            window = NARROW;
        }
    }

    /// The line of a case.
    fn line(&self, number: u64) -> String {
        line_of(&seed::plan::<CasePlan>(self.seed, number).build())
    }

    /// Whether the command gives a verdict on any of a few cases, each in a process of its own: a
    /// verifier that ends at many cases still does.
    async fn answers_at_all(&self) -> Result<bool, TargetError> {
        for number in 0..ALONE {
            let answers = probe(&self.spec, &[self.line(number)], self.timeout).await?;
            match answers.first() {
                Some(Observed::Accept | Observed::Reject(_)) => return Ok(true),
                // Nobody waits as long for each of them.
                Some(Observed::Hang) => return Ok(false),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Sends cases until none is left or nobody listens.
    async fn feed(
        &self,
        mut stdin: ChildStdin,
        underway: &Underway,
        window: usize,
        unsent: &mut VecDeque<u64>,
    ) {
        let size = window.min(BATCH);
        let mut text = String::with_capacity(1 << 18);
        loop {
            if unsent.is_empty() {
                unsent.extend(self.numbers.block());
            }
            if unsent.is_empty() {
                underway.complete.store(true, Ordering::Release);
                // Closing standard input tells the verifier to end.
                let _ = stdin.shutdown().await;
                return;
            }
            while underway.cases().len() + size > window {
                underway.moved.notified().await;
                if underway.closed.load(Ordering::Acquire) {
                    return;
                }
            }
            let block: Vec<u64> = unsent.drain(..size.min(unsent.len())).collect();
            text.clear();
            let mut sent = Vec::with_capacity(block.len());
            for number in block {
                let case = seed::plan::<CasePlan>(self.seed, number).build();
                case.write(number, &mut text);
                text.push('\n');
                sent.push((number, case.expected));
            }
            underway.cases().extend(sent);
            if stdin.write_all(text.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    /// Takes answers until there are no more; how many there were, and whether they failed to
    /// come.
    async fn answers(&self, stdout: ChildStdout, underway: &Underway) -> (u64, bool) {
        let mut reader = BufReader::with_capacity(1 << 16, stdout);
        let mut line = Vec::with_capacity(256);
        let (mut answered, mut hung) = (0_u64, false);
        loop {
            line.clear();
            // Whoever goes on writing when everything was answered is not listened to.
            if underway.complete.load(Ordering::Acquire) && underway.cases().is_empty() {
                break;
            }
            let read = if reader.buffer().contains(&b'\n') {
                line::next(&mut reader, &mut line).await
            } else {
                underway.moved.notify_one();
                let read = line::next(&mut reader, &mut line);
                match tokio::time::timeout(self.timeout, read).await {
                    Ok(read) => read,
                    Err(_) if underway.cases().is_empty() => continue,
                    Err(_) => {
                        hung = true;
                        break;
                    }
                }
            };
            match read {
                Ok(0) | Err(_) => break,
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => answered += u64::from(self.take(&line, underway)),
            }
        }
        underway.closed.store(true, Ordering::Release);
        underway.moved.notify_one();
        (answered, hung)
    }

    /// Takes in one line; whether it was the answer to a case that is under way.
    fn take(&self, line: &[u8], underway: &Underway) -> bool {
        let (id, observed) = line::read(line);
        let verdict = matches!(observed, Observed::Accept | Observed::Reject(_));
        let mut cases = underway.cases();
        let at = match id {
            Some(id) => cases.iter().position(|(number, _)| *number == id),
            // What says of no case that it answers it is taken for the answer to the next one.
            None => (!cases.is_empty()).then_some(0),
        };
        let Some(at) = at else { return false };
        let Some((number, expected)) = cases.remove(at) else {
            return false;
        };
        let skipped: Vec<_> = if at > BEHIND {
            cases.drain(..at).collect()
        } else {
            Vec::new()
        };
        drop(cases);
        for (number, expected) in skipped {
            self.judge(number, expected, &Observed::Silence);
        }
        self.judge(number, expected, &observed);
        verdict
    }

    /// Counts an answer, and keeps the case if it is wrong.
    fn judge(&self, number: u64, expected: Expected, observed: &Observed) {
        self.progress.count(expected != Expected::Either);
        if is_wrong(expected, observed) {
            let plan: CasePlan = seed::plan(self.seed, number);
            let (kind, keep) = kind(&plan, &plan.build(), observed);
            self.progress.wrong.fetch_add(1, Ordering::Relaxed);
            self.candidates.add(kind, number, keep);
        }
    }
}
