//! The program as a user meets it: its texts, its exit codes, and how it copes with servers that
//! misbehave as processes.

mod common;

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::PROGRAM;
use common::program::{Ran, conform, conform_in, head, sh, stable};
use insta::assert_snapshot;
use serde_json::{Value, json};

const DIGEST: &str = "sep-2640-resources-digest-accurate";

#[test]
fn help() {
    for (name, args) in [
        ("help", &["--help"][..]),
        ("help_server", &["server", "--help"]),
        ("help_list", &["list", "--help"]),
        ("help_explain", &["explain", "--help"]),
        ("help_coverage", &["coverage", "--help"]),
        ("help_reference", &["reference", "--help"]),
        ("help_reference_server", &["reference", "server", "--help"]),
        ("help_reference_host", &["reference", "host", "--help"]),
    ] {
        let ran = conform(args);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{name}");
        assert_snapshot!(name, stable(&ran.stdout));
    }
    let ran = conform(&["--version"]);
    assert_eq!(stable(&ran.stdout), "sep2640-conform [version]\n");
}

#[test]
fn lists() {
    for what in ["checks", "scenarios", "requirements", "faults"] {
        let ran = conform(&["list", what]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{what}");
        assert_snapshot!(format!("list_{what}"), head(&ran.stdout, 8));
        let rows = conform(&["list", what, "--format", "json", "--side", "server"]).json();
        assert!(rows.as_array().unwrap().len() > 10, "{what}");
    }
}

#[test]
fn explanations() {
    assert_snapshot!(
        "explain_check",
        conform(&["explain", "skills-get-malformed-params"]).all()
    );
    let fault = format!("{DIGEST}/crlf");
    assert_snapshot!("explain_fault", conform(&["explain", &fault]).all());
    assert_snapshot!(
        "explain_scenario",
        conform(&["explain", "server/cursors"]).all()
    );
    for (name, id) in [
        ("misspelt", "digest-accurat"),
        ("unknown", "zzzzzz\u{1b}[31m"),
    ] {
        let ran = conform(&["explain", id]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
        assert_snapshot!(format!("explain_{name}"), ran.all());
    }
}

#[test]
fn coverage() {
    let ran = conform(&["coverage"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    // The numbers grow; `complete.rs` holds them to account.
    let lines: Vec<String> = head(&ran.stdout, 6)
        .lines()
        .map(|line| {
            let words = line.split_whitespace();
            let words: Vec<&str> = words
                .map(|word| {
                    if word.parse::<u32>().is_ok() {
                        "N"
                    } else {
                        word
                    }
                })
                .collect();
            words.join(" ")
        })
        .collect();
    assert_snapshot!("coverage", lines.join("\n"));
    let json = conform(&["coverage", "--format", "json"]).json();
    for key in ["rows", "checked", "excluded", "unaccounted"] {
        assert!(
            json["server"][key].is_u64() && json["host"][key].is_u64(),
            "{key}"
        );
    }
    for key in ["checks_without_fault", "faults_without_check"] {
        assert!(json[key].is_array(), "{key}");
    }
}

#[test]
fn an_honest_server_conforms() {
    let ran = conform(&["server"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    let last = "Conformant on 2026-07-28 and 2025-11-25. (exit code 0)\n";
    assert!(ran.stdout.ends_with(last), "{}", ran.stdout);
}

#[test]
fn a_fault_fails() {
    let ran = conform(&[
        "server",
        "--filter",
        "*digest*",
        "--",
        PROGRAM,
        "reference",
        "server",
        "--fault",
        DIGEST,
    ]);
    assert_eq!(ran.code, 1);
    assert_snapshot!("run_fault", ran.all());
    let quiet = conform(&[
        "server",
        "-q",
        "--filter",
        "*digest*",
        "--protocol",
        "2026-07-28",
        "--",
        PROGRAM,
        "reference",
        "server",
        "--fault",
        DIGEST,
    ]);
    assert_snapshot!("run_fault_quiet", quiet.all());
}

#[test]
fn the_line_to_see_a_finding_again_shows_it_again() {
    let ran = conform(&[
        "server",
        "--",
        PROGRAM,
        "reference",
        "server",
        "--fault",
        DIGEST,
    ]);
    let line = ran
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("again "))
        .expect("a line to run");
    let command = line.trim().replacen("sep2640-conform", "\"$0\"", 1);
    let again = Command::new("sh")
        .args(["-c", &command, PROGRAM])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(1), "{command}");
    assert!(String::from_utf8_lossy(&again.stdout).contains(DIGEST));
}

#[test]
fn a_broken_should_fails_when_strict() {
    let warn = "sep-2640-skills-list-unknown-cursor";
    let rest = [
        "--filter",
        warn,
        "--",
        PROGRAM,
        "reference",
        "server",
        "--fault",
        warn,
    ];
    assert_eq!(conform(&[&["server"][..], &rest].concat()).code, 0);
    assert_eq!(
        conform(&[&["server", "--strict"][..], &rest].concat()).code,
        1
    );
}

#[test]
fn the_json_report_has_its_documented_shape() {
    let args = [
        "server",
        "--filter",
        DIGEST,
        "--protocol",
        "2026-07-28",
        "--report",
        "json",
        "--",
        PROGRAM,
        "reference",
        "server",
        "--fault",
        DIGEST,
    ];
    let ran = conform(&args);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    ran.json();
    assert_snapshot!("report_json", stable(&ran.stdout));

    let directory = tempfile::tempdir().unwrap();
    let ran = conform_in(
        directory.path(),
        &[
            "server",
            "--filter",
            "*digest*",
            "--report",
            "json=a.json",
            "--report",
            "junit=b.xml",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("Conformant"));
    let json = std::fs::read_to_string(directory.path().join("a.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["exit"], json["runs"].as_array().unwrap().len()),
        (&json!(0), 2)
    );
    let junit = std::fs::read_to_string(directory.path().join("b.xml")).unwrap();
    assert!(junit.contains("<testsuites "), "{junit}");
}

#[test]
fn bad_arguments_end_with_2() {
    let directory = tempfile::tempdir().unwrap();
    let scenario = "scenario: server/x\nabout: X.\nsteps:\n  - call: skills/list\n    pagez: all\n";
    std::fs::write(directory.path().join("bad.yaml"), scenario).unwrap();
    let mut texts = String::new();
    for args in [
        &["frobnicate"][..],
        &["server", "--frobnicate"],
        &["server", "--filter", "sep-2640-nope"],
        &["server", "--filter", "[a"],
        &["server", "--protocol", "2024-11-05"],
        &["server", "--timeout", "20"],
        &["server", "--timeout", "0s"],
        &["server", "--url", "ftp://example.org/"],
        &["server", "--url", "http://example.org/", "--", "x"],
        &[
            "server",
            "--url",
            "http://example.org/",
            "--header-env",
            "A=SEP2640_NOT_SET",
        ],
        &["server", "--env", "SEP2640_NOT_SET"],
        &["server", "--header", "a: b"],
        &["server", "--scenario", "bad.yaml"],
        &["server", "--scenario", "none.yaml"],
        &["server", "--report", "xml=x"],
        &["server", "--report", "json=no/such/directory.json"],
        &[
            "reference",
            "server",
            "--fault",
            "sep-2640-resources-digest",
        ],
        &["reference", "server", "--skills", "none"],
    ] {
        let ran = conform_in(directory.path(), args);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (2, ""),
            "{args:?}: {}",
            ran.stderr
        );
        texts.push_str(&format!("$ {}\n{}\n", args.join(" "), ran.stderr));
    }
    assert_snapshot!("bad_arguments", stable(&texts));
}

#[test]
fn a_server_that_cannot_be_reached_ends_with_3() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let closed = conform(&["server", "--url", &url]);
    assert_eq!(closed.code, 3);
    let closed = closed.all().replace(&port.to_string(), "[port]");
    assert_snapshot!("closed_port", closed);
    for (name, command) in [
        ("not_found", &["/no/such/command", "--x"][..]),
        (
            "ends_at_once",
            &["sh", "-c", "echo 'no configuration' >&2; exit 7"],
        ),
    ] {
        let ran = conform(&[&["server", "--"], command].concat());
        assert_eq!(ran.code, 3, "{name}");
        assert_snapshot!(name, ran.all());
    }
}

#[test]
fn a_server_without_the_extension_ends_with_4() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/mcp", axum::routing::post(without_skills));
    runtime.spawn(async { axum::serve(listener, router).await });
    let runs: Vec<Ran> = (0..3)
        .map(|_| conform(&["server", "--url", &url]))
        .collect();
    for ran in &runs {
        assert_eq!(ran.code, 4, "{}", ran.stdout);
    }
    // A machine under load may be slow now and then.
    let fastest = runs.iter().map(|ran| ran.took).min().unwrap();
    assert!(fastest < Duration::from_secs(1), "{fastest:?}");
    assert_snapshot!("without_extension", runs[0].all().replace(&url, "[url]"));
}

async fn without_skills(body: String) -> ([(&'static str, &'static str); 1], String) {
    let message: Value = serde_json::from_str(&body).unwrap_or_default();
    let id = &message["id"];
    let tools = json!({"tools": {}});
    let answer = match message["method"].as_str() {
        Some("initialize") => json!({"jsonrpc": "2.0", "id": id, "result": {
            "protocolVersion": "2025-11-25", "capabilities": tools,
            "serverInfo": {"name": "no-skills", "version": "1"},
        }}),
        Some("server/discover") => json!({"jsonrpc": "2.0", "id": id, "result": {
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": tools,
            "ttlMs": 0, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "no-skills", "version": "1"}},
        }}),
        _ => json!({"jsonrpc": "2.0", "id": id, "error": {
            "code": -32601, "message": "method not found",
        }}),
    };
    ([("content-type", "application/json")], answer.to_string())
}

/// Whether a process with this word among its arguments is alive.
fn is_alive(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().any(|entry| {
        let path = entry.unwrap().path().join("cmdline");
        let mut line = Vec::new();
        let read = std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut line));
        read.is_ok()
            && line
                .split(|byte| *byte == 0)
                .any(|part| part == word.as_bytes())
    })
}

#[test]
fn no_process_is_left_behind() {
    // Forks a child, ignores SIGTERM, and stays when its input ends.
    let mark = format!("3600.{}", std::process::id());
    let script =
        format!(r#"trap "" TERM; sleep {mark} & "$0" reference server; touch "$1"; sleep {mark}"#);
    let directory = tempfile::tempdir().unwrap();
    let reached = directory.path().join("reached");
    let filter = ["--filter", "sep-2640-uri-valid", "--protocol", "2026-07-28"];
    let command = [
        "--",
        "sh",
        "-c",
        &script,
        PROGRAM,
        reached.to_str().unwrap(),
    ];
    let ran = conform(&[&["server"][..], &filter, &command].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(reached.exists() && !is_alive(&mark));
}

#[test]
fn no_process_is_left_behind_by_sigterm() {
    let mark = format!("3601.{}", std::process::id());
    let script = format!(r#"trap "" TERM; sleep {mark} & wait; sleep {mark}"#);
    let mut child = Command::new(PROGRAM)
        .args(["server", "--", "sh", "-c", &script])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while !is_alive(&mark) {
        assert!(Instant::now() < until, "the server never ran");
        std::thread::sleep(Duration::from_millis(10));
    }
    let killed = Command::new("kill")
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(killed.success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let until = Instant::now() + Duration::from_secs(5);
    while is_alive(&mark) {
        assert!(Instant::now() < until, "left behind");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_banner_on_standard_output_is_reported_and_survived() {
    let ran = sh(
        &["--protocol", "2026-07-28"],
        r#"printf 'Welcome! \033[31m{\n'; exec "$0" reference server"#,
    );
    let verdicts = ["FAIL", "WARN", "NOTE"];
    let found: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| {
            verdicts
                .iter()
                .any(|verdict| line.trim().starts_with(verdict))
        })
        .collect();
    assert_eq!(found.len(), 1, "{}", ran.stdout);
    assert!(found[0].contains("sep-2640-stdout-clean"), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
}

#[test]
fn megabytes_on_standard_error_are_swallowed() {
    let ran = sh(
        &["--protocol", "2026-07-28"],
        r#"head -c 8000000 /dev/zero | tr '\0' x >&2; exec "$0" reference server"#,
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
}

#[test]
fn a_server_that_goes_away_is_told_of() {
    // Ends after three messages, again and again, or for good.
    let directory = tempfile::tempdir().unwrap();
    let flag = directory.path().join("flag");
    let flag = flag.display();
    for once in ["", &format!("test -e {flag} && exit 9; touch {flag};")] {
        let script = format!(
            r#"{once} echo "out of memory" >&2; sed -u 3q | "$0" reference server; exit 9"#
        );
        let ran = sh(&["--protocol", "2026-07-28"], &script);
        assert_eq!((ran.code, ran.stderr.as_str()), (3, ""), "{}", ran.stdout);
        let remark = ran
            .stdout
            .lines()
            .find(|line| line.trim().starts_with("! "));
        let remark = remark.unwrap_or_else(|| panic!("{}", ran.stdout));
        let words = if once.is_empty() {
            "was lost"
        } else {
            "exit status: 9"
        };
        assert!(remark.contains(words), "{remark}");
        let last = ran.stdout.lines().last().unwrap();
        // Whether a check had failed by then depends on how far the last start got.
        assert!(last.contains("was lost"), "{last}");
    }
}

#[test]
fn a_server_that_never_answers_ends_by_timeout() {
    let ran = sh(&["--timeout", "200ms"], "exec sleep 3602");
    assert_eq!(ran.code, 3);
    assert!(ran.took < Duration::from_secs(10), "{:?}", ran.took);
    assert_snapshot!("never_answers", ran.all());
    // Answers that fit no request are none, but they are told of.
    let ran = sh(
        &["--timeout", "200ms", "--protocol", "2025-11-25"],
        r#"while read -r line; do echo '{"jsonrpc":"2.0","id":"1","result":{}}'; done"#,
    );
    assert_eq!(ran.code, 3);
    let words = r#"an answer came with the id "1", which no request had"#;
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
}
