//! The files of a case: a directory that is copied for each run, within bounds and without links.

use agent_host_types::reason::Reason;
use std::{
    fmt::Display,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The most files and directories of a case.
const MAX_ENTRIES: usize = 10_000;

/// The most bytes of the files of a case.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The files of a case; none by default.
#[derive(Clone, Debug, Default)]
pub(super) struct CaseFiles {
    root: PathBuf,
    /// Paths below the root, directories before what is in them.
    entries: Arc<Vec<(PathBuf, FileKind)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Directory,
    File,
}

impl CaseFiles {
    /// Lists the files in a directory.
    pub(super) fn read(root: &Path) -> Result<Self, Reason> {
        let mut entries = Vec::new();
        let mut bytes = 0_u64;
        let mut unread = vec![PathBuf::new()];
        while let Some(directory) = unread.pop() {
            let path = match directory.as_os_str().is_empty() {
                true => root.to_owned(),
                false => root.join(&directory),
            };
            let fault = |error: io::Error| {
                let path = path.display();
                format!("cannot read the files of a case, {path}: {error}")
            };
            for entry in fs::read_dir(&path).map_err(fault)? {
                let entry = entry.map_err(fault)?;
                let below = directory.join(entry.file_name());
                // Links are not followed.
                let found = entry.metadata().map_err(fault)?;
                let kind = match found.file_type() {
                    kind if kind.is_dir() => FileKind::Directory,
                    kind if kind.is_file() => FileKind::File,
                    _ => {
                        return Err(Reason::from(format!(
                            "the files of a case include {}, which is neither a file nor a directory; replace links \
                             and other special files with regular files",
                            entry.path().display()
                        )));
                    }
                };
                match kind {
                    FileKind::Directory => unread.push(below.clone()),
                    FileKind::File => bytes = bytes.saturating_add(found.len()),
                }
                entries.push((below, kind));
                if entries.len() > MAX_ENTRIES || bytes > MAX_BYTES {
                    return Err(Reason::from(format!(
                        "the files of a case in {} number more than {MAX_ENTRIES}, or have more than {MAX_BYTES} \
                         bytes; remove some",
                        root.display()
                    )));
                }
            }
        }
        Ok(Self {
            root: root.to_owned(),
            entries: Arc::new(entries),
        })
    }

    /// Copies the files into an empty directory. A file that became a link since is refused.
    pub(super) fn copy_to(&self, target: &Path) -> io::Result<()> {
        let mut left = MAX_BYTES;
        for (below, kind) in self.entries.iter() {
            let (from, to) = (self.root.join(below), target.join(below));
            let copied = match kind {
                FileKind::Directory => DirBuilder::new().mode(0o700).create(&to),
                FileKind::File => copy(&from, &to, &mut left),
            };
            copied.map_err(|error| named(&error, &from))?;
        }
        Ok(())
    }
}

fn copy(from: &Path, to: &Path, left: &mut u64) -> io::Result<()> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let source = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(from)?;
    let found = source.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is no longer a file"));
    }
    let mut target = File::options().write(true).create_new(true).open(to)?;
    let copied = io::copy(&mut source.take(left.saturating_add(1)), &mut target)?;
    *left = left
        .checked_sub(copied)
        .ok_or_else(|| io::Error::other("the files became too large"))?;
    target.set_permissions(found.permissions())
}

fn named(error: &impl Display, path: &Path) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}
