//! An archive of any format, as a sequence of members. The format is determined by the bytes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use agent_tool::output;
use agent_tool_bounded::{Failure, open, zip};

use crate::member::{Kind, Member};
use crate::{gzip, tarball};

/// The largest archive, in bytes.
pub(crate) const MAX_ARCHIVE_BYTES: u64 = 1024 * 1024 * 1024;

/// A format of archives.
#[output]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    #[serde(rename = "zip")]
    Zip,
    #[serde(rename = "tar")]
    Tar,
    #[serde(rename = "tar.gz")]
    TarGz,
    /// One compressed file without an archive in it.
    #[serde(rename = "gzip")]
    Gzip,
}

/// True to see the next member, false to stop.
pub(crate) type More = bool;

/// A visitor of members. The content is read only if the visitor reads it.
pub(crate) type Visit<'a> = dyn FnMut(&Member, &mut dyn Read) -> Result<More, Failure> + 'a;

/// An open archive. It can be walked through several times.
pub(crate) struct Archive {
    /// The path as the model wrote it.
    path: String,
    file: File,
    format: Format,
}

impl Archive {
    /// Opens an archive and finds its format.
    pub(crate) fn open(path: &str) -> Result<Self, Failure> {
        let (mut file, size) = open(path)?;
        if size > MAX_ARCHIVE_BYTES {
            return Err(Failure::new(format!(
                "`{path}` has {size} bytes; archives of at most {MAX_ARCHIVE_BYTES} bytes are read"
            )));
        }
        let format = format_of(&mut file)
            .map_err(|error| Failure::io(&error, "read", path))?
            .ok_or_else(|| {
                Failure::new(format!(
                    "`{path}` is no archive that this tool knows; it reads ZIP, tar, tar.gz and gzip"
                ))
            })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            format,
        })
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Shows each member to `visit`, in the order of the archive.
    pub(crate) fn walk(&mut self, visit: &mut Visit<'_>) -> Result<(), Failure> {
        let start = SeekFrom::Start(0);
        self.file
            .seek(start)
            .map_err(|error| self.damaged(&error))?;
        let file = &mut self.file;
        let walked = match self.format {
            Format::Zip => walk_zip(file, visit),
            Format::Tar => tarball::walk(file, visit),
            Format::TarGz => tarball::walk(gzip::Inflated::new(file), visit),
            Format::Gzip => walk_gzip(file, &self.path, visit),
        };
        walked.map_err(|error| match error {
            WalkError::Archive(error) => self.damaged(&error),
            WalkError::Visit(failure) => failure,
        })
    }

    fn damaged(&self, error: &io::Error) -> Failure {
        Failure::new(format!("`{}` cannot be read: {error}", self.path))
    }
}

/// The end of a walk: by the archive, or by the visitor.
pub(crate) enum WalkError {
    Archive(io::Error),
    Visit(Failure),
}

impl From<io::Error> for WalkError {
    fn from(error: io::Error) -> Self {
        Self::Archive(error)
    }
}

impl From<Failure> for WalkError {
    fn from(failure: Failure) -> Self {
        Self::Visit(failure)
    }
}

/// The bytes of the first block of a tar file.
const BLOCK_BYTES: u64 = 512;

fn format_of(file: &mut File) -> io::Result<Option<Format>> {
    let mut start = Vec::new();
    file.by_ref().take(BLOCK_BYTES).read_to_end(&mut start)?;
    // An empty archive has an end record only; one that extracts itself starts with a program.
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        return Ok(Some(Format::Zip));
    }
    if start.starts_with(b"\x1f\x8b") {
        file.seek(SeekFrom::Start(0))?;
        let mut inner = Vec::new();
        // A stream that is cut or damaged is reported when it is read.
        let _ = gzip::Inflated::new(file)
            .take(BLOCK_BYTES)
            .read_to_end(&mut inner);
        return Ok(Some(if tarball::is_header(&inner) {
            Format::TarGz
        } else {
            Format::Gzip
        }));
    }
    if tarball::is_header(&start) {
        return Ok(Some(Format::Tar));
    }
    Ok(zip::Zip::open(file).is_ok().then_some(Format::Zip))
}

fn walk_zip(file: &mut File, visit: &mut Visit<'_>) -> Result<(), WalkError> {
    let mut archive = zip::Zip::open(file).map_err(io::Error::from)?;
    for index in 0..archive.entries().len() {
        let Some(entry) = archive.entries().get(index) else {
            break;
        };
        let member = Member {
            index,
            name: entry.name.clone(),
            kind: kind_of_entry(entry),
            size: Some(entry.size),
            encrypted: entry.encrypted,
            target: None,
        };
        let mut content = Lazy::Closed(&mut archive, index);
        if !visit(&member, &mut content)? {
            break;
        }
    }
    Ok(())
}

/// The type bits of a mode, of which some archives have none.
fn kind_of_entry(entry: &zip::Entry) -> Kind {
    match entry.unix_mode.unwrap_or(0) & 0o170_000 {
        0o120_000 => Kind::Symlink,
        0o040_000 => Kind::Directory,
        0 | 0o100_000 if entry.name.ends_with('/') => Kind::Directory,
        0 | 0o100_000 => Kind::File,
        _ => Kind::Other,
    }
}

/// The content of a ZIP member, which is opened when it is first read.
enum Lazy<'a, 'f> {
    Closed(&'a mut zip::Zip<&'f mut File>, usize),
    Open(zip::Content<&'a mut &'f mut File>),
    Failed,
}

impl Read for Lazy<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Self::Closed(..) = self
            && let Self::Closed(archive, index) = std::mem::replace(self, Self::Failed)
        {
            *self = Self::Open(archive.content(index)?);
        }
        match self {
            Self::Open(content) => content.read(buffer),
            Self::Closed(..) | Self::Failed => {
                Err(io::Error::other("the member could not be opened"))
            }
        }
    }
}

fn walk_gzip(file: &mut File, path: &str, visit: &mut Visit<'_>) -> Result<(), WalkError> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.strip_suffix(".gz").filter(|stem| !stem.is_empty());
    let member = Member {
        index: 0,
        // The name in the header is a second opinion about what the user sees already.
        name: stem.unwrap_or("content").to_owned(),
        kind: Kind::File,
        size: None,
        encrypted: false,
        target: None,
    };
    visit(&member, &mut gzip::Inflated::new(file))?;
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
