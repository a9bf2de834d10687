//! `--as`: one server as two identities see it, and the secrets that this takes.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use common::PROGRAM;
use common::program::{Ran, conform};

/// A reference server of its own process, ended with the test.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(more: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["reference", "server", "--http", "127.0.0.1:0"])
            .args(["--private", "release-notes:alices-secret"])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        Self { child, url }
    }

    fn judge(&self, more: &[&str]) -> Ran {
        conform(&[&["server", "--url", &self.url], more].concat())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const ALICE: &str = "alice:Authorization: Bearer alices-secret";
const BOB: &str = "bob:Authorization: Bearer bobs-secret";

#[test]
fn what_belongs_to_one_is_held_against_what_the_other_sees() {
    let serving = Serving::start(&["--fault", "sep-2640-identity-unlisted-served"]);
    let directory = tempfile::tempdir().unwrap();
    let transcript = directory.path().join("frames.jsonl");
    let ran = serving.judge(&[
        "--as",
        ALICE,
        "--as",
        BOB,
        "--verbose",
        "--transcript",
        transcript.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(
        ran.stdout.contains("skill://release-notes/SKILL.md as bob"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("--as 'bob:Authorization: …'"),
        "{}",
        ran.stdout
    );
    let frames = std::fs::read_to_string(transcript).unwrap();
    for (what, text) in [
        ("stdout", &ran.stdout),
        ("stderr", &ran.stderr),
        ("transcript", &frames),
    ] {
        assert!(!text.contains("-secret"), "{what} tells a secret:\n{text}");
    }
    // The other way round nothing is hidden from the second.
    let ran = serving.judge(&["--as", BOB, "--as", ALICE, "--report", "json"]);
    let report = ran.json();
    for run in report["runs"].as_array().unwrap() {
        let checks = run["checks"].as_array().unwrap();
        let verdict = |id: &str| {
            let check = checks.iter().find(|check| check["id"] == id).unwrap();
            check["verdict"].as_str().unwrap().to_owned()
        };
        assert_eq!(verdict("sep-2640-identity-listed-readable"), "pass");
        assert_eq!(
            verdict("sep-2640-identity-unlisted-served"),
            "not_exercised"
        );
    }
}

#[test]
fn an_identity_that_is_not_let_in_is_told_and_one_alone_is_refused() {
    let serving = Serving::start(&[]);
    let ran = serving.judge(&["--as", ALICE]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.stderr,
        "error: --as: expected a second identity besides alice\n"
    );
    let ran = serving.judge(&["--as", "alice"]);
    assert_eq!(ran.code, 2);
    let ran = serving.judge(&[
        "--as",
        ALICE,
        "--as-env",
        "bob:Authorization=NO_SUCH_VARIABLE_8D1F",
    ]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("NO_SUCH_VARIABLE_8D1F"),
        "{}",
        ran.stderr
    );
    // Refused by the origin check of the server, as a stranger would be by its access control.
    let ran = serving.judge(&[
        "--as",
        ALICE,
        "--as",
        "bob:Origin: http://elsewhere.example",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("--as bob: "), "{}", ran.stdout);
}
