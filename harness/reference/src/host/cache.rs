//! The disk cache of verified files. A file lies below a directory that names
//! its server and its URI, under its digest, and is hashed whenever it is used.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::entry::Item;
use super::faults::Switch;
use super::outcome::Key;
use crate::uri::encode_segment;

/// The cache of one host.
#[derive(Debug)]
pub(super) struct Cache {
    fault: Switch,
    directory: PathBuf,
    /// What lies where.
    index: Vec<(PathBuf, Key)>,
    /// Files that failed verification, which only a fault keeps.
    spoilt: Vec<PathBuf>,
}

/// What the cache has of a file.
#[derive(Debug)]
pub(super) enum Found {
    Nothing,
    Bytes(Vec<u8>),
    /// Bytes that are not those that were stored. They are gone now.
    Damaged,
}

impl Cache {
    /// Opens the cache in the directory where the host keeps everything.
    pub fn open(state: &Path, fault: Switch) -> Cache {
        let directory = if fault.on("host-cache-excluded-from-discovery") {
            state.join("skills").join("mcp-cache")
        } else {
            state.join("cache")
        };
        let mut cache = Cache {
            fault,
            directory,
            index: Vec::new(),
            spoilt: Vec::new(),
        };
        let stored: Value = fs::read(cache.index_path())
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or(Value::Null);
        for row in stored.as_array().into_iter().flatten() {
            if let (Some(path), Some(server), Some(uri)) =
                (row[0].as_str(), row[1].as_str(), row[2].as_str())
            {
                cache
                    .index
                    .push((cache.directory.join(path), Key::new(server, uri)));
            }
        }
        cache
    }

    fn index_path(&self) -> PathBuf {
        self.directory.join("@index.json")
    }

    /// The cached files, and whose they are.
    pub fn files(&self) -> impl Iterator<Item = &(PathBuf, Key)> {
        self.index.iter().filter(|(path, _)| path.is_file())
    }

    /// The directory of a file's copies.
    fn place(&self, key: &Key) -> PathBuf {
        let mut path = self.directory.clone();
        if !self.fault.on("host-cache-path-encodes-origin") {
            path.push(
                match self.fault.on("host-cache-path-encodes-origin/label") {
                    true => simple(&key.label().to_lowercase()),
                    false => segment(key.label()),
                },
            );
        }
        match self.fault.on("host-cache-path-encodes-origin/uri") {
            true => path.extend(key.uri.replace("%20", " ").split('/').map(simple)),
            false => path.extend(key.uri.split('/').map(segment)),
        }
        path
    }

    /// A file has one place, whatever its digest (faults).
    fn one_copy(&self) -> bool {
        self.fault.on("host-cache-write-isolation/in-place")
            || self.fault.on("host-cache-path-encodes-origin")
            || self.fault.on("host-cache-path-encodes-origin/label")
            || self.fault.on("host-cache-path-encodes-origin/uri")
    }

    fn path(&self, key: &Key, digest: &str) -> PathBuf {
        let name = if self.one_copy() { "content" } else { digest };
        self.place(key).join(format!("@{}", name.replace(':', "-")))
    }

    /// Whether the copy of another server is taken for the file (a fault).
    pub fn takes_others(&self, key: &Key) -> bool {
        let mut copies = self.files();
        self.fault.on("host-skill-identity-pair/cache")
            && copies.any(|(_, of)| of.uri == key.uri && of.server != key.server)
    }

    /// The verified copy of a file.
    pub fn get(&mut self, key: &Key, item: &Item) -> Found {
        let mut path = self.path(key, &item.digest);
        if self.fault.on("host-cache-stale-refetched") && !path.is_file() {
            let mut copies = self
                .index
                .iter()
                .filter(|(path, of)| of == key && path.is_file());
            if let Some((copy, _)) = copies.next() {
                path = copy.clone();
            }
        }
        if self.fault.on("host-skill-identity-pair/cache") {
            let mut copies = self
                .index
                .iter()
                .filter(|(path, of)| of.uri == key.uri && path.is_file());
            if let Some((copy, _)) = copies.find(|(_, of)| of.server != key.server) {
                return fs::read(copy).map_or(Found::Nothing, Found::Bytes);
            }
        }
        let Ok(bytes) = fs::read(&path) else {
            return Found::Nothing;
        };
        if self.spoilt.contains(&path) || self.fault.on("host-cache-reverified") {
            return Found::Bytes(bytes);
        }
        if self.fault.on("host-cache-reverified/label") {
            let label = fs::read_to_string(beside(&path)).unwrap_or_default();
            return if label == item.digest {
                Found::Bytes(bytes)
            } else {
                Found::Nothing
            };
        }
        let actual = digest(&bytes);
        let stale = self.fault.on("host-cache-stale-refetched")
            && path
                .file_name()
                .is_some_and(|name| *name == *format!("@{}", actual.replace(':', "-")));
        if actual == item.digest || stale {
            return Found::Bytes(bytes);
        }
        if self.one_copy() {
            // Another digest is an older content here, as the name says nothing.
            return Found::Nothing;
        }
        let _ = fs::remove_file(&path);
        Found::Damaged
    }

    /// Keeps a verified file, in place of earlier copies.
    pub fn put(&mut self, key: &Key, item: &Item, bytes: &[u8]) {
        let path = self.path(key, &item.digest);
        if let Err(error) = self.write(&path, bytes) {
            eprintln!("sep2640-reference: cannot cache {}: {error}", key.uri);
            return;
        }
        if self.fault.on("host-cache-reverified/label") {
            let _ = fs::write(beside(&path), &item.digest);
        }
        for (old, _) in self
            .index
            .iter()
            .filter(|(old, of)| of == key && *old != path)
        {
            let _ = fs::remove_file(old);
        }
        self.index.retain(|(_, of)| of != key);
        self.index.push((path, key.clone()));
        self.keep_index();
    }

    /// Keeps a file that failed verification (a fault).
    pub fn put_spoilt(&mut self, key: &Key, item: &Item, bytes: &[u8]) {
        self.put(key, item, bytes);
        self.spoilt.push(self.path(key, &item.digest));
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let shared = self.fault.on("host-cache-write-isolation");
        let directory = path.parent().unwrap_or(&self.directory);
        fs::create_dir_all(directory)?;
        let mut open = Some(directory);
        while let Some(directory) = open.filter(|directory| directory.starts_with(&self.directory))
        {
            protect(directory, if shared { 0o777 } else { 0o700 })?;
            open = directory.parent();
        }
        if self.fault.on("host-cache-write-isolation/in-place") {
            fs::write(path, bytes)?;
            return protect(path, 0o600);
        }
        let next = directory.join("@next");
        let mut file = fs::File::create(&next)?;
        protect(&next, if shared { 0o666 } else { 0o600 })?;
        file.write_all(bytes)?;
        drop(file);
        fs::rename(&next, path)
    }

    /// Removes all that came from a server.
    pub fn forget(&mut self, server: &str) {
        if self.fault.on("host-cache-removal-on-server-removal") {
            return;
        }
        for (path, key) in &self.index {
            if key.label() == server {
                let _ = fs::remove_file(path);
            }
        }
        self.index.retain(|(_, key)| key.label() != server);
        if !self.fault.on("host-cache-path-encodes-origin") {
            let _ = fs::remove_dir_all(self.directory.join(segment(server)));
        }
        self.keep_index();
    }

    fn keep_index(&self) {
        let rows = self.index.iter().map(|(path, key)| {
            let path = path.strip_prefix(&self.directory).unwrap_or(path);
            json!([path.to_string_lossy(), key.server, key.uri])
        });
        let rows = Value::Array(rows.collect());
        if let Err(error) = self.write(&self.index_path(), rows.to_string().as_bytes()) {
            eprintln!("sep2640-reference: cannot store the cache's index: {error}");
        }
    }
}

/// The digest of bytes, as entries write it.
pub(super) fn digest(bytes: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(bytes) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// A path segment for any text: no separators, no dots with a meaning, and
/// not too long for a file system.
pub(super) fn segment(text: &str) -> String {
    let encoded = encode_segment(text).to_string();
    match encoded.as_str() {
        "" => "@empty".to_owned(),
        "." | ".." => encoded.replace('.', "%2E"),
        _ if encoded.len() > 200 => format!("@{}", digest(text.as_bytes()).replace(':', "-")),
        _ => encoded,
    }
}

/// A path segment that loses what is unusual in a text (faults).
fn simple(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '.';
    text.replace(|character| !plain(character), "_")
}

/// Where the digest of a cached file would be kept.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".digest");
    PathBuf::from(name)
}

#[cfg(unix)]
fn protect(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn protect(_path: &Path, _mode: u32) -> io::Result<()> {
    // Files of a user's profile are the user's own there.
    Ok(())
}
