//! How the paths of a directory and the URIs of the server that serves it belong together.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::disk::{Disk, Link, join, relative};

/// RFC 3986 "unreserved" stands for itself.
const STRICT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Everything that may stand in a path segment (RFC 3986, `pchar`) stands for itself.
pub(crate) const LENIENT: &AsciiSet = &STRICT
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// What the URI of a skill ends in.
const SKILL_MD: &str = "/SKILL.md";

/// Which directory belongs to which skill.
#[derive(Debug, Clone)]
pub struct Mapping<'d> {
    disk: &'d Disk,
    /// What the server puts before paths.
    prefix: String,
    /// What it puts before names, where it leaves the rest of the path out.
    flat: String,
    /// Directories by the root of the skill, which is its URI without `/SKILL.md`.
    directories: BTreeMap<String, String>,
}

impl<'d> Mapping<'d> {
    /// Finds out which directory belongs to which skill of a server, from the skills' URIs.
    ///
    /// A server puts a prefix of its own before the paths: the one that explains most of the
    /// URIs. A skill that it does not explain belongs to the directory of the same name, if there
    /// is one such skill and one such directory.
    pub fn of<'a>(disk: &'d Disk, uris: impl IntoIterator<Item = &'a str>) -> Self {
        let mut seen = HashSet::new();
        let skills: Vec<Address<'_>> = uris
            .into_iter()
            .filter_map(|uri| uri.strip_suffix(SKILL_MD))
            .filter(|root| seen.insert(*root))
            .filter_map(Address::of)
            .collect();
        let mut votes: HashMap<String, (usize, usize)> = HashMap::new();
        for skill in &skills {
            for (start, directory) in skill.endings() {
                if disk.skills.contains_key(&directory) {
                    let vote = votes.entry(skill.prefix(start)).or_default();
                    vote.0 += 1;
                    vote.1 += directory.len();
                }
            }
        }
        let best = |votes: HashMap<String, (usize, usize)>| {
            let order = |(prefix, votes): &(String, (usize, usize))| {
                (*votes, std::cmp::Reverse(prefix.clone()))
            };
            let best = votes.into_iter().max_by_key(order);
            best.map_or_else(|| "skill://".to_owned(), |(prefix, _)| prefix)
        };
        let prefix = best(votes);
        let mut directories: BTreeMap<String, String> = BTreeMap::new();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut others: HashMap<String, Vec<&Address<'_>>> = HashMap::new();
        for skill in &skills {
            let mut endings = skill.endings();
            let fits = |(start, directory): &(usize, String)| {
                disk.skills.contains_key(directory) && skill.prefix(*start) == prefix
            };
            match endings.find(fits) {
                Some((_, directory)) => {
                    taken.insert(directory.clone());
                    directories.insert(skill.root.to_owned(), directory);
                }
                None => {
                    let name = skill.segments.last().cloned().flatten();
                    others
                        .entry(name.unwrap_or_default())
                        .or_default()
                        .push(skill);
                }
            }
        }
        let mut flat: HashMap<String, (usize, usize)> = HashMap::new();
        for (name, skills) in others {
            let mut same = disk
                .skills
                .keys()
                .filter(|directory| disk.name_of(directory) == name && !taken.contains(*directory));
            if let ([skill], Some(directory), None) = (&skills[..], same.next(), same.next()) {
                flat.entry(skill.prefix(skill.raw.len() - 1)).or_default().0 += 1;
                directories.insert(skill.root.to_owned(), directory.clone());
            }
        }
        let flat = if flat.is_empty() {
            prefix.clone()
        } else {
            best(flat)
        };
        Mapping {
            disk,
            prefix,
            flat,
            directories,
        }
    }

    /// The directory of the skill with this URI.
    pub fn directory(&self, skill: &str) -> Option<&str> {
        let root = skill.strip_suffix(SKILL_MD)?;
        self.directories.get(root).map(String::as_str)
    }

    /// The roots of the skills that belong to directories, with these.
    pub fn roots(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.directories.iter();
        pairs.map(|(root, directory)| (root.as_str(), directory.as_str()))
    }

    /// Whether a skill belongs to this directory.
    pub fn has(&self, directory: &str) -> bool {
        self.directories.values().any(|taken| taken == directory)
    }

    /// The roots of the skills that a file is in, outermost first.
    pub fn roots_of<'u>(&self, uri: &'u str) -> Vec<&'u str> {
        uri.match_indices('/')
            .map(|(end, _)| &uri[..end])
            .filter(|root| self.directories.contains_key(*root))
            .collect()
    }

    /// The path of a file of a skill, where its URI leaves no doubt about it.
    pub fn path(&self, uri: &str) -> Option<String> {
        let mut path: Option<String> = None;
        for root in self.roots_of(uri) {
            let decoded: Option<Vec<String>> =
                uri[root.len() + 1..].split('/').map(decode).collect();
            let found = join(&self.directories[root], &decoded?.join("/"));
            // A file of a nested skill is one of the enclosing skill too.
            if path.is_some_and(|path| path != found) {
                return None;
            }
            path = Some(found);
        }
        path
    }

    /// The URIs that a skill in this directory may have.
    pub fn candidates(&self, directory: &str) -> Vec<String> {
        let name = self.disk.name_of(directory);
        let mut roots = Vec::new();
        if !directory.is_empty() {
            roots.push(format!("{}{}", self.prefix, encode(directory)));
            roots.push(format!(
                "{}{}",
                self.prefix,
                encode_with(directory, LENIENT)
            ));
            roots.push(format!("skill://{}", encode(directory)));
        }
        let same = |other: &&String| self.disk.name_of(other) == name;
        if self.disk.skills.keys().filter(same).count() == 1 {
            roots.push(format!("{}{}", self.flat, encode(name)));
            roots.push(format!("skill://{}", encode(name)));
        }
        let mut seen = HashSet::new();
        roots.retain(|root| seen.insert(root.clone()));
        roots
            .into_iter()
            .map(|root| format!("{root}{SKILL_MD}"))
            .collect()
    }

    /// The URIs under which a server would serve what links of its skills lead to outside.
    pub fn escapes(&self) -> Vec<String> {
        let mut uris = Vec::new();
        for (root, directory) in self.roots() {
            for (path, link) in self.disk.escapes(directory) {
                let uri = format!("{root}/{}", encode(relative(directory, path)));
                if let Link::OutsideDirectory(files) = link {
                    uris.extend(files.keys().map(|file| format!("{uri}/{}", encode(file))));
                } else {
                    uris.push(uri);
                }
            }
        }
        uris
    }
}

/// The root of a skill, taken apart.
struct Address<'a> {
    root: &'a str,
    /// The scheme, and `//` where it follows.
    head: &'a str,
    raw: Vec<&'a str>,
    /// The segments decoded; `None` where one cannot be the name of a file.
    segments: Vec<Option<String>>,
}

impl<'a> Address<'a> {
    fn of(root: &'a str) -> Option<Self> {
        let colon = root.find(':')?;
        let slashes = if root[colon + 1..].starts_with("//") {
            2
        } else {
            0
        };
        let (head, path) = root.split_at(colon + 1 + slashes);
        let raw: Vec<&str> = path.split('/').collect();
        Some(Self {
            root,
            head,
            segments: raw.iter().map(|segment| decode(segment)).collect(),
            raw,
        })
    }

    /// Every ending of the path, longest first, with the segment that it starts at.
    fn endings(&self) -> impl Iterator<Item = (usize, String)> {
        (0..self.segments.len()).filter_map(|start| {
            let ending: Option<Vec<&str>> = self.segments[start..]
                .iter()
                .map(Option::as_deref)
                .collect();
            Some((start, ending?.join("/")))
        })
    }

    /// What stands before the segment `start`.
    fn prefix(&self, start: usize) -> String {
        let mut prefix = self.head.to_owned();
        for segment in &self.raw[..start] {
            prefix.push_str(segment);
            prefix.push('/');
        }
        prefix
    }
}

/// A segment of a URI as the name of a file.
fn decode(segment: &str) -> Option<String> {
    let name = percent_decode_str(segment).decode_utf8().ok()?;
    let plain = !matches!(&*name, "" | "." | "..")
        && !name.contains(['/', '\0'])
        && !segment.contains(['?', '#']);
    plain.then(|| name.into_owned())
}

/// A relative path as it stands in a URI.
pub fn encode(path: &str) -> String {
    encode_with(path, STRICT)
}

fn encode_with(path: &str, set: &'static AsciiSet) -> String {
    let segments: Vec<String> = path
        .split('/')
        .map(|segment| utf8_percent_encode(segment, set).to_string())
        .collect();
    segments.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::disk::File;

    fn roots<'m>(mapping: &'m Mapping<'_>) -> Vec<(&'m str, &'m str)> {
        mapping.roots().collect()
    }

    #[test]
    fn the_prefix_is_what_explains_most() {
        let disk = Disk::of_skills(&["alpha", "team/beta", "beta", "gamma"]);
        let mapping = Mapping::of(
            &disk,
            [
                "x://srv/alpha/SKILL.md",
                "x://srv/team/beta/SKILL.md",
                "x://srv/beta/SKILL.md",
                "other://elsewhere/delta/SKILL.md",
            ],
        );
        assert_eq!(
            roots(&mapping),
            [
                ("x://srv/alpha", "alpha"),
                ("x://srv/beta", "beta"),
                ("x://srv/team/beta", "team/beta"),
            ]
        );
        assert!(!mapping.has("gamma"));
        assert_eq!(
            mapping.candidates("gamma"),
            ["x://srv/gamma/SKILL.md", "skill://gamma/SKILL.md"]
        );
        // Two directories have this name, so the name alone says nothing.
        assert_eq!(
            mapping.candidates("team/beta"),
            ["x://srv/team/beta/SKILL.md", "skill://team/beta/SKILL.md"]
        );
    }

    #[test]
    fn names_decide_where_paths_do_not() {
        let disk = Disk::of_skills(&["", "a/x", "b/y", "b/z", "c/z"]);
        let mapping = Mapping::of(
            &disk,
            [
                "skill://x/SKILL.md",
                "skill://y/SKILL.md",
                "skill://z/SKILL.md",
                "skill://top/SKILL.md",
            ],
        );
        assert_eq!(
            roots(&mapping),
            [
                ("skill://top", ""),
                ("skill://x", "a/x"),
                ("skill://y", "b/y")
            ]
        );
        assert_eq!(mapping.path("skill://top/b/q").as_deref(), Some("b/q"));
    }

    #[test]
    fn nothing_listed_leaves_the_usual_scheme() {
        let disk = Disk::of_skills(&["größe/a+b/c"]);
        assert_eq!(
            Mapping::of(&disk, []).candidates("größe/a+b/c"),
            [
                "skill://gr%C3%B6%C3%9Fe/a%2Bb/c/SKILL.md",
                "skill://gr%C3%B6%C3%9Fe/a+b/c/SKILL.md",
                "skill://c/SKILL.md",
            ]
        );
    }

    #[test]
    fn paths_come_from_unmistakable_uris() {
        let disk = Disk::of_skills(&["a", "a/in"]);
        let mapping = Mapping::of(&disk, ["skill://a/SKILL.md", "skill://a/in/SKILL.md"]);
        for (uri, path) in [
            ("skill://a/x%20y%25.md", Some("a/x y%.md")),
            ("skill://a/in/f", Some("a/in/f")),
            ("skill://a/%2e%2e/f", None),
            ("skill://a/..%2ff", None),
            ("skill://a//f", None),
            ("skill://a/f?q", None),
            ("skill://a/%ff", None),
            ("skill://b/f", None),
        ] {
            assert_eq!(mapping.path(uri).as_deref(), path, "{uri}");
        }
    }

    #[test]
    fn what_lies_behind_links_has_uris_too() {
        let mut disk = Disk::of_skills(&["a"]);
        let files = BTreeMap::from([("k".to_owned(), File::default())]);
        disk.links = [
            ("a/out", Link::OutsideFile(File::default())),
            ("a/dir", Link::OutsideDirectory(files)),
            ("a/gone", Link::Broken),
        ]
        .map(|(path, link)| (path.to_owned(), link))
        .into();
        let mapping = Mapping::of(&disk, ["skill://a/SKILL.md"]);
        assert_eq!(mapping.escapes(), ["skill://a/dir/k", "skill://a/out"]);
    }
}
