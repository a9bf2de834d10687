//! Reads the directory that `--root` names, once and before the run, so that checks can compare
//! what is served with what is there without touching a file system.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::wire::content::KEPT;
use crate::wire::disk::{Disk, File, Link, Opening};

/// Most files, directories and links that are looked at.
const ENTRIES: usize = 200_000;
/// Deepest directory that is looked into.
const DEPTH: usize = 256;
/// Most bytes of a file that is digested.
const LARGEST: u64 = 1 << 30;
/// Most bytes of a file outside that is digested.
const LARGEST_OUTSIDE: u64 = 16 << 20;
/// Most files that are looked at in a directory outside.
const OUTSIDE_FILES: usize = 16;
/// Most entries that are passed on the way to these.
const OUTSIDE_ENTRIES: usize = 1_000;
/// Directories in which version control keeps its own files.
const VERSION_CONTROL: [&str; 7] = [".git", ".hg", ".svn", ".jj", ".bzr", "CVS", "_darcs"];

/// Why a directory cannot be compared with.
#[derive(Debug)]
pub enum DiskError {
    /// It cannot be read.
    Unreadable(PathBuf, io::Error),
    /// It is no directory.
    NoDirectory(PathBuf),
    /// There is too much in it.
    TooMuch(PathBuf),
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "{}: {error}", path.display()),
            Self::NoDirectory(path) => write!(f, "{}: not a directory", path.display()),
            Self::TooMuch(path) => write!(
                f,
                "{}: more than {ENTRIES} files; name the directory that holds just the skills",
                path.display()
            ),
        }
    }
}

impl std::error::Error for DiskError {}

/// Reads a directory.
///
/// Symbolic links are not walked into. Of a link that leads out of the directory it is noted what
/// it leads to, to recognise that when a server serves it.
///
/// # Errors
///
/// When the directory itself cannot be read, or holds too much. What cannot be read below it is
/// noted in [`Disk::unread`].
pub fn read(directory: &Path) -> Result<Disk, DiskError> {
    let unreadable = |error| DiskError::Unreadable(directory.to_owned(), error);
    let root = directory.canonicalize().map_err(unreadable)?;
    if !root.is_dir() {
        return Err(DiskError::NoDirectory(directory.to_owned()));
    }
    let entries = fs::read_dir(&root).map_err(unreadable)?;
    let name = root.file_name().and_then(|name| name.to_str());
    let mut reader = Reader {
        disk: Disk {
            name: name.unwrap_or_default().to_owned(),
            ..Disk::default()
        },
        root,
        left: ENTRIES,
        open: Vec::new(),
    };
    reader
        .walk(entries)
        .map_err(|TooMuch| DiskError::TooMuch(directory.to_owned()))?;
    reader.digest();
    Ok(reader.disk)
}

struct TooMuch;

struct Reader {
    root: PathBuf,
    disk: Disk,
    left: usize,
    /// Directories still to be looked into, with their depth.
    open: Vec<(String, usize)>,
}

impl Reader {
    fn walk(&mut self, top: fs::ReadDir) -> Result<(), TooMuch> {
        self.directory(top, "", 0)?;
        while let Some((path, depth)) = self.open.pop() {
            match fs::read_dir(self.root.join(&path)) {
                Ok(entries) => self.directory(entries, &path, depth)?,
                Err(error) => self.unread(path, &error),
            }
        }
        Ok(())
    }

    fn directory(
        &mut self,
        entries: fs::ReadDir,
        directory: &str,
        depth: usize,
    ) -> Result<(), TooMuch> {
        for entry in entries {
            self.left = self.left.checked_sub(1).ok_or(TooMuch)?;
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.unread(directory.to_owned(), &error);
                    break;
                }
            };
            let name = entry.file_name();
            let path = match directory {
                "" => name.to_string_lossy().into_owned(),
                directory => format!("{directory}/{}", name.to_string_lossy()),
            };
            if name.to_str().is_none() {
                self.unread(path, &"its name is not UTF-8");
                continue;
            }
            // The type of the entry itself, not of what a link leads to.
            match entry.metadata() {
                Err(error) => self.unread(path, &error),
                Ok(kind) if kind.is_symlink() => {
                    let link = self.link(&entry.path());
                    self.disk.links.insert(path, link);
                }
                Ok(kind) if kind.is_dir() => {
                    if name
                        .to_str()
                        .is_some_and(|name| VERSION_CONTROL.contains(&name))
                    {
                        self.disk.ignored.insert(path);
                    } else if depth >= DEPTH {
                        self.unread(path, &"too deep");
                    } else {
                        self.open.push((path, depth + 1));
                    }
                }
                Ok(kind) if kind.is_file() => self.file(path, directory, &kind),
                Ok(_) => self.unread(path, &"neither a file nor a directory"),
            }
        }
        Ok(())
    }

    fn file(&mut self, path: String, directory: &str, kind: &fs::Metadata) {
        if path.rsplit('/').next() == Some("SKILL.md") {
            match opening(&self.root.join(&path)) {
                Ok(opening) => {
                    self.disk.skills.insert(directory.to_owned(), opening);
                }
                Err(error) => return self.unread(path, &error),
            }
        }
        let file = File {
            len: kind.len(),
            sha256: None,
        };
        self.disk.files.insert(path, file);
    }

    fn link(&self, on_disk: &Path) -> Link {
        let Ok(target) = on_disk.canonicalize() else {
            return Link::Broken;
        };
        if let Ok(inside) = target.strip_prefix(&self.root) {
            return match inside.to_str() {
                Some(inside) => Link::Inside(inside.to_owned()),
                None => Link::Broken,
            };
        }
        match fs::metadata(&target) {
            Ok(kind) if kind.is_file() => {
                outside(&target).map_or(Link::OutsideOther, Link::OutsideFile)
            }
            Ok(kind) if kind.is_dir() => Link::OutsideDirectory(files_of(&target)),
            _ => Link::OutsideOther,
        }
    }

    /// Takes the digests of all files that a skill may have: those below its directory, and those
    /// that links below it lead to.
    fn digest(&mut self) {
        let mut wanted: Vec<String> = Vec::new();
        for skill in self.disk.skills.keys() {
            wanted.extend(self.disk.below(skill).map(|(path, _)| path.to_owned()));
        }
        for link in self.disk.links.values() {
            if let Link::Inside(target) = link {
                let below = self.disk.below(target).map(|(path, _)| path.to_owned());
                wanted.extend(below.chain([target.clone()]));
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        for path in wanted {
            if !self.disk.files.contains_key(&path) {
                continue;
            }
            match digest(&self.root.join(&path), LARGEST) {
                Ok(file) => {
                    self.disk.files.insert(path, file);
                }
                Err(error) => {
                    // It is there all the same, only that its bytes are not known.
                    self.unread(path, &error);
                }
            }
        }
    }

    fn unread(&mut self, path: String, why: &dyn fmt::Display) {
        self.disk.unread.insert(path, why.to_string());
    }
}

fn opening(path: &Path) -> io::Result<Opening> {
    let mut bytes = Vec::new();
    let limit = KEPT as u64;
    fs::File::open(path)?
        .take(limit + 1)
        .read_to_end(&mut bytes)?;
    let complete = bytes.len() <= KEPT;
    bytes.truncate(KEPT);
    Ok(Opening { bytes, complete })
}

fn digest(path: &Path, largest: u64) -> io::Result<File> {
    let mut hash = Sha256::new();
    let mut file = fs::File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    let mut len = 0;
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        len += count as u64;
        if len > largest {
            return Err(io::Error::other(format!("more than {largest} bytes")));
        }
        hash.update(&buffer[..count]);
    }
    Ok(File {
        len,
        sha256: Some(hash.finalize().into()),
    })
}

fn outside(path: &Path) -> Option<File> {
    digest(path, LARGEST_OUTSIDE).ok()
}

/// Some of the regular files right in a directory.
fn files_of(directory: &Path) -> BTreeMap<String, File> {
    let Ok(entries) = fs::read_dir(directory) else {
        return BTreeMap::new();
    };
    let mut names: Vec<String> = entries
        .take(OUTSIDE_ENTRIES)
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names
        .into_iter()
        .filter_map(|name| Some((name.clone(), outside(&directory.join(name))?)))
        .take(OUTSIDE_FILES)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::disk::Found;

    fn write(root: &Path, path: &str, bytes: &[u8]) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    const SKILL: &[u8] = b"---\nname: a\ndescription: A.\n---\n";

    #[test]
    fn skills_and_their_files_are_found() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("skills");
        write(&root, "a/SKILL.md", SKILL);
        write(&root, "a/x y/%20 é.md", b"one\r\n");
        write(&root, "a/.git/config", b"secret");
        write(&root, "stray.txt", b"no skill's");
        let disk = read(&root).unwrap();
        assert_eq!(disk.name, "skills");
        assert_eq!(disk.skills["a"].bytes, SKILL);
        assert!(disk.skills["a"].complete);
        let file = disk.files["a/x y/%20 é.md"];
        assert_eq!(file.len, 5);
        assert_eq!(file.sha256, Some(Sha256::digest(b"one\r\n").into()));
        assert_eq!(disk.files["stray.txt"].sha256, None);
        assert_eq!(disk.find("a/.git/config"), Found::Unknown);
        assert!(disk.unread.is_empty());
    }

    #[test]
    fn a_long_skill_md_is_kept_in_part() {
        let scratch = tempfile::tempdir().unwrap();
        write(scratch.path(), "a/SKILL.md", &[b'x'; KEPT + 1]);
        let disk = read(scratch.path()).unwrap();
        assert!(!disk.skills["a"].complete);
        assert_eq!(disk.files["a/SKILL.md"].len, KEPT as u64 + 1);
    }

    #[test]
    fn what_is_no_directory_is_an_error() {
        let scratch = tempfile::tempdir().unwrap();
        write(scratch.path(), "file", b"");
        let message = |path: &str| read(&scratch.path().join(path)).unwrap_err().to_string();
        assert!(message("file").ends_with("file: not a directory"));
        assert!(message("none").contains("none: No such file"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_told_apart() {
        use std::os::unix::fs::symlink;

        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("skills");
        write(&root, "a/SKILL.md", SKILL);
        write(&root, "common/license.txt", b"MIT");
        write(scratch.path(), "secret/key", b"key");
        write(scratch.path(), "secret/deep/er", b"deeper");
        symlink("../common/license.txt", root.join("a/LICENSE")).unwrap();
        symlink("../../secret/key", root.join("a/key")).unwrap();
        symlink("../../secret", root.join("a/secret")).unwrap();
        symlink(scratch.path(), root.join("a/loop")).unwrap();
        symlink("nowhere", root.join("a/gone")).unwrap();
        symlink("self", root.join("a/self")).unwrap();
        symlink("/dev/null", root.join("a/null")).unwrap();
        let disk = read(&root).unwrap();
        let key = File {
            len: 3,
            sha256: Some(Sha256::digest(b"key").into()),
        };
        assert_eq!(
            disk.links["a/LICENSE"],
            Link::Inside("common/license.txt".into())
        );
        assert!(matches!(disk.find("a/LICENSE"), Found::File(file) if file.sha256.is_some()));
        assert_eq!(disk.links["a/key"], Link::OutsideFile(key));
        assert_eq!(
            disk.links["a/secret"],
            Link::OutsideDirectory([("key".to_owned(), key)].into())
        );
        assert_eq!(disk.links["a/loop"], Link::OutsideDirectory([].into()));
        assert_eq!(disk.links["a/gone"], Link::Broken);
        assert_eq!(disk.links["a/self"], Link::Broken);
        assert_eq!(disk.links["a/null"], Link::OutsideOther);
        // Nothing was found by way of a link.
        assert_eq!(disk.files.len(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_read_is_noted() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        use std::os::unix::fs::PermissionsExt as _;
        use std::os::unix::net::UnixListener;

        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        write(root, "a/SKILL.md", SKILL);
        write(root, "a/closed.md", b"x");
        // Some file systems take no such names, and a privileged user may read everything.
        let odd = fs::write(root.join("a").join(OsStr::from_bytes(b"\xff.md")), b"x").is_ok();
        fs::set_permissions(root.join("a/closed.md"), fs::Permissions::from_mode(0o000)).unwrap();
        let closed = fs::read(root.join("a/closed.md")).is_err();
        let _socket = UnixListener::bind(root.join("a/socket")).unwrap();
        let disk = read(root).unwrap();
        let mut unread = vec!["a/socket"];
        if closed {
            unread.push("a/closed.md");
            assert_eq!(disk.files["a/closed.md"].sha256, None);
        }
        if odd {
            unread.push("a/\u{fffd}.md");
        }
        unread.sort_unstable();
        let found: Vec<&str> = disk.unread.keys().map(String::as_str).collect();
        assert_eq!(found, unread);
    }
}
