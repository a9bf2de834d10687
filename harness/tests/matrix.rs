//! `matrix`: several targets from one file, side by side.

mod common;

use std::fs;

use common::PROGRAM;
use common::program::{conform, conform_in, stable};

/// A file with the honest reference server and two that have a fault each.
fn file(directory: &std::path::Path) {
    let reference = |name: &str, more: &str| {
        format!(
            "  - name: {name}\n    command: [{PROGRAM}, reference, server{more}]\n    options: {{ skill: [skill://internal/on-call/SKILL.md], timeout: 5s }}\n"
        )
    };
    let text = [
        "targets:\n",
        &reference("honest", ""),
        &reference("digests", ", --fault, sep-2640-resources-digest-accurate"),
        &reference("scopes", ", --fault, sep-2640-skills-list-cache-attributes"),
    ]
    .concat();
    fs::write(directory.join("targets.yaml"), text).unwrap();
}

/// Counts move with every new check.
fn shown(text: &str) -> String {
    let text = stable(text);
    let mut result = String::new();
    let mut last = "";
    for word in text.split_inclusive([' ', '\n']) {
        let bare = word.trim_end();
        let number = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
        if number && last != "exit" {
            result.push_str("[n]");
            result.push_str(&word[bare.len()..]);
        } else {
            result.push_str(word);
        }
        last = bare;
    }
    result
}

#[test]
fn targets_stand_side_by_side() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path());
    let run = |more: &[&str]| {
        let args = [&["matrix", "targets.yaml", "--date", "2026-11-30"], more].concat();
        conform_in(directory.path(), &args)
    };
    let terminal = run(&[]);
    assert_eq!(terminal.code, 1, "{}", terminal.stderr);
    assert_eq!(terminal.stderr, "");
    let rows = |text: &str| {
        text.lines()
            .filter(|line| line.contains("sep-2640-"))
            .count()
    };
    assert_eq!(rows(&terminal.stdout), 2, "{}", terminal.stdout);
    insta::assert_snapshot!("matrix_terminal", shown(&terminal.stdout));

    let markdown = run(&["--format", "markdown", "--output", "page.md"]);
    assert_eq!((markdown.code, markdown.stdout.as_str()), (1, ""));
    let page = fs::read_to_string(directory.path().join("page.md")).unwrap();
    insta::assert_snapshot!("matrix_markdown", shown(&page));

    let json = run(&["--format", "json"]).json();
    assert_eq!(json["schema"], "sep2640-conform/matrix/v1");
    assert_eq!(json["date"], "2026-11-30");
    assert_eq!(json["exit"], 1);
    let names: Vec<&str> = (json["targets"].as_array().unwrap().iter())
        .map(|target| target["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["honest", "digests", "scopes"]);
    let checks = json["checks"].as_array().unwrap();
    assert!(checks.len() > 100);
    let row = checks
        .iter()
        .find(|row| row["id"] == "sep-2640-skills-list-cache-attributes")
        .unwrap();
    let verdicts: Vec<&str> = (row["cells"].as_array().unwrap().iter())
        .map(|cell| cell["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["pass", "pass", "fail"]);
    // The duty is one of 2026-07-28.
    assert_eq!(
        row["cells"][2]["verdicts"],
        serde_json::json!({"2025-11-25": "not_applicable", "2026-07-28": "fail"})
    );
    let all = run(&["--all"]);
    assert_eq!(rows(&all.stdout), checks.len());
}

#[test]
fn both_sides_and_a_target_that_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let text = "
targets:
  - name: built-in
    options: { protocol: 2026-07-28, filter: sep-2640-skills-list-implemented }
  - name: gone
    url: http://127.0.0.1:9/mcp
  - name: host
    side: host
    options: { protocol: 2026-07-28, filter: sep-2640-host-verify-digest }
";
    fs::write(directory.path().join("targets.yaml"), text).unwrap();
    let ran = conform_in(
        directory.path(),
        &["matrix", "targets.yaml", "--date", "2026-11-30", "--all"],
    );
    // The worst of 0, 3 and 0.
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    assert!(ran.stderr.starts_with("error: gone: "), "{}", ran.stderr);
    for words in ["server checks", "host checks", "not run", "was not run: "] {
        assert!(ran.stdout.contains(words), "{words}\n{}", ran.stdout);
    }
}

#[test]
fn a_file_that_is_wrong_is_told_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let text = "targets:\n  - name: a\n    options:\n      protocol: 2024-01-01\n";
    fs::write(directory.path().join("targets.yaml"), text).unwrap();
    let ran = conform_in(directory.path(), &["matrix", "targets.yaml"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr
            .starts_with("error: targets.yaml:4: invalid value '2024-01-01' for '--protocol"),
        "{}",
        ran.stderr
    );
    let ran = conform(&["matrix", "no-such-file.yaml"]);
    assert_eq!(ran.code, 2);
    insta::assert_snapshot!("matrix_help", conform(&["matrix", "--help"]).all());
}
