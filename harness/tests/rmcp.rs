//! Somebody else's server under test: rmcp, in `examples/rmcp_server.rs`, over
//! `fixtures/skills/common`. The suite must report what is wrong with it and nothing else.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use common::{Lab, PROGRAM};
use sep2640_conform::event::RunReport;
use sep2640_conform::run::{Outcome, Protocols};
use sep2640_conform::target::TargetSpec;
use sep2640_conform::verdict::Verdict;
use sep2640_conform::wire::Revision;
use sep2640_conform::wire::trace::Trace;
use serde_json::Value;

/// What is wrong with rmcp 3.11.0 on each revision and transport, and why that is really so.
const WRONG: &[(&str, Verdict)] = &[
    // The missing `uri`, null, 5 and an array each end in -32601, for a method that exists: rmcp
    // tries its request types one after the other and takes the catch-all for unknown methods.
    // "Error handling" gives -32602 to a URI that is not a skill's; JSON-RPC gives -32601 to
    // methods that do not exist, and a host takes it for "no skills here".
    ("sep-2640-skills-get-malformed-params", Verdict::Fail),
    ("sep-2640-directory-read-malformed-params", Verdict::Fail),
    // The same in a method of the base protocol, which is not this extension's to fail.
    ("sep-2640-read-malformed-params", Verdict::Warn),
    // `SkillCatalog` takes no cursor: any cursor is answered with the whole list. "Invalid
    // cursors SHOULD result in an error with code -32602" (base protocol, pagination).
    ("sep-2640-skills-list-unknown-cursor", Verdict::Warn),
    ("sep-2640-skills-list-mistyped-cursor", Verdict::Warn),
    ("sep-2640-directory-read-unknown-cursor", Verdict::Warn),
    // Not rmcp's fault but the tree's: two skills are called `refunds`.
    ("sep-2640-names-should-be-unique", Verdict::Warn),
];

/// What the server gives no occasion to judge.
const NOT_EXERCISED: &[&str] = &[
    // One page holds everything.
    "sep-2640-skills-list-cursor-repeatable",
    // resources/list has the SKILL.md files only.
    "sep-2640-skills-get-non-skill-invalid-params",
    // No `_meta` anywhere.
    "sep-2640-meta-prefix",
    "sep-2640-meta-prefix-reserved",
    // The catalog lists all that it serves.
    "sep-2640-skills-get-answers-unlisted",
    // Git keeps no empty directories.
    "sep-2640-directory-read-empty",
];

#[test]
fn over_stdio() {
    let argv = vec![server().display().to_string(), tree().display().to_string()];
    let target = TargetSpec::Command {
        argv,
        cwd: None,
        env: Vec::new(),
    };
    assert_exactly(Lab::new().run_target(target, Protocols::All));
}

/// Two implementations that share no code make the same entries of one tree.
#[test]
fn the_reference_agrees_on_every_entry() {
    let lab = Lab::new();
    let of = |argv: &[&str]| {
        let mut argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        argv.push(tree().display().to_string());
        let target = TargetSpec::Command {
            argv,
            cwd: None,
            env: Vec::new(),
        };
        let outcome = lab.run_target(target, Protocols::One(Revision::Modern));
        assert!(outcome.unreachable.is_none(), "{:?}", outcome.unreachable);
        entries(&outcome.traces[0])
    };
    let theirs = of(&[server().to_str().unwrap()]);
    let ours = of(&[PROGRAM, "reference", "server", "--skills"]);
    assert_eq!(theirs.len(), 6);
    assert_eq!(ours, theirs);
}

/// Every listed entry, its files in the order of their URIs.
fn entries(trace: &Trace) -> BTreeMap<String, Value> {
    let pages = trace
        .calls("skills/list")
        .filter_map(|call| trace.result(call));
    let entries = pages.filter_map(|page| page["skills"].as_array()).flatten();
    let sorted = entries.map(|entry| {
        let mut entry = entry.clone();
        if let Some(files) = entry["resources"].as_array_mut() {
            files.sort_by_key(|file| file["uri"].to_string());
        }
        (entry["uri"].as_str().unwrap().to_owned(), entry)
    });
    sorted.collect()
}

#[test]
fn over_http() {
    let mut child = Command::new(server())
        .args(["--http", "127.0.0.1:0"])
        .arg(tree())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stderr = child.stderr.take().unwrap();
    BufReader::new(stderr).read_line(&mut line).unwrap();
    let child = Killed(child);
    let url = line.trim().strip_prefix("listening on ").expect("a URL");
    let target = TargetSpec::Url {
        url: url.parse().unwrap(),
        headers: Vec::new(),
    };
    let outcome = Lab::new().run_target(target, Protocols::All);
    drop(child);
    assert_exactly(outcome);
}

/// Ends with the test, also when that fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn assert_exactly(outcome: Outcome) {
    assert!(outcome.unreachable.is_none(), "{:?}", outcome.unreachable);
    let protocols: BTreeSet<&str> = outcome
        .report
        .runs
        .iter()
        .map(|run| run.protocol.as_str())
        .collect();
    assert_eq!(protocols, Revision::ALL.map(Revision::name).into());
    for run in &outcome.report.runs {
        let of = format!("{} over {}", run.protocol, run.transport);
        assert!(run.remarks.is_empty(), "{of}: {:?}", run.remarks);
        let wrong: BTreeMap<&str, Verdict> = run
            .checks
            .iter()
            .filter(|check| {
                matches!(
                    check.verdict,
                    Verdict::Fail | Verdict::Warn | Verdict::Note | Verdict::Blocked
                )
            })
            .map(|check| (check.id, check.verdict))
            .collect();
        let expected = WRONG.iter().copied().collect();
        assert_eq!(wrong, expected, "{of}: {}", findings(run));
        let not_exercised: BTreeSet<&str> = run
            .checks
            .iter()
            .filter(|check| check.verdict == Verdict::NotExercised)
            .map(|check| check.id)
            .collect();
        let expected = NOT_EXERCISED.iter().copied().collect();
        assert_eq!(not_exercised, expected, "{of}");
        let catalog = (run.catalog.skills, run.catalog.files);
        assert_eq!(catalog, (6, 16), "{of}");
    }
}

fn findings(run: &RunReport) -> String {
    let mut text = String::new();
    for check in &run.checks {
        for finding in &check.findings {
            text.push_str(&format!(
                "\n{} {} {}: {}",
                check.id, finding.at, finding.subject, finding.actual
            ));
        }
    }
    text
}

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/skills/common")
}

/// The example, built if it has not been: `cargo test` builds examples, `cargo test --test rmcp`
/// does not.
fn server() -> &'static Path {
    static SERVER: OnceLock<PathBuf> = OnceLock::new();
    SERVER.get_or_init(|| {
        let harness = Path::new(env!("CARGO_MANIFEST_DIR"));
        let programs = Path::new(PROGRAM).parent().unwrap();
        let path = programs.join("examples/rmcp_server");
        let age = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
        let sources = [
            harness.join("examples/rmcp_server.rs"),
            harness.join("../Cargo.lock"),
        ];
        if sources.iter().all(|source| age(source) <= age(&path)) {
            return path;
        }
        let profile = match programs.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(profile) => profile,
        };
        let mut cargo = Command::new(env!("CARGO"));
        // What cargo tells a test about itself would make it build dependencies once more.
        for (name, _) in std::env::vars_os() {
            let told = name.to_str().is_some_and(|name| name.starts_with("CARGO"));
            if told && name != "CARGO_HOME" {
                cargo.env_remove(name);
            }
        }
        let built = cargo
            .args(["build", "--quiet", "--package", "sep2640-conform"])
            .args(["--example", "rmcp_server", "--profile", profile])
            .arg("--target-dir")
            .arg(programs.parent().unwrap())
            .current_dir(harness)
            .status()
            .unwrap();
        assert!(built.success() && path.is_file(), "{}", path.display());
        path
    })
}
