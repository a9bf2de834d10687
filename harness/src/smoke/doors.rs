//! The honest server of `smoke`, and what an adapter is asked about it.

use serde_json::{Value, json};

use crate::scenario::script::VERBS;
use crate::target::serve::http::Endpoint;
use crate::target::serve::relay::Exchange;
use crate::target::serve::stage::Stage;
use crate::wire::Transport;

/// What is served while an adapter is asked: honest, and small.
pub(super) const SERVED: &str = "\
scenario: host/smoke
about: One honest server.
serve:
  docs:
    resources: { \"docs://readme\": \"Read me.\\n\" }
    skills:
      refunds: { body: \"See [the mail](examples/email.md).\", files: { examples/email.md: Dear customer } }
steps: [{ connect: docs }]
";

const SKILL: &str = "skill://refunds/SKILL.md";

/// How the host reaches the server.
pub(super) enum Doors {
    Http(Endpoint, usize),
    Stdio(Exchange, String, usize),
}

impl Doors {
    pub(super) async fn open(
        transport: Transport,
        stage: &Stage,
        number: usize,
    ) -> std::io::Result<Self> {
        Ok(match transport {
            Transport::Http => Doors::Http(Endpoint::open(stage.clone()).await?, number),
            Transport::Stdio => {
                let program = std::env::current_exe()?.to_string_lossy().into_owned();
                Doors::Stdio(Exchange::open(stage.clone()).await?, program, number)
            }
        })
    }

    /// Parameters of `connect`.
    pub(super) fn connect(&self) -> Value {
        match self {
            Doors::Http(endpoint, number) => {
                json!({"server": "docs", "url": endpoint.url(*number, "docs")})
            }
            Doors::Stdio(exchange, program, number) => {
                let mut command = vec![program.clone()];
                command.extend(exchange.arguments(*number, "docs"));
                json!({"server": "docs", "command": command})
            }
        }
    }
}

/// Every verb, in an order in which each finds something to do, with the forms that it has.
pub(super) fn calls(doors: &Doors) -> Vec<(&'static str, Vec<Value>)> {
    let skill = json!({"server": "docs", "uri": SKILL});
    let mail = "skill://refunds/examples/email.md";
    let connect = doors.connect();
    let order = [
        (
            "policy",
            vec![json!({"server": "docs", "uri": SKILL, "allow": true})],
        ),
        (
            "install_local",
            vec![json!({"name": "deploy", "files":
            {"SKILL.md": "---\nname: deploy\ndescription: Deploys.\n---\n"}})],
        ),
        ("connect", vec![connect]),
        ("list", vec![json!({})]),
        ("inspect", vec![skill.clone()]),
        (
            "load",
            vec![
                skill.clone(),
                json!({"uri": SKILL}),
                json!({"name": "refunds"}),
            ],
        ),
        ("acting", vec![json!({})]),
        (
            "read",
            vec![
                json!({"uri": mail, "acting_on": skill}),
                json!({"reference": "examples/email.md", "acting_on": skill}),
            ],
        ),
        (
            "read_resource",
            vec![json!({"server": "docs", "uri": "docs://readme"})],
        ),
        (
            "list_directory",
            vec![
                json!({"server": "docs", "uri": "skill://refunds"}),
                json!({"server": "docs", "uri": "skill://refunds", "acting_on": skill}),
            ],
        ),
        (
            "run_tool",
            vec![json!({"tool": "shell", "input": {"command": "true"}, "acting_on": skill})],
        ),
        ("context", vec![json!({})]),
        ("tools", vec![json!({})]),
        ("notices", vec![json!({})]),
        ("cache", vec![json!({})]),
        ("mount", vec![json!({})]),
        ("release", vec![skill]),
        ("disconnect", vec![json!({"server": "docs"})]),
        ("restart", vec![json!({})]),
        ("remove", vec![json!({"server": "docs"})]),
    ];
    debug_assert_eq!(order.len(), VERBS.len());
    order.into_iter().collect()
}
