//! Getting hold of entries and files: `skills/get`, `resources/read`, the
//! cache, verification, and the way back after a failed one.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::address::{directory, scheme};
use super::cache::{Found, digest};
use super::client::CallError;
use super::entry::{Entry, Item, Source, claims_verified};
use super::faults::Switch;
use super::frontmatter;
use super::http::Endpoint;
use super::limits;
use super::outcome::{Key, Refusal, refuse};
use super::state::Host;
use super::user::{Question, User};

/// Content as a server sent it.
#[derive(Debug, Clone)]
pub(super) struct Content {
    pub bytes: Vec<u8>,
    /// It came as `blob`.
    pub blob: bool,
    /// `_meta` claims that it was verified. Only faults care.
    pub claims_verified: bool,
    /// What else the answer had. Only faults care.
    pub rest: Vec<u8>,
}

/// A file of a skill.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub bytes: Vec<u8>,
    /// The URI that it was read under.
    pub uri: String,
    /// It was held against the manifest.
    pub verified: bool,
}

/// Why a file of a skill cannot be handed over.
enum Miss {
    /// The server's current entry may say something else.
    Stale {
        refusal: Refusal,
        cached: bool,
    },
    Final(Refusal),
}

impl Host {
    /// Fetches the entry of a skill.
    pub async fn get_entry(&mut self, label: &str, uri: &str) -> Result<Entry, Refusal> {
        let fault = self.fault;
        let serves = self
            .server(label)
            .is_some_and(|server| server.serves_skills() && !self.ignores(server));
        if self.is_connected(label) && !serves && !fault.on("client-methods-gated/get") {
            return refuse(
                "not-a-skill",
                format!("the server \"{label}\" does not declare that it serves skills"),
            );
        }
        let first = self
            .memory
            .first_get
            .get(label)
            .cloned()
            .filter(|_| fault.on("client-cache-reuse"));
        let client = self.client(label)?;
        let result = match first {
            Some(first) => first,
            None => {
                if fault.on("client-get-uri-skillmd") {
                    let _ = client
                        .request("skills/get", json!({"uri": directory(uri)}))
                        .await;
                }
                let result = client.request("skills/get", json!({"uri": uri})).await;
                result.map_err(|error| match &error {
                    CallError::Rpc { .. } => Refusal {
                        kind: Some("not-a-skill"),
                        reason: format!(
                            "the server \"{label}\" serves no skill {uri}: {}",
                            error.text()
                        ),
                    },
                    CallError::Transport(_) | CallError::Unusable(_) => error.into(),
                })?
            }
        };
        if fault.on("client-cache-reuse") {
            self.memory
                .first_get
                .insert(label.to_owned(), result.clone());
        }
        let entry = match Entry::read(&result["skill"], Source::Get, fault) {
            Ok(entry) => entry,
            Err(reason) => {
                return refuse(
                    "invalid-entry",
                    format!("the entry of {uri} is invalid: {reason}"),
                );
            }
        };
        if entry.uri != uri && !fault.on("host-reference-confirmed/other") {
            return refuse(
                "invalid-entry",
                format!("the server answered {uri} with the entry of {}", entry.uri),
            );
        }
        Ok(entry)
    }

    /// Keeps an entry from `skills/get`.
    pub fn keep_entry(&mut self, label: &str, entry: &Entry) {
        self.observe(label, entry);
        self.ahead
            .retain(|key| key.label() != label || !super::address::within(entry.root(), &key.uri));
        if let Ok(server) = self.server_mut(label) {
            server.update(entry.clone());
        }
    }

    /// Sends `resources/read` and picks the block with the requested URI.
    pub async fn request_resource(&mut self, label: &str, uri: &str) -> Result<Content, CallError> {
        let fault = self.fault;
        if fault.on("host-reads-via-resources-read/native")
            && scheme(uri).is_some_and(|scheme| scheme == "http" || scheme == "https")
            && let Ok(mut endpoint) = Endpoint::new(uri)
            && let Ok(bytes) = endpoint.get().await
        {
            return Ok(Content {
                bytes,
                blob: false,
                claims_verified: false,
                rest: Vec::new(),
            });
        }
        let decoded = percent_encoding::percent_decode_str(uri)
            .decode_utf8_lossy()
            .into_owned();
        let asked = if fault.on("host-reads-via-resources-read") {
            decoded.as_str()
        } else {
            uri
        };
        let Ok(server) = self.server_mut(label) else {
            return Err(CallError::Transport(format!(
                "no server is configured as \"{label}\""
            )));
        };
        let result = server
            .client()?
            .request("resources/read", json!({"uri": asked}))
            .await;
        if fault.on("client-legacy-not-found")
            && let Err(CallError::Rpc {
                code: -32002,
                message,
                ..
            }) = &result
        {
            server.dead = true;
            return Err(CallError::Transport(message.clone()));
        }
        let result = result?;
        let unusable = |reason: &str| CallError::Unusable(reason.to_owned());
        let blocks = result["contents"]
            .as_array()
            .ok_or_else(|| unusable("the result has no array `contents`"))?;
        let matching = |block: &&Value| block["uri"] == asked || block["uri"] == uri;
        let block = match fault.on("host-verify-digest/first-block") {
            true => blocks.first(),
            false => blocks.iter().find(matching),
        };
        let block = block
            .ok_or_else(|| unusable("the result has no content for the URI that was asked for"))?;
        let (bytes, blob) = match (&block["text"], &block["blob"]) {
            (Value::String(text), _) => (text.as_bytes().to_vec(), false),
            (_, Value::String(blob)) => {
                let bytes = STANDARD
                    .decode(blob)
                    .map_err(|_| unusable("the content is not base64"))?;
                (bytes, true)
            }
            _ => return Err(unusable("the content has neither text nor blob")),
        };
        let others = blocks.iter().filter(|block| !matching(block));
        let rest = others.filter_map(|block| block["text"].as_str());
        Ok(Content {
            bytes,
            blob,
            claims_verified: claims_verified(block),
            rest: rest.collect::<String>().into_bytes(),
        })
    }

    /// A file of a skill, verified against the entry or, for a dynamic skill,
    /// not at all. When verification fails, the entry is refreshed once; a
    /// skill that has changed is gone on with under its new entry, if the user
    /// allows it. The entry that counts in the end is handed back.
    pub async fn obtain(
        &mut self,
        user: &mut User,
        label: &str,
        held: &Entry,
        uri: &str,
    ) -> Result<(File, Entry), Refusal> {
        let mut entry = held.clone();
        let mut refreshed = false;
        loop {
            let (refusal, cached) = match self.file(label, &entry, uri).await {
                Ok(file) => return Ok((file, entry)),
                Err(Miss::Final(refusal)) => return Err(refusal),
                Err(Miss::Stale { refusal, cached }) => (refusal, cached),
            };
            if refreshed || entry.source == Source::Nowhere {
                return Err(refusal);
            }
            refreshed = true;
            if self.fault.on("host-recovery-by-refresh") {
                for _ in 0..3 {
                    let _ = self.request_resource(label, uri).await;
                }
            }
            let Ok(fresh) = self.get_entry(label, &entry.uri).await else {
                return Err(refusal);
            };
            if self.fault.on("host-recovery-by-refresh/old-set") {
                continue;
            }
            self.keep_entry(label, &fresh);
            if fresh.same_set(&entry) {
                // A damaged copy is no reason to give up: the server has the file.
                if cached {
                    continue;
                }
                return Err(refusal);
            }
            entry = self.ask_changed(user, label, fresh).await?;
            if !entry.is_dynamic() && entry.item(uri).is_none() {
                return refuse("changed", format!("{uri} is no longer a file of the skill"));
            }
        }
    }

    /// Asks whether a skill that has changed may be used as it is now.
    async fn ask_changed(
        &mut self,
        user: &mut User,
        label: &str,
        fresh: Entry,
    ) -> Result<Entry, Refusal> {
        let key = Key::new(label, &fresh.uri);
        limits::check(&fresh, self.fault)?;
        if self.approvals.covers(&key, "load", &fresh) {
            return Ok(fresh);
        }
        self.tell_changed(&key, &fresh.name);
        let detail = format!(
            "The skill \"{}\" of server \"{label}\" ({}) has changed since it was approved. Use it as it is now?",
            fresh.name, fresh.uri
        );
        let decision = user.ask(&Question::new("changed", &key, detail)).await;
        let decision = decision.or_refuse("the changed skill")?;
        if decision.remember {
            self.approvals.store(&key, "load", &fresh);
        }
        Ok(fresh)
    }

    async fn file(&mut self, label: &str, entry: &Entry, uri: &str) -> Result<File, Miss> {
        let item = entry.item(uri).cloned();
        let wanted = item.as_ref().map_or(uri, |item| &item.uri).to_owned();
        let key = Key::new(label, &wanted);
        self.memory.from_cache.remove(&key);
        if let Some(item) = &item {
            match self.cache.get(&key, item) {
                Found::Nothing => {}
                Found::Damaged => {
                    let refusal = mismatch(format!("the cached copy of {wanted} has been changed"));
                    return Err(Miss::Stale {
                        refusal,
                        cached: true,
                    });
                }
                Found::Bytes(bytes) => {
                    self.memory.from_cache.insert(key.clone());
                    if wanted == entry.uri
                        && !self.cache.takes_others(&key)
                        && !self.fault.on("host-frontmatter-comparison/cache")
                        && let Err(reason) = frontmatter::compare(&bytes, entry, self.fault)
                    {
                        let refusal = mismatch(reason);
                        return Err(Miss::Stale {
                            refusal,
                            cached: false,
                        });
                    }
                    return Ok(File {
                        bytes,
                        uri: wanted,
                        verified: true,
                    });
                }
            }
        }
        let mut content = match self.request_resource(label, &wanted).await {
            Ok(content) => content,
            // The file may have gone, which the entry then says.
            Err(error) if error.is_not_found() && item.is_some() => {
                let refusal = error.into();
                return Err(Miss::Stale {
                    refusal,
                    cached: false,
                });
            }
            Err(error) => return Err(Miss::Final(error.into())),
        };
        let sealed = (entry.claims_verified || content.claims_verified)
            && self.fault.on("host-annotations-no-semantics");
        if !sealed && let Err(reason) = self.verify(&content, &wanted, item.as_ref(), entry) {
            if let Some(item) = item.filter(|_| self.fault.on("host-verify-digest/cache")) {
                self.cache.put_spoilt(&key, &item, &content.bytes);
            }
            let refusal = mismatch(reason);
            return Err(Miss::Stale {
                refusal,
                cached: false,
            });
        }
        if let Some(item) = &item
            && !self.fault.on("host-cache-verified-content")
            && digest(&content.bytes) == item.digest
        {
            self.cache.put(&key, item, &content.bytes);
        }
        if self.fault.on("host-verify-digest/other-blocks") {
            content.bytes.extend(content.rest);
        }
        Ok(File {
            bytes: content.bytes,
            uri: wanted,
            verified: item.is_some(),
        })
    }

    /// Holds content against what the entry says: its size, its digest, and,
    /// for SKILL.md, its frontmatter.
    fn verify(
        &self,
        content: &Content,
        uri: &str,
        item: Option<&Item>,
        entry: &Entry,
    ) -> Result<(), String> {
        let fault = self.fault;
        let skill_md = uri == entry.uri;
        if let Some(item) = item {
            let bytes = rewritten(&content.bytes, fault);
            let size = bytes.len() as u64;
            let sized = fault.on("host-size-mismatch-failure")
                || self.memory.by_reference && fault.on("host-size-mismatch-failure/reference")
                || fault.on("host-size-mismatch-failure/zero") && item.size == 0;
            if size != item.size && !sized {
                return Err(format!("{uri} has {size} bytes and not {}", item.size));
            }
            let skipped = skill_md && fault.on("host-verify-digest")
                || !skill_md && fault.on("host-verify-digest/file")
                || content.blob && fault.on("host-verify-digest/blob")
                || self.memory.by_handle && fault.on("host-verify-digest/by-handle")
                || self.memory.by_reference && fault.on("host-verify-digest/reference")
                || entry.source == Source::Get && fault.on("host-verify-digest/get")
                || item.digest.is_empty()
                    && (fault.on("host-verify-digest/malformed")
                        || fault.on("host-verify-digest/algorithm"));
            let actual = digest(&bytes);
            let digits = if fault.on("host-verify-digest/prefix") {
                "sha256:".len() + 8
            } else if fault.on("host-verify-digest/short") {
                item.digest.len()
            } else {
                actual.len()
            };
            let twin = fault.on("resources-invalid-entry/duplicate")
                && entry
                    .items()
                    .iter()
                    .any(|twin| twin.uri == uri && twin.digest == actual);
            if !skipped && !twin && item.digest.get(..digits) != actual.get(..digits) {
                return Err(format!(
                    "{uri} has the digest {actual} and not {}",
                    item.digest
                ));
            }
        }
        if skill_md && !(content.blob && fault.on("host-frontmatter-comparison/blob")) {
            frontmatter::compare(&content.bytes, entry, fault)
        } else {
            Ok(())
        }
    }
}

/// The bytes that are hashed: those that came, which only faults rewrite.
fn rewritten(bytes: &[u8], fault: Switch) -> Cow<'_, [u8]> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Cow::Borrowed(bytes);
    };
    let text = if fault.on("host-verify-digest/line-ends") {
        text.replace("\r\n", "\n")
    } else if fault.on("host-verify-digest/mark") {
        text.trim_start_matches('\u{feff}').to_owned()
    } else if fault.on("host-verify-digest/composed") {
        text.replace("e\u{301}", "\u{e9}")
    } else if fault.on("host-verify-digest/open-end") && text.contains('\n') {
        format!("{}\n", text.trim_end_matches('\n'))
    } else {
        return Cow::Borrowed(bytes);
    };
    Cow::Owned(text.into_bytes())
}

fn mismatch(reason: String) -> Refusal {
    Refusal {
        kind: Some("verification"),
        reason,
    }
}
