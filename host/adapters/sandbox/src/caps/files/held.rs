//! Names in open directories whose objects are hidden, and those objects at present. Every operation
//! of a guest asks for them, so that they are looked up again only where their directory has changed.

use super::convert::{FileId, file_id, file_type};
use crate::mutex::lock;
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, FileType, fstat, statat},
};
use std::{ffi::OsString, sync::Mutex, time::SystemTime};

/// The age in seconds from which on a directory's times tell its changes apart. The coarsest local
/// file system, FAT, counts in steps of two seconds.
const SETTLED_SECONDS: i64 = 4;

/// The object at a held name at present.
#[derive(Clone, Copy)]
pub(super) struct HiddenObject {
    pub(super) id: FileId,
    pub(super) is_dir: bool,
    /// Its directory is in the grant.
    pub(super) inside: bool,
}

/// Names in an open directory: they stay the same wherever the directory is moved.
pub(super) struct HeldDir {
    dir: OwnedFd,
    /// The directory is in the grant.
    inside: bool,
    names: Vec<OsString>,
    seen: Mutex<Option<Lookup>>,
}

/// The objects at the names when the directory had these times.
struct Lookup {
    times: DirTimes,
    objects: Vec<HiddenObject>,
}

/// The times that every change of a directory's entries sets.
#[derive(Clone, Copy, PartialEq, Eq)]
struct DirTimes {
    modified: (i64, u64),
    changed: (i64, u64),
}

impl HeldDir {
    pub(super) fn new(dir: OwnedFd, inside: bool, name: OsString) -> Self {
        Self {
            dir,
            inside,
            names: vec![name],
            seen: Mutex::default(),
        }
    }

    /// Holds another name, if the directory is this one.
    pub(super) fn hold(&mut self, dir: &OwnedFd, name: &OsString) -> bool {
        let id = |dir: &OwnedFd| fstat(dir).ok().as_ref().map(file_id);
        let is_same = id(dir).is_some_and(|other| id(&self.dir) == Some(other));
        if is_same && !self.names.contains(name) {
            self.names.push(name.clone());
        }
        is_same
    }

    /// Adds the objects at the names. `has_times` tells that the directory is on a local file
    /// system, where every change of an entry is in its times.
    pub(super) fn add_objects(&self, has_times: bool, objects: &mut Vec<HiddenObject>) {
        let times = if has_times { self.times() } else { None };
        let Some(times) = times else {
            objects.extend(self.look_up());
            return;
        };
        let mut seen = lock(&self.seen);
        if let Some(lookup) = seen.as_ref().filter(|lookup| lookup.times == times) {
            objects.extend(&lookup.objects);
            return;
        }
        let found: Vec<HiddenObject> = self.look_up().collect();
        objects.extend(&found);
        // A change that is made now must set other times than these.
        *seen = (times.are_settled() && self.times() == Some(times)).then_some(Lookup {
            times,
            objects: found,
        });
    }

    fn look_up(&self) -> impl Iterator<Item = HiddenObject> {
        self.names.iter().filter_map(|name| {
            let stat = statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some(HiddenObject {
                id: file_id(&stat),
                is_dir: file_type(&stat) == FileType::Directory,
                inside: self.inside,
            })
        })
    }

    fn times(&self) -> Option<DirTimes> {
        let stat = fstat(&self.dir).ok()?;
        Some(DirTimes {
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        })
    }
}

impl DirTimes {
    fn are_settled(self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_secs().cast_signed());
        [self.modified, self.changed]
            .iter()
            .all(|(seconds, _)| now.saturating_sub(*seconds) > SETTLED_SECONDS)
    }
}

#[cfg(test)]
mod tests;
