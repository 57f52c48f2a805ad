//! A repository as a store of objects.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use agent_tool::workspace::locate;
use agent_tool_bounded::Failure;
use flate2::read::ZlibDecoder;

use crate::error::GitError;
use crate::object::{Kind, MAX_OBJECT_BYTES, Object, Oid};
use crate::pack::Pack;

/// The most packs.
const MAX_PACKS: usize = 1_000;

/// The longest header of an object in a file of its own, such as `commit 123`.
const MAX_HEADER_BYTES: usize = 32;

/// An open repository.
pub(crate) struct Repository {
    /// The path as the model wrote it.
    pub(crate) path: String,
    /// The directory with `HEAD` and `objects`.
    pub(crate) dir: PathBuf,
    packs: RefCell<Vec<Pack>>,
}

impl Repository {
    /// Opens the repository of a working directory, or one without any.
    pub(crate) fn open(path: &str) -> Result<Self, Failure> {
        let place = locate(path)?;
        let failed = |error: &std::io::Error| Failure::io(error, "read", path);
        let own = place.join(".git");
        let dir = match fs::metadata(&own) {
            Ok(found) if found.is_dir() => own,
            Ok(_) => {
                return Err(Failure::new(format!(
                    "`{path}` has a `.git` that names another directory, as submodules and linked worktrees do; give the main repository"
                )));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => place,
            Err(error) => return Err(failed(&error)),
        };
        match fs::metadata(dir.join("objects")) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Failure::new(format!(
                    "`{path}` is no Git repository; give its top directory"
                )));
            }
            Err(error) => return Err(failed(&error)),
        }
        let repository = Self {
            path: path.to_owned(),
            packs: RefCell::new(Vec::new()),
            dir,
        };
        let packs = repository
            .packs()
            .map_err(|error| repository.failure(&error))?;
        repository.packs.replace(packs);
        Ok(repository)
    }

    pub(crate) fn failure(&self, error: &GitError) -> Failure {
        Failure::new(format!(
            "the repository `{}` cannot be read: {error}",
            self.path
        ))
    }

    fn packs(&self) -> Result<Vec<Pack>, GitError> {
        let entries = match fs::read_dir(self.dir.join("objects/pack")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut packs = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "idx") {
                if packs.len() >= MAX_PACKS {
                    return Err(GitError::Bound(
                        "it has more than 1,000 packs; run `git gc`",
                    ));
                }
                packs.push(Pack::open(&path)?);
            }
        }
        Ok(packs)
    }

    /// Reads an object.
    pub(crate) fn read(&self, id: &Oid) -> Result<Object, GitError> {
        for pack in self.packs.borrow_mut().iter_mut() {
            if let Some(object) = pack.read(id)? {
                return Ok(object);
            }
        }
        let name = id.to_string();
        let (directory, rest) = name.split_at(2);
        match File::open(self.dir.join("objects").join(directory).join(rest)) {
            Ok(file) => loose(file),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(GitError::Missing(name)),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads an object of one kind.
    pub(crate) fn read_as(&self, id: &Oid, kind: Kind) -> Result<Vec<u8>, GitError> {
        let object = self.read(id)?;
        if object.kind == kind {
            Ok(object.data)
        } else {
            Err(GitError::Damaged(
                "an object is not of the kind that it should be",
            ))
        }
    }

    /// The names that start with these digits, at most two.
    pub(crate) fn with_prefix(&self, prefix: &str) -> Result<Vec<Oid>, GitError> {
        let padded = format!("{prefix:0<40}");
        let Some(from) = Oid::parse(&padded) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for pack in self.packs.borrow_mut().iter_mut() {
            found.extend(pack.with_prefix(&from, prefix)?);
        }
        let (directory, rest) = prefix.split_at(2);
        if let Ok(entries) = fs::read_dir(self.dir.join("objects").join(directory)) {
            let names = entries
                .flatten()
                .filter_map(|entry| entry.file_name().into_string().ok());
            let fitting = names.filter(|name| name.starts_with(rest));
            found.extend(fitting.filter_map(|name| Oid::parse(&format!("{directory}{name}"))));
        }
        found.sort();
        found.dedup();
        found.truncate(2);
        Ok(found)
    }
}

/// Reads an object that has a file of its own.
fn loose(file: impl Read) -> Result<Object, GitError> {
    let mut decoder = BufReader::new(ZlibDecoder::new(BufReader::new(file)));
    let mut header = Vec::new();
    let no_header = GitError::Damaged("an object has no header");
    loop {
        let mut byte = [0];
        decoder.read_exact(&mut byte)?;
        match byte {
            [0] => break,
            [_] if header.len() >= MAX_HEADER_BYTES => return Err(no_header),
            [byte] => header.push(byte),
        }
    }
    let header = String::from_utf8(header).unwrap_or_default();
    let (kind, size) = header.split_once(' ').ok_or(no_header)?;
    let kind = match kind {
        "commit" => Kind::Commit,
        "tree" => Kind::Tree,
        "blob" => Kind::Blob,
        "tag" => Kind::Tag,
        _ => return Err(GitError::Damaged("an object has an unknown type")),
    };
    let size: u64 = size
        .parse()
        .map_err(|_| GitError::Damaged("an object has no size"))?;
    if size > MAX_OBJECT_BYTES {
        return Err(GitError::Bound("an object is larger than 32 MiB"));
    }
    let mut data = Vec::new();
    decoder.take(size + 1).read_to_end(&mut data)?;
    if data.len() as u64 != size {
        return Err(GitError::Damaged("an object does not have the stated size"));
    }
    Ok(Object { kind, data })
}

/// Reads a small text file of the repository; `None` if it is not there.
pub(crate) fn small_file(path: &Path, most: u64) -> Result<Option<String>, GitError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.is_dir() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(GitError::Bound(
            "a file of references is too large; run `git pack-refs`",
        ));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
