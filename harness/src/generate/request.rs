//! Requests to a server of which it is known what has to come back.

use arbitrary::Arbitrary;
use serde_json::{Map, Value, json};

use super::absent::{Form, RAW, absent};
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
    /// The same, or one that says invalid request.
    InvalidRequest,
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
            Awaited::InvalidRequest => "invalid-request",
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
    /// The check of the suite that is about the same.
    pub check: &'static str,
}

impl Request {
    /// The URI that is asked for; empty without one.
    pub fn uri(&self) -> &str {
        let params = match &self.message {
            Message::Call { params, .. } => params.as_ref(),
            _ => None,
        };
        let uri = params.and_then(|params| params.get("uri")?.as_str());
        uri.unwrap_or_default()
    }
}

/// The entries of a server's listing; those that are malformed are left out.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// URI, and the entry.
    pub entries: Vec<(String, Value)>,
}

const GET: &str = "skills/get";
const READ: &str = "resources/read";
const METHODS: [&str; 2] = [GET, READ];

/// Checks that several requests are about.
const ALIVE: &str = "sep-2640-alive-after-malformed";
const NO_SKILL: &str = "sep-2640-skills-get-unknown-uri-invalid-params";
const NO_FILE: &str = "sep-2640-read-unknown-file-invalid-params";
const NO_CURSOR: &str = "sep-2640-skills-list-unknown-cursor";

fn call(method: &'static str, params: Value) -> Message {
    Message::Call {
        method,
        params: Some(params),
    }
}

fn by_uri(method: &'static str, uri: &str) -> Message {
    call(method, json!({ "uri": uri }))
}

/// A request that lacks a URI.
fn without_uri(method: &'static str, params: Option<Value>, about: &str) -> Request {
    Request {
        // A request whose schema demands parameters is none without them, so that it may also be
        // called invalid as a whole.
        awaited: match params {
            Some(_) => Awaited::InvalidParams,
            None => Awaited::InvalidRequest,
        },
        message: Message::Call { method, params },
        about: format!("{method} {about}"),
        check: match method {
            GET => "sep-2640-skills-get-malformed-params",
            _ => "sep-2640-read-malformed-params",
        },
    }
}

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
        let request = built.or_else(|| absent.about(None)).unwrap_or(Request {
            message: Message::Notify {
                method: "notifications/x",
            },
            awaited: Awaited::Silence,
            about: "notification".to_owned(),
            check: ALIVE,
        });
        Request {
            message: self.with_further(request.message),
            ..request
        }
    }

    fn about(&self, entry: Option<&(String, Value)>) -> Option<Request> {
        let with_root =
            |entry: &(String, Value)| entry.0.strip_suffix("/SKILL.md").map(str::to_owned);
        let invalid = |method: &'static str, uri: &str, about: String, check| Request {
            message: by_uri(method, uri),
            awaited: Awaited::InvalidParams,
            about,
            check,
        };
        Some(match &self.ask {
            Ask::Entry => {
                let (uri, value) = entry?;
                Request {
                    message: by_uri(GET, uri),
                    awaited: Awaited::Entry(value.clone()),
                    about: "listed skill".into(),
                    check: "sep-2640-skills-get-equals-list",
                }
            }
            Ask::File { file } => {
                let item = item(&entry?.1, *file)?;
                Request {
                    message: by_uri(READ, item["uri"].as_str()?),
                    awaited: Awaited::Content {
                        digest: item["digest"].as_str()?.to_owned(),
                        size: item["size"].as_u64()?,
                    },
                    about: "listed file".into(),
                    check: "sep-2640-resources-digest-accurate",
                }
            }
            Ask::Page => Request {
                message: call("skills/list", json!({})),
                awaited: Awaited::Page,
                about: "first page".into(),
                check: ALIVE,
            },
            Ask::AbsentSkill { shape, pad } => {
                let (uri, shape, _) = absent(*shape, *pad, "SKILL.md");
                invalid(GET, &uri, format!("get {shape}"), NO_SKILL)
            }
            Ask::AbsentFile { shape, pad } => {
                let (uri, shape, form) = absent(*shape, *pad, "no-such-file-8d1f.md");
                let check = match form {
                    Form::Valid => NO_FILE,
                    Form::Malformed => "sep-2640-read-hostile-uri",
                };
                invalid(READ, &uri, format!("read {shape}"), check)
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
                let check = match uri.contains(':') {
                    _ if *get => NO_SKILL,
                    true => NO_FILE,
                    // Without a scheme it is no URI.
                    false => "sep-2640-read-hostile-uri",
                };
                invalid(method, &uri, format!("{method} {}", plan.pattern()), check)
            }
            Ask::NoSkill {
                directory: true, ..
            } => {
                let check = "sep-2640-skills-get-directory-invalid-params";
                invalid(GET, &with_root(entry?)?, "get directory".into(), check)
            }
            Ask::NoSkill { file, .. } => {
                let (uri, entry) = entry?;
                let other = item(entry, *file)?["uri"].as_str()?;
                if other.ends_with("/SKILL.md") || other == uri {
                    return None;
                }
                let check = "sep-2640-skills-get-file-invalid-params";
                invalid(GET, other, "get supporting file".into(), check)
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
                let check = "sep-2640-skills-get-uri-variant";
                invalid(method, &uri, format!("{method} other case"), check)
            }
            Ask::NoUri { method, form } => {
                let forms = [
                    (json!({}), "without uri"),
                    (json!({"uri": null}), "uri of another type"),
                    (json!({"uri": 5}), "uri of another type"),
                    (json!({"uri": true}), "uri of another type"),
                    (json!({"uri": {}}), "uri of another type"),
                    (
                        json!({"uri": ["skill://a/SKILL.md"]}),
                        "uri of another type",
                    ),
                    (json!({"URI": "skill://a/SKILL.md"}), "without uri"),
                    (json!({"uri": 1.5}), "uri of another type"),
                ];
                let (params, about) = forms[usize::from(*form) % forms.len()].clone();
                without_uri(METHODS[usize::from(*method) % 2], Some(params), about)
            }
            Ask::NoParams { method, form } => {
                let method = METHODS[usize::from(*method) % 2];
                match form % 2 {
                    0 => without_uri(method, None, "without params"),
                    _ => without_uri(method, Some(json!({})), "without uri"),
                }
            }
            Ask::Cursor { form } => {
                let texts = [
                    json!("no-such-cursor"),
                    json!("AAAA"),
                    json!("\u{0}"),
                    json!("x".repeat(5_000)),
                    json!("-1"),
                    json!("99999999999999999999"),
                ];
                let others = [json!(7), json!(null), json!({}), json!([])];
                let form = usize::from(*form) % (texts.len() + others.len());
                let (cursor, about, check) = match form.checked_sub(texts.len()) {
                    None => (&texts[form], "unknown cursor", NO_CURSOR),
                    Some(form) => (
                        &others[form],
                        "cursor of another type",
                        "sep-2640-skills-list-mistyped-cursor",
                    ),
                };
                Request {
                    message: call("skills/list", json!({"cursor": cursor})),
                    awaited: Awaited::Anything,
                    about: about.into(),
                    check,
                }
            }
            Ask::Raw { form } => {
                let text = RAW[usize::from(*form) % RAW.len()];
                Request {
                    message: Message::Raw(text.as_bytes().to_vec()),
                    awaited: Awaited::Silence,
                    about: format!("raw {}", text.escape_debug()),
                    check: ALIVE,
                }
            }
            Ask::Notification { method } => {
                let method = METHODS[usize::from(*method) % 2];
                Request {
                    message: Message::Notify { method },
                    awaited: Awaited::Silence,
                    about: format!("{method} without id"),
                    check: ALIVE,
                }
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

fn item(entry: &Value, which: u8) -> Option<&Map<String, Value>> {
    let items = entry["resources"].as_array()?;
    items
        .get(usize::from(which) % items.len().max(1))?
        .as_object()
}
