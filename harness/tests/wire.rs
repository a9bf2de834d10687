//! Pins what the harness sends: each byte on stdio, each header and body over HTTP.

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use common::PROGRAM;
use sep2640_conform::target::session::{Call, Session};
use sep2640_conform::target::{Limits, TargetSpec};
use sep2640_conform::wire::Revision;
use serde_json::{Value, json};

/// One of each kind of message.
async fn one_of_each(spec: &TargetSpec, revision: Revision) {
    let mut session = Session::open(spec, revision, Limits::default())
        .await
        .unwrap();
    let call = |method: &str, params| Call::new("test", method, params);
    let plain = call("skills/list", None);
    let undeclared = Call {
        declares_extension: false,
        ..plain.clone()
    };
    for call in [
        &plain,
        &call("skills/list", Some(json!({"cursor": ""}))),
        &undeclared,
        &call("skills/get", Some(json!({"uri": "skill://a/SKILL.md"}))),
        &call("resources/read", Some(json!({"uri": "skill://a/SKILL.md"}))),
        &call(
            "resources/read",
            Some(json!({"uri": "skill://é d/SKILL.md"})),
        ),
        &call("resources/read", Some(json!({"uri": "=?base64?eA==?="}))),
        &call("resources/read", Some(json!({"uri": 5}))),
        &call("resources/read", Some(json!([]))),
        &call(
            "resources/directory/read",
            Some(json!({"uri": "skill://a"})),
        ),
        &call(
            "resources/read",
            Some(json!({"uri": "x", "_meta": {"own": 1}})),
        ),
    ] {
        session.call(call).await;
    }
    session.notify(&call("notifications/cancelled", None)).await;
    session.probe(&call("skills/list", None), None).await;
    let bytes = b"{\"jsonrpc\":\xff \t"[..].into();
    session.probe(&call("", None), Some(bytes)).await;
    session.close().await;
}

fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future);
}

fn over_stdio(revision: Revision) -> String {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("stdin");
    let script = r#"tee "$0" | "$1" reference server"#;
    let argv = ["sh", "-c", script, log.to_str().unwrap(), PROGRAM];
    let spec = TargetSpec::Command {
        argv: argv.map(str::to_owned).to_vec(),
        cwd: None,
        env: Vec::new(),
    };
    block_on(one_of_each(&spec, revision));
    let bytes = std::fs::read(log).unwrap();
    shown(&bytes)
}

fn over_http(revision: Revision) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp?q=1", listener.local_addr().unwrap());
    let log: Arc<Mutex<Vec<u8>>> = Arc::default();
    let record = Arc::clone(&log);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let record = Arc::clone(&record);
            std::thread::spawn(move || serve(stream.unwrap(), &record));
        }
    });
    let spec = TargetSpec::Url {
        url: url.parse().unwrap(),
        headers: vec![("Authorization".to_owned(), "Bearer secret".to_owned())],
    };
    block_on(one_of_each(&spec, revision));
    let bytes = std::mem::take(&mut *log.lock().unwrap());
    shown(&bytes)
}

/// Records what comes, and answers as a server without skills would.
fn serve(stream: TcpStream, record: &Mutex<Vec<u8>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut head = String::new();
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.insert(name.to_owned(), value.to_owned());
        }
        // Their order says nothing, nor do the port and what depends on our version.
        headers.remove("host");
        let length = headers
            .remove("content-length")
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut text = head.trim_end().to_owned().into_bytes();
        for (name, value) in &headers {
            text.extend(format!("\n{name}: {value}").bytes());
        }
        text.push(b'\n');
        text.extend(&body);
        text.extend(b"\n\n");
        record.lock().unwrap().extend(text);

        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": "2025-11-25"}),
            Some("server/discover") => json!({"supportedVersions": ["2026-07-28"]}),
            _ => json!({}),
        };
        let answer = match message.get("id") {
            Some(id) => json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
            None => String::new(),
        };
        let status = if answer.is_empty() {
            "202 Accepted"
        } else {
            "200 OK"
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nMcp-Session-Id: s-1\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        stream.write_all((head + &answer).as_bytes()).unwrap();
    }
}

/// Bytes that are no printable ASCII or UTF-8 text become visible.
fn shown(bytes: &[u8]) -> String {
    let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\t', "\\t"));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text.replace(&version, "\"version\":\"[version]\"")
}

/// A capture in which the server was not kept waiting: the harness sends a ping when the answer
/// to `server/discover` takes half a second, as it may on a machine under load.
fn prompt(capture: impl Fn() -> String) -> String {
    for _ in 0..4 {
        let text = capture();
        if !text.contains(r#""method":"ping""#) {
            return text;
        }
    }
    capture()
}

#[test]
fn stdio_2026_07_28() {
    insta::assert_snapshot!(prompt(|| over_stdio(Revision::Modern)));
}

#[test]
fn stdio_2025_11_25() {
    insta::assert_snapshot!(over_stdio(Revision::Legacy));
}

#[test]
fn http_2026_07_28() {
    insta::assert_snapshot!(prompt(|| over_http(Revision::Modern)));
}

#[test]
fn http_2025_11_25() {
    insta::assert_snapshot!(over_http(Revision::Legacy));
}
