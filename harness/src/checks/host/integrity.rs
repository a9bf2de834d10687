//! What hosts do with content that is not what its entry promises. Section "Integrity and
//! Verification".

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::Check;
use super::ask::{Outcome, acting_on, member, outcome, place, target};
use super::execution::may_run;
use super::tokens::{contents, tokens, tokens_of};
use super::view::{Use, View, bytes, content, item};
use crate::checks::entries::size_of;
use crate::model::frontmatter::{self, ErrorKind, Kind, NoBlock};
use crate::verdict::Judgement;
use crate::wire::content::Content;
use crate::wire::scene::{Ask, Served};

pub(super) const DIGEST: &str = "sep-2640-host-verify-digest";

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host(DIGEST, verify_digest),
    Check::host("sep-2640-host-size-mismatch-failure", size_mismatch),
    Check::host("sep-2640-host-frontmatter-comparison", frontmatter_compared),
    Check::host("sep-2640-host-annotations-no-semantics", annotations)
        .after(&[DIGEST, "sep-2640-host-exec-gate-while-acting"]),
];

/// Steps whose outcome other checks judge: reads late in an acting window, after a refresh, and of
/// content that a gateway has annotated.
const OTHERS: [&str; 3] = ["late-read", "read-after-refresh", "annotated"];

/// Content that a host fetched for a load or a read, with the entry that it holds.
pub(super) struct Fetched<'a> {
    pub used: Use<'a>,
    pub served: &'a Served,
    pub content: &'a Content,
    pub entry: &'a Value,
}

/// Every load and read for which something was fetched under an entry.
pub(super) fn fetched<'a>(view: &View<'a>) -> Vec<Fetched<'a>> {
    view.uses()
        .into_iter()
        .filter_map(|used| {
            let (served, content) = view.fetched(used.ask, used.server, used.uri)?;
            let entry = view.held(used.server, used.skill, used.ask.to)?;
            Some(Fetched {
                used,
                served,
                content,
                entry,
            })
        })
        .collect()
}

impl Fetched<'_> {
    fn is_named(&self, names: &[&str]) -> bool {
        let name = self.used.ask.name.as_deref();
        name.is_some_and(|name| names.contains(&name))
    }

    /// The same, where no entry that the server has handed out for the skill lists the digest: a
    /// host may hold on to the entry from which it loaded the skill, or go on under a later one.
    fn mismatch(&self, view: &View<'_>) -> Option<(String, String)> {
        let (listed, digest) = self.digests()?;
        let Use {
            server,
            skill,
            uri,
            ask,
            ..
        } = self.used;
        let lists = |entry: &Value| {
            let items = entry.get("resources").and_then(Value::as_array);
            items.into_iter().flatten().any(|item| {
                member(item, "uri") == Some(uri) && member(item, "digest") == Some(&digest)
            })
        };
        let mut entries = view.entries(server, skill, ask.to);
        let known = entries.any(|delivery| lists(delivery.entry));
        (!known).then_some((listed, digest))
    }

    /// What the manifest lists, and what was fetched, where the digests differ.
    pub(super) fn digests(&self) -> Option<(String, String)> {
        let item = item(self.entry, self.used.uri)?;
        let (_, digest) = bytes(self.content)?;
        let listed = member(item, "digest").unwrap_or("(none)");
        (listed != digest).then(|| (listed.to_owned(), digest))
    }

    /// Whether a load may find the skill in the context, where it has been since it was fetched.
    pub(super) fn stays(&self, view: &View<'_>) -> bool {
        let used = &self.used;
        view.stays((used.server, used.skill), self.served.to, used.ask)
    }

    /// The URI of another item of the same answer whose content was handed over as well.
    fn others(&self, result: &Value) -> Option<&str> {
        let items = self.served.result.as_ref()?.get("contents")?.as_array()?;
        let own = items
            .iter()
            .find(|item| member(item, "uri") == Some(self.used.uri))?;
        let (own, handed) = (tokens_of(own), tokens_of(result));
        let other = items.iter().find(|item| {
            let sent = tokens_of(item);
            sent.difference(&own).any(|token| handed.contains(token))
        })?;
        member(other, "uri")
    }

    /// Whether content that was refused reached the context: words of it that the host handed over at
    /// no other time.
    fn leaked(&self, view: &View<'_>) -> bool {
        let sent: BTreeSet<String> = contents(self.served).flat_map(tokens).collect();
        let elsewhere = view.scene.asks.iter().any(|ask| match outcome(ask) {
            Outcome::Ok(result) => !tokens_of(result).is_disjoint(&sent),
            _ => false,
        });
        !elsewhere
            && view.results("context").any(|(context, result)| {
                context.from > self.used.ask.to && !tokens(result.to_string()).is_disjoint(&sent)
            })
    }

    /// Counts what came of content that must not be used.
    pub(super) fn refused(
        &self,
        view: &View<'_>,
        judgement: &mut Judgement,
        expected: impl Into<String>,
        actual: impl Into<String>,
    ) {
        match self.used.outcome {
            Outcome::Refused { .. } if self.leaked(view) => {
                let text = "it was refused, and stands in the context all the same";
                judgement.violated(place(self.used.ask), self.used.uri, expected, text);
                judgement.because("content");
            }
            Outcome::Ok(_) if view.used(self.used.outcome, self.served) => {
                judgement.violated(place(self.used.ask), self.used.uri, expected, actual);
                judgement.because("content");
            }
            Outcome::Refused { .. } if view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}

/// Content whose digest is another than the listed one is not handed over.
fn verify_digest(view: &View<'_>, judgement: &mut Judgement) {
    for fetched in fetched(view) {
        if fetched.is_named(&OTHERS) {
            continue;
        }
        if let Some((listed, digest)) = fetched.mismatch(view) {
            fetched.refused(
                view,
                judgement,
                format!("content with the digest {listed}, or none"),
                format!("content with the digest {digest} was handed over"),
            );
        } else if let Outcome::Ok(result) = fetched.used.outcome
            && let Some(other) = fetched.others(result)
        {
            judgement.violated(
                place(fetched.used.ask),
                fetched.used.uri,
                "the content that was verified, and nothing beside it",
                format!("content that the same answer had for {other} was handed over along"),
            );
            judgement.because("content");
        } else if fetched.is_named(&["raw-bytes"]) {
            honest(view, judgement, &fetched);
        }
    }
    inspected(view, judgement);
}

/// Bytes that are those that were digested verify, whatever other programs would make of them.
fn honest(view: &View<'_>, judgement: &mut Judgement, fetched: &Fetched<'_>) {
    match fetched.used.outcome {
        Outcome::Ok(_) => judgement.holds(),
        Outcome::Refused {
            reason,
            kind: "verification",
        } if view.witnessed() => judgement.violated(
            place(fetched.used.ask),
            fetched.used.uri,
            "the file verified over the bytes that were sent, which have the listed digest and size",
            format!("it failed verification: {reason}"),
        ),
        _ => {}
    }
}

/// What the user is shown before a load is not called verified when it is not.
fn inspected(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("inspect") {
        let (Some(served), Outcome::Ok(result)) = (spoilt(view, ask), outcome(ask)) else {
            continue;
        };
        let verified = result.get("verified") == Some(&Value::Bool(true));
        if verified && view.used(Outcome::Ok(result), served) {
            judgement.violated(
                place(ask),
                member(&ask.params, "uri").unwrap_or("inspect"),
                "no content presented as verified that has another digest than the listed one",
                "it was shown as verified",
            );
            judgement.because("content");
        } else if view.witnessed() {
            judgement.holds();
        }
    }
}

/// The answer for the file that a call names, where its digest is not the listed one.
pub(super) fn spoilt<'a>(view: &View<'a>, ask: &Ask) -> Option<&'a Served> {
    let (server, uri) = target(ask)?;
    let (served, content) = view.fetched(ask, server, uri)?;
    let entry = view.held(server, uri, ask.to)?;
    let listed = member(item(entry, uri)?, "digest")?;
    (content.digest()? != listed).then_some(served)
}

/// Whether a server has sent anything for a skill before a frame that its entry does not bear out: a
/// host may then be done with the skill as a whole.
pub(super) fn failed(view: &View<'_>, server: &str, skill: &str, before: usize) -> bool {
    let Some(entry) = view.held(server, skill, before) else {
        return false;
    };
    view.served("resources/read")
        .filter(|served| served.server == server && served.to < before)
        .any(|served| {
            let uri = member(&served.params, "uri").unwrap_or_default();
            let (Some(item), Some(content)) = (item(entry, uri), content(served, uri)) else {
                return false;
            };
            let size = item.get("size").and_then(size_of);
            bytes(content).is_some_and(|(len, digest)| {
                size.is_some_and(|size| size != len) || member(item, "digest") != Some(&digest)
            })
        })
}

/// Content whose length is another than the listed one is not handed over, even when its digest is
/// right.
fn size_mismatch(view: &View<'_>, judgement: &mut Judgement) {
    for fetched in fetched(view) {
        if fetched.is_named(&OTHERS) || fetched.digests().is_some() {
            continue;
        }
        let listed = item(fetched.entry, fetched.used.uri);
        let size = listed.and_then(|item| item.get("size")).and_then(size_of);
        if let (Some(size), Some((len, _))) = (size, bytes(fetched.content))
            && size != len
        {
            fetched.refused(
                view,
                judgement,
                format!("content of {size} bytes, or none"),
                format!("content of {len} bytes was handed over"),
            );
        }
    }
}

/// A skill whose SKILL.md says something else than its entry is not loaded.
fn frontmatter_compared(view: &View<'_>, judgement: &mut Judgement) {
    for fetched in fetched(view) {
        let whole = fetched.used.uri == fetched.used.skill && fetched.used.ask.verb == "load";
        let judged_elsewhere = fetched.is_named(&OTHERS) || fetched.digests().is_some();
        if !whole || judged_elsewhere || fetched.stays(view) {
            continue;
        }
        let Some(difference) = difference(fetched.content, fetched.entry) else {
            continue;
        };
        fetched.refused(
            view,
            judgement,
            "no load, since the frontmatter is not the entry's",
            format!("the skill was loaded although {difference}"),
        );
    }
}

/// The first field in which a SKILL.md differs from its entry under every reading.
pub(super) fn difference(content: &Content, entry: &Value) -> Option<String> {
    let (len, _) = bytes(content)?;
    let complete = content.opening.len() as u64 == len;
    let block = match frontmatter::block(&content.opening, complete) {
        Ok(block) => block,
        // Every entry has a name and a description, so that nothing agrees with none.
        Err(NoBlock::Missing(_)) if !content.opening.trim_ascii_start().starts_with(b"---") => {
            return Some("SKILL.md has no frontmatter".to_owned());
        }
        Err(NoBlock::Unclosed) => return Some("the frontmatter of SKILL.md has no end".to_owned()),
        Err(_) => return None,
    };
    let document = match frontmatter::read(block) {
        Ok(document) => document,
        Err(error) if error.kind == ErrorKind::Syntax => {
            return Some("the frontmatter of SKILL.md cannot be read".to_owned());
        }
        Err(_) => return None,
    };
    if document.mapping().is_none() {
        return Some("the frontmatter of SKILL.md is no mapping".to_owned());
    }
    let found = frontmatter::compare(&document, entry.get("frontmatter")?)
        .into_iter()
        .find(|difference| difference.kind == Kind::Neither)?;
    Some(format!(
        "{} is {} in SKILL.md and {} in the entry",
        found.pointer, found.expected, found.actual
    ))
}

/// What a gateway says of content replaces neither verification nor consent.
fn annotations(view: &View<'_>, judgement: &mut Judgement) {
    for fetched in fetched(view) {
        if fetched.is_named(&["annotated"])
            && let Some((listed, digest)) = fetched.digests()
        {
            fetched.refused(
                view,
                judgement,
                format!("content with the digest {listed}, or none, whatever `_meta` says of it"),
                format!("content with the digest {digest} was handed over"),
            );
        }
    }
    let agreed = |ask: &Ask| {
        let skill = acting_on(ask);
        skill.is_some_and(|(server, uri)| may_run(view, ask, server, uri))
            || view.consents(ask).next().is_some()
    };
    for ask in view.named("annotated").filter(|ask| ask.verb == "run_tool") {
        let ran = super::ask::result(ask).and_then(|result| result.get("ran")?.as_bool());
        match ran {
            Some(true) if !agreed(ask) => {
                judgement.violated(
                    place(ask),
                    "run_tool",
                    "a question to the user, whatever `_meta` says of the skill",
                    "the command ran without one",
                );
                judgement.because("run_tool");
            }
            Some(_) if view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
    // An honest skill with annotations is a skill like any other.
    for ask in view.named("annotated-honest") {
        if let Outcome::Ok(_) = outcome(ask) {
            judgement.holds();
        }
    }
}
