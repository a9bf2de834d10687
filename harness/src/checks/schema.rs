//! The JSON Schema of the messages, where it says more than other checks do.
//!
//! The schema file holds each message in full, for everyone. This check looks at the definitions
//! whose name ends in `-rest`: members that no other check judges.

use std::sync::OnceLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Value, json};

use super::Check;
use super::entries::describe;
use super::evidence::Evidence;
use crate::verdict::Judgement;
use crate::wire::json::excerpt;
use crate::wire::trace::{Exchange, Form};

/// The checks of this file.
pub const CHECKS: &[Check] = &[Check::server("sep-2640-schema-conforms", conforms)];

/// The schema file.
pub const TEXT: &str = include_str!("../../schema/sep-2640.schema.json");

/// The schema.
pub fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| serde_json::from_str(TEXT).expect("the schema file is JSON"))
}

/// A validator for one of the definitions of the schema.
///
/// # Errors
///
/// There is no such definition.
pub fn validator(definition: &str) -> Result<Validator, String> {
    compile(document(), definition)
}

/// A validator for one of the definitions of a schema document.
///
/// # Errors
///
/// There is no such definition.
pub fn compile(document: &Value, definition: &str) -> Result<Validator, String> {
    let mut schema = document.clone();
    schema["$ref"] = json!(format!("#/$defs/{definition}"));
    jsonschema::draft202012::new(&schema).map_err(|error| error.to_string())
}

/// What is compiled once.
struct Validators {
    answer: Validator,
    results: [(&'static str, Validator); 5],
}

fn validators() -> &'static Validators {
    static VALIDATORS: OnceLock<Validators> = OnceLock::new();
    VALIDATORS.get_or_init(|| {
        let rest = |name: &str| {
            validator(&format!("{name}-rest")).expect("the schema file has its definitions")
        };
        Validators {
            answer: rest("Response"),
            results: [
                ("skills/list", rest("ListSkillsResult")),
                ("skills/get", rest("GetSkillResult")),
                (
                    "resources/directory/read",
                    rest("ReadResourceDirectoryResult"),
                ),
                ("resources/read", rest("ReadResourceResult")),
                ("resources/list", rest("ListResourcesResult")),
            ],
        }
    })
}

/// What came as an answer agrees with the schema.
fn conforms(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let validators = validators();
    let requests = trace
        .exchanges
        .iter()
        .filter(|exchange| exchange.form == Form::Request);
    for exchange in requests {
        let Some(answer) = trace.answer(exchange).and_then(|frame| frame.json()) else {
            continue;
        };
        let result = answer.get("result");
        if result.is_none() && answer.get("error").is_none() {
            continue;
        }
        let before = judgement.findings.len();
        compare(
            trace,
            exchange,
            &validators.answer,
            ("", answer),
            &mut judgement,
        );
        let validator = validators
            .results
            .iter()
            .find(|(method, _)| **method == *exchange.method);
        if let (Some((_, validator)), Some(result)) = (validator, result) {
            compare(
                trace,
                exchange,
                validator,
                ("/result", result),
                &mut judgement,
            );
        }
        if judgement.findings.len() == before {
            judgement.holds();
        }
    }
    judgement
}

/// Compares a part of an answer, which stands at `root`, with its definition.
fn compare(
    trace: &Evidence<'_>,
    exchange: &Exchange,
    validator: &Validator,
    (root, instance): (&str, &Value),
    judgement: &mut Judgement,
) {
    if validator.is_valid(instance) {
        return;
    }
    for error in validator.iter_errors(instance) {
        let pointer = error.instance_path().as_str();
        let (expected, actual) = words(&error);
        judgement.violated(
            trace.place_at(exchange, &format!("{root}{pointer}")),
            owner(instance, pointer).unwrap_or(&exchange.method),
            expected,
            actual,
        );
    }
}

/// What the schema says, and what stands there instead.
fn words(error: &ValidationError<'_>) -> (String, String) {
    let path = error.schema_path().as_str();
    match error.kind() {
        ValidationErrorKind::Required { property } => (
            format!("a member {property} (schema {path})"),
            "absent".to_owned(),
        ),
        _ => {
            let keyword = path.rsplit('/').next().unwrap_or_default();
            let value = document()
                .pointer(path)
                .map_or_else(String::new, |value| excerpt(value, 100));
            (
                format!("{keyword} {value} (schema {path})"),
                describe(Some(error.instance())),
            )
        }
    }
}

/// The URI of the innermost item around a place.
fn owner<'a>(instance: &'a Value, mut pointer: &str) -> Option<&'a str> {
    loop {
        let uri = instance.pointer(pointer).and_then(|item| item.get("uri"));
        if let Some(Value::String(uri)) = uri {
            return Some(uri);
        }
        pointer = &pointer[..pointer.rfind('/')?];
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::sample;
    use super::*;
    use crate::wire::trace::Trace;

    fn trace(answers: &[(&str, Value)]) -> Trace {
        let mut trace = sample::trace();
        for (method, answer) in answers {
            trace.add(None, method, Value::Null, answer);
        }
        trace
    }

    fn findings(method: &str, answer: Value) -> Vec<(String, String, String, String)> {
        let trace = trace(&[(method, answer)]);
        let judgement = conforms(&Evidence::new(&trace));
        assert_eq!(judgement.examined, judgement.findings.len().max(1));
        judgement
            .findings
            .into_iter()
            .map(|found| {
                (
                    found.at.to_string(),
                    found.subject,
                    found.expected,
                    found.actual,
                )
            })
            .collect()
    }

    #[test]
    fn a_finding_names_place_rule_and_value() {
        let uri = "skill://a/SKILL.md";
        let result = json!({"_meta": "x", "skills": [{}, {"uri": uri, "_meta": 7}]});
        let mut found = findings("skills/list", json!({"jsonrpc": "2.0", "result": result}));
        found.sort();
        let rule = r#"type "object" (schema /$defs/Meta/type)"#;
        let expected = [
            (
                "frame 2 /result/_meta",
                "skills/list",
                rule,
                "a string: \"x\"",
            ),
            ("frame 2 /result/skills/1/_meta", uri, rule, "an integer: 7"),
        ];
        assert_eq!(
            found,
            expected.map(|(a, b, c, d)| (a.into(), b.into(), c.into(), d.into()))
        );
        let found = findings("ping", json!({"result": {}}));
        assert_eq!(
            found[0],
            (
                "frame 2".into(),
                "ping".into(),
                r#"a member "jsonrpc" (schema /$defs/Response-rest/required)"#.into(),
                "absent".into()
            )
        );
    }

    #[test]
    fn what_other_checks_judge_is_left_to_them() {
        for (method, result) in [
            ("skills/list", json!(null)),
            (
                "skills/list",
                json!({"skills": {}, "ttlMs": "5", "nextCursor": 7}),
            ),
            (
                "skills/list",
                json!({"skills": ["x", {"uri": 5, "resources": null}]}),
            ),
            ("skills/get", json!({"skill": [], "nextCursor": "x"})),
            (
                "resources/read",
                json!({"contents": ["x", {"text": 5, "blob": "?"}]}),
            ),
            ("resources/read", json!({"resultType": "input_required"})),
            (
                "resources/directory/read",
                json!({"resources": ["x", {"uri": 5}]}),
            ),
            ("resources/list", json!({"resources": {}, "cacheScope": 7})),
        ] {
            let found = findings(method, json!({"jsonrpc": "2.0", "result": result}));
            assert_eq!(found, [], "{method} {result}");
        }
        let error = json!({"jsonrpc": "2.0", "error": {"code": "x", "data": 7}});
        assert_eq!(findings("skills/get", error), []);
    }

    #[test]
    fn ten_thousand_answers_take_no_time() {
        let resource = json!({
            "uri": "skill://a/b.md", "name": "b.md", "title": "B", "description": "b",
            "mimeType": "text/markdown", "size": 7, "annotations": {"priority": 0.5},
            "_meta": {"io.modelcontextprotocol.skills/license": "MIT"},
        });
        let page = json!({"resultType": "complete", "resources": vec![resource; 20]});
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": page});
        let answers = vec![("resources/directory/read", answer); 10_000];
        let trace = trace(&answers);
        let began = Instant::now();
        validators();
        let compiled = began.elapsed();
        let judgement = conforms(&Evidence::new(&trace));
        let took = began.elapsed() - compiled;
        assert_eq!((judgement.examined, judgement.findings.len()), (10_000, 0));
        eprintln!("compiled in {compiled:?}, 10,000 answers in {took:?}");
        // Far above what it takes, so that a busy machine does not fail the test.
        assert!(took.as_secs() < 10, "{took:?}");
    }
}
