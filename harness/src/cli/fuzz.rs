//! `fuzz`: plays generated cases against a live target until a wrong answer is found, or none.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::runtime::Builder;

use super::judging::parse_duration;
use super::list::print;
use crate::exit::Exit;
use crate::fuzz::{Bounds, Finding, Outcome, Partition, Progress, host, server, verifier};
use crate::report::text::{plural, thousands};
use crate::report::{escape, shell_quote};
use crate::target::TargetSpec;
use crate::verdict::Severity;

/// Arguments of `fuzz`.
#[derive(Debug, Args)]
pub struct FuzzArgs {
    #[command(subcommand)]
    command: FuzzCommand,
}

#[derive(Debug, Subcommand)]
enum FuzzCommand {
    /// Decide about generated skills: JSON lines {id, entry, files} in, {id, verdict, reason?} out.
    Verifier(VerifierArgs),
    /// Send a server what it must answer, and what it must refuse.
    Server(ServerArgs),
    /// Serve skills to a host, through an adapter: those it must use, and those it must not.
    Host(HostArgs),
}

#[derive(Debug, Args)]
struct HostArgs {
    #[command(flatten)]
    common: Common,
    /// The adapter's command and its arguments; the built-in host when left out.
    #[arg(last = true, value_name = "ADAPTER")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
struct ServerArgs {
    #[command(flatten)]
    common: Common,
    /// Address of a Streamable HTTP endpoint.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<reqwest::Url>,
    /// The server's command and its arguments; the built-in one when left out.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
struct VerifierArgs {
    #[command(flatten)]
    common: Common,
    /// The verifier's command and its arguments; the built-in one when left out.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What all kinds of fuzzing have in common.
#[derive(Debug, Args)]
pub struct Common {
    /// How many cases.
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// How long, e.g. 10m.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    max_time: Option<Duration>,
    /// What the cases follow from; the same seed plays the same cases.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many processes at the same time; as many as there are processors when left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Only one of N parts of the cases, e.g. 2/4, so that several machines share them.
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    partition: Partition,
    /// How long the target may take for one answer.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    timeout: Duration,
    /// Where cases that were found are saved.
    #[arg(long, value_name = "DIR", default_value = "regressions")]
    save: PathBuf,
    /// Do not save anything.
    #[arg(long, conflicts_with = "save")]
    no_save: bool,
    /// Let warnings fail as well.
    #[arg(long)]
    strict: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
}

impl Common {
    fn bounds(&self, default_cases: u64) -> Bounds {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // A time alone is a bound, too.
        let default = if self.max_time.is_some() {
            u64::MAX
        } else {
            default_cases
        };
        Bounds {
            cases: self.cases.unwrap_or(default),
            max_time: self.max_time,
            seed: self.seed,
            jobs: self.jobs.map_or(processors, usize::from),
            partition: self.partition,
            timeout: self.timeout,
            stop: Arc::default(),
        }
    }
}

/// The target as it is run, and as it is written on a command line.
struct Target {
    spec: TargetSpec,
    words: Vec<String>,
}

/// Cases of a run that neither --cases nor --max-time bounds.
const VERIFIER_CASES: u64 = 100_000;

const SERVER_CASES: u64 = 20_000;
const HOST_CASES: u64 = 2_000;

/// Runs `fuzz`.
pub fn run(args: &FuzzArgs) -> Exit {
    match &args.command {
        FuzzCommand::Verifier(args) => {
            let target = match command_or(&args.command, &["reference", "verifier"]) {
                Ok(target) => target,
                Err(exit) => return exit,
            };
            let bounds = args.common.bounds(VERIFIER_CASES);
            let progress = Arc::new(Progress::default());
            let done = until_interrupted(
                Builder::new_multi_thread(),
                &args.common,
                &bounds,
                &progress,
                async { verifier::run(&target.spec, &bounds, &progress).await },
            );
            finish("verifier", &args.common, &bounds, &target, &progress, done)
        }
        FuzzCommand::Host(args) => {
            let target = match command_or(&args.command, &["reference", "host"]) {
                Ok(target) => target,
                Err(exit) => return exit,
            };
            let program = super::this_program().unwrap_or_default();
            let bounds = args.common.bounds(HOST_CASES);
            let progress = Arc::new(Progress::default());
            let runtime = Builder::new_current_thread();
            let done = until_interrupted(runtime, &args.common, &bounds, &progress, async {
                host::run(&target.spec, &program, &bounds, &progress).await
            });
            finish("host", &args.common, &bounds, &target, &progress, done)
        }
        FuzzCommand::Server(args) => {
            let target = match &args.url {
                Some(url) => Ok(Target {
                    spec: TargetSpec::Url {
                        url: url.clone(),
                        headers: Vec::new(),
                    },
                    words: vec!["--url".to_owned(), url.to_string()],
                }),
                None => command_or(&args.command, &["reference", "server"]),
            };
            let target = match target {
                Ok(target) => target,
                Err(exit) => return exit,
            };
            let bounds = args.common.bounds(SERVER_CASES);
            let progress = Arc::new(Progress::default());
            let done = until_interrupted(
                Builder::new_current_thread(),
                &args.common,
                &bounds,
                &progress,
                async { server::run(&target.spec, &bounds, &progress).await },
            );
            finish("server", &args.common, &bounds, &target, &progress, done)
        }
    }
}

/// The command that was given, or this program with these words.
fn command_or(command: &[String], built_in: &[&str]) -> Result<Target, Exit> {
    let argv = if command.is_empty() {
        let program = super::this_program().map_err(|message| {
            eprintln!("error: {message}");
            Exit::Harness
        })?;
        [program]
            .into_iter()
            .chain(built_in.iter().map(|word| (*word).to_owned()))
            .collect()
    } else {
        command.to_vec()
    };
    let spec = TargetSpec::Command {
        argv,
        cwd: None,
        env: Vec::new(),
    };
    Ok(Target {
        spec,
        words: command.to_vec(),
    })
}

/// How far a run has come.
enum Done {
    /// To its end.
    Whole(Outcome),
    /// No further than the user wanted; what was found until then was made small.
    Stopped(Outcome),
    /// The user did not want to wait for that.
    Aborted,
}

/// Runs until the end, or until the user has had enough: the first Ctrl-C lets what was found be
/// made small, the second does not.
fn until_interrupted(
    mut runtime: Builder,
    common: &Common,
    bounds: &Bounds,
    progress: &Arc<Progress>,
    run: impl Future<Output = Outcome>,
) -> Result<Done, Exit> {
    let runtime = runtime.enable_all().build().map_err(|error| {
        eprintln!("error: cannot start the runtime: {error}");
        Exit::Harness
    })?;
    let shown = std::io::stderr().is_terminal() && !common.quiet;
    let done = runtime.block_on(async {
        let mut run = std::pin::pin!(run);
        let mut show = std::pin::pin!(show(shown, bounds, progress));
        tokio::select! {
            outcome = &mut run => return Done::Whole(outcome),
            _ = tokio::signal::ctrl_c() => bounds.stop.store(true, Ordering::Relaxed),
            () = super::judging::terminated() => return Done::Aborted,
            () = &mut show => {}
        }
        tokio::select! {
            outcome = run => Done::Stopped(outcome),
            () = super::judging::interrupted() => Done::Aborted,
            () = show => Done::Aborted,
        }
    });
    // What was under way is dropped, and its processes are ended with it.
    runtime.shutdown_timeout(Duration::from_secs(2));
    Ok(done)
}

/// Shows how far the run is, for as long as it lasts.
async fn show(shown: bool, bounds: &Bounds, progress: &Progress) {
    if !shown {
        return std::future::pending().await;
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    let bar = Shown(bar);
    loop {
        bar.0.set_message(state(bounds, progress));
        bar.0.tick();
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
}

/// A line that is taken away when it is no longer needed.
struct Shown(ProgressBar);

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn state(bounds: &Bounds, progress: &Progress) -> String {
    let (played, rate) = progress.rate();
    let wrong = progress.wrong.load(Ordering::Relaxed);
    let cases = bounds.cases / bounds.partition.count;
    let by_cases = (bounds.cases < u64::MAX && rate > 0.0)
        .then(|| Duration::from_secs_f64((cases.saturating_sub(played)) as f64 / rate));
    let by_time = bounds
        .max_time
        .map(|time| time.saturating_sub(progress.begun.elapsed()));
    let left = by_cases
        .into_iter()
        .chain(by_time)
        .min()
        .unwrap_or_default();
    let large = progress.large.load(Ordering::Relaxed);
    let next = if large > 0 {
        format!("making {large} of them small")
    } else if bounds.stop.load(Ordering::Relaxed) {
        "ending; again Ctrl-C: at once".to_owned()
    } else {
        let left = Duration::from_secs(left.as_secs());
        format!("{} left", humantime::format_duration(left))
    };
    format!(
        "{} cases · {}/s · {} wrong · {next}",
        thousands(played),
        thousands(rate as u64),
        thousands(wrong)
    )
}

/// Writes what was found, saves it, and says how to exit.
fn finish(
    side: &str,
    common: &Common,
    bounds: &Bounds,
    target: &Target,
    progress: &Progress,
    done: Result<Done, Exit>,
) -> Exit {
    let (outcome, mut exit) = match done {
        Ok(Done::Whole(outcome)) => (outcome, Exit::Conformant),
        Ok(Done::Stopped(outcome)) => (outcome, Exit::Interrupted),
        Ok(Done::Aborted) => (Outcome::default(), Exit::Interrupted),
        Err(exit) => return exit,
    };
    if exit == Exit::Interrupted {
        eprintln!("interrupted");
    }
    let (played, rate) = progress.rate();
    let judged = progress.judged.load(Ordering::Relaxed);
    let mut text = format!(
        "{side} · seed {} · {} cases, {} of them judged · {}/s · {}\n",
        bounds.seed,
        thousands(played),
        thousands(judged),
        thousands(rate as u64),
        plural(outcome.findings.len(), "finding"),
    );
    for finding in &outcome.findings {
        if finding.severity == Severity::Fail || common.strict {
            exit = exit.worst(Exit::Failed);
        }
        let saved = if common.no_save {
            None
        } else {
            Some(save(&common.save, finding, bounds.seed))
        };
        let file = match saved {
            None => None,
            Some(Ok(file)) => Some(file),
            Some(Err(message)) => {
                eprintln!("error: {message}");
                exit = exit.worst(Exit::Usage);
                None
            }
        };
        describe(&mut text, finding, common.strict, file.as_deref(), target);
    }
    for note in notes(&outcome, progress) {
        let _ = writeln!(text, "  {note}");
    }
    if let Some(lost) = &outcome.lost {
        eprintln!("error: {}", escape(&lost.message));
        for line in lost.stderr.lines() {
            eprintln!("  {}", escape(line));
        }
        exit = exit.worst(Exit::Target);
    } else if judged == 0 && outcome.findings.is_empty() {
        text.push_str("nothing was judged\n");
        exit = exit.worst(Exit::Nothing);
    }
    print(&text).worst(exit)
}

/// What there is to say besides the findings.
fn notes(outcome: &Outcome, progress: &Progress) -> Vec<String> {
    let mut notes = Vec::new();
    if outcome.left > 0 {
        let left = plural(outcome.left, "more kind");
        notes.push(format!(
            "{left} of wrong answers by the same rules; mend these first"
        ));
    }
    if outcome.gone > 0 {
        let gone = plural(outcome.gone, "wrong answer");
        notes.push(format!("{gone} did not come again, so not counted"));
    }
    if let Some(last) = outcome.last {
        let last = thousands(last);
        notes.push(format!(
            "ended behind case {last}, since the target ended or hung too often"
        ));
    }
    let large = progress.large.load(Ordering::Relaxed);
    let wrong = progress.wrong.load(Ordering::Relaxed);
    if outcome.findings.is_empty() && outcome.gone == 0 && (wrong > 0 || large > 0) {
        let wrong = plural(usize::try_from(wrong).unwrap_or(usize::MAX), "wrong answer");
        notes.push(format!("{wrong}, not made small"));
    }
    notes
}

fn save(directory: &Path, finding: &Finding, seed: u64) -> Result<PathBuf, String> {
    let file = directory.join(format!("{}.yaml", finding.fingerprint()));
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&file, finding.file(seed)))
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}

fn describe(
    text: &mut String,
    finding: &Finding,
    strict: bool,
    file: Option<&Path>,
    target: &Target,
) {
    let word = severity_word(finding.severity, strict);
    let _ = writeln!(
        text,
        "  {word}  {} · {}",
        finding.rule,
        finding.fingerprint()
    );
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "        {label:9} {}", escape(value));
    };
    line("rule", &finding.sentence);
    line(
        "case",
        &format!("{} (number {})", finding.about, finding.number),
    );
    line("expected", &finding.expected);
    line("actual", &finding.actual);
    if !finding.check.is_empty() {
        let more = format!("sep2640-conform explain {}", finding.check);
        line("more", &more);
    }
    if let Some(file) = file {
        line("again", &replay_line(file, &target.words));
    }
}

/// How a wrong answer is called: what breaks a SHOULD only warns.
pub(super) fn severity_word(severity: Severity, strict: bool) -> &'static str {
    match severity {
        Severity::Fail => "FAIL",
        _ if strict => "FAIL",
        Severity::Warn => "WARN",
        Severity::Note => "NOTE",
    }
}

/// The command line that plays a saved case again.
fn replay_line(file: &Path, words: &[String]) -> String {
    let file = file.display().to_string();
    let mut line = format!("sep2640-conform replay {}", shell_quote(&file));
    if !words.is_empty() {
        line.push_str(if words[0] == "--url" { "" } else { " --" });
        for word in words {
            line.push(' ');
            line.push_str(&shell_quote(word));
        }
    }
    line
}
