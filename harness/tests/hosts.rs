//! What a user sees of `host`: honest and faulty hosts, adapters that cannot do much, and such that
//! are none.

mod common;

use std::collections::BTreeSet;

use common::PROGRAM;
use common::program::{Ran, conform};
use insta::assert_snapshot;

const MODERN: [&str; 2] = ["--protocol", "2026-07-28"];

/// Judges a host on one revision.
fn judge(options: &[&str], adapter: &[&str]) -> Ran {
    conform(&[&["host"], &MODERN[..], options, &["--"], adapter].concat())
}

/// An adapter that knows some verbs of the reference host and no others: a filter in front of it.
fn knowing(verbs: &str) -> Vec<String> {
    let script = format!(
        r#"trap 'kill 0' EXIT
mkfifo "$SEP2640_PIPE"
"$0" reference host < "$SEP2640_PIPE" &
exec 3> "$SEP2640_PIPE"
while IFS= read -r line; do
  verb=$(printf '%s' "$line" | sed -n 's/.*"method":"\([a-z_]*\)".*/\1/p')
  case " {verbs} " in
    *" $verb "*) printf '%s\n' "$line" >&3 ;;
    *)
      if [ -z "$verb" ]; then printf '%s\n' "$line" >&3; continue; fi
      id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
      printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"not here"}}}}\n' "$id" ;;
  esac
done"#
    );
    vec!["sh".into(), "-c".into(), script, PROGRAM.into()]
}

fn judge_knowing(verbs: &str, options: &[&str]) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    let pipe = format!("SEP2640_PIPE={}", directory.path().join("pipe").display());
    let adapter = knowing(verbs);
    let adapter: Vec<&str> = adapter.iter().map(String::as_str).collect();
    judge(&[options, &["--env", &pipe]].concat(), &adapter)
}

#[test]
fn the_built_in_host_conforms() {
    let ran = conform(&["host", "--filter", "*-host-verify-digest"]);
    assert_snapshot!(ran.all());
}

#[test]
fn a_fault_is_shown_with_its_place() {
    let fault = "sep-2640-host-size-mismatch-failure";
    let adapter = [PROGRAM, "reference", "host", "--fault", fault];
    assert_snapshot!(judge(&["--filter", fault], &adapter).all());
}

#[test]
fn a_host_that_ignores_sizes_fails_that_check_and_no_other() {
    let fault = "sep-2640-host-size-mismatch-failure";
    let adapter = [PROGRAM, "reference", "host", "--fault", fault];
    let ran = judge(&["--report", "json"], &adapter);
    let report = ran.json();
    let failing: BTreeSet<&str> = report["runs"][0]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["verdict"] == "fail")
        .filter_map(|check| check["id"].as_str())
        .collect();
    assert_eq!((ran.code, failing), (1, BTreeSet::from([fault])));
}

#[test]
fn who_only_lists_is_not_conformant() {
    let ran = judge_knowing("hello connect list", &["--report", "json"]);
    let report = ran.json();
    let passing: BTreeSet<&str> = report["runs"][0]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["verdict"] == "pass")
        .filter_map(|check| check["id"].as_str())
        .collect();
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(!passing.contains("sep-2640-host-verify-digest"));
    assert!(
        passing.contains("sep-2640-host-registry-no-fetch"),
        "{passing:?}"
    );
}

#[test]
fn verbs_that_are_not_implemented_are_named() {
    let verbs = "hello connect list load read";
    let filter = [
        "--filter",
        "*-host-skills-are-data",
        "--filter",
        "*-host-verify-digest",
    ];
    let ran = judge_knowing(verbs, &filter);
    let required = judge_knowing(verbs, &[&filter[..], &["--require", "context"]].concat());
    // The adapter's command is of no interest.
    let told = |ran: Ran| {
        let all = ran.all();
        let (head, rest) = all.split_once(" · host · `").unwrap();
        let (_, rest) = rest.split_once("`\n").unwrap();
        format!("{head} · host\n{rest}")
    };
    assert_snapshot!(format!(
        "{}\n=== --require context\n{}",
        told(ran),
        told(required)
    ));
}

#[test]
fn what_is_no_adapter_is_told() {
    let mut all = String::new();
    let cases: [&[&str]; 3] = [&["/nonexistent/adapter"], &["true"], &["cat"]];
    for adapter in cases {
        let ran = judge(&["--timeout", "5s"], adapter);
        assert_eq!(ran.code, 3);
        all.push_str(&format!("=== {}\n{}\n", adapter[0], ran.all()));
    }
    let ran = judge(&["--require", "fly"], &["true"]);
    all.push_str(&format!("=== --require fly\n{}", ran.all()));
    assert_snapshot!(all);
}
