//! Requests to a server of which it is known what has to come back.

use arbitrary::Arbitrary;
use serde_json::{Map, Value, json};

use super::uri::{Leads, UriPlan};

/// A request, planned; what it names is taken from the server's own catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq, Arbitrary)]
pub struct RequestPlan {
    /// What is asked for.
    pub ask: Ask,
    /// Which skill of the catalog it is about.
    pub skill: u16,
    /// Members besides those that the method knows.
    pub further: u8,
}

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Arbitrary)]
#[expect(
    missing_docs,
    reason = "the numbers choose; what among, the variants say"
)]
pub enum Ask {
    /// The entry of a skill in the listing.
    #[default]
    Entry,
    /// A file of a manifest.
    File { file: u8 },
    /// The first page.
    Page,
    /// A skill that no server has.
    AbsentSkill { shape: u8, pad: u8 },
    /// A file that no server has.
    AbsentFile { shape: u8, pad: u8 },
    /// A file that lies elsewhere, seen from a skill.
    Outside { uri: UriPlan, get: bool },
    /// A supporting file or a directory, as if it were a skill.
    NoSkill { file: u8, directory: bool },
    /// The URI of a skill in other letters.
    OtherCase { get: bool },
    /// No URI, or one of another type.
    NoUri { method: u8, form: u8 },
    /// A cursor that was never given.
    Cursor { form: u8 },
    /// Parameters that are no object.
    NoParams { method: u8, form: u8 },
    /// Bytes that are no request.
    Raw { form: u8 },
    /// A request without an id.
    Notification { method: u8 },
}

/// What has to come back.
#[derive(Debug, Clone, PartialEq)]
pub enum Awaited {
    /// The entry of the listing.
    Entry(Value),
    /// Content with this digest and size.
    Content {
        /// `sha256:…`.
        digest: String,
        /// In bytes.
        size: u64,
    },
    /// A page of the listing.
    Page,
    /// An error that says invalid params.
    InvalidParams,
    /// An error, whatever it says; or an answer that is well-formed.
    Anything,
    /// Nothing, or an error without id.
    Silence,
}

impl Awaited {
    /// The word for it in saved cases.
    pub fn name(&self) -> &'static str {
        match self {
            Awaited::Entry(_) => "entry",
            Awaited::Content { .. } => "content",
            Awaited::Page => "page",
            Awaited::InvalidParams => "invalid-params",
            Awaited::Anything => "anything",
            Awaited::Silence => "silence",
        }
    }
}

/// What is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A request with an id.
    Call {
        /// The method.
        method: &'static str,
        /// The parameters; `None` leaves the member out.
        params: Option<Value>,
    },
    /// The same without an id.
    Notify {
        /// The method.
        method: &'static str,
    },
    /// Bytes as they are.
    Raw(Vec<u8>),
}

/// A request and what has to come back.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What is sent.
    pub message: Message,
    /// What has to come back.
    pub awaited: Awaited,
    /// What it is, in words that stay the same from run to run.
    pub about: String,
}

/// The entries of a server's listing; those that are malformed are left out.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// URI, and the entry.
    pub entries: Vec<(String, Value)>,
}

/// URIs of what no server has; `{pad}` is something long.
const ABSENT: &[&str] = &[
    "skill://no-such-skill-8d1f/{file}",
    "skill://no-such-skill-8d1f%00/{file}",
    "skill://no-such-skill-8d1f\0/{file}",
    "skill://no-such-skill-8d1f%zz/{file}",
    "skill://no-such-skill-8d1f/{pad}/{file}",
    "skill://no-such-skill-8d1f/../../../../etc/passwd",
    "skill://no-such-skill-8d1f/%2e%2e/%2e%2e/{file}",
    "file:///etc/passwd",
    "file:///etc/{file}",
    "",
    "/",
    "/etc/passwd",
    "{file}",
    "skill:",
    "skill://",
    "skill:///",
    "://",
    "no-such-scheme-8d1f://a/{file}",
    "skill://no-such-skill-8d1f/{file}?a=b",
    "skill://no-such-skill-8d1f/{file}#top",
    "skill://user:secret@no-such-skill-8d1f:99999/{file}",
    "skill://[::1]/no-such-skill-8d1f/{file}",
    "skill://no-such-skill-8d1f/\u{202e}{file}",
    "skill://no-such-skill-8d1f/\u{feff}{file}",
    "skill://no-such-skill-8d1f/😀/{file}",
    "http://127.0.0.1:1/no-such-skill-8d1f/{file}",
    "skill://no-such-skill-8d1f/{file}\r\nX-Injected: 1",
    "skill://no-such-skill-8d1f/'; DROP TABLE skills; --/{file}",
    "skill://no-such-skill-8d1f/${jndi:ldap://x}/{file}",
    "skill://{pad}{pad}{pad}{pad}/{file}",
    "skill://no-such-skill-8d1f\\..\\..\\{file}",
    "data:text/plain,no-such-skill-8d1f",
    "urn:no-such-skill-8d1f",
    "skill://no-such-skill-8d1f//{file}",
    "skill://no-such-skill-8d1f/./{file}",
];

/// Bytes that are no request.
const RAW: &[&str] = &[
    "{",
    "]",
    "null",
    "\"text\"",
    "[]",
    "{}",
    "{\"jsonrpc\":\"2.0\"}",
    "\u{0}",
    "{\"jsonrpc\":\"2.0\",\"id\":",
    "{\"jsonrpc\":\"1.0\",\"method\":\"skills/list\"}",
    "[[[[[[[[[[",
    "{\"a\":\"\\ud800\"}",
    "1e999",
    "{\"jsonrpc\":\"2.0\",\"method\":7}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"skills/get\",\"params\":[]}",
    "GET / HTTP/1.1",
    "\u{feff}{}",
    "{\"jsonrpc\":\"2.0\",\"result\":{}}",
];

const METHODS: [&str; 2] = ["skills/get", "resources/read"];

impl RequestPlan {
    /// The request, for a server with these entries.
    pub fn build(&self, known: &Known) -> Request {
        let count = known.entries.len().max(1);
        let entry = known.entries.get(usize::from(self.skill) % count);
        let absent = RequestPlan {
            ask: Ask::AbsentSkill { shape: 0, pad: 0 },
            ..self.clone()
        };
        let built = match entry {
            None if self.ask.needs_a_skill() => absent.about(None),
            other => self.about(other),
        };
        // What a skill has nothing of is asked for as something absent.
        let (message, awaited, about) = built.or_else(|| absent.about(None)).unwrap_or((
            Message::Notify {
                method: "notifications/x",
            },
            Awaited::Silence,
            "notification".to_owned(),
        ));
        Request {
            message: self.with_further(message),
            awaited,
            about,
        }
    }

    fn about(&self, entry: Option<&(String, Value)>) -> Option<(Message, Awaited, String)> {
        let call = |method, params| Message::Call {
            method,
            params: Some(params),
        };
        let by_uri = |method, uri: &str| call(method, json!({"uri": uri}));
        let of = |which: u8| METHODS[usize::from(which) % 2];
        let with_root =
            |entry: &(String, Value)| entry.0.strip_suffix("/SKILL.md").map(str::to_owned);
        Some(match &self.ask {
            Ask::Entry => {
                let (uri, value) = entry?;
                (
                    by_uri("skills/get", uri),
                    Awaited::Entry(value.clone()),
                    "listed skill".into(),
                )
            }
            Ask::File { file } => {
                let item = item(&entry?.1, *file)?;
                let awaited = Awaited::Content {
                    digest: item["digest"].as_str()?.to_owned(),
                    size: item["size"].as_u64()?,
                };
                (
                    by_uri("resources/read", item["uri"].as_str()?),
                    awaited,
                    "listed file".into(),
                )
            }
            Ask::Page => (
                call("skills/list", json!({})),
                Awaited::Page,
                "first page".into(),
            ),
            Ask::AbsentSkill { shape, pad } => {
                let (uri, shape) = absent(*shape, *pad, "SKILL.md");
                (
                    by_uri("skills/get", &uri),
                    Awaited::InvalidParams,
                    format!("get {shape}"),
                )
            }
            Ask::AbsentFile { shape, pad } => {
                let (uri, shape) = absent(*shape, *pad, "no-such-file-8d1f.md");
                (
                    by_uri("resources/read", &uri),
                    Awaited::InvalidParams,
                    format!("read {shape}"),
                )
            }
            Ask::Outside { uri, get } => {
                let root = with_root(entry?)?;
                let plan = uri.leading(Leads::Outside);
                // A file that happens to be there would be a right answer.
                let uri = plan.text(&root).replace("guide.md", "no-such-file-8d1f.md");
                if plan.leads(&root) != Leads::Outside || uri.contains("SKILL.md") {
                    return None;
                }
                let method = METHODS[usize::from(!get)];
                (
                    by_uri(method, &uri),
                    Awaited::InvalidParams,
                    format!("{method} {}", plan.pattern()),
                )
            }
            Ask::NoSkill { file, directory } => {
                let (uri, _) = entry?;
                let what = if *directory {
                    with_root(entry?)?
                } else {
                    let other = item(&entry?.1, *file)?["uri"].as_str()?.to_owned();
                    if other.ends_with("/SKILL.md") || other == *uri {
                        return None;
                    }
                    other
                };
                let about = if *directory {
                    "get directory"
                } else {
                    "get supporting file"
                };
                (
                    by_uri("skills/get", &what),
                    Awaited::InvalidParams,
                    about.into(),
                )
            }
            Ask::OtherCase { get } => {
                let root = with_root(entry?)?;
                let (front, name) = root.rsplit_once('/')?;
                let upper = name.to_uppercase();
                // Where the name is the authority of the URI, case means nothing.
                if front.ends_with('/') || upper == name {
                    return None;
                }
                let method = METHODS[usize::from(!get)];
                let uri = format!("{front}/{upper}/SKILL.md");
                (
                    by_uri(method, &uri),
                    Awaited::InvalidParams,
                    format!("{method} other case"),
                )
            }
            Ask::NoUri { method, form } => {
                let forms = [
                    json!({}),
                    json!({"uri": null}),
                    json!({"uri": 5}),
                    json!({"uri": true}),
                    json!({"uri": {}}),
                    json!({"uri": ["skill://a/SKILL.md"]}),
                    json!({"URI": "skill://a/SKILL.md"}),
                    json!({"uri": 1.5}),
                ];
                let form = usize::from(*form) % forms.len();
                let method = of(*method);
                (
                    call(method, forms[form].clone()),
                    Awaited::InvalidParams,
                    format!("{method} uri {form}"),
                )
            }
            Ask::Cursor { form } => {
                let forms = [
                    json!("no-such-cursor"),
                    json!("AAAA"),
                    json!(7),
                    json!(null),
                    json!({}),
                    json!([]),
                    json!("\u{0}"),
                    json!("x".repeat(5_000)),
                    json!("-1"),
                    json!("99999999999999999999"),
                ];
                let form = usize::from(*form) % forms.len();
                let params = json!({"cursor": forms[form]});
                (
                    call("skills/list", params),
                    Awaited::Anything,
                    format!("cursor {form}"),
                )
            }
            Ask::NoParams { method, form } => {
                let method = of(*method);
                let form = form % 2;
                let params = (form == 1).then(|| json!({}));
                let message = Message::Call { method, params };
                (
                    message,
                    Awaited::InvalidParams,
                    format!("{method} params {form}"),
                )
            }
            Ask::Raw { form } => {
                let text = RAW[usize::from(*form) % RAW.len()];
                let about = format!("raw {}", text.escape_debug());
                (
                    Message::Raw(text.as_bytes().to_vec()),
                    Awaited::Silence,
                    about,
                )
            }
            Ask::Notification { method } => {
                let method = of(*method);
                (
                    Message::Notify { method },
                    Awaited::Silence,
                    format!("{method} without id"),
                )
            }
        })
    }

    /// Adds members that no method knows: they change nothing.
    fn with_further(&self, message: Message) -> Message {
        match message {
            Message::Call {
                method,
                params: Some(Value::Object(mut members)),
            } if self.further % 4 == 1 => {
                members.insert(
                    "x-further".into(),
                    json!({"deep": [[[[{}]]]], "n": self.further}),
                );
                Message::Call {
                    method,
                    params: Some(Value::Object(members)),
                }
            }
            other => other,
        }
    }

    /// Requests that are simpler in one way each.
    pub fn simpler(&self) -> Vec<RequestPlan> {
        let mut found = Vec::new();
        if self.further != 0 {
            found.push(RequestPlan {
                further: 0,
                ..self.clone()
            });
        }
        for skill in [0, self.skill / 2] {
            if skill < self.skill {
                found.push(RequestPlan {
                    skill,
                    ..self.clone()
                });
            }
        }
        let mut other = self.clone();
        if let Ask::AbsentSkill { pad, .. } | Ask::AbsentFile { pad, .. } = &mut other.ask
            && *pad > 0
        {
            *pad /= 2;
            found.push(other);
        }
        found
    }
}

impl Ask {
    fn needs_a_skill(&self) -> bool {
        matches!(
            self,
            Ask::Entry
                | Ask::File { .. }
                | Ask::Outside { .. }
                | Ask::NoSkill { .. }
                | Ask::OtherCase { .. }
        )
    }
}

/// A URI of something that no server has, and its shape.
fn absent(shape: u8, pad: u8, file: &str) -> (String, &'static str) {
    let shape = ABSENT[usize::from(shape) % ABSENT.len()];
    let long = "a".repeat(usize::from(pad) * 64);
    (shape.replace("{file}", file).replace("{pad}", &long), shape)
}

fn item(entry: &Value, which: u8) -> Option<&Map<String, Value>> {
    let items = entry["resources"].as_array()?;
    items
        .get(usize::from(which) % items.len().max(1))?
        .as_object()
}
