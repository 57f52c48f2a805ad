//! Packs: many objects in one file, some as differences from others (gitformat-pack(5)). A pack is
//! read where an object is, and never as a whole.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::ZlibDecoder;

use crate::error::GitError;
use crate::object::{Kind, MAX_OBJECT_BYTES, Object, Oid};

/// The longest chain of differences: Git's own bound.
const MAX_CHAIN: usize = 4_095;

/// The most bytes of all differences of one chain.
const MAX_CHAIN_BYTES: u64 = 64 * 1024 * 1024;

const FANOUT_AT: u64 = 8;
const IDS_AT: u64 = FANOUT_AT + 1_024;

/// An open pack with its index of version 2.
pub(crate) struct Pack {
    index: File,
    data: File,
    /// The number of objects whose first byte is at most the position.
    fanout: Vec<u32>,
}

/// An entry as it is stored.
enum Entry {
    Whole(Kind),
    /// A difference from the entry at an offset.
    Offset(u64),
    /// A difference from an object by its name.
    Base(Oid),
}

impl Pack {
    pub(crate) fn open(index: &Path) -> Result<Self, GitError> {
        let data = File::open(index.with_extension("pack"))?;
        let mut index = File::open(index)?;
        let mut start = [0; 1_032];
        index.read_exact(&mut start)?;
        let (magic, fanout) = start.split_at(8);
        if magic != b"\xfftOc\0\0\0\x02" {
            return Err(GitError::Bound(
                "an index of a pack is not of version 2; run `git gc`",
            ));
        }
        let fanout: Vec<u32> = fanout
            .chunks_exact(4)
            .map(|bytes| {
                bytes
                    .iter()
                    .fold(0, |number, byte| number << 8 | u32::from(*byte))
            })
            .collect();
        if !fanout.is_sorted() {
            return Err(GitError::Damaged("an index of a pack is out of order"));
        }
        Ok(Self {
            index,
            data,
            fanout,
        })
    }

    fn count(&self) -> u64 {
        self.fanout.last().copied().unwrap_or(0).into()
    }

    fn id_at(&mut self, position: u64) -> Result<Oid, GitError> {
        let mut id = [0; 20];
        self.index.seek(SeekFrom::Start(IDS_AT + position * 20))?;
        self.index.read_exact(&mut id)?;
        Ok(Oid(id))
    }

    /// The position of the first name that is not below `id`, by halves.
    fn lower_bound(&mut self, id: &Oid) -> Result<u64, GitError> {
        let first = usize::from(id.0.first().copied().unwrap_or(0));
        let start = first
            .checked_sub(1)
            .and_then(|before| self.fanout.get(before));
        let mut low = u64::from(start.copied().unwrap_or(0));
        let mut high = u64::from(self.fanout.get(first).copied().unwrap_or(0));
        while low < high {
            let middle = low.midpoint(high);
            if self.id_at(middle)? < *id {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The names that start with these digits, at most two.
    pub(crate) fn with_prefix(&mut self, from: &Oid, prefix: &str) -> Result<Vec<Oid>, GitError> {
        let mut found = Vec::new();
        let start = self.lower_bound(from)?;
        for position in start..self.count().min(start + 2) {
            let id = self.id_at(position)?;
            if id.to_string().starts_with(prefix) {
                found.push(id);
            }
        }
        Ok(found)
    }

    fn offset_of(&mut self, id: &Oid) -> Result<Option<u64>, GitError> {
        let position = self.lower_bound(id)?;
        let count = self.count();
        if position >= count || self.id_at(position)? != *id {
            return Ok(None);
        }
        let offsets = IDS_AT + count * 24;
        let mut small = [0; 4];
        self.index.seek(SeekFrom::Start(offsets + position * 4))?;
        self.index.read_exact(&mut small)?;
        let small = u32::from_be_bytes(small);
        if small & (1 << 31) == 0 {
            return Ok(Some(small.into()));
        }
        // Offsets from 2 GiB on stand in a list of their own.
        let large_at = offsets + count * 4 + u64::from(small & !(1 << 31)) * 8;
        let mut large = [0; 8];
        self.index.seek(SeekFrom::Start(large_at))?;
        self.index.read_exact(&mut large)?;
        Ok(Some(u64::from_be_bytes(large)))
    }

    /// Reads an object; `None` if it is not in this pack.
    pub(crate) fn read(&mut self, id: &Oid) -> Result<Option<Object>, GitError> {
        let Some(mut offset) = self.offset_of(id)? else {
            return Ok(None);
        };
        let mut differences: Vec<Vec<u8>> = Vec::new();
        let mut bytes = 0;
        let (kind, mut data) = loop {
            let (entry, content) = self.entry(offset)?;
            bytes += content.len() as u64;
            if differences.len() >= MAX_CHAIN || bytes > MAX_CHAIN_BYTES {
                return Err(GitError::Bound("an object is made of too many differences"));
            }
            offset = match entry {
                Entry::Whole(kind) => break (kind, content),
                Entry::Offset(base) => base,
                Entry::Base(base) => self
                    .offset_of(&base)?
                    .ok_or_else(|| GitError::Missing(base.to_string()))?,
            };
            differences.push(content);
        };
        while let Some(difference) = differences.pop() {
            data = applied(&data, &difference)
                .ok_or(GitError::Damaged("a difference does not fit its object"))?;
        }
        Ok(Some(Object { kind, data }))
    }

    fn entry(&mut self, offset: u64) -> Result<(Entry, Vec<u8>), GitError> {
        self.data.seek(SeekFrom::Start(offset))?;
        let mut reader = BufReader::new(&mut self.data);
        let mut byte = one(&mut reader)?;
        let kind = byte >> 4 & 7;
        let mut size = u64::from(byte & 15);
        let mut shift = 4;
        while byte & 128 != 0 {
            byte = one(&mut reader)?;
            if shift > 56 {
                return Err(GitError::Damaged("an object has a size without an end"));
            }
            size |= u64::from(byte & 127) << shift;
            shift += 7;
        }
        let entry = match kind {
            1 => Entry::Whole(Kind::Commit),
            2 => Entry::Whole(Kind::Tree),
            3 => Entry::Whole(Kind::Blob),
            4 => Entry::Whole(Kind::Tag),
            6 => {
                let back = distance(&mut reader)?;
                let base = offset.checked_sub(back).filter(|_| back > 0);
                Entry::Offset(base.ok_or(GitError::Damaged("a difference has no base"))?)
            }
            7 => {
                let mut id = [0; 20];
                reader.read_exact(&mut id)?;
                Entry::Base(Oid(id))
            }
            _ => return Err(GitError::Damaged("an object has an unknown type")),
        };
        Ok((entry, inflated(reader, size)?))
    }
}

fn one(reader: &mut impl Read) -> Result<u8, GitError> {
    let mut byte = [0];
    reader.read_exact(&mut byte)?;
    let [byte] = byte;
    Ok(byte)
}

/// The distance to the base of a difference, in Git's own form of numbers.
fn distance(reader: &mut impl Read) -> Result<u64, GitError> {
    let mut byte = one(reader)?;
    let mut distance = u64::from(byte & 127);
    while byte & 128 != 0 {
        byte = one(reader)?;
        distance = distance
            .checked_add(1)
            .and_then(|distance| distance.checked_mul(128))
            .ok_or(GitError::Damaged("a difference has no base"))?
            | u64::from(byte & 127);
    }
    Ok(distance)
}

/// The content of a compressed object of exactly `size` bytes.
pub(crate) fn inflated(reader: impl Read, size: u64) -> Result<Vec<u8>, GitError> {
    if size > MAX_OBJECT_BYTES {
        return Err(GitError::Bound("an object is larger than 32 MiB"));
    }
    let mut data = Vec::new();
    ZlibDecoder::new(reader)
        .take(size + 1)
        .read_to_end(&mut data)?;
    if data.len() as u64 != size {
        return Err(GitError::Damaged("an object does not have the stated size"));
    }
    Ok(data)
}

/// An object from its base and a difference: copies of parts of the base, and new bytes.
fn applied(base: &[u8], difference: &[u8]) -> Option<Vec<u8>> {
    let mut rest = difference;
    let base_size = number(&mut rest)?;
    let size = number(&mut rest)?;
    if base_size != base.len() as u64 || size > MAX_OBJECT_BYTES {
        return None;
    }
    let mut data: Vec<u8> = Vec::new();
    while let Some((&command, after)) = rest.split_first() {
        rest = after;
        let piece = if command & 128 == 0 {
            let (piece, after) = rest.split_at_checked(command.into())?;
            rest = after;
            // Zero is reserved.
            (command != 0).then_some(piece)?
        } else {
            let mut fields = [0_usize; 7];
            for (bit, field) in fields.iter_mut().enumerate() {
                if command & (1 << bit) != 0 {
                    let (&byte, after) = rest.split_first()?;
                    *field = byte.into();
                    rest = after;
                }
            }
            let [a, b, c, d, x, y, z] = fields;
            let start = a | b << 8 | c << 16 | d << 24;
            let count = match x | y << 8 | z << 16 {
                0 => 0x10000,
                count => count,
            };
            base.get(start..start.checked_add(count)?)?
        };
        if data.len() as u64 + piece.len() as u64 > size {
            return None;
        }
        data.extend_from_slice(piece);
    }
    (data.len() as u64 == size).then_some(data)
}

/// A number of a difference, seven bits in each byte.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests;
