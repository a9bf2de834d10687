//! Live fuzzing of servers and hosts: honest ones are left alone, faults are found, and what is
//! saved plays again.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
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

/// Runs the program in a directory.
fn run_in(directory: &Path, words: &[&str]) -> (i32, String) {
    let output = Command::new(PROGRAM)
        .args(words)
        .current_dir(directory)
        .output()
        .unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), text)
}

/// What was saved, by name.
fn saved(directory: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = std::fs::read_dir(directory.join("regressions")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            let bytes = std::fs::read(&path).unwrap();
            (path.file_name().unwrap().to_owned(), bytes)
        })
        .collect()
}

/// The fault is found by the rule, a second run finds the same to the byte, however many jobs it
/// has, and every saved case fails again against it and passes against an honest target.
fn found(side: &str, cases: &str, fault: &str, rule: &str) {
    let [first, second] = [1, 2].map(|jobs| {
        let directory = tempfile::tempdir().unwrap();
        let jobs = jobs.to_string();
        let fuzz = ["fuzz", side, "--cases", cases, "--jobs", &jobs, "--"];
        let target = [PROGRAM, "reference", side, "--fault", fault];
        let (code, text) = run_in(directory.path(), &[&fuzz[..], &target].concat());
        assert_eq!(code, 1, "{fault}: {text}");
        assert!(
            text.contains(&format!("FAIL  {rule} · ")),
            "{fault}: {text}"
        );
        directory
    });
    let files = saved(first.path());
    assert_eq!(saved(second.path()), files, "{fault}");
    let target = ["--", PROGRAM, "reference", side, "--fault", fault];
    // Without a file, all of them.
    let (code, text) = run_in(first.path(), &[&["replay"][..], &target].concat());
    assert_eq!(
        (code, text.contains("  pass  ")),
        (1, false),
        "{fault}: {text}"
    );
    assert_eq!(text.matches("FAIL").count(), files.len(), "{fault}: {text}");
    let (code, text) = run_in(first.path(), &["replay"]);
    assert_eq!(code, 0, "{fault}: {text}");
    let name = files.keys().next().unwrap();
    let file = first.path().join("regressions").join(name);
    let replay = ["replay", file.to_str().unwrap()];
    assert_eq!(run(&[&replay[..], &target].concat()).0, 1, "{fault}");
    assert_eq!(run(&replay).0, 0, "{fault}");
}

#[test]
fn faults_of_verifiers_are_found() {
    for (fault, rule) in [
        ("verifier-containment/prefix", "verifier-containment"),
        ("verifier-frontmatter/ignored", "verifier-frontmatter"),
        ("verifier-accept/first-block", "verifier-accept"),
        ("verifier-answer/crash", "verifier-answer"),
    ] {
        found("verifier", "2000", fault, rule);
    }
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
    for side in ["server", "host"] {
        let ids = |part: Option<&str>| {
            let mut words = vec![side, "--report", "json", "--protocol", "2026-07-28"];
            words.extend(part.iter().flat_map(|part| ["--partition", *part]));
            let output = Command::new(PROGRAM).args(words).output().unwrap();
            assert_eq!(output.status.code(), Some(0));
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let checks = report["runs"][0]["checks"].as_array().unwrap();
            let ids = checks.iter().map(|check| check["id"].as_str().unwrap());
            ids.map(str::to_owned).collect::<Vec<_>>()
        };
        let mut whole = ids(None);
        let mut parts: Vec<String> = ["1/3", "2/3", "3/3"]
            .iter()
            .flat_map(|part| ids(Some(part)))
            .collect();
        parts.sort();
        whole.sort();
        assert_eq!(parts, whole, "{side}");
    }
}

/// The cases of which a run found something, by the numbers in its files.
#[test]
fn partitions_of_the_cases_are_those_cases() {
    let numbers = |part: &str| {
        let directory = tempfile::tempdir().unwrap();
        let fuzz = ["fuzz", "verifier", "--cases", "900", "--partition", part];
        let target = ["reference", "verifier", "--fault", "verifier-size/ignored"];
        let words = [&fuzz[..], &["--", PROGRAM], &target].concat();
        let (code, text) = run_in(directory.path(), &words);
        assert_eq!(code, 1, "{text}");
        let (before, _) = text.split_once(" cases").unwrap();
        let (_, played) = before.rsplit_once(' ').unwrap();
        let played: usize = played.parse().unwrap();
        let files = saved(directory.path()).into_values();
        let numbers: BTreeSet<u64> = files
            .map(|bytes| {
                let text = String::from_utf8(bytes).unwrap();
                let line = text.lines().find_map(|line| line.strip_prefix("case: "));
                line.unwrap().parse().unwrap()
            })
            .collect();
        (played, numbers)
    };
    let (whole, first) = numbers("1/1");
    let parts = ["1/2", "2/2"].map(numbers);
    assert_eq!((whole, parts[0].0 + parts[1].0), (900, 900));
    for (rest, (_, numbers)) in parts.iter().enumerate() {
        assert!(numbers.iter().all(|number| number % 2 == rest as u64));
    }
    // What comes first of the whole is what comes first of its part.
    let of_parts: BTreeSet<u64> = parts.iter().flat_map(|(_, own)| own).copied().collect();
    assert!(first.is_subset(&of_parts), "{first:?} {of_parts:?}");
}
