//! What the two sides say to each other. The child says how far it is confined; it is given a header and the component; it
//! answers and ends. Both sides are the same program as a rule, and the header finds out where they are not.

use super::Confinement;
use crate::{
    engine::Layout,
    error::{LoadError, LoadFault},
    text,
};
use std::io::{self, Write};

/// The first bytes of the input. A change of what follows changes the number.
const MAGIC: [u8; 16] = *b"agent-host job 1";

/// The bytes of the header: magic, layout, fingerprint of the engine, size of the component.
pub(super) const HEADER_BYTES: usize = 16 + 1 + 32 + 8;

/// The first byte of the output.
const FILTERED: u8 = b'f';
const LIMITED: u8 = b'l';

/// The second byte of the output, which says what follows it.
const CODE: u8 = 0;
const REFUSED: u8 = 1;
const OTHER_ENGINE: u8 = 2;

/// The bytes before machine code in the output.
const PREFIX_BYTES: usize = 2;

/// The most that is taken of the child's text, in bytes.
const MAX_TEXT_BYTES: usize = 2 * 1024;

/// What comes before the component.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) layout: Layout,
    /// The fingerprint of the engine that will run the code.
    pub(super) engine: [u8; 32],
    pub(super) component_bytes: u64,
}

impl Header {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let layout = match self.layout {
            Layout::Reserved => 0,
            Layout::Compact => 1,
        };
        let length = self.component_bytes.to_le_bytes();
        [MAGIC.as_slice(), &[layout], &self.engine, &length].concat()
    }

    /// Absent when it is not a header of this version.
    pub(super) fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (&layout, rest) = rest.split_first()?;
        let (engine, length) = rest.split_at_checked(32)?;
        Some(Self {
            layout: match layout {
                0 => Layout::Reserved,
                1 => Layout::Compact,
                _ => return None,
            },
            engine: engine.try_into().ok()?,
            component_bytes: u64::from_le_bytes(length.try_into().ok()?),
        })
    }
}

/// The child's answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Machine code.
    Code(Vec<u8>),
    /// The component cannot be compiled.
    Refused(LoadError),
    /// The child's engine is another than the one that will run the code.
    OtherEngine,
}

/// The size of the whole output when the machine code has `code` bytes.
pub(super) fn answer_bytes(code: usize) -> usize {
    code.saturating_add(PREFIX_BYTES).max(MAX_TEXT_BYTES)
}

/// The first byte of the output.
pub(super) fn confinement_byte(confinement: Confinement) -> u8 {
    match confinement {
        Confinement::SystemCalls => FILTERED,
        Confinement::Limits => LIMITED,
    }
}

/// How far the child is confined; absent when it did not come so far as to say it.
pub(super) fn confinement(output: &[u8]) -> Option<Confinement> {
    match *output.first()? {
        FILTERED => Some(Confinement::SystemCalls),
        LIMITED => Some(Confinement::Limits),
        _ => None,
    }
}

/// Writes the output after its first byte.
pub(super) fn write_answer(output: &mut impl Write, answer: Answer) -> io::Result<()> {
    let (tag, body) = match answer {
        Answer::Code(code) => (CODE, code),
        Answer::Refused(error) => {
            let text = format!("{}\n{}", error.fault, error.message);
            (REFUSED, text.into_bytes())
        }
        Answer::OtherEngine => (OTHER_ENGINE, Vec::new()),
    };
    output.write_all(&[tag])?;
    output.write_all(&body)?;
    output.flush()
}

/// Takes the answer out of a whole output; absent when it has none of these forms.
pub(super) fn read_answer(mut output: Vec<u8>) -> Option<Answer> {
    match *output.get(1)? {
        CODE => {
            output.drain(..PREFIX_BYTES);
            Some(Answer::Code(output))
        }
        REFUSED => {
            let text = std::str::from_utf8(output.get(PREFIX_BYTES..)?).ok()?;
            let (fault, message) = text.split_once('\n')?;
            let fault = LoadFault::ALL
                .into_iter()
                .find(|known| known.as_str() == fault)?;
            Some(Answer::Refused(LoadError::new(
                fault,
                text::sanitize(message, MAX_TEXT_BYTES),
            )))
        }
        OTHER_ENGINE => Some(Answer::OtherEngine),
        _ => None,
    }
}
