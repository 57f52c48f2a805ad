//! Resolves a location in a script to a descriptor and the path string to use with it.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};

use crate::script::{How, Location};

/// A directory, and an unvalidated path in it.
pub(crate) struct ResolvedPath {
    pub(crate) directory: Descriptor,
    pub(crate) path: String,
}

/// The names of the granted directories.
pub(crate) fn roots() -> Vec<String> {
    get_directories()
        .into_iter()
        .map(|(_, name)| name)
        .collect()
}

pub(crate) fn resolve(location: Location) -> Result<ResolvedPath, String> {
    let mut parts = match location {
        Location::First(path) => {
            let (directory, _) = get_directories().into_iter().next().ok_or("no-root")?;
            return Ok(ResolvedPath { directory, path });
        }
        Location::Through(parts) => parts,
    };
    let path = parts.pop().ok_or("no-path")?;
    let mut parts = parts.into_iter();
    let root = parts.next().ok_or("no-root")?;
    let (mut directory, _) = get_directories()
        .into_iter()
        .find(|(_, name)| *name == root)
        .ok_or("no-root")?;
    for step in parts {
        let how = [How::Read, How::Mutate, How::Directory];
        let next = ResolvedPath {
            directory,
            path: step,
        };
        // A directory that may not be changed can still be looked into.
        directory = next
            .open(&how, true)
            .or_else(|_| next.open(&[How::Read, How::Directory], true))?;
    }
    Ok(ResolvedPath { directory, path })
}

impl ResolvedPath {
    pub(crate) fn open(&self, how: &[How], follow: bool) -> Result<Descriptor, String> {
        let (opening, access) = flags(how);
        self.directory
            .open_at(following(follow), &self.path, opening, access)
            .map_err(|code| code.name().to_owned())
    }
}

pub(crate) fn following(follow: bool) -> PathFlags {
    if follow {
        PathFlags::SYMLINK_FOLLOW
    } else {
        PathFlags::empty()
    }
}

fn flags(how: &[How]) -> (OpenFlags, DescriptorFlags) {
    let mut opening = OpenFlags::empty();
    let mut access = DescriptorFlags::empty();
    for how in how {
        match how {
            How::Read => access = access | DescriptorFlags::READ,
            How::Write => access = access | DescriptorFlags::WRITE,
            How::Mutate => access = access | DescriptorFlags::MUTATE_DIRECTORY,
            How::Create => opening = opening | OpenFlags::CREATE,
            How::Exclusive => opening = opening | OpenFlags::EXCLUSIVE,
            How::Truncate => opening = opening | OpenFlags::TRUNCATE,
            How::Directory => opening = opening | OpenFlags::DIRECTORY,
        }
    }
    (opening, access)
}
