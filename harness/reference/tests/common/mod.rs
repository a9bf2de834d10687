//! A client for tests: builds requests for either revision and reads answers.
#![allow(dead_code)] // Each test file uses a part of it.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sep2640_reference::{Channel, Options, Server};
use serde_json::{Value, json};

pub const MODERN: &str = "2026-07-28";
pub const LEGACY: &str = "2025-11-25";

pub struct Client {
    pub server: Server,
    pub revision: &'static str,
    pub channel: Channel,
}

impl Client {
    pub fn new(revision: &'static str, options: Options) -> Client {
        let server = Server::new(options).expect("the server starts");
        let client = Client {
            server,
            revision,
            channel: Channel::Stdio,
        };
        if revision == LEGACY {
            client.call("initialize", json!({"protocolVersion": LEGACY}));
        }
        client
    }

    pub fn honest(revision: &'static str) -> Client {
        Client::new(revision, Options::default())
    }

    pub fn faulty(revision: &'static str, fault: &str) -> Client {
        let fault = Some(fault.to_owned());
        Client::new(
            revision,
            Options {
                fault,
                ..Options::default()
            },
        )
    }

    /// The bytes of a request.
    pub fn request(&self, method: &str, mut params: Value) -> Vec<u8> {
        if self.revision == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            .to_string()
            .into_bytes()
    }

    pub fn call(&self, method: &str, params: Value) -> Value {
        let answer = self
            .server
            .handle(&self.request(method, params), self.channel);
        serde_json::from_slice(&answer.body.expect("an answer")).expect("JSON")
    }

    pub fn result(&self, method: &str, params: Value) -> Value {
        let mut answer = self.call(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    pub fn code(&self, method: &str, params: Value) -> i64 {
        let answer = self.call(method, params);
        answer["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// Every page of a list, at most two hundred.
    pub fn pages(&self, method: &str, params: &Value) -> Vec<Value> {
        let mut pages = Vec::new();
        let mut params = params.clone();
        while pages.len() < 200 {
            let answer = self.call(method, params.clone());
            let Some(page) = answer.get("result") else {
                break;
            };
            pages.push(page.clone());
            match page.get("nextCursor") {
                Some(cursor) if !cursor.is_null() => params["cursor"] = cursor.clone(),
                _ => break,
            }
        }
        pages
    }

    /// The items of all pages.
    pub fn all(&self, method: &str, member: &str, params: &Value) -> Vec<Value> {
        let pages = self.pages(method, params);
        pages
            .iter()
            .flat_map(|page| page[member].as_array().cloned().unwrap_or_default())
            .collect()
    }

    pub fn skills(&self) -> Vec<Value> {
        self.all("skills/list", "skills", &json!({}))
    }

    /// The bytes of a file, if it can be read.
    pub fn read(&self, uri: &str) -> Option<Vec<u8>> {
        let answer = self.call("resources/read", json!({"uri": uri}));
        let item = answer.pointer("/result/contents/0")?;
        if let Some(text) = item["text"].as_str() {
            return Some(text.as_bytes().to_vec());
        }
        STANDARD.decode(item["blob"].as_str()?).ok()
    }

    /// Every file and directory below a directory, with its metadata.
    pub fn walk(&self, directory: &str) -> BTreeMap<String, Value> {
        let mut found = BTreeMap::new();
        let mut open = vec![directory.to_owned()];
        while let Some(directory) = open.pop() {
            let params = json!({"uri": directory});
            for child in self.all("resources/directory/read", "resources", &params) {
                let Some(uri) = child["uri"].as_str().map(str::to_owned) else {
                    continue;
                };
                let fresh = found.insert(uri.clone(), child.clone()).is_none();
                if fresh && child["mimeType"] == "inode/directory" {
                    open.push(uri);
                }
            }
        }
        found
    }
}
