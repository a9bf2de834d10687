//! A trace with the views that checks share, each worked out once.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Deref;
use std::sync::OnceLock;

use serde_json::Value;

use super::directory::{Child, children};
use super::entries::Entry;
use super::index::Index;
use super::metadata::{Shown, shown};
use crate::model::frontmatter::{self, Document, ErrorKind, NoBlock};
use crate::model::uri;
use crate::verdict::Judgement;
use crate::wire::content::{Body, Content};
use crate::wire::trace::{Exchange, Place, Trace};

/// What a check looks at: a trace, and views of it. Checks run side by side; the first that asks
/// for a view works it out for all.
pub struct Evidence<'a> {
    trace: &'a Trace,
    index: OnceLock<Index<'a>>,
    pages: OnceLock<BTreeMap<usize, Vec<Entry<'a>>>>,
    entries: OnceLock<Vec<Entry<'a>>>,
    listings: OnceLock<Vec<Vec<Entry<'a>>>>,
    children: OnceLock<Vec<Child<'a>>>,
    shown: OnceLock<Vec<Shown<'a>>>,
    implied: OnceLock<HashSet<Cow<'a, str>>>,
    implied_last: OnceLock<HashSet<Cow<'a, str>>>,
    reads: OnceLock<HashMap<&'a str, Vec<Read<'a>>>>,
    skillmds: OnceLock<Vec<Skillmd<'a>>>,
}

impl Deref for Evidence<'_> {
    type Target = Trace;

    fn deref(&self) -> &Trace {
        self.trace
    }
}

/// A file as it was read.
#[derive(Debug, Clone)]
pub struct Read<'a> {
    /// The URI that was asked for.
    pub uri: &'a str,
    /// The content item for it.
    pub value: &'a Value,
    /// The same, folded.
    pub content: &'a Content,
    /// Where the item stands.
    pub at: Place,
}

/// A SKILL.md as it was read, taken apart.
#[derive(Debug)]
pub struct Skillmd<'a> {
    /// The URI that was asked for; also that of an entry.
    pub uri: &'a str,
    /// Where the content item stands.
    pub at: Place,
    /// Its frontmatter, or why there is none to be had.
    pub frontmatter: Result<Document, NoFrontmatter>,
}

/// Why a SKILL.md has no frontmatter to judge.
#[derive(Debug)]
pub enum NoFrontmatter {
    /// The file does not conform.
    Faulty(String),
    /// The file may conform; too little of it is kept, or YAML libraries disagree about it.
    Unknown(String),
}

impl<'a> Evidence<'a> {
    /// Wraps a trace.
    pub fn new(trace: &'a Trace) -> Self {
        Self {
            trace,
            index: OnceLock::new(),
            pages: OnceLock::new(),
            entries: OnceLock::new(),
            listings: OnceLock::new(),
            children: OnceLock::new(),
            shown: OnceLock::new(),
            implied: OnceLock::new(),
            implied_last: OnceLock::new(),
            reads: OnceLock::new(),
            skillmds: OnceLock::new(),
        }
    }

    /// The trace itself.
    pub fn trace(&self) -> &'a Trace {
        self.trace
    }

    fn index(&self) -> &Index<'a> {
        self.index.get_or_init(|| Index::new(self.trace))
    }

    /// As [`Trace::calls`], from an index.
    pub fn calls<'e>(&'e self, method: &str) -> impl Iterator<Item = &'a Exchange> + use<'e, 'a> {
        self.index().calls(method).iter().copied()
    }

    /// As [`Trace::named`], from an index.
    pub fn named<'e>(&'e self, name: &str) -> impl Iterator<Item = &'a Exchange> + use<'e, 'a> {
        self.index().named(name).iter().copied()
    }

    /// The walks over pages of one method, in order, each as its pages.
    pub fn walks(&self, method: &str) -> &[Vec<&'a Exchange>] {
        self.index().walks(method)
    }

    /// As [`Trace::result`], from an index.
    pub fn result(&self, exchange: &Exchange) -> Option<&'a Value> {
        self.index().result(exchange.answer?)
    }

    /// Every entry of the trace: from listings, then from `skills/get`.
    pub fn entries(&self) -> &[Entry<'a>] {
        self.entries.get_or_init(|| {
            let listed = self.pages().values().flatten().cloned();
            // What a probe should have been refused for is judged with the probe.
            let honest = |exchange: &&'a Exchange| {
                matches!(
                    exchange.name.as_deref(),
                    Some("get-listed" | "get-named" | "root-skill" | "first-on-connection")
                )
            };
            // A guessed URI may be none of the server's; an answer counts if it is for that URI.
            let meant = |entry: &Entry<'_>| {
                entry.exchange.name.as_deref() != Some("root-skill")
                    || entry.uri().is_some() && entry.uri() == entry.exchange.uri()
            };
            let got = self
                .calls("skills/get")
                .filter(honest)
                .filter_map(|exchange| got(self.trace, exchange))
                .filter(meant);
            listed.chain(got).collect()
        })
    }

    /// The entries of each answer of `skills/list`, in order, by its request.
    fn pages(&self) -> &BTreeMap<usize, Vec<Entry<'a>>> {
        self.pages.get_or_init(|| {
            let pages = self.calls("skills/list");
            pages
                .map(|page| (page.sent, page_entries(self.trace, page)))
                .collect()
        })
    }

    /// The walks over the listing, each as its entries.
    pub fn listings(&self) -> &[Vec<Entry<'a>>] {
        self.listings.get_or_init(|| {
            let walks = self.walks("skills/list").iter();
            walks
                .map(|pages| {
                    let entries = pages.iter().filter_map(|page| self.pages().get(&page.sent));
                    entries.flatten().cloned().collect()
                })
                .collect()
        })
    }

    /// The entries of the first walk.
    pub fn listing(&self) -> &[Entry<'a>] {
        self.listings().first().map_or(&[], Vec::as_slice)
    }

    /// The walks over the listing that came to their end; others have been judged for that.
    pub fn whole_listings(&self) -> Vec<&[Entry<'a>]> {
        let ended = |pages: &[&Exchange]| {
            pages.last().is_some_and(|last| {
                !last.page.is_some_and(|page| page.cut) && self.trace.result(last).is_some()
            })
        };
        let walks = self.listings().iter().zip(self.walks("skills/list"));
        walks
            .filter(|(_, pages)| ended(pages))
            .map(|(walk, _)| walk.as_slice())
            .collect()
    }

    /// Judges each walk over the listing, and keeps what is found in every one of them: in a
    /// catalog that moves, pages of one walk may disagree, but not again and again.
    pub fn in_every_listing(&self, judge: impl Fn(&[Entry<'a>], &mut Judgement)) -> Judgement {
        let mut walks = self.whole_listings().into_iter().map(|walk| {
            let mut judgement = Judgement::new();
            judge(walk, &mut judgement);
            judgement
        });
        let mut first = walks.next().unwrap_or_default();
        for later in walks {
            first.findings.retain(|finding| {
                later
                    .findings
                    .iter()
                    .any(|again| again.subject == finding.subject)
            });
        }
        first
    }

    /// The entries of one answer of `skills/list`.
    pub fn page_entries<'e>(&'e self, page: &'e Exchange) -> Vec<Entry<'e>> {
        page_entries(self.trace, page)
    }

    /// The entry of a `skills/get` answer.
    pub fn got<'e>(&'e self, exchange: &'e Exchange) -> Option<Entry<'e>> {
        got(self.trace, exchange)
    }

    /// The children that the walks over directories show.
    pub(super) fn children(&self) -> &[Child<'a>] {
        self.children.get_or_init(|| children(self))
    }

    /// Resources as listings, directory reads and read results show them.
    pub(super) fn shown(&self) -> &[Shown<'a>] {
        self.shown.get_or_init(|| shown(self))
    }

    /// Directories that any manifest implies, by URI.
    pub(super) fn implied(&self) -> &HashSet<Cow<'a, str>> {
        self.implied.get_or_init(|| implied(self.entries()))
    }

    /// Directories that the manifests of the last walk over the listing imply, and those of skills
    /// that are served without being listed, by URI.
    pub(super) fn implied_last(&self) -> &HashSet<Cow<'a, str>> {
        self.implied_last.get_or_init(|| {
            let last = self.listings().last().into_iter().flatten();
            implied(last.chain(super::retrieval::unlisted(self)))
        })
    }

    /// All files that were read, by URI; a file read twice has two.
    pub fn reads(&self) -> &HashMap<&'a str, Vec<Read<'a>>> {
        self.reads.get_or_init(|| {
            let mut reads: HashMap<&str, Vec<Read<'_>>> = HashMap::new();
            for exchange in self.calls("resources/read") {
                if let Some(read) = self.read_of(exchange) {
                    reads.entry(read.uri).or_default().push(read);
                }
            }
            reads
        })
    }

    /// The content of an answer to `resources/read`: the item that carries the requested URI, or
    /// the only one there is.
    pub fn read_of(&self, exchange: &'a Exchange) -> Option<Read<'a>> {
        let uri = exchange.uri()?;
        let items = self.result(exchange)?.get("contents")?.as_array()?;
        let index = items
            .iter()
            .position(|item| item.get("uri").and_then(Value::as_str) == Some(uri))
            .or((items.len() == 1).then_some(0))?;
        Some(Read {
            uri,
            value: &items[index],
            content: self.trace.contents(exchange).get(index)?,
            at: self
                .trace
                .place_at(exchange, &format!("/result/contents/{index}")),
        })
    }

    /// The SKILL.md files that were read, of every skill that an entry names.
    pub fn skillmds(&self) -> &[Skillmd<'a>] {
        self.skillmds.get_or_init(|| {
            let mut uris: Vec<&str> = self.entries().iter().filter_map(Entry::uri).collect();
            uris.sort_unstable();
            uris.dedup();
            let read = uris
                .into_iter()
                .filter_map(|uri| self.reads().get_key_value(uri));
            read.flat_map(|(uri, reads)| reads.iter().filter_map(|read| skillmd(uri, read)))
                .collect()
        })
    }
}

/// Directories that the manifests of these entries imply, by URI.
fn implied<'e, 'a: 'e>(entries: impl IntoIterator<Item = &'e Entry<'a>>) -> HashSet<Cow<'a, str>> {
    let mut implied = HashSet::new();
    for entry in entries {
        let Some(root) = entry.uri().and_then(uri::skill_root) else {
            continue;
        };
        implied.insert(Cow::Borrowed(root));
        for item in entry.items() {
            let file = item.uri().into_iter();
            implied.extend(file.flat_map(|file| uri::parent_dirs(root, file)));
        }
    }
    implied
}

fn page_entries<'a>(trace: &'a Trace, page: &'a Exchange) -> Vec<Entry<'a>> {
    let skills = trace
        .result(page)
        .and_then(|result| result.get("skills"))
        .and_then(Value::as_array);
    skills
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(index, value)| {
            let at = trace.place_at(page, &format!("/result/skills/{index}"));
            Entry::new(value, at, Some(index), page)
        })
        .collect()
}

fn got<'a>(trace: &'a Trace, exchange: &'a Exchange) -> Option<Entry<'a>> {
    let value = trace.result(exchange)?.get("skill")?;
    let at = trace.place_at(exchange, "/result/skill");
    Some(Entry::new(value, at, None, exchange))
}

fn skillmd<'a>(uri: &'a str, read: &Read<'a>) -> Option<Skillmd<'a>> {
    let Body::Bytes { len, utf8, .. } = read.content.body else {
        return None;
    };
    let opening = &read.content.opening;
    let complete = opening.len() as u64 == len;
    let frontmatter = if !utf8 {
        Err(NoFrontmatter::Faulty("the file is not UTF-8".to_owned()))
    } else if opening.is_empty() {
        Err(NoFrontmatter::Faulty(
            "the file does not open with a line `---`".to_owned(),
        ))
    } else {
        match frontmatter::block(opening, complete) {
            Ok(yaml) => frontmatter::read(yaml).map_err(|error| match error.kind {
                ErrorKind::Syntax => {
                    NoFrontmatter::Faulty(format!("the YAML does not parse: {error}"))
                }
                ErrorKind::Undecided => {
                    NoFrontmatter::Unknown(format!("the YAML was not read: {error}"))
                }
            }),
            Err(why @ NoBlock::TooLong) => Err(NoFrontmatter::Unknown(why.to_string())),
            Err(why) => Err(NoFrontmatter::Faulty(why.to_string())),
        }
    };
    Some(Skillmd {
        uri,
        at: read.at.clone(),
        frontmatter,
    })
}
