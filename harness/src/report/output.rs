//! Where a report goes: a file that appears whole or not at all, or a stream.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where a report goes.
pub enum Output {
    /// A stream, such as standard output.
    Stream(Box<dyn Write + Send>),
    /// A file.
    File(PathBuf),
}

impl Output {
    /// Standard output.
    pub fn stdout() -> Self {
        Output::Stream(Box::new(io::stdout()))
    }

    /// A file, looked at beforehand so that a typo costs no run. `-` is standard output.
    ///
    /// # Errors
    ///
    /// The path names a directory, or lies in none.
    pub fn to(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        if path == Path::new("-") {
            return Ok(Output::stdout());
        }
        if path.is_dir() || path.file_name().is_none() {
            let error = io::Error::new(io::ErrorKind::IsADirectory, "it is a directory");
            return Err(explain(&path, &error));
        }
        if !directory(&path).is_dir() {
            let error = io::Error::new(io::ErrorKind::NotFound, "its directory does not exist");
            return Err(explain(&path, &error));
        }
        Ok(Output::File(path))
    }

    /// Writes all of a report.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being written; the message names the file.
    pub fn write(&mut self, content: &[u8]) -> io::Result<()> {
        match self {
            Output::Stream(stream) => {
                stream.write_all(content)?;
                stream.flush()
            }
            Output::File(path) => replace(path, content).map_err(|error| explain(path, &error)),
        }
    }
}

fn explain(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("cannot write the report `{}`: {error}", path.display()),
    )
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Writes beside the file and renames. Pipes and devices are written to as they are; a link
/// stays a link.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|known| !known.is_file()) {
        return OpenOptions::new()
            .write(true)
            .open(&path)?
            .write_all(content);
    }
    let (mut file, beside) = create_beside(&path)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    drop(file);
    written
        .and_then(|()| fs::rename(&beside, &path))
        .inspect_err(|_| {
            let _ = fs::remove_file(&beside);
        })
}

fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut attempt = 0;
    loop {
        let beside = directory(path).join(format!(".{name}.{}-{attempt}.tmp", std::process::id()));
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&beside)
        {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {
                attempt += 1
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        fs::write(&path, "old and longer").unwrap();
        Output::to(&path).unwrap().write(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn impossible_places_are_refused_beforehand() {
        let directory = tempfile::tempdir().unwrap();
        let error = |path: PathBuf| Output::to(path).err().unwrap().to_string();
        assert!(error(directory.path().to_owned()).contains("it is a directory"));
        let missing = error(directory.path().join("no/report.json"));
        assert!(
            missing.contains("no/report.json") && missing.contains("does not exist"),
            "{missing}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_a_device_is_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        fs::write(directory.path().join("file"), "old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        Output::to(&link).unwrap().write(b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            fs::read_to_string(directory.path().join("file")).unwrap(),
            "new"
        );
        Output::to("/dev/null").unwrap().write(b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
