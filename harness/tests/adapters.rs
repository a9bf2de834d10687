//! Adapters and drivers as their authors meet them: the template runs as it stands, `smoke` tells
//! each fault of an adapter, and a driver is judged by what it sends.

mod common;

use std::path::PathBuf;
use std::time::Duration;

use common::program::{Ran, conform};
use sep2640_conform::smoke;
use serde_json::{Value, json};

/// A program that cargo has built beside the tests.
fn example(name: &str) -> String {
    let beside = PathBuf::from(common::PROGRAM);
    let path = beside.with_file_name("examples").join(name);
    assert!(path.exists(), "{} is not built", path.display());
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_template_runs_and_exercises_nothing() {
    let adapter = example("adapter");
    let ran = conform(&["host", "--timeout", "20s", "--", &adapter]);
    assert_eq!(ran.code, 4, "{}", ran.all());
    assert!(
        ran.stdout.contains("Nothing was exercised"),
        "{}",
        ran.all()
    );
    assert!(ran.took < Duration::from_secs(30), "{:?}", ran.took);
    let ran = conform(&["smoke", "--adapter", "--", &adapter]);
    assert_eq!(ran.code, 4, "{}", ran.all());
}

#[test]
fn the_reference_host_has_a_sound_adapter() {
    for transport in ["http", "stdio"] {
        for protocol in ["2026-07-28", "2025-11-25"] {
            let args = [
                "smoke",
                "--adapter",
                "--transport",
                transport,
                "--protocol",
                protocol,
            ];
            let ran = conform(&[&args[..], &["--", common::PROGRAM, "reference", "host"]].concat());
            assert_eq!(ran.code, 0, "{}", ran.all());
        }
    }
}

/// An adapter for a host that can connect and list, with a fault.
const BROKEN: &str = r#"
fault=$0
result() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
error() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"no"}}\n' "$id" "$1"; }
verbs='"connect","list"'
hello() { result '{"name":"x","version":"1","verbs":['$verbs'],"resets":true}'; }
skills=''
while read -r line; do
    id=${line#*\"id\":}; id=${id%%,*}
    method=${line#*\"method\":\"}; method=${method%%\"*}
    case $fault/$method in
        mute/*) ;;
        chatty/hello) echo 'Listening …'; hello ;;
        spread/hello) printf '{"jsonrpc":"2.0","id":1,\n"result":{"name":"x","version":"1","verbs":[]}}\n' ;;
        array/hello) echo '[1]'; hello ;;
        blank/hello) echo; hello ;;
        id/list) printf '{"jsonrpc":"2.0","id":"%s","result":{"skills":[]}}\n' "$id" ;;
        version/list) printf '{"id":%s,"result":{"skills":[]}}\n' "$id" ;;
        both/list) printf '{"jsonrpc":"2.0","id":%s,"result":{"skills":[]},"error":null}\n' "$id" ;;
        nameless/hello) result '{"version":"1","verbs":['$verbs']}' ;;
        verbs/hello) result '{"name":"x","version":"1","verbs":['$verbs',"lists"]}' ;;
        absent/list) error -32601 ;;
        trouble/list) error -32603 ;;
        unnamed/notices) result '{"notices":[]}' ;;
        shape/list) result '{"skills":[{"server":"docs","name":"refunds"}]}' ;;
        code/no_such_verb) error -32600 ;;
        dies/no_such_verb) exit 7 ;;
        notifies/list) echo '{"jsonrpc":"2.0","method":"approve","params":{}}'; result '{"skills":[]}' ;;
        asks/list)
            echo '{"jsonrpc":"2.0","id":"a","method":"approve","params":{"kind":"everything"}}'
            read -r line; result '{"skills":[]}' ;;
        asks-else/list)
            echo '{"jsonrpc":"2.0","id":"a","method":"sampling","params":{}}'
            read -r line; result '{"skills":[]}' ;;
        keeps/connect) skills='{"server":"docs","uri":"skill://refunds/SKILL.md","name":"refunds"}'; result '{}' ;;
        */hello) hello ;;
        */connect) result '{}' ;;
        */list) result '{"skills":['$skills']}' ;;
        *) error -32601 ;;
    esac
done
[ "$fault" = lingers ] && exec sleep 60
[ "$fault" = trails ] && echo '{"jsonrpc":"2.0","id":99,"result":{}}'
exit 0
"#;

/// What `smoke` finds wrong with the adapter that has a fault.
fn smoked(fault: &str) -> Ran {
    let timeout = if ["mute", "spread", "lingers"].contains(&fault) {
        "2s"
    } else {
        "20s"
    };
    conform(&[
        "smoke",
        "--adapter",
        "--timeout",
        timeout,
        "--",
        "sh",
        "-c",
        BROKEN,
        fault,
    ])
}

#[test]
fn smoke_tells_each_fault_of_an_adapter() {
    let sound = smoked("none");
    assert_eq!(sound.code, 0, "{}", sound.all());
    let faults = [
        "mute",
        "chatty",
        "spread",
        "array",
        "blank",
        "id",
        "version",
        "both",
        "nameless",
        "verbs",
        "absent",
        "trouble",
        "unnamed",
        "shape",
        "code",
        "dies",
        "notifies",
        "asks",
        "asks-else",
        "keeps",
        "lingers",
        "trails",
    ];
    let mut told = String::new();
    for fault in faults {
        let ran = smoked(fault);
        assert_eq!(ran.code, 1, "{fault}: {}", ran.all());
        let wrong: Vec<&str> = ran
            .stdout
            .lines()
            .filter(|line| !line.starts_with("ok ") && !line.is_empty())
            .collect();
        told.push_str(&format!("== {fault}\n{}\n", wrong.join("\n")));
    }
    insta::assert_snapshot!("smoke_faults", told);
}

#[test]
fn smoke_tells_an_adapter_that_cannot_be_started() {
    for command in [
        &["/no/such/adapter"][..],
        &["sh", "-c", "echo no >&2; exit 3"],
    ] {
        let ran = conform(&[&["smoke", "--adapter", "--"], command].concat());
        assert_eq!(ran.code, 3, "{}", ran.all());
    }
    let ran = conform(&["smoke", "--", "true"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
}

#[test]
fn drivers_are_judged_by_what_they_send() {
    let driver = example("driver");
    const LAZY: &str = "sep-2640-host-no-prefetch";
    const VERIFIED: [&str; 3] = [
        "sep-2640-host-frontmatter-comparison",
        "sep-2640-host-size-mismatch-failure",
        "sep-2640-host-verify-digest",
    ];
    let all = [&VERIFIED[..], &[LAZY]].concat();
    for (habit, code, passed, failed) in [
        ("lists", 4, &[LAZY][..], &[][..]),
        ("stops", 4, &[LAZY], &[]),
        ("verifies", 0, &all, &[]),
        ("believes", 1, &[LAZY], &VERIFIED),
        ("prefetches", 1, &[], &all),
    ] {
        let ran = conform(&[
            "host", "--via", "argv", "--report", "json", "--", &driver, habit,
        ]);
        assert_eq!(ran.code, code, "{habit}: {}", ran.all());
        for run in ran.json()["runs"].as_array().unwrap() {
            for check in run["checks"].as_array().unwrap() {
                let id = check["id"].as_str().unwrap();
                let wanted = if passed.contains(&id) {
                    "pass"
                } else if failed.contains(&id) {
                    "fail"
                } else if check["verdict"] == "not_applicable" {
                    continue;
                } else {
                    "not_exercised"
                };
                assert_eq!(check["verdict"], wanted, "{habit}: {check}");
                if !all.contains(&id) {
                    assert_eq!(
                        check["reason"],
                        "a driver without an adapter cannot show it"
                    );
                }
            }
        }
    }
}

#[test]
fn a_driver_that_does_not_end_is_killed_with_its_children() {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    let script = format!("sleep 600 & echo $! >> '{}'; wait", pids.display());
    let ran = conform(&[
        "host",
        "--via",
        "argv",
        "--timeout",
        "200ms",
        "--protocol",
        "2026-07-28",
        "--",
        "sh",
        "-c",
        &script,
    ]);
    assert_eq!(ran.code, 4, "{}", ran.all());
    assert!(
        ran.stdout.contains("the driver was killed 4 times"),
        "{}",
        ran.all()
    );
    for pid in std::fs::read_to_string(pids).unwrap().lines() {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let alive = state
            .rsplit(')')
            .next()
            .is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'));
        assert!(!alive, "{pid}: {state}");
    }
}

#[test]
fn what_makes_no_sense_for_a_driver_is_refused() {
    for args in [
        &["host", "--via", "argv"][..],
        &[
            "host",
            "--via",
            "argv",
            "--transport",
            "stdio",
            "--",
            "true",
        ],
        &["host", "--via", "argv", "--require", "load", "--", "true"],
    ] {
        let ran = conform(args);
        assert_eq!(ran.code, 2, "{}", ran.all());
    }
    let ran = conform(&["host", "--via", "argv", "--", "/no/such/driver"]);
    assert_eq!(ran.code, 3, "{}", ran.all());
}

#[test]
fn the_schema_of_the_protocol_is_one_and_covers_every_verb() {
    let document = smoke::document();
    if let Err(error) = jsonschema::draft202012::meta::validate(document) {
        panic!("{error} at {}", error.instance_path());
    }
    let text = include_str!("../../docs/adapter-protocol.md");
    let verbs = sep2640_conform::scenario::script::VERBS;
    for verb in verbs.iter().copied().chain(["hello"]) {
        let result = smoke::definition(verb);
        let params = result.replace("Result", "Params");
        for definition in [&result, &params] {
            assert!(document["$defs"].get(definition).is_some(), "{definition}");
        }
        assert!(text.contains(&format!("| `{verb}` |")), "{verb}");
    }
    let listed = document["$defs"]["Verb"]["enum"].as_array().unwrap();
    let listed: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
    assert_eq!(listed, verbs);
    for definition in document["$defs"].as_object().unwrap().keys() {
        smoke::validator(definition).unwrap();
    }
}

#[test]
fn the_schema_accepts_what_scenarios_send_and_rejects_what_is_misshapen() {
    let params = |verb: &str| smoke::definition(verb).replace("Result", "Params");
    for script in sep2640_conform::scenario::scripts() {
        for step in &script.steps {
            if let sep2640_conform::scenario::script::Act::Verb {
                verb,
                params: given,
            } = &step.act
            {
                let mut given = given.clone();
                if verb == "connect" {
                    given["url"] = json!("http://127.0.0.1:1/x");
                }
                if given.pointer("/name/handle_of").is_some() {
                    given["name"] = json!("refunds");
                }
                let validator = smoke::validator(&params(verb)).unwrap();
                let error = validator.iter_errors(&given).next();
                assert!(
                    error.is_none(),
                    "{}: {verb} {given}: {error:?}",
                    script.name
                );
            }
        }
    }
    for (definition, value) in [
        ("Outcome", json!({"outcome": "fine"})),
        (
            "Outcome",
            json!({"outcome": "ok", "text": "a", "blob": "YQ=="}),
        ),
        ("Outcome", json!({"outcome": "refused", "kind": "mood"})),
        ("ApproveParams", json!({"covers": ["load"]})),
        (
            "ListResult",
            json!({"skills": [{"uri": "skill://a/SKILL.md", "name": "a"}]}),
        ),
        ("RunToolResult", json!({"ran": "yes"})),
        ("HelloResult", json!({"name": "x", "version": "1"})),
    ] {
        assert!(
            !smoke::validator(definition).unwrap().is_valid(&value),
            "{definition} {value}"
        );
    }
}
