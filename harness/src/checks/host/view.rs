//! A scene as the host checks look at it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ask::{
    LOADS, Outcome, acting_on, asks_about, asks_for, form, member, names_skill, outcome,
    referenced, result, target,
};

use super::tokens::{contents, tokens, tokens_of};
use crate::model::uri;
use crate::wire::content::{Body, Content};
use crate::wire::scene::{Ask, Consent, Reply, Scene, Served};

/// An entry of a skill as a server handed it out.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    /// Number of the frame that carried it.
    pub at: usize,
    /// Label of the server.
    pub server: &'a str,
    /// `skills/list` or `skills/get`.
    pub method: &'a str,
    /// The entry.
    pub entry: &'a Value,
    /// The `resultType` of the result that it came in.
    pub result_type: Option<&'a str>,
}

/// A load or a read of a file of a skill.
#[derive(Debug, Clone, Copy)]
pub struct Use<'a> {
    /// The call.
    pub ask: &'a Ask,
    /// Label of the server that the skill is from.
    pub server: &'a str,
    /// URI of the skill that is loaded or acted on.
    pub skill: &'a str,
    /// URI of the file.
    pub uri: &'a str,
    /// What came of it.
    pub outcome: Outcome<'a>,
}

/// A scene with what checks ask of it again and again.
#[derive(Debug)]
pub struct View<'a> {
    /// The scene.
    pub scene: &'a Scene,
    deliveries: Vec<Delivery<'a>>,
    /// The answers in which servers said what they have.
    openings: Vec<(&'a Served, &'a Value)>,
}

impl<'a> View<'a> {
    /// Looks at a scene.
    pub fn new(scene: &'a Scene) -> Self {
        let mut deliveries = Vec::new();
        for served in &scene.served {
            let Some(result) = &served.result else {
                continue;
            };
            let entries: Vec<&Value> = match served.method.as_str() {
                "skills/list" => result
                    .get("skills")
                    .and_then(Value::as_array)
                    .map(|entries| entries.iter().collect())
                    .unwrap_or_default(),
                "skills/get" => result.get("skill").into_iter().collect(),
                _ => continue,
            };
            deliveries.extend(entries.into_iter().map(|entry| Delivery {
                at: served.to,
                server: &served.server,
                method: &served.method,
                entry,
                result_type: member(result, "resultType"),
            }));
        }
        let opens =
            |served: &&Served| matches!(served.method.as_str(), "initialize" | "server/discover");
        let opening = |served: &'a Served| Some((served, served.result.as_ref()?));
        Self {
            scene,
            deliveries,
            openings: scene
                .served
                .iter()
                .filter(opens)
                .filter_map(opening)
                .collect(),
        }
    }

    /// What a server said of itself when it was last asked before a frame.
    pub fn opening(&self, server: &str, before: usize) -> Option<&'a Value> {
        let mut latest = self.openings.iter().rev();
        latest
            .find(|(served, _)| served.server == server && served.to < before)
            .map(|(_, result)| *result)
    }

    /// The calls of a verb.
    pub fn asks(&self, verb: &str) -> impl Iterator<Item = &'a Ask> {
        self.scene.asks.iter().filter(move |ask| ask.verb == verb)
    }

    /// The calls that the scenario gave this name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &'a Ask> {
        self.scene
            .asks
            .iter()
            .filter(move |ask| ask.name.as_deref() == Some(name))
    }

    /// The results of a verb, with their calls.
    pub fn results(&self, verb: &str) -> impl Iterator<Item = (&'a Ask, &'a Value)> {
        self.asks(verb).filter_map(|ask| Some((ask, result(ask)?)))
    }

    /// The last result of a verb before a frame.
    pub fn last(&self, verb: &str, before: usize) -> Option<(&'a Ask, &'a Value)> {
        self.results(verb)
            .filter(|(ask, _)| ask.to <= before)
            .last()
    }

    /// The requests of a method.
    pub fn served(&self, method: &str) -> impl Iterator<Item = &'a Served> {
        self.scene
            .served
            .iter()
            .filter(move |served| served.method == method)
    }

    /// The requests that reached servers during a call.
    pub fn during(&self, ask: &'a Ask) -> impl Iterator<Item = &'a Served> {
        self.scene
            .served
            .iter()
            .filter(move |served| ask.from < served.at && served.at < ask.to)
    }

    /// The call during which a frame passed; none for what a host does by itself.
    pub fn under(&self, frame: usize) -> Option<&'a Ask> {
        self.scene
            .asks
            .iter()
            .find(|ask| ask.from < frame && frame < ask.to)
    }

    /// The questions to the user during a call.
    pub fn consents(&self, ask: &'a Ask) -> impl Iterator<Item = &'a Consent> {
        self.scene
            .consents
            .iter()
            .filter(move |consent| ask.from < consent.at && consent.at < ask.to)
    }

    /// Every entry that servers handed out, in order.
    pub fn deliveries(&self) -> &[Delivery<'a>] {
        &self.deliveries
    }

    /// The entries of a skill that a server had handed out before a frame, in order.
    pub fn entries(
        &self,
        server: &str,
        skill: &str,
        before: usize,
    ) -> impl DoubleEndedIterator<Item = &Delivery<'a>> {
        self.deliveries.iter().filter(move |delivery| {
            delivery.at < before
                && delivery.server == server
                && delivery.entry.get("uri").and_then(Value::as_str) == Some(skill)
        })
    }

    /// The entry that a host holds at a frame: the last that the server handed out.
    pub fn held(&self, server: &str, skill: &str, before: usize) -> Option<&'a Value> {
        self.entries(server, skill, before)
            .next_back()
            .map(|delivery| delivery.entry)
    }

    /// Loads and reads of files of skills, as far as server and URIs are known.
    pub fn uses(&self) -> Vec<Use<'a>> {
        self.scene
            .asks
            .iter()
            .filter_map(|ask| match ask.verb.as_str() {
                "load" => {
                    let (server, uri) = target(ask)?;
                    Some(Use {
                        ask,
                        server,
                        skill: uri,
                        uri,
                        outcome: outcome(ask),
                    })
                }
                "read" => {
                    let (origin, skill) = acting_on(ask)?;
                    let server = member(&ask.params, "server").unwrap_or(origin);
                    let uri = member(&ask.params, "uri")
                        .or_else(|| self.known(&referenced(ask)?))
                        .or_else(|| member(result(ask)?, "uri"))?;
                    (server == origin).then_some(Use {
                        ask,
                        server,
                        skill,
                        uri,
                        outcome: outcome(ask),
                    })
                }
                _ => None,
            })
            .collect()
    }

    /// A URI as a manifest or a request has it.
    fn known(&self, wanted: &str) -> Option<&'a str> {
        let listed = self
            .deliveries
            .iter()
            .filter_map(|delivery| delivery.entry.get("resources")?.as_array())
            .flatten()
            .filter_map(|item| member(item, "uri"));
        let asked = self
            .served("resources/read")
            .filter_map(|served| member(&served.params, "uri"));
        listed.chain(asked).find(|uri| *uri == wanted)
    }

    /// The file that a server handed out last under a URI before the end of a call: the frame, and
    /// the item whose URI is the one that was asked for.
    pub fn fetched(&self, ask: &Ask, server: &str, uri: &str) -> Option<(&'a Served, &'a Content)> {
        self.scene
            .served
            .iter()
            .rev()
            .filter(|served| {
                served.to < ask.to
                    && served.server == server
                    && served.method == "resources/read"
                    && member(&served.params, "uri") == Some(uri)
            })
            .find_map(|served| Some((served, content(served, uri)?)))
    }

    /// Whether the host has handed over what a server sent for a call: the text has a token of it.
    pub fn used(&self, outcome: Outcome<'_>, served: &Served) -> bool {
        let Outcome::Ok(result) = outcome else {
            return false;
        };
        let sent: BTreeSet<String> = contents(served).flat_map(tokens).collect();
        tokens_of(result).iter().any(|token| sent.contains(token))
    }

    /// Whether the host loaded a skill in this scene whose content came from a server: only then
    /// do refusals mean anything.
    pub fn witnessed(&self) -> bool {
        self.asks("load").any(|ask| match outcome(ask) {
            Outcome::Ok(result) => !tokens_of(result).is_empty(),
            _ => false,
        })
    }

    /// The verbs of this scene, or the forms of them, that the adapter does not implement.
    pub fn unimplemented(&self) -> impl Iterator<Item = &'a str> {
        self.scene
            .asks
            .iter()
            .filter(|ask| ask.reply == Reply::Unimplemented)
            .map(form)
    }
}

/// The item of a manifest for a file.
pub fn item<'a>(entry: &'a Value, uri: &str) -> Option<&'a Value> {
    entry
        .get("resources")?
        .as_array()?
        .iter()
        .find(|item| member(item, "uri") == Some(uri))
}

/// Whether a file lies in the directory of a skill.
pub fn inside(skill: &str, file: &str) -> bool {
    uri::skill_root(skill).is_some_and(|root| uri::within(root, file).is_ok())
}

/// The folded item of a read result that has the requested URI.
pub fn content<'a>(served: &'a Served, uri: &str) -> Option<&'a Content> {
    let items = served.result.as_ref()?.get("contents")?.as_array()?;
    let index = items
        .iter()
        .position(|item| member(item, "uri") == Some(uri))?;
    served.contents.get(index)
}

/// Length in bytes and digest of a folded item.
pub fn bytes(content: &Content) -> Option<(u64, String)> {
    match &content.body {
        Body::Bytes { len, .. } => Some((*len, content.digest()?)),
        Body::Unreadable(_) => None,
    }
}

/// Whether a directory result showed a URI before a frame.
pub fn shown_in_directory(view: &View<'_>, uri: &str, before: usize) -> bool {
    view.served("resources/directory/read")
        .filter(|served| served.to < before)
        .filter_map(|served| served.result.as_ref()?.get("resources")?.as_array())
        .flatten()
        .any(|child| member(child, "uri") == Some(uri))
}

/// Where a token comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source<'a> {
    /// Label of the server.
    pub server: &'a str,
    /// URI under which it was read.
    pub uri: &'a str,
}

/// The files whose tokens stand in a text, as far as servers handed them out.
pub fn sources<'a>(view: &View<'a>, text: &str) -> Vec<Source<'a>> {
    let wanted = tokens(text);
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Source<'a>> = Vec::new();
    for served in view.served("resources/read") {
        let Some(uri) = member(&served.params, "uri") else {
            continue;
        };
        let source = Source {
            server: &served.server,
            uri,
        };
        let holds = contents(served).any(|sent| !tokens(sent).is_disjoint(&wanted));
        if holds && !found.contains(&source) {
            found.push(source);
        }
    }
    found
}

/// The name of the skill that an entry describes.
pub fn name_of(entry: &Value) -> Option<&str> {
    member(entry.get("frontmatter")?, "name")
}

impl<'a> View<'a> {
    /// The skills that are listed at a frame: the latest entry of each, of servers that are
    /// connected, as server, URI and entry.
    pub fn listed(&self, before: usize) -> Vec<(&'a str, &'a str, &'a Value)> {
        let mut listed: Vec<(&str, &str, &Value)> = Vec::new();
        for delivery in self
            .deliveries()
            .iter()
            .filter(|delivery| delivery.at < before)
        {
            let Some(uri) = member(delivery.entry, "uri") else {
                continue;
            };
            if delivery.method != "skills/list" || !self.connected(delivery.server, before) {
                continue;
            }
            match listed
                .iter_mut()
                .find(|(server, other, _)| *server == delivery.server && *other == uri)
            {
                Some(known) => known.2 = delivery.entry,
                None => listed.push((delivery.server, uri, delivery.entry)),
            }
        }
        listed
    }

    /// Whether a server is connected at a frame.
    pub fn connected(&self, server: &str, before: usize) -> bool {
        let mut connected = false;
        for ask in self.scene.asks.iter().filter(|ask| ask.from < before) {
            let named = member(&ask.params, "server") == Some(server);
            match ask.verb.as_str() {
                "connect" if named => connected = true,
                "disconnect" | "remove" if named => connected = false,
                "restart" => connected = false,
                _ => {}
            }
        }
        connected
    }

    /// Whether the host asked the user before it loaded a skill, in any load of the scene before a
    /// frame: only then are there approvals of loads to judge.
    pub fn gates_loads(&self, before: usize) -> bool {
        self.asks("load")
            .filter(|ask| ask.to <= before)
            .any(|ask| self.consents(ask).any(|consent| asks_for(consent, LOADS)))
    }

    /// Whether the last load of a skill before a frame was refused: its text never reached the model,
    /// which cannot act on it.
    pub fn turned_away(&self, server: &str, uri: &str, before: usize) -> bool {
        let loads = self.asks("load").filter(|ask| ask.to <= before);
        let last = loads
            .filter(|ask| target(ask) == Some((server, uri)))
            .last();
        last.is_some_and(|load| matches!(outcome(load), Outcome::Refused { .. }))
    }

    /// Whether a skill that was in the context at a frame is there until a call, so that a host that
    /// is to load it then may go by the entry that it holds. A host may keep it longer than until its
    /// release, and says so where it is asked what it acts on.
    pub fn stays(&self, (server, uri): (&str, &str), since: usize, ask: &Ask) -> bool {
        let between = |other: &Ask| since < other.from && other.to < ask.from;
        let released = self
            .results("release")
            .filter(|(release, _)| between(release) && target(release) == Some((server, uri)))
            .last();
        let goes_on = |release: &Ask| {
            self.results("acting").any(|(acting, result)| {
                release.to < acting.from && acting.to < ask.from && names_skill(result, server, uri)
            })
        };
        let ended = released.is_some_and(|(release, _)| !goes_on(release));
        let restarted = self.results("restart").any(|(restart, _)| between(restart));
        since < ask.from && self.loaded(server, uri, ask.from) && !ended && !restarted
    }

    /// Whether a skill was loaded before a frame.
    pub fn loaded(&self, server: &str, uri: &str, before: usize) -> bool {
        let ok = |ask: &Ask| ask.to <= before && matches!(outcome(ask), Outcome::Ok(_));
        let loaded = self
            .asks("load")
            .any(|ask| ok(ask) && target(ask) == Some((server, uri)));
        // A read that is routed into the loading path, with the consent that belongs to it.
        loaded
            || self.scene.asks.iter().any(|ask| {
                matches!(ask.verb.as_str(), "read" | "read_resource")
                    && ok(ask)
                    && member(&ask.params, "uri") == Some(uri)
                    && self.consents(ask).any(|consent| {
                        consent.allowed
                            && asks_for(consent, LOADS)
                            && asks_about(consent, server, uri)
                    })
            })
    }
}

/// Whether the user was asked before a frame to trust a server as a whole, and agreed.
pub fn trusts(view: &View<'_>, server: &str, before: usize) -> bool {
    view.scene.consents.iter().any(|consent| {
        consent.at < before
            && consent.allowed
            && asks_for(consent, &["server"])
            && member(&consent.params, "server") == Some(server)
    })
}

/// Where the content of a load is from, as far as can be told: none for a local skill.
pub fn origin_of<'a>(view: &View<'a>, result: &'a Value) -> Option<Option<&'a str>> {
    match result.get("server") {
        Some(Value::Null) => Some(None),
        Some(Value::String(label)) => Some(Some(label)),
        // Left out, which adapters may do: the content tells.
        _ => sources(view, &super::tokens::text_of(result))
            .first()
            .map(|source| Some(source.server)),
    }
}
