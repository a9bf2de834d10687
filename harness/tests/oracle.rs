//! A third opinion on the reference: each honest frame must read as rmcp's types, come back out
//! of them unchanged, and pass what rmcp verifies.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use common::Lab;
use rmcp::model::{
    DiscoverResult, EmptyResult, GetSkillResult, InitializeResult, ListResourcesResult,
    ListSkillsResult, ReadResourceDirectoryResult, ReadResourceResult, ServerJsonRpcMessage,
    ServerResult, Skill, SkillResources, validate_skills,
};
use sep2640_conform::wire::frame::{Direction, Frame};
use sep2640_conform::wire::trace::{Exchange, Outcome, Trace};
use sep2640_conform::wire::{Revision, Transport};
use sep2640_reference::Options;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn honest() -> Vec<Trace> {
    let lab = Lab::new();
    let mut traces = Vec::new();
    for revision in Revision::ALL {
        for transport in [Transport::Stdio, Transport::Http] {
            let outcome = lab.run(Options::default(), &[], transport, revision);
            assert!(outcome.unreachable.is_none(), "{:?}", outcome.unreachable);
            traces.extend(outcome.traces);
        }
    }
    assert_eq!(traces.len(), 4);
    traces
}

/// The JSON of a frame as it was on the wire (a trace folds file bodies); none where the trace
/// does not have all of it.
fn whole(frame: &Frame) -> Option<Value> {
    (frame.raw.len() == frame.len).then(|| serde_json::from_slice(&frame.raw).unwrap())
}

/// The answers with a result, by exchange.
fn results(trace: &Trace) -> Vec<(&Exchange, Value)> {
    trace
        .exchanges
        .iter()
        .filter(|exchange| matches!(trace.outcome(exchange), Outcome::Result(_)))
        .filter_map(|exchange| {
            let mut message = whole(trace.answer(exchange)?)?;
            Some((exchange, message["result"].take()))
        })
        .collect()
}

fn same<T: DeserializeOwned + Serialize>(value: &Value) -> Result<T, String> {
    let read: T = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    let written = serde_json::to_value(&read).map_err(|error| error.to_string())?;
    if written == *value {
        Ok(read)
    } else {
        Err(format!("comes back as {written}"))
    }
}

#[test]
fn each_frame_is_a_message_of_a_server() {
    for trace in honest() {
        let mut messages = 0;
        for frame in &trace.frames {
            let sent = frame.direction == Direction::Sent;
            if sent || frame.json().is_none() {
                continue;
            }
            let Some(message) = whole(frame) else {
                continue;
            };
            let read: Result<ServerJsonRpcMessage, _> = serde_json::from_value(message.clone());
            if let Err(error) = read {
                panic!("{} {}: {error}: {message}", trace.revision, trace.transport);
            }
            messages += 1;
        }
        assert!(messages > 150, "only {messages} messages");
    }
}

#[test]
fn each_result_is_the_one_of_its_method() {
    let mut wrong = Vec::new();
    for trace in honest() {
        let mut methods = BTreeSet::new();
        for (exchange, result) in results(&trace) {
            methods.insert(exchange.method.clone());
            let read = match &*exchange.method {
                "server/discover" => same::<DiscoverResult>(&result).map(drop),
                "initialize" => same::<InitializeResult>(&result).map(drop),
                "ping" => same::<EmptyResult>(&result).map(drop),
                "skills/list" => same::<ListSkillsResult>(&result).map(drop),
                "skills/get" => same::<GetSkillResult>(&result).map(drop),
                "resources/list" => same::<ListResourcesResult>(&result).map(drop),
                "resources/read" => same::<ReadResourceResult>(&result).map(drop),
                "resources/directory/read" => {
                    same::<ReadResourceDirectoryResult>(&result).map(drop)
                }
                other => Err(format!("{other} has a result")),
            };
            let of = format!("{} {}", trace.revision, trace.transport);
            if let Err(error) = read {
                wrong.push(format!("{of} {}: {error}\n  {result}", exchange.subject()));
            }
            // A client does not know the method when it reads; rmcp tries one type after the
            // other, and the catch-all must not be what fits.
            let read: ServerResult = serde_json::from_value(result.clone()).unwrap();
            if matches!(read, ServerResult::CustomResult(_)) {
                wrong.push(format!("{of} {}: reads as anything", exchange.subject()));
            }
        }
        assert!(methods.len() >= 6, "{methods:?}");
    }
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_catalog_passes_what_rmcp_verifies() {
    for trace in honest() {
        let mut skills: BTreeMap<String, Skill> = BTreeMap::new();
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (exchange, result) in results(&trace) {
            match &*exchange.method {
                "skills/list" => {
                    let list: ListSkillsResult = serde_json::from_value(result).unwrap();
                    skills.extend(
                        list.skills
                            .into_iter()
                            .map(|skill| (skill.uri.clone(), skill)),
                    );
                }
                "skills/get" => {
                    let get: GetSkillResult = serde_json::from_value(result).unwrap();
                    skills.insert(get.skill.uri.clone(), get.skill);
                }
                "resources/read" => {
                    let uri = exchange.uri().unwrap().to_owned();
                    let content = &result["contents"][0];
                    let bytes = match content.get("text").and_then(Value::as_str) {
                        Some(text) => text.as_bytes().to_vec(),
                        None => BASE64.decode(content["blob"].as_str().unwrap()).unwrap(),
                    };
                    files.insert(uri, bytes);
                }
                _ => {}
            }
        }
        let skills: Vec<Skill> = skills.into_values().collect();
        validate_skills(&skills).unwrap();
        let mut verified = 0;
        for skill in &skills {
            let SkillResources::Files(manifest) = &skill.resources else {
                continue;
            };
            for file in manifest {
                let Some(bytes) = files.get(&file.uri) else {
                    continue;
                };
                file.verify(bytes).unwrap();
                verified += 1;
            }
        }
        assert!(
            skills.len() > 5 && verified > 10,
            "{} {verified}",
            skills.len()
        );
    }
}
