//! The reference host, over the adapter protocol, against the reference server.

mod common;

use std::path::Path;
use std::time::Duration;

use common::{LEGACY, MODERN};
use sep2640_reference::{HostOptions, Options, Server, host_faults, serve_host, serve_http};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::net::TcpListener;

const REFUNDS: &str = "skill://acme/billing/refunds/SKILL.md";

/// The suite's side of the adapter protocol.
struct Suite {
    input: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
    calls: u64,
    /// The kinds of what the host asked during the last call.
    asked: Vec<String>,
    /// What the user answers.
    decision: Value,
}

impl Suite {
    async fn start(directory: &Path, revision: &str, fault: Option<&str>) -> Suite {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(far);
        let options = HostOptions {
            fault: fault.map(str::to_owned),
        };
        tokio::spawn(serve_host(options, BufReader::new(reader), writer));
        let (reader, output) = tokio::io::split(near);
        let mut suite = Suite {
            input: BufReader::new(reader).lines(),
            output,
            calls: 0,
            asked: Vec::new(),
            decision: json!({"decision": "allow", "remember": true}),
        };
        let hello = json!({"protocol": 1, "state_dir": directory, "revision": revision});
        let hello = suite.call("hello", hello).await;
        assert!(hello["verbs"].as_array().unwrap().contains(&json!("mount")));
        suite
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.output.write_all(line.as_bytes()).await.unwrap();
    }

    async fn call(&mut self, verb: &str, params: Value) -> Value {
        self.calls += 1;
        self.asked.clear();
        self.send(json!({"jsonrpc": "2.0", "id": self.calls, "method": verb, "params": params}))
            .await;
        loop {
            let line = tokio::time::timeout(Duration::from_secs(20), self.input.next_line());
            let line = line
                .await
                .expect("an answer")
                .unwrap()
                .expect("the host lives");
            let mut message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "approve" {
                self.asked
                    .push(message["params"]["kind"].as_str().unwrap().to_owned());
                let answer =
                    json!({"jsonrpc": "2.0", "id": message["id"], "result": self.decision});
                self.send(answer).await;
                continue;
            }
            assert_eq!(message["id"], self.calls, "{message}");
            assert!(message.get("error").is_none(), "{verb}: {message}");
            return message["result"].take();
        }
    }

    async fn load(&mut self, uri: &str) -> Value {
        self.call("load", json!({"server": "docs", "uri": uri}))
            .await
    }

    async fn read(&mut self, skill: &str, reference: &str) -> Value {
        let acting = json!({"server": "docs", "uri": skill});
        self.call("read", json!({"reference": reference, "acting_on": acting}))
            .await
    }
}

/// Starts a server and gives its URL.
async fn server(options: Options) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve_http(Server::new(options).unwrap(), listener));
    format!("http://{address}/mcp")
}

async fn walk_through(revision: &str, options: Options) {
    let directory = tempfile::tempdir().unwrap();
    let url = server(options).await;
    let mut suite = Suite::start(directory.path(), revision, None).await;
    let connect = json!({"server": "docs", "url": url});
    assert_eq!(suite.call("connect", connect.clone()).await, json!({}));

    let skills = suite.call("list", json!({})).await["skills"].take();
    let skills = skills.as_array().unwrap();
    assert_eq!(skills.len(), 7);
    assert!(skills.iter().all(|skill| skill["server"] == "docs"));
    assert!(
        skills
            .iter()
            .all(|skill| skill["line"].as_str().unwrap().contains("\"docs\""))
    );
    let dynamic = skills
        .iter()
        .find(|skill| skill["name"] == "daily")
        .unwrap();
    assert_eq!(dynamic["verified"], false);
    assert_eq!(suite.call("cache", json!({})).await["files"], json!([]));

    let loaded = suite.load(REFUNDS).await;
    assert_eq!(
        (&loaded["outcome"], &loaded["verified"]),
        (&json!("ok"), &json!(true))
    );
    assert_eq!(suite.asked, ["load", "grant"]);
    assert_eq!(
        suite.call("tools", json!({})).await,
        json!({"allowed": ["Bash(jq:*)", "Read"]})
    );

    let read = suite.read(REFUNDS, "examples/email.md").await;
    assert_eq!(
        (&read["outcome"], &read["verified"]),
        (&json!("ok"), &json!(true))
    );
    let unlisted = suite.read(REFUNDS, "examples/other.md").await;
    assert_eq!(unlisted["kind"], "unlisted");
    let messages = suite.call("context", json!({})).await["messages"].take();
    for message in messages.as_array().unwrap() {
        assert_eq!(
            (&message["origin"], &message["trusted"]),
            (&json!("docs"), &json!(false))
        );
    }

    let nested = suite.call("load", json!({"name": "pdf-processing"})).await;
    assert_eq!(nested["outcome"], "ok");
    suite
        .load("skill://pdf-processing/merge-helper/SKILL.md")
        .await;
    assert_eq!(suite.asked, ["nested"]);
    let unlisted = suite
        .call("load", json!({"uri": sep2640_reference::UNLISTED_SKILL}))
        .await;
    assert_eq!(
        (&unlisted["outcome"], &unlisted["verified"]),
        (&json!("ok"), &json!(true))
    );

    suite.call("restart", json!({})).await;
    assert_eq!(suite.call("acting", json!({})).await, json!({"skills": []}));
    suite.call("connect", connect).await;
    let again = suite.load(REFUNDS).await;
    assert_eq!(again["text"], loaded["text"]);
    assert!(suite.asked.is_empty(), "{:?}", suite.asked);

    // What is cached, verified and still held can be used without the server.
    suite.call("disconnect", json!({"server": "docs"})).await;
    assert_eq!(suite.load(REFUNDS).await["text"], loaded["text"]);
    assert_eq!(
        suite.read(REFUNDS, "examples/email.md").await["text"],
        read["text"]
    );
    let run = json!({"tool": "shell", "input": {"command": "exit 0"}, "acting_on": {"server": "docs", "uri": REFUNDS}});
    assert_eq!(suite.call("run_tool", run).await, json!({"ran": true}));
    assert_eq!(suite.asked, ["execute"]);
}

#[tokio::test]
async fn skills_are_found_loaded_and_read() {
    walk_through(MODERN, Options::default()).await;
    walk_through(LEGACY, Options::default()).await;
    walk_through(
        LEGACY,
        Options {
            sse: true,
            sessions: false,
            ..Options::default()
        },
    )
    .await;
    walk_through(
        MODERN,
        Options {
            sse: true,
            page_size: 1,
            ..Options::default()
        },
    )
    .await;
    // A host that was told nothing, or something else, finds out by itself.
    walk_through("", Options::default()).await;
}

#[tokio::test]
async fn content_that_does_not_match_is_refused() {
    const FAULTS: [&str; 9] = [
        "sep-2640-resources-digest-accurate",
        "sep-2640-resources-digest-accurate/shifted",
        "sep-2640-resources-size-accurate",
        "sep-2640-entry-frontmatter-identical",
        "sep-2640-entry-frontmatter-identical/missing",
        "sep-2640-entry-frontmatter-identical/extra",
        "sep-2640-entry-frontmatter-identical/retyped",
        "sep-2640-entry-frontmatter-identical/nested",
        "sep-2640-entry-frontmatter-identical/null-dropped",
    ];
    for revision in [MODERN, LEGACY] {
        for fault in FAULTS {
            let options = Options {
                fault: Some(fault.to_owned()),
                ..Options::default()
            };
            let directory = tempfile::tempdir().unwrap();
            let url = server(options).await;
            let mut suite = Suite::start(directory.path(), revision, None).await;
            suite
                .call("connect", json!({"server": "docs", "url": url}))
                .await;
            let mut refused = 0;
            let mounted = suite.call("mount", json!({})).await["files"].take();
            let skills = suite.call("list", json!({})).await["skills"].take();
            for skill in skills.as_array().unwrap() {
                let uri = skill["uri"].as_str().unwrap();
                let loaded = suite.load(uri).await;
                refused += usize::from(loaded["kind"] == "verification");
                let root = uri.strip_suffix("SKILL.md").unwrap();
                for file in mounted.as_array().unwrap() {
                    let file = file["uri"].as_str().unwrap();
                    if let Some(reference) = file.strip_prefix(root) {
                        let read = suite.read(uri, reference).await;
                        refused += usize::from(read["kind"] == "verification");
                    }
                }
            }
            assert!(refused > 0, "{fault} {revision}");
        }
    }
}

#[tokio::test]
async fn a_refusal_of_the_user_is_final() {
    let directory = tempfile::tempdir().unwrap();
    let url = server(Options::default()).await;
    let mut suite = Suite::start(directory.path(), MODERN, None).await;
    suite
        .call("connect", json!({"server": "docs", "url": url}))
        .await;
    suite.decision = json!({"decision": "deny"});
    assert_eq!(suite.load(REFUNDS).await["kind"], "denied");
    assert_eq!(suite.call("acting", json!({})).await, json!({"skills": []}));
    assert_eq!(
        suite.call("context", json!({})).await,
        json!({"messages": []})
    );
    assert_eq!(suite.call("cache", json!({})).await["files"], json!([]));
}

#[tokio::test]
async fn every_fault_can_be_started() {
    let url = server(Options::default()).await;
    for fault in host_faults() {
        let directory = tempfile::tempdir().unwrap();
        let revision = fault.revisions.first().copied().unwrap_or(MODERN);
        let mut suite = Suite::start(directory.path(), revision, Some(fault.id)).await;
        suite
            .call("connect", json!({"server": "docs", "url": url}))
            .await;
        suite.load(REFUNDS).await;
        suite.call("list", json!({})).await;
    }
    let unknown = HostOptions {
        fault: Some("sep-2640-host-verify-digets".to_owned()),
    };
    assert!(
        unknown
            .check()
            .unwrap_err()
            .to_string()
            .contains("sep-2640-host-verify-digest")
    );
}
