//! The messages between parent and child. The child reports its confinement, receives a header and
//! the component, replies and exits. Both sides are usually the same program; the header detects
//! where they are not.

use super::Confinement;
use crate::{
    component::code::{CompileError, MachineCode},
    config::WasiVersion,
    engine::Layout,
    text,
};
use std::io::{self, Write};

/// The first bytes of the input, with the version of the format.
const MAGIC: [u8; 16] = *b"agent-host job 3";

/// The bytes of the header: magic, layout, version of WASI, fingerprint of the engines, size of the
/// component.
pub(super) const HEADER_BYTES: usize = 16 + 2 + 32 + 8;

/// The second byte of the output: the kind of the reply.
const CODE: u8 = 0;
const FAILED: u8 = 1;
const OTHER_ENGINE: u8 = 2;

/// The bytes before the body of the reply.
const PREFIX_BYTES: usize = 2;

/// The bound on the functions that were left out, and their reasons, in bytes of JSON.
const MAX_LEFT_OUT_BYTES: usize = 512 * 1024;

/// The bound on the child's error message, in bytes.
const MAX_TEXT_BYTES: usize = 2 * 1024;

/// Names of the compile errors.
const OUT_OF_MEMORY: &str = "out-of-memory";
const MALFORMED: &str = "not-a-component";
const UNSUPPORTED_FEATURE: &str = "unsupported-feature";

/// The input before the component.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) layout: Layout,
    pub(super) wasi: WasiVersion,
    /// The fingerprint of the engines that run the code.
    pub(super) engines: [u8; 32],
    pub(super) component_bytes: u64,
}

impl Header {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let kind = [self.layout as u8, self.wasi as u8];
        let length = self.component_bytes.to_le_bytes();
        [MAGIC.as_slice(), &kind, &self.engines, &length].concat()
    }

    /// Returns `None` for a header of another version.
    pub(super) fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (&[layout, wasi], rest) = rest.split_first_chunk()?;
        let (engines, length) = rest.split_at_checked(32)?;
        let mut layouts = Layout::ALL.into_iter();
        let mut versions = WasiVersion::ALL.into_iter();
        Some(Self {
            layout: layouts.find(|known| *known as u8 == layout)?,
            wasi: versions.find(|known| *known as u8 == wasi)?,
            engines: engines.try_into().ok()?,
            component_bytes: u64::from_le_bytes(length.try_into().ok()?),
        })
    }
}

/// The child's reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CompilerReply {
    Code(MachineCode),
    Failed(CompileError),
    /// The child's engine differs from the one that runs the code.
    OtherEngine,
}

/// Returns the largest size of the output for `max_code` bytes of machine code.
pub(super) fn max_reply_bytes(max_code: usize) -> usize {
    max_code.saturating_add(PREFIX_BYTES + 4 + MAX_LEFT_OUT_BYTES)
}

/// Reads the child's confinement from the first byte; absent if the child failed before reporting
/// it.
pub(super) fn confinement(output: &[u8]) -> Option<Confinement> {
    let byte = *output.first()?;
    [Confinement::SystemCalls, Confinement::Limits]
        .into_iter()
        .find(|known| *known as u8 == byte)
}

/// Writes the output after its first byte.
pub(super) fn write_reply(output: &mut impl Write, reply: CompilerReply) -> io::Result<()> {
    let (tag, body) = match reply {
        CompilerReply::Code(MachineCode { bytes, left_out }) => {
            let left_out = serde_json::to_vec(&left_out)?;
            let length = u32::try_from(left_out.len()).map_err(io::Error::other)?;
            (
                CODE,
                [&length.to_le_bytes(), left_out.as_slice(), &bytes].concat(),
            )
        }
        CompilerReply::Failed(error) => {
            let (name, message) = match error {
                CompileError::OutOfMemory => (OUT_OF_MEMORY, String::new()),
                CompileError::Malformed(message) => (MALFORMED, message),
                CompileError::UnsupportedFeature(message) => (UNSUPPORTED_FEATURE, message),
            };
            (FAILED, format!("{name}\n{message}").into_bytes())
        }
        CompilerReply::OtherEngine => (OTHER_ENGINE, Vec::new()),
    };
    output.write_all(&[tag])?;
    output.write_all(&body)?;
    output.flush()
}

/// Reads the reply in a whole output; absent if malformed.
pub(super) fn read_reply(mut output: Vec<u8>) -> Option<CompilerReply> {
    match *output.get(1)? {
        CODE => {
            let (length, rest) = output.get(PREFIX_BYTES..)?.split_first_chunk()?;
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            let left_out = rest.get(..length)?;
            if length > MAX_LEFT_OUT_BYTES {
                return None;
            }
            let left_out: Vec<String> = serde_json::from_slice(left_out).ok()?;
            let left_out = left_out.iter();
            let left_out = left_out
                .map(|text| text::sanitize(text, MAX_TEXT_BYTES))
                .collect();
            output.drain(..PREFIX_BYTES + 4 + length);
            Some(CompilerReply::Code(MachineCode {
                bytes: output,
                left_out,
            }))
        }
        FAILED => {
            let text = std::str::from_utf8(output.get(PREFIX_BYTES..)?).ok()?;
            let (name, message) = text.split_once('\n')?;
            let message = text::sanitize(message, MAX_TEXT_BYTES);
            Some(CompilerReply::Failed(match name {
                OUT_OF_MEMORY => CompileError::OutOfMemory,
                MALFORMED => CompileError::Malformed(message),
                UNSUPPORTED_FEATURE => CompileError::UnsupportedFeature(message),
                _ => return None,
            }))
        }
        OTHER_ENGINE => Some(CompilerReply::OtherEngine),
        _ => None,
    }
}
