//! What users build on: exit codes, the baseline, the options that choose what is judged, and the
//! files that a run leaves behind.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::PROGRAM;
use common::program::{Ran, conform, conform_in, stable};
use insta::assert_snapshot;
use serde_json::Value;
use tempfile::TempDir;

const DIGEST: &str = "sep-2640-resources-digest-accurate";
/// A broken SHOULD.
const CURSOR: &str = "sep-2640-skills-list-unknown-cursor";
const MODERN: [&str; 2] = ["--protocol", "2026-07-28"];

/// Judges the reference server with a fault, on one revision.
fn faulty(directory: &Path, options: &[&str], fault: &str) -> Ran {
    let command = ["--", PROGRAM, "reference", "server", "--fault", fault];
    let args = [&["server"], &MODERN[..], options, &command].concat();
    conform_in(directory, &args)
}

fn directory_with(file: &str, text: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(file), text).unwrap();
    directory
}

/// Takes out the times of a JUnit report, and which frame a finding stands in.
fn timeless(xml: &str) -> String {
    let mut parts = xml.split(" time=\"");
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let (_, rest) = part.split_once('"').unwrap();
        text.push_str(" time=\"[time]\"");
        text.push_str(rest);
    }
    stable(&text)
}

#[test]
fn every_exit_code_can_be_met() {
    let here = Path::new(".");
    let uri = ["--filter", "sep-2640-uri-valid"];
    let declares_nothing = [
        &["server"],
        &MODERN[..],
        &[
            "--filter",
            "*-uri-valid",
            "--",
            PROGRAM,
            "reference",
            "server",
        ],
        &["--no-directory-read"],
    ];
    // Nothing of the kind is declared, and the one check that looks for look-alikes is left out.
    let elsewhere = faulty(here, &uri, "sep-2640-capability-extension-key/misspelled");
    // Too few files for a runtime may be open: nothing that a target could be blamed for.
    let starved = Command::new("sh")
        .args(["-c", "ulimit -n 4; exec \"$0\" server", PROGRAM])
        .output()
        .unwrap();
    assert_eq!(
        (
            starved.status.code(),
            String::from_utf8(starved.stderr).unwrap().lines().count()
        ),
        (Some(70), 1)
    );
    let ended = [
        ("conformant", conform(&declares_nothing.concat()), 0),
        (
            "a check fails",
            faulty(here, &["--filter", DIGEST], DIGEST),
            1,
        ),
        (
            "bad arguments",
            conform(&["server", "--filter", "nothing*"]),
            2,
        ),
        (
            "no target",
            conform(&[&["server"], &MODERN[..], &uri, &["--", "/no/such/command"]].concat()),
            3,
        ),
        ("nothing exercised", elsewhere, 4),
    ];
    let mut texts = String::new();
    for (name, ran, code) in ended {
        assert_eq!(ran.code, code, "{name}: {}{}", ran.stdout, ran.stderr);
        texts.push_str(&format!("# {name}\n{}\n", ran.all()));
    }
    assert_snapshot!("exit_codes", texts);
}

#[test]
fn an_exact_baseline_makes_a_run_conform() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--expected-failures", "known.yaml", "--filter", "*-cursor*"];
    for fault in [CURSOR, "sep-2640-directory-read-unknown-cursor"] {
        let known = format!("server:\n  - {fault}   # answers with page one\n");
        fs::write(directory.path().join("known.yaml"), known).unwrap();
        let ran = faulty(directory.path(), &options, fault);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        let report = faulty(
            directory.path(),
            &[&options[..], &["--report", "json"]].concat(),
            fault,
        );
        let report = report.json();
        let checks = report["runs"][0]["checks"].as_array().unwrap();
        let of_fault = checks.iter().find(|check| check["id"] == fault).unwrap();
        assert_eq!(of_fault["verdict"], "expected");
        if fault == CURSOR {
            assert_snapshot!("baseline_exact", ran.all());
        }
    }
    // A scenario stands for its checks.
    fs::write(
        directory.path().join("known.yaml"),
        "server: [server/cursors]\n",
    )
    .unwrap();
    assert_eq!(faulty(directory.path(), &options, CURSOR).code, 0);
}

#[test]
fn a_stale_baseline_entry_fails() {
    let known = format!("server:\n  - {CURSOR}\n  - server/catalog\n");
    let directory = directory_with("known.yaml", &known);
    let options = ["--expected-failures", "known.yaml", "--filter", "*-cursor*"];
    let ran = faulty(directory.path(), &options, CURSOR);
    assert_eq!(ran.code, 1);
    assert_snapshot!("baseline_stale", ran.all());
    let quiet = faulty(directory.path(), &[&options[..], &["-q"]].concat(), CURSOR);
    assert_eq!(quiet.code, 1);
    assert_snapshot!("baseline_stale_quiet", quiet.all());
    let json = faulty(
        directory.path(),
        &[&options[..], &["--report", "json"]].concat(),
        CURSOR,
    );
    assert_eq!(json.json()["stale"], serde_json::json!(["server/catalog"]));
}

#[test]
fn a_baseline_that_cannot_be_used_ends_with_2() {
    let mut texts = String::new();
    for text in [
        "server:\n  - sep-2640-uri-valid\n  - sep-2640-nope\n",
        "server: 5\n",
        "# known\nserver:\n  sep-2640-uri-valid: always\n",
        "server:\n  - name: sep-2640-uri-valid\n",
        "servers: []\n",
        "sep-2640-uri-valid\n",
        "- sep-2640-uri-valid\n",
        "server: [\n",
    ] {
        let directory = directory_with("known.yaml", text);
        let args = ["server", "--expected-failures", "known.yaml"];
        let ran = conform_in(directory.path(), &args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{text}");
        texts.push_str(&format!("{text}{}\n", ran.stderr));
    }
    let ran = conform(&["server", "--expected-failures", "none.yaml"]);
    assert_eq!(ran.code, 2);
    texts.push_str(&ran.stderr);
    assert_snapshot!("baseline_unusable", texts);
}

#[test]
fn a_filter_chooses_checks_and_what_is_played_for_them() {
    let ran = conform(&[&["server", "-v", "--filter", "*-digest*"], &MODERN[..]].concat());
    assert_eq!(ran.code, 0);
    assert_snapshot!("filter", ran.all());
    // Two globs select what either of them matches.
    let args = [
        "server",
        "--filter",
        "sep-2640-stdout-*",
        "--filter",
        "*-frame-*",
        "--report",
        "json",
    ];
    let report = conform(&[&args, &MODERN[..]].concat()).json();
    let ids: Vec<&str> = report["runs"][0]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        ["sep-2640-frame-duplicate-keys", "sep-2640-stdout-clean"]
    );
    assert_snapshot!(
        "filter_nothing",
        conform(&["server", "--filter", "digest"]).all()
    );
}

#[test]
fn strict_makes_a_warning_a_failure() {
    let here = Path::new(".");
    let lenient = faulty(here, &["--filter", CURSOR], CURSOR);
    let strict = faulty(here, &["--filter", CURSOR, "--strict"], CURSOR);
    assert_eq!((lenient.code, strict.code), (0, 1));
    assert_snapshot!("lenient", lenient.all());
    assert_snapshot!("strict", strict.all());
}

#[test]
fn fail_fast_stops_and_says_so() {
    let fault = "sep-2640-entry-uri-names-skillmd";
    let command = ["--", PROGRAM, "reference", "server", "--fault", fault];
    let ran = conform(&[&["server", "--fail-fast"], &command[..]].concat());
    assert_eq!(ran.code, 1);
    // How many checks and scenarios there are grows.
    insta::with_settings!({filters => vec![
        (r"\(\d+\)", "([n])"),
        (r"\d+ of \d+ scenarios", "[n] of [n] scenarios"),
        (r"\(--fail-fast\): \d+ checks", "(--fail-fast): [n] checks"),
        (r"\d+ (passed|blocked|not exercised|not applicable)", "[n] $1"),
    ]}, { assert_snapshot!("fail_fast", ran.all()) });
    // Both revisions were asked for, and the second one was not reached on purpose.
    let all = ["server", "--fail-fast", "--protocol", "all"];
    assert_eq!(conform(&[&all, &command[..]].concat()).code, 1);
}

#[test]
fn a_sample_says_that_it_is_one() {
    let args = [
        &[
            "server",
            "--filter",
            "*-digest-accurate",
            "--max-reads",
            "3",
        ],
        &MODERN[..],
    ]
    .concat();
    let ran = conform(&args);
    assert_eq!(ran.code, 0);
    assert_snapshot!("sample", ran.all());
    let read = |seed: &str| {
        let directory = tempfile::tempdir().unwrap();
        let more = ["--seed", seed, "--transcript", "t.jsonl"];
        conform_in(directory.path(), &[&args[..], &more].concat());
        let text = fs::read_to_string(directory.path().join("t.jsonl")).unwrap();
        let asked = |line: &&str| line.contains("\"sent\"") && line.contains("resources/read");
        text.lines()
            .filter(asked)
            .map(str::to_owned)
            .map(|line| uri_of(&line))
            .collect::<Vec<_>>()
    };
    let (once, again, other) = (read("1"), read("1"), read("2"));
    assert_eq!((once.len(), &once), (3, &again));
    assert_ne!(once, other);
}

fn uri_of(line: &str) -> String {
    let line: Value = serde_json::from_str(line).unwrap();
    let message: Value = serde_json::from_str(line["raw"].as_str().unwrap()).unwrap();
    message["params"]["uri"].as_str().unwrap().to_owned()
}

#[test]
fn the_junit_report_is_as_tools_expect_it() {
    let directory = directory_with("known.yaml", "server: [sep-2640-resources-size-accurate]\n");
    let options = [
        "--filter",
        "sep-2640-resources-*-accurate",
        "--filter",
        "sep-2640-root-bytes-equal",
        "--filter",
        "sep-2640-skills-get-answers-unlisted",
        "--report",
        "junit=skills.xml",
    ];
    let ran = faulty(directory.path(), &options, DIGEST);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let xml = fs::read_to_string(directory.path().join("skills.xml")).unwrap();
    assert_snapshot!("junit", timeless(&xml));
    // A warning is a success with words; what is expected is skipped.
    let options = ["--filter", CURSOR, "--report", "junit"];
    let ran = faulty(directory.path(), &options, CURSOR);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_snapshot!("junit_warning", timeless(&ran.stdout));
    fs::write(
        directory.path().join("known.yaml"),
        format!("server: [{CURSOR}]"),
    )
    .unwrap();
    let expected = [&options[..], &["--expected-failures", "known.yaml"]].concat();
    let ran = faulty(directory.path(), &expected, CURSOR);
    assert_snapshot!("junit_expected", timeless(&ran.stdout));
}

#[test]
fn a_transcript_has_every_frame() {
    let skills = tempfile::tempdir().unwrap();
    fs::create_dir(skills.path().join("a")).unwrap();
    let text = "---\nname: a\ndescription: The letter a.\n---\n";
    fs::write(skills.path().join("a/SKILL.md"), text).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let skills = skills.path().to_str().unwrap();
    let args = [
        &["server", "--filter", DIGEST, "--transcript", "frames.jsonl"],
        &MODERN[..],
        &["--", PROGRAM, "reference", "server", "--skills", skills],
    ];
    let ran = conform_in(directory.path(), &args.concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let text = fs::read_to_string(directory.path().join("frames.jsonl")).unwrap();
    let mut times = Vec::new();
    let mut lines = String::new();
    for line in text.lines() {
        let mut value: Value = serde_json::from_str(line).unwrap();
        times.push(value["t_us"].as_u64().unwrap());
        value["t_us"] = Value::from("[time]");
        lines.push_str(&format!("{value}\n"));
    }
    assert!(times.is_sorted());
    assert_snapshot!("transcript", stable(&lines));
}

#[test]
fn a_transcript_over_http_has_the_status() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = sep2640_reference::Server::new(sep2640_reference::Options::default()).unwrap();
    runtime.spawn(sep2640_reference::serve_http(server, listener));
    let directory = tempfile::tempdir().unwrap();
    let args = [
        "server",
        "--filter",
        "*-http-unknown-method",
        "--transcript",
        "t.jsonl",
    ];
    let secret = ["--url", &url, "--header", "X-Key: opensesame"];
    let ran = conform_in(directory.path(), &[&args, &MODERN[..], &secret].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let text = fs::read_to_string(directory.path().join("t.jsonl")).unwrap();
    assert!(!text.contains("opensesame"), "{text}");
    let shape: Vec<String> = text
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let status = match &line["status"] {
                Value::Null => String::new(),
                status => format!(" {status}"),
            };
            format!("{} {}{status}", line["dir"], line["channel"])
        })
        .collect();
    assert_eq!(
        (shape[0].as_str(), shape[1].as_str()),
        ("\"sent\" \"http\"", "\"received\" \"http\" 200")
    );
    assert!(shape.iter().any(|line| line.ends_with(" 404")), "{shape:?}");
}
