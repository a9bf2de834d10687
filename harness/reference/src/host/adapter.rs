//! The adapter protocol: one call a line, and its answer.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::Target;
use super::faults::Switch;
use super::local;
use super::outcome::{Key, Refusal, json_of};
use super::state::Host;
use super::user::User;
use crate::message::{Era, LEGACY, MODERN};

const VERBS: &[&str] = &[
    "hello",
    "connect",
    "disconnect",
    "remove",
    "restart",
    "list",
    "load",
    "release",
    "acting",
    "read",
    "read_resource",
    "inspect",
    "list_directory",
    "run_tool",
    "context",
    "tools",
    "notices",
    "policy",
    "install_local",
    "cache",
    "mount",
];

/// Why a call has no result.
struct Failure {
    code: i64,
    message: String,
}

impl Failure {
    fn params(message: impl Into<String>) -> Failure {
        Failure {
            code: -32602,
            message: message.into(),
        }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure {
            code: -32000,
            message,
        }
    }
}

/// Serves calls until the input ends.
pub(super) async fn serve(mut user: User, fault: Switch) -> io::Result<()> {
    let mut host: Option<Host> = None;
    loop {
        let due = host.as_ref().and_then(Host::next_poll);
        let message = tokio::select! {
            message = user.next() => message?,
            () = sleep_until(due) => {
                if let Some(host) = &mut host {
                    host.poll().await;
                }
                continue;
            }
        };
        let Some(message) = message else { break };
        let Some(method) = message["method"].as_str() else {
            continue;
        };
        let answer = match method {
            "hello" => hello(&mut host, &message["params"], fault).await,
            _ => match &mut host {
                Some(host) => call(host, &mut user, method, &message["params"]).await,
                None => Err(Failure::params("hello comes first")),
            },
        };
        let Some(id) = message.get("id") else {
            continue;
        };
        let answer = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(failure) => {
                let error = json!({"code": failure.code, "message": failure.message});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        user.send(&answer).await?;
    }
    if let Some(host) = host {
        stop(host).await;
    }
    Ok(())
}

async fn sleep_until(due: Option<std::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(Instant::from_std(due)).await,
        None => std::future::pending().await,
    }
}

/// Ends all connections.
async fn stop(mut host: Host) {
    let labels: Vec<String> = host
        .servers
        .iter()
        .map(|server| server.label.clone())
        .collect();
    for label in labels {
        host.disconnect(&label).await;
    }
}

async fn hello(host: &mut Option<Host>, params: &Value, fault: Switch) -> Result<Value, Failure> {
    if params["protocol"] != 1 {
        return Err(Failure::params(
            "only version 1 of the protocol is spoken here",
        ));
    }
    let directory = PathBuf::from(text(params, "state_dir")?);
    let hint = match params["revision"].as_str() {
        Some(MODERN) => Some(Era::Modern),
        Some(LEGACY) => Some(Era::Legacy),
        _ => None,
    };
    if let Some(host) = host.take() {
        stop(host).await;
    }
    *host = Some(Host::start(directory, hint, false, fault));
    Ok(json!({
        "name": "sep2640-reference-host",
        "version": env!("CARGO_PKG_VERSION"),
        "verbs": VERBS,
        "resets": true,
    }))
}

async fn call(
    host: &mut Host,
    user: &mut User,
    verb: &str,
    params: &Value,
) -> Result<Value, Failure> {
    let done = || Ok(json!({}));
    match verb {
        "connect" => {
            let target = match (&params["url"], &params["command"]) {
                (Value::String(url), _) => Target::Url(url.clone()),
                (_, Value::Array(words)) => Target::Command(
                    words
                        .iter()
                        .filter_map(|word| word.as_str().map(str::to_owned))
                        .collect(),
                ),
                _ => return Err(Failure::params("neither url nor command is given")),
            };
            host.connect(text(params, "server")?, target).await?;
            done()
        }
        "disconnect" => {
            host.disconnect(text(params, "server")?).await;
            done()
        }
        "remove" => {
            host.remove(text(params, "server")?).await;
            done()
        }
        "restart" => {
            let next = Host::start(host.directory.clone(), host.hint, true, host.fault);
            stop(std::mem::replace(host, next)).await;
            done()
        }
        "list" => Ok(host.list().await),
        "load" => Ok(json_of(host.load(user, params).await)),
        "release" => {
            host.release(&key(params)?).await;
            done()
        }
        "acting" => {
            let keys = host
                .windows
                .iter()
                .map(|window| json!({"server": window.key.server, "uri": window.key.uri}));
            Ok(json!({"skills": keys.collect::<Vec<_>>()}))
        }
        "read" => {
            let acting = key(&params["acting_on"])?;
            Ok(json_of(host.read(user, params, &acting).await))
        }
        "read_resource" => Ok(json_of(
            host.read_resource(user, text(params, "server")?, text(params, "uri")?)
                .await,
        )),
        "inspect" => Ok(json_of(host.inspect(user, &key(params)?).await)),
        "list_directory" => {
            let acting = params
                .get("acting_on")
                .filter(|acting| !acting.is_null())
                .map(key)
                .transpose()?;
            let (label, uri) = (text(params, "server")?, text(params, "uri")?);
            let children = host.list_directory(user, label, uri, acting.as_ref()).await;
            Ok(match children {
                Ok(children) => {
                    let rows: Vec<Value> = children.iter().map(|child| child.json()).collect();
                    json!({"outcome": "ok", "children": rows})
                }
                Err(refusal) => Refusal::json(&refusal),
            })
        }
        "run_tool" => {
            let acting = params
                .get("acting_on")
                .filter(|acting| !acting.is_null())
                .map(key)
                .transpose()?;
            Ok(host
                .run_tool(
                    user,
                    text(params, "tool")?,
                    &params["input"],
                    acting.as_ref(),
                )
                .await)
        }
        "context" => {
            let messages: Vec<Value> = host.context.iter().map(|message| message.json()).collect();
            Ok(json!({"messages": messages}))
        }
        "tools" => Ok(host.tools()),
        "notices" => Ok(json!({"notices": std::mem::take(&mut host.notices)})),
        "policy" => {
            let allow = params["allow"]
                .as_bool()
                .ok_or_else(|| Failure::params("allow is not a boolean"))?;
            host.approvals.rule(key(params)?, allow);
            done()
        }
        "install_local" => {
            let files = params["files"]
                .as_object()
                .ok_or_else(|| Failure::params("files is not an object"))?;
            let files: Vec<(String, String)> = files
                .iter()
                .filter_map(|(path, text)| Some((path.clone(), text.as_str()?.to_owned())))
                .collect();
            local::install(&host.discovery(), text(params, "name")?, &files)
                .map_err(|error| error.to_string())?;
            done()
        }
        "cache" => Ok(host.cached()),
        "mount" => Ok(host.mount().await),
        _ => Err(Failure {
            code: -32601,
            message: format!("there is no verb {verb}"),
        }),
    }
}

fn text<'a>(params: &'a Value, name: &str) -> Result<&'a str, Failure> {
    params[name]
        .as_str()
        .ok_or_else(|| Failure::params(format!("{name} is not a string")))
}

fn key(params: &Value) -> Result<Key, Failure> {
    Ok(Key {
        server: params["server"].as_str().map(str::to_owned),
        uri: text(params, "uri")?.to_owned(),
    })
}
