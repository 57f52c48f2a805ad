//! The content of a member: exactly as long as stated, and with the stated checksum, or an error.

use std::io::{self, Read, Seek, SeekFrom, Take};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::directory::Cursor;
use super::{Entry, MAX_RATIO, RATIO_FROM_BYTES, ZipError};

const HEADER_BYTES: usize = 30;
const HEADER_SIGNATURE: &[u8] = b"PK\x03\x04";

/// The content of a member.
pub struct Content<R: Read> {
    reader: Reader<R>,
    /// The bytes that are still to come.
    left: u64,
    crc: Crc,
    crc32: u32,
    is_checked: bool,
}

enum Reader<R: Read> {
    Stored(Take<R>),
    Deflated(Box<DeflateDecoder<Take<R>>>),
}

impl<R: Read + Seek> Content<R> {
    /// Opens the member at its own header, which has to agree with the directory: programs that
    /// read one or the other would see two archives.
    pub(super) fn open(mut source: R, entry: &Entry) -> Result<Self, ZipError> {
        if entry.encrypted {
            return Err(ZipError::Encrypted);
        }
        if entry.size > RATIO_FROM_BYTES && entry.size / MAX_RATIO > entry.compressed {
            return Err(ZipError::Ratio);
        }
        source.seek(SeekFrom::Start(entry.offset))?;
        let mut header = [0; HEADER_BYTES];
        source.read_exact(&mut header)?;
        let (method, name, extra) = header_of(&header).ok_or(ZipError::Damaged(
            "there is no member where the directory says",
        ))?;
        let mut own_name = vec![0; name.into()];
        source.read_exact(&mut own_name)?;
        if own_name != entry.raw_name || method != entry.method {
            return Err(ZipError::Damaged(
                "a member's own header contradicts the directory",
            ));
        }
        source.seek_relative(extra.into())?;
        let data = source.take(entry.compressed);
        let reader = match method {
            0 if entry.size != entry.compressed => {
                return Err(ZipError::Damaged("two sizes of a stored member differ"));
            }
            0 => Reader::Stored(data),
            8 => Reader::Deflated(Box::new(DeflateDecoder::new(data))),
            other => return Err(ZipError::Method(other)),
        };
        Ok(Self {
            reader,
            left: entry.size,
            crc: Crc::new(),
            crc32: entry.crc32,
            is_checked: false,
        })
    }
}

impl<R: Read> Content<R> {
    /// Checks the end: nothing is left out, nothing comes after it, and the checksum fits.
    fn finish(&mut self) -> Result<(), ZipError> {
        if self.left > 0 {
            return Err(ZipError::Damaged("a member is shorter than stated"));
        }
        if self.reader.read(&mut [0])? > 0 {
            return Err(ZipError::Damaged("a member is longer than stated"));
        }
        if self.crc.sum() != self.crc32 {
            return Err(ZipError::Damaged(
                "a member does not have the stated checksum",
            ));
        }
        self.is_checked = true;
        Ok(())
    }
}

impl<R: Read> Read for Content<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_checked || buffer.is_empty() {
            return Ok(0);
        }
        let most = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let Some(wanted) = buffer.get_mut(..most) else {
            return Ok(0);
        };
        let count = self.reader.read(wanted)?;
        self.crc.update(wanted.get(..count).unwrap_or_default());
        self.left -= count as u64;
        if count == 0 {
            self.finish()?;
        }
        Ok(count)
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stored(data) => data.read(buffer),
            Self::Deflated(data) => data.read(buffer).map_err(|error| match error.kind() {
                io::ErrorKind::InvalidInput
                | io::ErrorKind::InvalidData
                | io::ErrorKind::UnexpectedEof => {
                    ZipError::Damaged("a member does not have the form of deflate").into()
                }
                _ => error,
            }),
        }
    }
}

/// The method and the lengths of name and extra field of a member's own header.
fn header_of(bytes: &[u8]) -> Option<(u16, u16, u16)> {
    let mut cursor = Cursor(bytes);
    if cursor.bytes(4)? != HEADER_SIGNATURE {
        return None;
    }
    let _needed_and_flags = cursor.u32()?;
    let method = cursor.u16()?;
    cursor.bytes(16)?;
    Some((method, cursor.u16()?, cursor.u16()?))
}
