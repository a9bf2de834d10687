//! A driver as the official suite starts one, `driver HABIT URL`: what a host does with the skills
//! that a server lists, after its habit.
//!
//! - `lists` them and ends;
//! - `verifies` the SKILL.md of each, and reads the other files if it is right;
//! - `believes` each SKILL.md, and reads the other files;
//! - `prefetches` all files, whatever the scenario;
//! - `stops` after each SKILL.md.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let mut words = std::env::args().skip(1);
    let (Some(habit), Some(url)) = (words.next(), words.next()) else {
        return Err("usage: driver HABIT URL".into());
    };
    let lists_only = std::env::var("MCP_CONFORMANCE_SCENARIO")? == "sep-2640-client-no-prefetch";
    let client = Client {
        url,
        revision: std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")?,
    };
    let listing = client.call("skills/list", json!({}))?;
    for skill in listing["skills"].as_array().into_iter().flatten() {
        if habit == "lists" || lists_only && habit != "prefetches" {
            continue;
        }
        let manifest = client.read(&skill["uri"])?;
        let wrong = habit == "verifies" && !as_promised(skill, &manifest);
        if habit == "stops" || wrong {
            continue;
        }
        for file in skill["resources"].as_array().into_iter().flatten() {
            if file["uri"] != skill["uri"] {
                client.read(&file["uri"])?;
            }
        }
    }
    Ok(())
}

/// Whether a SKILL.md is what its entry promises.
fn as_promised(skill: &Value, text: &str) -> bool {
    let mut files = skill["resources"].as_array().into_iter().flatten();
    let Some(file) = files.find(|file| file["uri"] == skill["uri"]) else {
        return false;
    };
    let hex = Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    let yaml = text.split("---").nth(1).unwrap_or_default();
    file["digest"] == format!("sha256:{hex}")
        && file["size"] == text.len()
        && serde_yaml::from_str::<Value>(yaml).is_ok_and(|read| read == skill["frontmatter"])
}

struct Client {
    url: String,
    revision: String,
}

impl Client {
    fn read(&self, uri: &Value) -> Fallible<String> {
        let result = self.call("resources/read", json!({"uri": uri}))?;
        let text = result["contents"][0]["text"].as_str();
        Ok(text.unwrap_or_default().to_owned())
    }

    fn call(&self, method: &str, mut params: Value) -> Fallible<Value> {
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": self.revision});
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let rest = self.url.strip_prefix("http://").ok_or("not an http URL")?;
        let (host, path) = rest.split_once('/').ok_or("no path")?;
        let mut stream = TcpStream::connect(host)?;
        write!(
            stream,
            "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").ok_or("no body")?;
        Ok(serde_json::from_str::<Value>(body)?["result"].take())
    }
}
