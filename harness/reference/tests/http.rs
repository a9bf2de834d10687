//! The HTTP transport, over a real socket.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use common::{LEGACY, MODERN};
use sep2640_reference::{Options, Server, serve_http};
use serde_json::{Value, json};

struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Response {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// Starts a server that lives as long as the test process.
fn start(options: Options) -> SocketAddr {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            serve_http(Server::new(options).unwrap(), listener)
                .await
                .unwrap();
        });
    });
    receiver.recv().unwrap()
}

fn send(address: SocketAddr, verb: &str, headers: &[(&str, &str)], body: &str) -> Option<Response> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    let mut request = format!(
        "{verb} /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some(Response {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

fn post(address: SocketAddr, headers: &[(&str, &str)], body: &Value) -> Response {
    send(address, "POST", headers, &body.to_string()).expect("an answer")
}

fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

const VERSION: (&str, &str) = ("MCP-Protocol-Version", MODERN);

#[test]
fn modern_requests_need_their_headers() {
    let address = start(Options::default());
    let uri = "skill://git-workflow/SKILL.md";
    let read = modern("resources/read", json!({"uri": uri}));
    let method = ("Mcp-Method", "resources/read");
    let good = post(address, &[VERSION, method, ("Mcp-Name", uri)], &read);
    assert_eq!(good.status, 200);
    assert_eq!(good.header("content-type"), Some("application/json"));
    assert_eq!(good.json()["result"]["contents"][0]["uri"], uri);
    for headers in [
        &[method, ("Mcp-Name", uri)][..],
        &[VERSION, ("Mcp-Name", uri)],
        &[VERSION, method],
        &[VERSION, method, ("Mcp-Name", "skill://other/SKILL.md")],
        &[VERSION, ("Mcp-Method", "skills/get"), ("Mcp-Name", uri)],
        &[("MCP-Protocol-Version", LEGACY), method, ("Mcp-Name", uri)],
    ] {
        let answer = post(address, headers, &read);
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (400, &json!(-32020))
        );
    }
    let get = modern("skills/get", json!({"uri": uri}));
    let method = ("Mcp-Method", "skills/get");
    assert_eq!(post(address, &[VERSION, method], &get).status, 200);
    assert_eq!(
        post(address, &[VERSION, method, ("Mcp-Name", "x")], &get).status,
        400
    );
}

#[test]
fn modern_statuses_follow_the_error() {
    let address = start(Options::default());
    let call = |method: &str, params: Value| {
        let answer = post(
            address,
            &[VERSION, ("Mcp-Method", method)],
            &modern(method, params),
        );
        (
            answer.status,
            answer.json()["error"]["code"].as_i64().unwrap(),
        )
    };
    assert_eq!(call("no/such/method", json!({})), (404, -32601));
    assert_eq!(
        call("skills/get", json!({"uri": "skill://x/SKILL.md"})),
        (200, -32602)
    );
    let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {}});
    let answer = post(address, &[VERSION, ("Mcp-Method", "skills/list")], &bare);
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (400, &json!(-32602))
    );
    let broken = send(address, "POST", &[VERSION], "{").unwrap();
    assert_eq!(
        (broken.status, &broken.json()["error"]["code"]),
        (400, &json!(-32700))
    );
    let silent = json!({"jsonrpc": "2.0", "method": "notifications/cancelled"});
    let answer = post(address, &[VERSION], &silent);
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
}

#[test]
fn other_verbs_and_origins_are_refused() {
    let address = start(Options::default());
    assert_eq!(send(address, "GET", &[], "").unwrap().status, 405);
    let list = modern("skills/list", json!({}));
    let headers = [
        VERSION,
        ("Mcp-Method", "skills/list"),
        ("Origin", "https://example.com"),
    ];
    assert_eq!(post(address, &headers, &list).status, 403);
    let headers = [
        VERSION,
        ("Mcp-Method", "skills/list"),
        ("Origin", "http://localhost:1"),
    ];
    assert_eq!(post(address, &headers, &list).status, 200);
}

#[test]
fn legacy_sessions_begin_and_end() {
    let address = start(Options::default());
    let legacy = |method: &str| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}});
    let greeted = post(address, &[], &legacy("initialize"));
    assert_eq!(greeted.json()["result"]["protocolVersion"], LEGACY);
    let id = greeted
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let session = ("Mcp-Session-Id", id.as_str());
    let version = ("MCP-Protocol-Version", LEGACY);
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(address, &[session, version], &initialized).status, 202);
    let list = post(address, &[session, version], &legacy("skills/list"));
    assert_eq!(list.status, 200);
    assert!(list.json()["result"].get("resultType").is_none());
    assert_eq!(
        post(address, &[version], &legacy("skills/list")).status,
        400
    );
    let unknown = ("Mcp-Session-Id", "nobody");
    assert_eq!(
        post(address, &[unknown, version], &legacy("skills/list")).status,
        404
    );
    assert_eq!(
        post(address, &[session, version], &legacy("no/such")).status,
        200
    );
    assert_eq!(send(address, "DELETE", &[session], "").unwrap().status, 204);
    assert_eq!(
        post(address, &[session, version], &legacy("skills/list")).status,
        404
    );

    let address = start(Options {
        sessions: false,
        ..Options::default()
    });
    assert_eq!(
        post(address, &[], &legacy("initialize")).header("mcp-session-id"),
        None
    );
    assert_eq!(
        post(address, &[version], &legacy("skills/list")).status,
        200
    );
}

#[test]
fn answers_can_come_as_event_streams() {
    let address = start(Options {
        sse: true,
        ..Options::default()
    });
    let headers = [VERSION, ("Mcp-Method", "skills/list")];
    let answer = post(address, &headers, &modern("skills/list", json!({})));
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let data: Vec<&str> = (answer.body.lines())
        .filter_map(|line| line.strip_prefix("data: "))
        .collect();
    assert_eq!(data.len(), 1);
    assert!(
        answer.body.starts_with("id: 0\ndata:\n\n: "),
        "{}",
        answer.body
    );
    let message: Value = serde_json::from_str(data[0]).unwrap();
    assert_eq!(message["result"]["skills"].as_array().unwrap().len(), 3);
}

#[test]
fn faults_of_the_transport_show() {
    let with = |fault: &str| {
        start(Options {
            fault: Some(fault.to_owned()),
            ..Options::default()
        })
    };
    let headers = [VERSION, ("Mcp-Method", "no/such")];
    let unknown = modern("no/such", json!({}));
    let address = with("sep-2640-http-unknown-method");
    assert_eq!(post(address, &headers, &unknown).status, 200);
    let address = with("sep-2640-http-unknown-method/html");
    let answer = post(address, &headers, &unknown);
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (404, Some("text/html"))
    );

    let list = modern("skills/list", json!({})).to_string();
    let headers = [VERSION, ("Mcp-Method", "skills/list")];
    for fault in [
        "sep-2640-alive-after-malformed",
        "sep-2640-alive-after-malformed/hang",
    ] {
        let address = with(fault);
        assert!(send(address, "POST", &headers, &list).is_some(), "{fault}");
        assert!(send(address, "POST", &[], "{").is_none(), "{fault}");
        assert!(send(address, "POST", &headers, &list).is_none(), "{fault}");
    }
    let address = with("sep-2640-notification-silent");
    let silent = json!({"jsonrpc": "2.0", "method": "skills/list"});
    assert_eq!(
        post(address, &[VERSION], &silent).json()["error"]["code"],
        -32600
    );
}
