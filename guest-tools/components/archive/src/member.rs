//! A member of an archive, and the rule for names that may become files.

use std::collections::HashSet;

use agent_tool::output;
use agent_tool_bounded::Failure;

/// The longest name of a member, in bytes: what Linux takes as a path.
pub(crate) const MAX_NAME_BYTES: usize = 4_096;

/// The most bytes of all names of an archive.
const MAX_NAMES_BYTES: usize = 8 * 1024 * 1024;

/// The most directories in a member's path.
const MAX_DEPTH: usize = 64;

/// The longest name of one file or directory, in bytes: what file systems take.
const MAX_SEGMENT_BYTES: usize = 255;

/// A kind of members.
#[output]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    File,
    Directory,
    Symlink,
    HardLink,
    /// A device, a pipe, a sparse file, or a kind that this tool does not know.
    Other,
}

/// A member, before its content is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// The position in the archive, from 0 on.
    pub(crate) index: usize,
    /// The name as it is in the archive.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The size of its content, in bytes; `None` where only reading it shows that.
    pub(crate) size: Option<u64>,
    pub(crate) encrypted: bool,
    /// The target of a link, where the archive's headers have it.
    pub(crate) target: Option<String>,
}

impl Member {
    /// The path below a directory at which the member can be created.
    ///
    /// # Errors
    /// The reason why it cannot be.
    pub(crate) fn safe_path(&self) -> Result<String, &'static str> {
        match self.kind {
            Kind::File | Kind::Directory => {}
            Kind::Symlink => return Err("it is a symbolic link; links are not created"),
            Kind::HardLink => return Err("it is a hard link; links are not created"),
            Kind::Other => return Err("it is neither a file nor a directory"),
        }
        if self.encrypted {
            return Err("it is encrypted, and no password can be given");
        }
        let path = safe_path(&self.name)?;
        if path.is_empty() && self.kind == Kind::File {
            return Err("it has no name");
        }
        Ok(path)
    }
}

/// The name without `.` and repeated slashes. Empty for the directory itself.
fn safe_path(name: &str) -> Result<String, &'static str> {
    if name.len() > MAX_NAME_BYTES {
        return Err("its name is too long");
    }
    if name.starts_with('/') {
        return Err("its name is an absolute path");
    }
    if name.contains('\\') {
        return Err("its name has a backslash, which some systems take for a slash");
    }
    if name.chars().any(char::is_control) {
        return Err("its name has a control character");
    }
    if name.contains(char::REPLACEMENT_CHARACTER) {
        return Err("its name is not UTF-8");
    }
    let parts: Vec<&str> = name
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.contains(&"..") {
        return Err("its name leads out of the directory by `..`");
    }
    if is_drive(parts.first()) {
        return Err("its name starts with a drive");
    }
    if parts.len() > MAX_DEPTH {
        return Err("it lies in too many directories");
    }
    if parts.iter().any(|part| part.len() > MAX_SEGMENT_BYTES) {
        return Err("a part of its name is too long");
    }
    Ok(parts.join("/"))
}

/// True for `C:` and what starts with it.
fn is_drive(first: Option<&&str>) -> bool {
    first.is_some_and(|part| {
        let mut letters = part.chars();
        letters
            .next()
            .is_some_and(|letter| letter.is_ascii_alphabetic())
            && letters.next() == Some(':')
    })
}

/// The names of an archive so far, within [`MAX_NAMES_BYTES`].
#[derive(Default)]
pub(crate) struct Names {
    seen: HashSet<String>,
    bytes: usize,
}

impl Names {
    /// Adds a name; false if it is there already.
    ///
    /// # Errors
    /// The names are too long together.
    pub(crate) fn add(&mut self, name: &str) -> Result<bool, Failure> {
        if self.seen.contains(name) {
            return Ok(false);
        }
        self.bytes += name.len();
        if self.bytes > MAX_NAMES_BYTES {
            return Err(Failure::new(format!(
                "the names of the archive's members have more than {MAX_NAMES_BYTES} bytes; it cannot be read"
            )));
        }
        self.seen.insert(name.to_owned());
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
