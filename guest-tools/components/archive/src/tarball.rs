//! Tar archives: POSIX ustar and pax, and the long names of GNU.
//!
//! The library reads headers and finds members; what precedes a member to describe it is read here,
//! within bounds: the library would take a name of any length into memory.

use std::borrow::Cow;
use std::io::{self, Read};

use agent_tool_bounded::zip::MAX_MEMBERS;
use tar::{EntryType, Header};

use crate::archive::{Visit, WalkError};
use crate::member::{Kind, MAX_NAME_BYTES, Member};

/// The longest description of one member in pax records, in bytes.
const MAX_PAX_BYTES: u64 = 64 * 1024;

/// True if a block is a header, or the zeros at the end of an archive that has no member.
pub(crate) fn is_header(block: &[u8]) -> bool {
    let Ok(bytes) = <[u8; 512]>::try_from(block) else {
        return false;
    };
    if bytes.iter().all(|byte| *byte == 0) {
        return true;
    }
    let mut header = Header::new_old();
    header.as_mut_bytes().copy_from_slice(&bytes);
    let stated = header.cksum();
    header.set_cksum();
    stated.is_ok_and(|stated| header.cksum().is_ok_and(|sum| sum == stated))
}

/// A description of the next member, from the records before it.
#[derive(Default)]
struct Described {
    name: Option<String>,
    target: Option<String>,
    sparse: bool,
    size: Option<u64>,
}

/// Shows each member to `visit`.
pub(crate) fn walk(source: impl Read, visit: &mut Visit<'_>) -> Result<(), WalkError> {
    let mut archive = tar::Archive::new(source);
    let mut described = Described::default();
    let mut index = 0;
    for (count, entry) in archive.entries()?.raw(true).enumerate() {
        if count >= MAX_MEMBERS {
            return Err(damaged(&format!("it has more than {MAX_MEMBERS} members")).into());
        }
        let mut entry = entry?;
        match entry.header().entry_type() {
            EntryType::GNULongName => described.name = Some(long_name(&mut entry)?),
            EntryType::GNULongLink => described.target = Some(long_name(&mut entry)?),
            EntryType::XHeader => described.add_pax(&mut entry)?,
            // It says nothing about a single member that this tool shows.
            EntryType::XGlobalHeader => {}
            _ => {
                let member = member_of(index, entry.header(), std::mem::take(&mut described))?;
                index += 1;
                let size = entry.size();
                let mut content = Whole { entry, left: size };
                if !visit(&member, &mut content)? {
                    break;
                }
            }
        }
    }
    Ok(())
}

fn member_of(index: usize, header: &Header, described: Described) -> io::Result<Member> {
    let size = header.entry_size()?;
    // A size of its own is for members of 8 GiB and more. Programs that do not know it find other
    // members in the same archive.
    if described.size.is_some_and(|other| other != size) {
        return Err(damaged("a member has two sizes"));
    }
    let name = described
        .name
        .unwrap_or_else(|| lossy(&header.path_bytes()));
    let target = described
        .target
        .or_else(|| header.link_name_bytes().map(|target| lossy(&target)));
    let kind = match header.entry_type() {
        _ if described.sparse => Kind::Other,
        EntryType::Regular | EntryType::Continuous if name.ends_with('/') => Kind::Directory,
        EntryType::Regular | EntryType::Continuous => Kind::File,
        EntryType::Directory => Kind::Directory,
        EntryType::Symlink => Kind::Symlink,
        EntryType::Link => Kind::HardLink,
        // Devices, pipes, sparse files; the enum is the library's and open.
        _ => Kind::Other,
    };
    Ok(Member {
        index,
        name,
        kind,
        size: Some(if kind == Kind::File { size } else { 0 }),
        encrypted: false,
        target: target.filter(|_| matches!(kind, Kind::Symlink | Kind::HardLink)),
    })
}

impl Described {
    /// Adds the records of a pax header: lines of `LENGTH KEY=VALUE`, whose length counts all of
    /// the line.
    fn add_pax(&mut self, entry: &mut impl Read) -> io::Result<()> {
        let bytes = bounded(entry, MAX_PAX_BYTES)?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (key, value, after) =
                pax_record(rest).ok_or_else(|| damaged("a pax record has a wrong form"))?;
            rest = after;
            match key {
                b"path" => self.name = Some(lossy(value)),
                b"linkpath" => self.target = Some(lossy(value)),
                b"size" => {
                    let size = std::str::from_utf8(value)
                        .ok()
                        .and_then(|text| text.parse().ok());
                    self.size =
                        Some(size.ok_or_else(|| damaged("a pax record has a size of no number"))?);
                }
                _ if key.starts_with(b"GNU.sparse.") => self.sparse = true,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The key and value of the first record, and what follows it.
fn pax_record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let digits = bytes.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(bytes.get(..digits)?)
        .ok()?
        .parse()
        .ok()?;
    let (record, after) = bytes.split_at_checked(length)?;
    let record = record.strip_suffix(b"\n")?.get(digits + 1..)?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some((record.get(..equals)?, record.get(equals + 1..)?, after))
}

fn long_name(entry: &mut impl Read) -> io::Result<String> {
    let bytes = bounded(entry, MAX_NAME_BYTES as u64 + 1)?;
    Ok(lossy(bytes.strip_suffix(b"\0").unwrap_or(&bytes)))
}

fn bounded(entry: &mut impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(damaged("the description of a member is too long"));
    }
    Ok(bytes)
}

fn lossy(bytes: &[u8]) -> String {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    }
}

fn damaged(how: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, how)
}

/// The content of a member, which is an error where the archive ends within it.
struct Whole<'a, R: Read> {
    entry: tar::Entry<'a, R>,
    left: u64,
}

impl<R: Read> Read for Whole<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.entry.read(buffer)?;
        self.left = self.left.saturating_sub(count as u64);
        if count == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(damaged("it ends too early"));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
