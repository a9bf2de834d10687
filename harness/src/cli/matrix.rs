//! `matrix`: judges several targets and puts them side by side.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::SystemTime;

use anstream::AutoStream;
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Deserialize;
use serde_json::Value;

use super::judging::Prepared;
use super::{host, server};
use crate::exit::Exit;
use crate::outcome::redact;
use crate::report::escape;
use crate::report::matrix::Matrix;
use crate::report::output::Output;
use crate::report::progress::Progress;
use crate::scenario::file::item_lines;
use crate::verdict::Side;

/// Arguments of `matrix`.
#[derive(Debug, Args)]
pub struct MatrixArgs {
    /// The targets, in YAML: `targets: [{name, side, command or url, env, cwd, options}]`.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Also show the checks that no target breaks.
    #[arg(long)]
    all: bool,
    /// How the table is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write the table to FILE instead of standard output.
    #[arg(long, value_name = "FILE", value_parser = parse_output)]
    output: Option<PathBuf>,
    /// The day that the table bears, as YYYY-MM-DD; today (UTC) when left out.
    #[arg(long, value_name = "DATE", value_parser = parse_date)]
    date: Option<String>,
}

/// How the table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Terminal,
    /// A page for documentation.
    Markdown,
    /// sep2640-conform/matrix/v1; always has all checks.
    Json,
}

fn parse_output(text: &str) -> Result<PathBuf, String> {
    Output::to(text).map_err(|error| error.to_string())?;
    Ok(text.into())
}

fn parse_date(text: &str) -> Result<String, String> {
    let digits = |part: &str, length: usize, most: u32| {
        part.len() == length
            && part
                .parse()
                .is_ok_and(|number: u32| (1..=most).contains(&number))
    };
    match text.split('-').collect::<Vec<_>>()[..] {
        [year, month, day]
            if digits(year, 4, 9999) && digits(month, 2, 12) && digits(day, 2, 31) =>
        {
            Ok(text.to_owned())
        }
        _ => Err("expected YYYY-MM-DD".into()),
    }
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    targets: Vec<Target>,
}

/// A target of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    name: String,
    #[serde(default)]
    side: Which,
    #[serde(default)]
    command: Vec<String>,
    url: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, Value>,
    cwd: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Which {
    #[default]
    Server,
    Host,
}

/// Options of the commands that a target cannot have: they say where things are written, or have a
/// key of their own.
const NOT_OPTIONS: [&str; 9] = [
    "report",
    "transcript",
    "verbose",
    "quiet",
    "help",
    "version",
    "url",
    "env",
    "cwd",
];

/// A target as the command line would have it.
#[derive(Debug, Parser)]
#[command(disable_help_subcommand = true)]
struct Words {
    #[command(subcommand)]
    side: Sides,
}

#[derive(Debug, Subcommand)]
enum Sides {
    Server(Box<server::ServerArgs>),
    Host(Box<host::HostArgs>),
}

/// Runs `matrix`.
pub fn run(args: &MatrixArgs) -> Exit {
    match prepare(args) {
        Err(message) => {
            eprintln!("error: {message}");
            Exit::Usage
        }
        Ok(targets) => execute(args, targets),
    }
}

fn prepare(args: &MatrixArgs) -> Result<Vec<(String, Prepared)>, String> {
    let shown = args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file).map_err(|error| format!("{shown}: {error}"))?;
    read(&shown, &text)
}

/// Reads the file; all of its targets are ready to run, or none is.
fn read(shown: &str, text: &str) -> Result<Vec<(String, Prepared)>, String> {
    let fail = |line: usize, message: &str| format!("{shown}:{line}: {message}");
    let file: File = serde_yaml::from_str(text).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        fail(line, &error.to_string())
    })?;
    if file.targets.is_empty() {
        return Err(fail(1, "expected at least one target"));
    }
    let lines = item_lines(text, "targets");
    let mut seen = HashSet::new();
    let mut targets = Vec::new();
    for (index, target) in file.targets.iter().enumerate() {
        let line = lines.get(index).copied().unwrap_or(1);
        let end = lines.get(index + 1).copied().unwrap_or(usize::MAX);
        if target.name.trim().is_empty() {
            return Err(fail(line, "expected a `name`"));
        }
        if !seen.insert(&target.name) {
            return Err(fail(line, &format!("`{}` stands twice", target.name)));
        }
        let prepared = ready(target).map_err(|(key, message)| {
            let line = key
                .and_then(|key| line_of_key(text, line, end, &key))
                .unwrap_or(line);
            fail(line, &message)
        })?;
        targets.push((target.name.clone(), prepared));
    }
    Ok(targets)
}

/// The line between two others on which a key stands.
fn line_of_key(text: &str, from: usize, to: usize, key: &str) -> Option<usize> {
    let numbered = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line));
    let wanted = format!("{key}:");
    let is_key = |line: &str| {
        line.match_indices(&wanted).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            before.is_none_or(|c| !c.is_alphanumeric() && !"_-/".contains(c))
        })
    };
    numbered
        .filter(|(number, _)| (from..to).contains(number))
        .find(|(_, line)| is_key(line))
        .map(|(number, _)| number)
}

/// Makes a target ready in the way its command does; an error comes with the key that it is about.
fn ready(target: &Target) -> Result<Prepared, (Option<String>, String)> {
    let (words, keys) = words(target)?;
    let words = Words::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first);
        let key = keys.iter().find(|key| {
            let option = format!("'--{}", key.replace('_', "-"));
            message.match_indices(&option).any(|(at, _)| {
                let next = message[at + option.len()..].chars().next();
                next.is_none_or(|c| c != '-' && !c.is_alphanumeric())
            })
        });
        (key.cloned(), message.to_owned())
    })?;
    match &words.side {
        Sides::Server(args) => server::prepare(args),
        Sides::Host(args) => host::prepare(args),
    }
    .map_err(|message| (None, message))
}

/// A target as the words of a command line, and the keys that its options come from.
type Spelled = (Vec<String>, Vec<String>);

fn words(target: &Target) -> Result<Spelled, (Option<String>, String)> {
    let side = match target.side {
        Which::Server => Side::Server,
        Which::Host => Side::Host,
    };
    let mut words = vec!["sep2640-conform".to_owned(), side.to_string()];
    let mut keys = Vec::new();
    let about = |key: &str, message: String| (Some(key.to_owned()), message);
    if let Some(url) = &target.url {
        if side == Side::Host {
            return Err(about("url", "a host is reached through a `command`".into()));
        }
        if !target.command.is_empty() {
            return Err(about(
                "url",
                "expected `command` or `url`, found both".into(),
            ));
        }
        words.push(format!("--url={url}"));
        keys.push("url".to_owned());
    }
    if let Some(cwd) = &target.cwd {
        words.push(format!("--cwd={cwd}"));
        keys.push("cwd".to_owned());
    }
    for (name, value) in &target.env {
        match scalar(value) {
            _ if value.is_null() => words.push(format!("--env={name}")),
            Some(value) => words.push(format!("--env={name}={value}")),
            None => {
                return Err(about(
                    "env",
                    format!("expected a value for {name}, or none"),
                ));
            }
        }
    }
    for (key, value) in &target.options {
        let option = key.replace('_', "-");
        if NOT_OPTIONS.contains(&option.as_str()) {
            return Err(about(key, format!("`{key}` is no option of a target")));
        }
        keys.push(key.clone());
        let malformed = || {
            about(
                key,
                format!("expected a value or a list of values in `{key}`"),
            )
        };
        match value {
            Value::Bool(true) => words.push(format!("--{option}")),
            Value::Bool(false) | Value::Null => {}
            Value::Array(values) => {
                for value in values {
                    let value = scalar(value).ok_or_else(malformed)?;
                    words.push(format!("--{option}={value}"));
                }
            }
            Value::Object(values) => {
                for (name, value) in values {
                    let value = scalar(value).ok_or_else(malformed)?;
                    words.push(format!("--{option}={name}={value}"));
                }
            }
            value => {
                let value = scalar(value).ok_or_else(malformed)?;
                words.push(format!("--{option}={value}"));
            }
        }
    }
    if !target.command.is_empty() {
        words.push("--".to_owned());
        words.extend(target.command.iter().cloned());
    }
    Ok((words, keys))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn execute(args: &MatrixArgs, targets: Vec<(String, Prepared)>) -> Exit {
    let mut exit = Exit::Conformant;
    let mut reports = Vec::new();
    let mut progress = Progress::new(false);
    for (name, prepared) in targets {
        progress.label(&name);
        let finished = match prepared.run(|event| progress.event(&event)) {
            Ok(finished) => finished,
            Err(exit) => return exit,
        };
        progress.finish();
        if let Some(error) = &finished.unreachable {
            let hide = |text: &str| escape(&redact(prepared.secrets(), text));
            eprintln!("error: {}: {}", escape(&name), hide(&error.message));
            for line in error.stderr.lines() {
                eprintln!("  | {}", hide(line));
            }
        }
        exit = exit.worst(finished.exit);
        reports.push((name, finished.report));
    }
    let date = args.date.clone().unwrap_or_else(today);
    let matrix = Matrix::new(date, exit.code(), reports);
    match write(args, &matrix) {
        Ok(()) => exit,
        Err(error) => {
            eprintln!("error: {error}");
            exit.worst(Exit::Usage)
        }
    }
}

fn write(args: &MatrixArgs, matrix: &Matrix) -> std::io::Result<()> {
    let text = match args.format {
        Format::Terminal => {
            let coloured = matrix.terminal(args.all);
            let plain = args.output.is_some()
                || AutoStream::choice(&std::io::stdout()) == anstream::ColorChoice::Never;
            if plain {
                anstream::adapter::strip_str(&coloured).to_string()
            } else {
                coloured
            }
        }
        Format::Markdown => matrix.markdown(args.all),
        Format::Json => matrix.json()?,
    };
    let mut output = match &args.output {
        None => Output::stdout(),
        Some(file) => Output::to(file)?,
    };
    output.write(text.as_bytes())
}

/// The day in UTC.
fn today() -> String {
    let mut now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.truncate("2026-11-30".len());
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        assert!(parse_date(&today()).is_ok());
        assert!(parse_date("2026-11-30").is_ok());
        for wrong in ["2026-13-01", "2026-1-1", "today", "2026-11-30T00"] {
            assert!(parse_date(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn errors_name_file_and_line() {
        for (text, message) in [
            ("targets: []\n", "m.yaml:1: expected at least one target"),
            ("targets:\n  - name: a\n    port: 1\n", "m.yaml:3: "),
            (
                "targets:\n  - name: a\n  - name: a\n",
                "m.yaml:3: `a` stands twice",
            ),
            (
                "targets:\n  - name: a\n    url: http://x/\n    command: [b]\n",
                "m.yaml:3: expected `command` or `url`, found both",
            ),
            (
                "targets:\n  - name: a\n    side: host\n    url: http://x/\n",
                "m.yaml:4: a host is reached through a `command`",
            ),
            (
                "targets:\n  - name: a\n    options:\n      strict: true\n      protocol: 1\n",
                "m.yaml:5: invalid value '1' for '--protocol",
            ),
            (
                "targets:\n  - name: a\n    options: { no_such: true }\n",
                "m.yaml:3: unexpected argument '--no-such'",
            ),
            (
                "targets:\n  - name: a\n    options: { report: json }\n",
                "m.yaml:3: `report` is no option of a target",
            ),
            (
                "targets:\n  - name: a\n    options: { skill: [[1]] }\n",
                "m.yaml:3: expected a value or a list of values in `skill`",
            ),
            (
                "targets:\n  - name: a\n    options: { root: /no/such/place }\n",
                "m.yaml:2: --root: ",
            ),
        ] {
            let error = read("m.yaml", text).err().unwrap();
            assert!(error.starts_with(message), "{error}\nwanted {message}");
        }
    }

    #[test]
    fn a_target_is_what_the_command_line_would_have_it() {
        let text = "
targets:
  - name: one
    command: [server, --flag]
    env: { A: b, HOME: }
    cwd: /
    options: { skill: [skill://a/SKILL.md, skill://b/SKILL.md], strict: true, timeout: 3s }
";
        let file: File = serde_yaml::from_str(text).unwrap();
        let (words, _) = words(&file.targets[0]).unwrap();
        assert_eq!(
            words[2..].join(" "),
            "--cwd=/ --env=A=b --env=HOME --skill=skill://a/SKILL.md --skill=skill://b/SKILL.md \
             --strict --timeout=3s -- server --flag"
        );
        assert_eq!(read("m.yaml", text).unwrap().len(), 1);
    }
}
