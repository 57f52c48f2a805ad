//! The directory at the end of an archive (APPNOTE.TXT 4.3.12 to 4.3.16).

use std::io::{Read, Seek, SeekFrom};

use super::{Entry, MAX_DIRECTORY_BYTES, MAX_MEMBERS, ZipError};

/// The end record without its comment, in bytes.
const END_BYTES: usize = 22;
/// The longest comment after it, in bytes.
const MAX_COMMENT_BYTES: u64 = 65_535;
const END_SIGNATURE: &[u8] = b"PK\x05\x06";
const END64_SIGNATURE: &[u8] = b"PK\x06\x06";
const LOCATOR64_SIGNATURE: &[u8] = b"PK\x06\x07";
const LOCATOR64_BYTES: u64 = 20;
const END64_BYTES: usize = 56;
const ENTRY_SIGNATURE: &[u8] = b"PK\x01\x02";
/// The extra field with sizes of 64 bits.
const EXTRA_ZIP64: u16 = 1;
const FLAG_ENCRYPTED: u16 = 1;
const FLAG_UTF8: u16 = 1 << 11;
const FLAG_MASKED: u16 = 1 << 13;

/// Says where the directory is.
struct End {
    count: u64,
    size: u64,
    /// The stated offset, from where the archive starts.
    offset: u64,
    /// The offset in the file at which the directory ends.
    at: u64,
}

/// Reads all entries.
pub(super) fn read(source: &mut (impl Read + Seek)) -> Result<Vec<Entry>, ZipError> {
    let end = find_end(source)?;
    if end.size > MAX_DIRECTORY_BYTES {
        return Err(ZipError::Directory);
    }
    if end.count > MAX_MEMBERS as u64 {
        return Err(ZipError::Members);
    }
    let start = end
        .at
        .checked_sub(end.size)
        .ok_or(ZipError::Damaged("its directory is larger than it"))?;
    // A program may stand before the archive, as in files that extract themselves.
    let before = start
        .checked_sub(end.offset)
        .ok_or(ZipError::Damaged("its directory is not where it should be"))?;
    let bytes = read_at(source, start, usize::try_from(end.size).unwrap_or(0))?;
    let mut cursor = Cursor(&bytes);
    let mut entries = Vec::new();
    while !cursor.0.is_empty() {
        if entries.len() >= MAX_MEMBERS {
            return Err(ZipError::Members);
        }
        let mut entry = cursor.entry().ok_or(ZipError::Damaged(
            "its directory does not have the form of one",
        ))??;
        entry.offset = entry
            .offset
            .checked_add(before)
            .filter(|offset| *offset < start)
            .ok_or(ZipError::Damaged("a member is not in the file"))?;
        entries.push(entry);
    }
    if entries.len() as u64 != end.count {
        return Err(ZipError::Damaged(
            "the number of members is not the stated one",
        ));
    }
    Ok(entries)
}

fn find_end(source: &mut (impl Read + Seek)) -> Result<End, ZipError> {
    let length = source.seek(SeekFrom::End(0))?;
    let searched = length.min(MAX_COMMENT_BYTES + END_BYTES as u64);
    let from = length - searched;
    let tail = read_at(source, from, usize::try_from(searched).unwrap_or(0))?;
    let last = tail.len().checked_sub(END_BYTES).ok_or(ZipError::NotZip)?;
    let (at, record) = (0..=last)
        .rev()
        .find_map(|at| {
            let record = tail.get(at..)?;
            let comment = Cursor(record.get(20..)?).u16()?;
            let fits = record.len() == END_BYTES + usize::from(comment);
            (record.starts_with(END_SIGNATURE) && fits).then_some((at, record))
        })
        .ok_or(ZipError::NotZip)?;
    let at = from + at as u64;
    let (disks, end) = Cursor(record).end(at).ok_or(ZipError::NotZip)?;
    let is_64 = end.count == u64::from(u16::MAX)
        || end.size == u64::from(u32::MAX)
        || end.offset == u64::from(u32::MAX);
    if is_64 && let Some(end) = find_end64(source, at)? {
        return Ok(end);
    }
    if disks != (0, 0) {
        return Err(ZipError::Volumes);
    }
    Ok(end)
}

/// The end record of 64 bits, which a locator right before the usual one points to.
fn find_end64(source: &mut (impl Read + Seek), at: u64) -> Result<Option<End>, ZipError> {
    let Some(locator_at) = at.checked_sub(LOCATOR64_BYTES) else {
        return Ok(None);
    };
    let locator = read_at(source, locator_at, 20)?;
    if !locator.starts_with(LOCATOR64_SIGNATURE) {
        return Ok(None);
    }
    // Right before the locator, whatever the locator says: a second copy elsewhere is a trick.
    let misplaced = ZipError::Damaged("its record of 64 bits is not where it should be");
    let Some(record_at) = locator_at.checked_sub(END64_BYTES as u64) else {
        return Err(misplaced);
    };
    let record = read_at(source, record_at, END64_BYTES)?;
    if !record.starts_with(END64_SIGNATURE) {
        return Err(misplaced);
    }
    let mut cursor = Cursor(record.get(16..).unwrap_or_default());
    let fields = (|| {
        let disks = (cursor.u32()?, cursor.u32()?);
        let _on_this_disk = cursor.u64()?;
        let (count, size, offset) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let at = record_at;
        Some((
            disks,
            End {
                count,
                size,
                offset,
                at,
            },
        ))
    })();
    match fields {
        Some(((0, 0), end)) => Ok(Some(end)),
        Some(_) => Err(ZipError::Volumes),
        None => Err(misplaced),
    }
}

/// Reads exactly `count` bytes at an offset; both are bounded by the callers.
fn read_at(
    source: &mut (impl Read + Seek),
    offset: u64,
    count: usize,
) -> Result<Vec<u8>, ZipError> {
    source.seek(SeekFrom::Start(offset))?;
    let mut bytes = vec![0; count];
    source.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The rest of a record, read in little-endian order.
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The end record, with the numbers of the volumes of it and of the directory.
    fn end(mut self, at: u64) -> Option<((u16, u16), End)> {
        self.bytes(4)?;
        let disks = (self.u16()?, self.u16()?);
        let _on_this_disk = self.u16()?;
        let count = u64::from(self.u16()?);
        let (size, offset) = (u64::from(self.u32()?), u64::from(self.u32()?));
        let end = End {
            count,
            size,
            offset,
            at,
        };
        Some((disks, end))
    }

    /// The next entry of the directory; `None` if it is cut.
    fn entry(&mut self) -> Option<Result<Entry, ZipError>> {
        if self.bytes(4)? != ENTRY_SIGNATURE {
            return None;
        }
        let made_by = self.u16()?;
        let _needed = self.u16()?;
        let (flags, method) = (self.u16()?, self.u16()?);
        let _modified = self.u32()?;
        let crc32 = self.u32()?;
        let (compressed, size) = (u64::from(self.u32()?), u64::from(self.u32()?));
        let (name, extra, comment) = (self.u16()?, self.u16()?, self.u16()?);
        let _disk_and_internal = self.u32()?;
        let external = self.u32()?;
        let offset = u64::from(self.u32()?);
        let raw_name = self.bytes(name.into())?.to_vec();
        let extra = self.bytes(extra.into())?;
        self.bytes(comment.into())?;
        let mut sizes = [size, compressed, offset];
        if let Err(error) = widen(&mut sizes, extra) {
            return Some(Err(error));
        }
        let [size, compressed, offset] = sizes;
        // 3 is Unix, 19 macOS: only they have modes.
        let unix_mode = matches!(made_by >> 8, 3 | 19).then_some(external >> 16);
        Some(Ok(Entry {
            name: name_of(&raw_name, flags & FLAG_UTF8 != 0),
            size,
            compressed,
            method,
            encrypted: flags & (FLAG_ENCRYPTED | FLAG_MASKED) != 0,
            unix_mode,
            raw_name,
            crc32,
            offset,
        }))
    }
}

/// Replaces what does not fit into 32 bits by what the extra field has (APPNOTE.TXT 4.5.3).
fn widen(sizes: &mut [u64; 3], extra: &[u8]) -> Result<(), ZipError> {
    let is_cut = |size: &u64| *size == u64::from(u32::MAX);
    if !sizes.iter().any(is_cut) {
        return Ok(());
    }
    let mut cursor = Cursor(extra);
    while let (Some(id), Some(length)) = (cursor.u16(), cursor.u16()) {
        let Some(field) = cursor.bytes(length.into()) else {
            break;
        };
        if id != EXTRA_ZIP64 {
            continue;
        }
        let mut field = Cursor(field);
        for size in sizes.iter_mut().filter(|size| is_cut(size)) {
            *size = field
                .u64()
                .ok_or(ZipError::Damaged("a size of 64 bits is missing"))?;
        }
        return Ok(());
    }
    Err(ZipError::Damaged("a size of 64 bits is missing"))
}

/// The bytes from 128 on in code page 437, which APPNOTE.TXT D.1 names for names without a flag.
const CODE_PAGE_437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

fn name_of(raw: &[u8], is_utf8: bool) -> String {
    match std::str::from_utf8(raw) {
        Ok(name) => name.to_owned(),
        Err(_) if is_utf8 => String::from_utf8_lossy(raw).into_owned(),
        Err(_) => raw
            .iter()
            .map(|&byte| match byte.checked_sub(128) {
                None => char::from(byte),
                Some(high) => CODE_PAGE_437
                    .chars()
                    .nth(high.into())
                    .unwrap_or(char::REPLACEMENT_CHARACTER),
            })
            .collect(),
    }
}
