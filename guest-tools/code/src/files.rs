//! Files of the granted directories, and artifacts of the session below `/session`, for `fs`.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use agent_tool::artifacts::{self, ArtifactError};
use agent_tool::workspace::{explain, locate};
use rquickjs::{Ctx, Error, Exception, Function, Object, TypedArray};

use crate::run::bytes_of;

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// The most entries of a directory that are listed.
const MAX_ENTRIES: usize = 100_000;

/// The directory of the session.
const SESSION: &str = "/session";

/// A failed operation.
struct Failure {
    /// The code of Node.js, such as `ENOENT`.
    code: &'static str,
    text: String,
}

/// A path of a script.
enum Place {
    /// A path to open.
    File(PathBuf),
    /// The name of an artifact, or nothing for the list of them.
    Artifact(String),
}

/// Adds the functions to those of the host.
pub(crate) fn add<'js>(ctx: &Ctx<'js>, host: &Object<'js>) -> Result<(), Error> {
    host.set(
        "read",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, path: String| {
            let bytes = read(&path).map_err(|failure| failure.throw(&ctx))?;
            TypedArray::new(ctx, bytes)
        })?,
    )?;
    host.set(
        "write",
        Function::new(
            ctx.clone(),
            |ctx: Ctx<'js>, path: String, bytes: TypedArray<'js, u8>, appends: bool| {
                let bytes = bytes_of(&ctx, &bytes)?;
                write(&path, &bytes, appends).map_err(|failure| failure.throw(&ctx))
            },
        )?,
    )?;
    host.set(
        "stat",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, path: String| {
            let entry = stat(&path).map_err(|failure| failure.throw(&ctx))?;
            entry.into_object(&ctx)
        })?,
    )?;
    host.set(
        "list",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, path: String| {
            let entries = list(&path).map_err(|failure| failure.throw(&ctx))?;
            let entries = entries.into_iter().map(|entry| entry.into_object(&ctx));
            entries.collect::<Result<Vec<_>, _>>()
        })?,
    )?;
    host.set(
        "mkdir",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, path: String, all: bool| {
            make_directory(&path, all).map_err(|failure| failure.throw(&ctx))
        })?,
    )?;
    host.set(
        "remove",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, path: String, all: bool| {
            remove(&path, all).map_err(|failure| failure.throw(&ctx))
        })?,
    )?;
    host.set(
        "rename",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, from: String, to: String| {
            rename(&from, &to).map_err(|failure| failure.throw(&ctx))
        })?,
    )
}

/// An entry of a directory.
struct Entry {
    name: String,
    kind: &'static str,
    size: u64,
    /// When it was changed, in milliseconds since 1970.
    modified: Option<f64>,
}

impl Entry {
    fn new(name: String, metadata: &Metadata) -> Self {
        let kind = match metadata.file_type() {
            kind if kind.is_dir() => "directory",
            kind if kind.is_symlink() => "link",
            kind if kind.is_file() => "file",
            _ => "other",
        };
        let modified = metadata.modified().ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self {
            name,
            kind,
            size: metadata.len(),
            modified: modified.map(|since| since.as_secs_f64() * 1e3),
        }
    }

    fn into_object<'js>(self, ctx: &Ctx<'js>) -> Result<Object<'js>, Error> {
        let object = Object::new(ctx.clone())?;
        object.set("name", self.name)?;
        object.set("kind", self.kind)?;
        object.set("size", self.size as f64)?;
        object.set("modified", self.modified)?;
        Ok(object)
    }
}

impl Failure {
    /// `done` is as in "read".
    fn io(error: &io::Error, done: &str, path: &str) -> Self {
        let code = match error.kind() {
            ErrorKind::NotFound => "ENOENT",
            ErrorKind::PermissionDenied => "EACCES",
            ErrorKind::ReadOnlyFilesystem => "EROFS",
            ErrorKind::AlreadyExists => "EEXIST",
            ErrorKind::NotADirectory => "ENOTDIR",
            ErrorKind::IsADirectory => "EISDIR",
            ErrorKind::DirectoryNotEmpty => "ENOTEMPTY",
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "ENOSPC",
            // The others have no code that a script would look for.
            _ => "EIO",
        };
        Self {
            code,
            text: explain(error, done, path),
        }
    }

    fn artifact(error: ArtifactError) -> Self {
        let code = match error {
            ArtifactError::NotFound => "ENOENT",
            ArtifactError::Denied => "EACCES",
            ArtifactError::TooLarge => "EFBIG",
            ArtifactError::QuotaExceeded => "ENOSPC",
            // It is not exhaustive; what is left are names and types.
            _ => "EINVAL",
        };
        Self {
            code,
            text: error.to_string(),
        }
    }

    fn invalid(text: impl Into<String>) -> Self {
        Self {
            code: "EINVAL",
            text: text.into(),
        }
    }

    fn throw(self, ctx: &Ctx<'_>) -> Error {
        let Self { code, text } = self;
        let thrown = Exception::from_message(ctx.clone(), &format!("{code}: {text}"));
        match thrown {
            Ok(exception) => match exception.as_object().set("code", code) {
                Ok(()) => exception.throw(),
                Err(error) => error,
            },
            Err(error) => error,
        }
    }
}

fn place(path: &str) -> Result<Place, Failure> {
    match path.strip_prefix(SESSION) {
        Some("") => Ok(Place::Artifact(String::new())),
        Some(name) if name.starts_with('/') => {
            Ok(Place::Artifact(name.trim_matches('/').to_owned()))
        }
        _ => locate(path)
            .map(Place::File)
            .map_err(|error| Failure::invalid(error.to_string())),
    }
}

fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let place = match place(path)? {
        Place::Artifact(name) => return artifacts::get(&name).map_err(Failure::artifact),
        Place::File(place) => place,
    };
    let failure = |error: io::Error| Failure::io(&error, "read", path);
    let file = File::open(place).map_err(failure)?;
    let metadata = file.metadata().map_err(failure)?;
    if metadata.is_dir() {
        return Err(failure(ErrorKind::IsADirectory.into()));
    }
    // A file can grow after its size was read, so the read itself is bounded too.
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failure)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure {
            code: "EFBIG",
            text: format!("`{path}` is larger than {MAX_FILE_BYTES} bytes, the most that is read"),
        });
    }
    Ok(bytes)
}

fn write(path: &str, bytes: &[u8], appends: bool) -> Result<(), Failure> {
    match place(path)? {
        Place::Artifact(name) => {
            let mut all = Vec::new();
            if appends {
                match artifacts::get(&name) {
                    Ok(bytes) => all = bytes,
                    Err(ArtifactError::NotFound) => {}
                    Err(error) => return Err(Failure::artifact(error)),
                }
            }
            all.extend_from_slice(bytes);
            let sniffed = infer::get(&all).map(|kind| kind.mime_type());
            let text = str::from_utf8(&all).map(|_| "text/plain").ok();
            let media_type = sniffed.or(text).unwrap_or("application/octet-stream");
            artifacts::put(&name, media_type, &all).map_err(Failure::artifact)
        }
        Place::File(place) => {
            let mut options = OpenOptions::new();
            options.create(true).append(appends);
            if !appends {
                options.write(true).truncate(true);
            }
            let written = options
                .open(place)
                .and_then(|mut file| file.write_all(bytes));
            written.map_err(|error| Failure::io(&error, "written", path))
        }
    }
}

fn stat(path: &str) -> Result<Entry, Failure> {
    match place(path)? {
        Place::Artifact(name) => {
            let listed = artifacts::list().map_err(Failure::artifact)?;
            let below = format!("{name}/");
            let is_directory =
                name.is_empty() || listed.iter().any(|known| known.name.starts_with(&below));
            let file = listed.into_iter().find(|known| known.name == name);
            let (kind, size) = match file {
                Some(file) => ("file", file.size),
                None if is_directory => ("directory", 0),
                None => return Err(Failure::artifact(ArtifactError::NotFound)),
            };
            Ok(Entry {
                name: last(&name).to_owned(),
                kind,
                size,
                modified: None,
            })
        }
        Place::File(place) => {
            let metadata =
                fs::metadata(place).map_err(|error| Failure::io(&error, "read", path))?;
            Ok(Entry::new(last(path).to_owned(), &metadata))
        }
    }
}

/// The last name of a path.
fn last(path: &str) -> &str {
    path.trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(path)
}

fn list(path: &str) -> Result<Vec<Entry>, Failure> {
    let mut entries = match place(path)? {
        Place::Artifact(name) => list_artifacts(&name)?,
        Place::File(place) => {
            let failure = |error: io::Error| Failure::io(&error, "listed", path);
            let mut entries = Vec::new();
            for entry in fs::read_dir(place).map_err(failure)? {
                if entries.len() == MAX_ENTRIES {
                    return Err(Failure {
                        code: "EFBIG",
                        text: format!("`{path}` has more than {MAX_ENTRIES} entries"),
                    });
                }
                let entry = entry.map_err(failure)?;
                let name = entry.file_name().to_string_lossy().into_owned();
                // An entry that is hidden by the policy, or gone by now, is none.
                if let Ok(metadata) = entry.metadata() {
                    entries.push(Entry::new(name, &metadata));
                }
            }
            entries
        }
    };
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

/// The artifacts directly below a name, and the directories that the names of others make.
fn list_artifacts(directory: &str) -> Result<Vec<Entry>, Failure> {
    let prefix = match directory {
        "" => String::new(),
        name => format!("{name}/"),
    };
    let mut entries: Vec<Entry> = Vec::new();
    for artifact in artifacts::list().map_err(Failure::artifact)? {
        let Some(rest) = artifact.name.strip_prefix(&prefix) else {
            continue;
        };
        let (name, kind, size) = match rest.split_once('/') {
            Some((name, _)) => (name, "directory", 0),
            None => (rest, "file", artifact.size),
        };
        if entries.iter().all(|entry| entry.name != name) {
            entries.push(Entry {
                name: name.to_owned(),
                kind,
                size,
                modified: None,
            });
        }
    }
    if entries.is_empty() && !directory.is_empty() {
        return Err(Failure::artifact(ArtifactError::NotFound));
    }
    Ok(entries)
}

fn make_directory(path: &str, all: bool) -> Result<(), Failure> {
    let Place::File(place) = place(path)? else {
        // A directory of the session is there once it has a file.
        return Ok(());
    };
    let made = if all {
        fs::create_dir_all(place)
    } else {
        fs::create_dir(place)
    };
    made.map_err(|error| Failure::io(&error, "created", path))
}

fn remove(path: &str, all: bool) -> Result<(), Failure> {
    let failure = |error: io::Error| Failure::io(&error, "removed", path);
    match place(path)? {
        Place::Artifact(name) => artifacts::delete(&name).map_err(Failure::artifact),
        Place::File(place) => {
            let metadata = fs::symlink_metadata(&place).map_err(failure)?;
            let removed = match (metadata.is_dir(), all) {
                (true, true) => fs::remove_dir_all(place),
                (true, false) => fs::remove_dir(place),
                (false, _) => fs::remove_file(place),
            };
            removed.map_err(failure)
        }
    }
}

fn rename(from: &str, to: &str) -> Result<(), Failure> {
    match (place(from)?, place(to)?) {
        (Place::File(source), Place::File(target)) => {
            fs::rename(source, target).map_err(|error| Failure::io(&error, "renamed", from))
        }
        _ => {
            write(to, &read(from)?, false)?;
            remove(from, false)
        }
    }
}
