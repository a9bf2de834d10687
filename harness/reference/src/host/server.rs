//! A server as the user has configured it: its connection, and the entries
//! that it has published.

use std::collections::BTreeMap;
use std::time::Instant;

use super::client::{CallError, Client, Target};
use super::entry::Entry;

/// A configured server.
#[derive(Debug)]
pub(super) struct Server {
    /// The name that the user has given it.
    pub label: String,
    pub target: Target,
    /// The connection; nothing while it is disconnected.
    pub client: Option<Client>,
    /// What the server calls itself.
    pub own_name: Option<String>,
    pub listing: Listing,
    /// Entries of skills that are in no listing, from `skills/get`.
    pub known: BTreeMap<String, Entry>,
    /// The connection was given up (a fault).
    pub dead: bool,
}

/// What the last walk through `skills/list` brought.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub entries: Vec<Listed>,
    /// The walk did not succeed.
    pub failed: bool,
    /// Until when the listing counts as fresh.
    pub fresh_until: Option<Instant>,
    /// There is reason to believe that the listing is out of date.
    pub doubtful: bool,
    /// When the listing is fetched again unasked (a fault).
    pub poll_at: Option<Instant>,
}

/// An item of a listing: an entry, or what is wrong with it.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub uri: String,
    pub entry: Result<Entry, String>,
}

impl Server {
    pub fn new(label: &str, target: Target) -> Server {
        Server {
            label: label.to_owned(),
            target,
            client: None,
            own_name: None,
            listing: Listing::default(),
            known: BTreeMap::new(),
            dead: false,
        }
    }

    /// The connection, if there is one.
    pub fn client(&mut self) -> Result<&mut Client, CallError> {
        match &mut self.client {
            Some(client) if !self.dead => Ok(client),
            _ => Err(CallError::Transport(format!(
                "the server \"{}\" is not connected",
                self.label
            ))),
        }
    }

    /// Whether it is connected and declares the extension.
    pub fn serves_skills(&self) -> bool {
        self.client
            .as_ref()
            .is_some_and(|client| client.settings().is_some())
    }

    /// What is known of the skill.
    pub fn lookup(&self, uri: &str) -> Option<Result<&Entry, &str>> {
        if let Some(entry) = self.known.get(uri) {
            return Some(Ok(entry));
        }
        let listed = self
            .listing
            .entries
            .iter()
            .find(|listed| listed.uri == uri)?;
        Some(listed.entry.as_ref().map_err(String::as_str))
    }

    /// Every valid entry, listed ones first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let listed = self
            .listing
            .entries
            .iter()
            .filter_map(|listed| listed.entry.as_ref().ok());
        listed.chain(self.known.values())
    }

    /// Puts an entry from `skills/get` in the place of what was known.
    pub fn update(&mut self, entry: Entry) {
        let mut found = false;
        for listed in &mut self.listing.entries {
            if listed.uri == entry.uri {
                listed.entry = Ok(entry.clone());
                found = true;
            }
        }
        if !found {
            self.known.insert(entry.uri.clone(), entry);
        }
    }
}
