//! Live fuzzing of servers and hosts: honest ones are left alone, faults are found, and what is
//! saved plays again.

use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sep2640-conform");

/// Runs the program; its exit code, and what it wrote.
fn run(words: &[&str]) -> (i32, String) {
    let output = Command::new(PROGRAM).args(words).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(text).unwrap(),
    )
}

fn honest(side: &str, cases: &str) {
    let (code, text) = run(&["fuzz", side, "--cases", cases, "--no-save"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("0 findings"), "{text}");
}

/// The fault is found by the rule, the saved cases fail against it and pass against an honest
/// target, and a second run finds the same.
fn found(side: &str, cases: &str, fault: &str, rule: &str) {
    let saved = tempfile::tempdir().unwrap();
    let directory = saved.path().to_str().unwrap();
    let target = [PROGRAM, "reference", side, "--fault", fault];
    let fuzz = ["fuzz", side, "--cases", cases, "--save", directory, "--"];
    let (code, text) = run(&[&fuzz[..], &target].concat());
    assert_eq!(code, 1, "{fault}: {text}");
    assert!(
        text.contains(&format!("FAIL  {rule} · ")),
        "{fault}: {text}"
    );
    let names = |directory: &str| {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let first = names(directory);
    let replay = ["replay", "--saved", directory];
    let (code, text) = run(&[&replay[..], &["--"], &target].concat());
    assert_eq!((code, text.contains("pass")), (1, false), "{fault}: {text}");
    let (code, text) = run(&replay);
    assert_eq!(code, 0, "{fault}: {text}");
    let (_, text) = run(&[&fuzz[..], &target].concat());
    assert_eq!(names(directory), first, "{text}");
}

#[test]
fn an_honest_server_is_left_alone() {
    honest("server", "1500");
}

#[test]
fn faults_of_servers_are_found() {
    for (fault, rule) in [
        (
            "sep-2640-skills-get-malformed-params",
            "server-invalid-params",
        ),
        ("sep-2640-resources-digest-accurate", "server-content"),
    ] {
        found("server", "1500", fault, rule);
    }
}

#[test]
fn an_honest_host_is_left_alone() {
    honest("host", "150");
}

#[test]
fn faults_of_hosts_are_found() {
    for (fault, rule) in [
        ("sep-2640-host-verify-digest/prefix", "host-digest"),
        ("sep-2640-host-size-mismatch-failure", "host-size"),
        ("sep-2640-host-frontmatter-comparison", "host-frontmatter"),
    ] {
        found("host", "200", fault, rule);
    }
}

#[test]
fn exit_codes_are_those_of_everywhere() {
    assert_eq!(run(&["fuzz", "verifier", "--cases", "0"]).0, 4);
    assert_eq!(run(&["fuzz", "verifier", "--partition", "3/2"]).0, 2);
    assert_eq!(
        run(&["fuzz", "verifier", "--no-save", "--", "/no/such/program"]).0,
        3
    );
    assert_eq!(
        run(&[
            "fuzz",
            "server",
            "--no-save",
            "--cases",
            "5",
            "--",
            "/bin/false"
        ])
        .0,
        3
    );
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(
        run(&["replay", "--saved", empty.path().to_str().unwrap()]).0,
        4
    );
    assert_eq!(run(&["replay", "no-such-file.yaml"]).0, 2);
}

#[test]
fn partitions_of_a_run_are_that_run() {
    let ids = |part: Option<&str>| {
        let mut words = vec!["server", "--report", "json", "--protocol", "2026-07-28"];
        words.extend(part.iter().flat_map(|part| ["--partition", *part]));
        let output = Command::new(PROGRAM).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = report["runs"][0]["checks"].as_array().unwrap();
        checks
            .iter()
            .map(|check| check["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let whole = ids(None);
    let mut parts: Vec<String> = ["1/3", "2/3", "3/3"]
        .iter()
        .flat_map(|part| ids(Some(part)))
        .collect();
    assert_eq!(parts.len(), whole.len());
    parts.sort();
    let mut sorted = whole;
    sorted.sort();
    assert_eq!(parts, sorted);
}
