//! Writes members below one directory. It follows no link in it.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::PathBuf;

use agent_tool::workspace::explain;

/// The bytes that are copied at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// The directory that is extracted to, and what was written in it.
pub(super) struct Destination {
    root: PathBuf,
    overwrite: bool,
    /// The directories below the root that were found to be directories, and no links.
    known: HashSet<String>,
    pub(super) files: usize,
    pub(super) directories: usize,
    pub(super) bytes: u64,
}

/// A reason not to write a member.
pub(super) enum Stop {
    /// It concerns this member only.
    Member(String),
    /// No further one can be written either.
    All(io::Error),
}

impl Destination {
    /// Makes the directory if it is missing.
    pub(super) fn new(root: PathBuf, overwrite: bool) -> io::Result<Self> {
        fs::create_dir_all(&root)?;
        Ok(Self {
            root,
            overwrite,
            known: HashSet::from([String::new()]),
            files: 0,
            directories: 0,
            bytes: 0,
        })
    }

    /// Makes a directory and those above it.
    pub(super) fn directory(&mut self, path: &str) -> Result<(), Stop> {
        let ends = path.match_indices('/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            let above = path.get(..end).unwrap_or_default();
            if self.known.contains(above) {
                continue;
            }
            let place = self.root.join(above);
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => {
                    return Err(Stop::Member(format!(
                        "`{above}` is there already and is no directory"
                    )));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    fs::create_dir(&place).map_err(|error| stop(error, "created", above))?;
                    self.directories += 1;
                }
                Err(error) => return Err(stop(error, "created", above)),
            }
            self.known.insert(above.to_owned());
        }
        Ok(())
    }

    /// Writes a file. One that cannot be completed is removed again.
    pub(super) fn file(&mut self, path: &str, content: &mut dyn Read) -> Result<(), Stop> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.directory(parent)?;
        let file = self.create(path)?;
        match copy(content, file, path) {
            Ok(size) => {
                self.files += 1;
                self.bytes += size;
                Ok(())
            }
            Err(reason) => {
                // The reason to report is the one that there is.
                let _ = fs::remove_file(self.root.join(path));
                Err(reason)
            }
        }
    }

    fn create(&self, path: &str) -> Result<File, Stop> {
        let place = self.root.join(path);
        let exists = match fs::symlink_metadata(&place) {
            Ok(found) if !self.overwrite => {
                let kind = if found.is_dir() { "directory" } else { "file" };
                let advice = if found.is_file() {
                    "; `overwrite` replaces it"
                } else {
                    ""
                };
                return Err(Stop::Member(format!(
                    "there is a {kind} of this name{advice}"
                )));
            }
            Ok(found) if !found.is_file() => {
                return Err(Stop::Member(
                    "there is something of this name that is no file".into(),
                ));
            }
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(stop(error, "written", path)),
        };
        OpenOptions::new()
            .write(true)
            .truncate(exists)
            .create_new(!exists)
            .open(&place)
            .map_err(|error| stop(error, "written", path))
    }
}

fn copy(content: &mut dyn Read, mut file: File, path: &str) -> Result<u64, Stop> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut size = 0;
    loop {
        let read = match content.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Stop::Member(format!("it cannot be read: {error}"))),
        };
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else {
            return Ok(size);
        };
        file.write_all(piece)
            .map_err(|error| stop(error, "written", path))?;
        size += read as u64;
    }
}

/// A refusal concerns one path; a full disk or a used quota concerns all.
fn stop(error: io::Error, done: &str, path: &str) -> Stop {
    match error.kind() {
        ErrorKind::PermissionDenied
        | ErrorKind::AlreadyExists
        | ErrorKind::InvalidFilename
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory => Stop::Member(explain(&error, done, path)),
        // The enum is std's and non-exhaustive.
        _ => Stop::All(error),
    }
}
