//! Reading a tree of skills from a directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::frontmatter;
use crate::options::StartError;
use crate::tree::{SkillRoot, Tree, file_name};

/// What was read, and what was left out with the reason.
pub(crate) struct Loaded {
    pub tree: Tree,
    pub skipped: Vec<String>,
}

/// Reads every skill below `root`. Symbolic links are left out, since what
/// they lead to is not part of the directory; `follow_links` drops that rule.
pub(crate) fn load(root: &Path, follow_links: bool) -> Result<Loaded, StartError> {
    let mut walk = Walk {
        root: root.to_owned(),
        follow_links,
        tree: Tree::default(),
        skipped: Vec::new(),
        visited: BTreeSet::new(),
    };
    let entries = fs::read_dir(root).map_err(|error| StartError::Unreadable {
        path: root.to_owned(),
        error,
    })?;
    walk.entries(entries, "");
    if walk.tree.files.remove("SKILL.md").is_some() {
        walk.skipped.push(
            "SKILL.md at the top is not served: a skill needs a directory with its name; \
             give the parent directory instead"
                .to_owned(),
        );
    }
    walk.find_skills();
    walk.drop_strays();
    Ok(Loaded {
        tree: walk.tree,
        skipped: walk.skipped,
    })
}

struct Walk {
    root: PathBuf,
    follow_links: bool,
    tree: Tree,
    skipped: Vec<String>,
    /// Real paths of followed directory links, against loops.
    visited: BTreeSet<PathBuf>,
}

impl Walk {
    fn entries(&mut self, entries: fs::ReadDir, directory: &str) {
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.skipped.push(format!("{directory}: {error}"));
                    continue;
                }
            };
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                self.skipped
                    .push(format!("{directory}/{name:?}: its name is not UTF-8"));
                continue;
            };
            let path = if directory.is_empty() {
                name.to_owned()
            } else {
                format!("{directory}/{name}")
            };
            if let Err(reason) = self.entry(&entry.path(), &path) {
                self.skipped.push(format!("{path}: {reason}"));
            }
        }
    }

    fn entry(&mut self, on_disk: &Path, path: &str) -> Result<(), String> {
        let mut kind = fs::symlink_metadata(on_disk).map_err(|error| error.to_string())?;
        if kind.is_symlink() {
            if !self.follow_links {
                return Err("it is a symbolic link".to_owned());
            }
            kind = fs::metadata(on_disk).map_err(|error| error.to_string())?;
            let real = on_disk.canonicalize().map_err(|error| error.to_string())?;
            if kind.is_dir() && !self.visited.insert(real) {
                return Err("it is a symbolic link that leads in a circle".to_owned());
            }
        }
        if kind.is_dir() {
            let entries = fs::read_dir(on_disk).map_err(|error| error.to_string())?;
            self.tree.directories.insert(path.to_owned());
            self.entries(entries, path);
        } else if kind.is_file() {
            let bytes = fs::read(on_disk).map_err(|error| error.to_string())?;
            self.tree.files.insert(path.to_owned(), bytes);
        } else {
            return Err("it is neither a file nor a directory".to_owned());
        }
        Ok(())
    }

    /// Every directory with a conforming `SKILL.md` is a skill.
    fn find_skills(&mut self) {
        for (path, bytes) in &self.tree.files {
            let Some(directory) = path.strip_suffix("/SKILL.md") else {
                continue;
            };
            let verdict = frontmatter::read(bytes)
                .and_then(|fields| frontmatter::check(&fields, file_name(directory)));
            match verdict {
                Ok(()) => self.tree.skills.push(SkillRoot::listed(directory)),
                Err(reason) => self
                    .skipped
                    .push(format!("{path} is not served as a skill: {reason}")),
            }
        }
        if self.tree.skills.is_empty() {
            self.skipped.push(format!(
                "no directory below {} holds a conforming SKILL.md, so no skill is served",
                self.root.display()
            ));
        }
    }

    /// Keeps only what lies within a skill.
    fn drop_strays(&mut self) {
        let roots: BTreeSet<String> = self.tree.skills.iter().map(|s| s.path.clone()).collect();
        let inside = |path: &str| {
            path.match_indices('/')
                .any(|(end, _)| roots.contains(&path[..end]))
                || roots.contains(path)
        };
        self.tree.files.retain(|path, _| inside(path));
        self.tree.directories.retain(|path| inside(path));
    }
}
