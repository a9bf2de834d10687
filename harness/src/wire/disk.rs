//! The directory whose skills a server serves, as it was read before the run.

use std::collections::{BTreeMap, BTreeSet};

/// How many links are followed to find a file.
const HOPS: usize = 16;

/// What a directory held. Paths are relative to it and separated by `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disk {
    /// The name of the directory itself.
    pub name: String,
    /// The regular files.
    pub files: BTreeMap<String, File>,
    /// The directories with a regular file `SKILL.md`, each with the beginning of that file; the
    /// empty path is the directory itself.
    pub skills: BTreeMap<String, Opening>,
    /// The symbolic links.
    pub links: BTreeMap<String, Link>,
    /// Directories of version control, which were not looked into.
    pub ignored: BTreeSet<String>,
    /// What could not be read, and why.
    pub unread: BTreeMap<String, String>,
}

/// A regular file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct File {
    /// Length in bytes.
    pub len: u64,
    /// SHA-256 of the bytes; not taken of files that no skill can have, and of huge ones.
    pub sha256: Option<[u8; 32]>,
}

/// The beginning of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opening {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether they are all of it.
    pub complete: bool,
}

/// Where a symbolic link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// To this path in the same directory.
    Inside(String),
    /// To a file outside.
    OutsideFile(File),
    /// To a directory outside, with some of the files that lie in it.
    OutsideDirectory(BTreeMap<String, File>),
    /// Outside, to something that has no bytes to compare.
    OutsideOther,
    /// Nowhere, or in a circle.
    Broken,
}

impl Link {
    /// Whether it leads out of the directory.
    pub fn leaves(&self) -> bool {
        matches!(
            self,
            Link::OutsideFile(_) | Link::OutsideDirectory(_) | Link::OutsideOther
        )
    }
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<'a> {
    /// A file.
    File(&'a File),
    /// Something behind a link that leads outside: the link, and the file there if it is known.
    Outside {
        /// The path of the link.
        link: String,
        /// The file that the path leads to.
        file: Option<&'a File>,
    },
    /// Something that was not looked at.
    Unknown,
    /// Nothing.
    Nothing,
}

impl Disk {
    /// What stands at `path`, through links too.
    pub fn find(&self, path: &str) -> Found<'_> {
        let mut path = path.to_owned();
        for _ in 0..HOPS {
            if let Some(file) = self.files.get(&path) {
                return Found::File(file);
            }
            let ends = path.match_indices('/').map(|(end, _)| end);
            let mut fronts = ends.chain([path.len()]).map(|end| &path[..end]);
            let met = fronts.find_map(|front| {
                let unknown = self.ignored.contains(front) || self.unread.contains_key(front);
                let link = self.links.get(front);
                (unknown || link.is_some()).then_some((front.to_owned(), link))
            });
            let Some((front, link)) = met else {
                return Found::Nothing;
            };
            let rest = path[front.len()..].trim_start_matches('/');
            let file = match link {
                None => return Found::Unknown,
                Some(Link::Broken) => return Found::Nothing,
                Some(Link::Inside(target)) => {
                    path = join(target, rest);
                    continue;
                }
                Some(Link::OutsideFile(file)) => rest.is_empty().then_some(file),
                Some(Link::OutsideDirectory(files)) => files.get(rest),
                Some(Link::OutsideOther) => None,
            };
            return Found::Outside { link: front, file };
        }
        Found::Nothing
    }

    /// The regular files below a directory.
    pub fn below<'a>(&'a self, directory: &str) -> impl Iterator<Item = (&'a str, &'a File)> {
        below(&self.files, directory)
    }

    /// The links below a directory that lead outside.
    pub fn escapes<'a>(&'a self, directory: &str) -> impl Iterator<Item = (&'a str, &'a Link)> {
        below(&self.links, directory).filter(|(_, link)| link.leaves())
    }

    /// The name that a skill in this directory must have.
    pub fn name_of<'a>(&'a self, directory: &'a str) -> &'a str {
        if directory.is_empty() {
            return &self.name;
        }
        directory
            .rsplit_once('/')
            .map_or(directory, |(_, name)| name)
    }
}

/// A path below a directory, seen from there.
pub fn relative<'a>(directory: &str, path: &'a str) -> &'a str {
    path.strip_prefix(directory)
        .map_or(path, |rest| rest.trim_start_matches('/'))
}

pub(super) fn join(directory: &str, rest: &str) -> String {
    match (directory, rest) {
        ("", rest) => rest.to_owned(),
        (directory, "") => directory.to_owned(),
        (directory, rest) => format!("{directory}/{rest}"),
    }
}

fn below<'a, T>(
    map: &'a BTreeMap<String, T>,
    directory: &str,
) -> impl Iterator<Item = (&'a str, &'a T)> + use<'a, T> {
    let start = match directory {
        "" => String::new(),
        directory => format!("{directory}/"),
    };
    map.range(start.clone()..)
        .take_while(move |(path, _)| path.starts_with(&start))
        .map(|(path, value)| (path.as_str(), value))
}

#[cfg(test)]
impl Disk {
    /// A directory with these skills and nothing else.
    pub(super) fn of_skills(skills: &[&str]) -> Disk {
        Disk {
            name: "top".to_owned(),
            skills: skills
                .iter()
                .map(|path| ((*path).to_owned(), Opening::default()))
                .collect(),
            files: skills
                .iter()
                .map(|path| (join(path, "SKILL.md"), File::default()))
                .collect(),
            ..Disk::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_seen_through() {
        let mut disk = Disk::of_skills(&["a", "shared"]);
        let outside = File {
            len: 7,
            sha256: None,
        };
        disk.links = [
            ("a/in", Link::Inside("shared".to_owned())),
            ("a/out", Link::OutsideFile(outside)),
            (
                "a/dir",
                Link::OutsideDirectory(BTreeMap::from([("k".to_owned(), outside)])),
            ),
            ("a/gone", Link::Broken),
            ("a/round", Link::Inside("a/round".to_owned())),
        ]
        .map(|(path, link)| (path.to_owned(), link))
        .into();
        disk.ignored.insert("a/.git".to_owned());
        assert!(matches!(disk.find("a/in/SKILL.md"), Found::File(_)));
        assert!(
            matches!(disk.find("a/out"), Found::Outside { link, file: Some(_) } if link == "a/out")
        );
        assert!(
            matches!(disk.find("a/dir/k"), Found::Outside { link, file: Some(_) } if link == "a/dir")
        );
        assert!(matches!(
            disk.find("a/dir/x/k"),
            Found::Outside { file: None, .. }
        ));
        assert_eq!(disk.find("a/gone"), Found::Nothing);
        assert_eq!(disk.find("a/round"), Found::Nothing);
        assert_eq!(disk.find("a/.git/config"), Found::Unknown);
        assert_eq!(disk.find("a/none"), Found::Nothing);
        let escapes: Vec<&str> = disk.escapes("a").map(|(path, _)| path).collect();
        assert_eq!(escapes, ["a/dir", "a/out"]);
    }
}
