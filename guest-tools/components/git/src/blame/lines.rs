//! Lines of files, and which of them two files have alike.

use std::time::Instant;

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::diff::{MAX_FILE_BYTES, MAX_FILE_TIME, is_text};
use crate::error::GitError;
use crate::object::Kind;
use crate::repository::Repository;
use crate::tree::Entry;

/// Lines that stand together, counted from 0: where they are in the result, and in a suspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) at: usize,
    pub(super) line: usize,
    pub(super) count: usize,
}

impl Span {
    /// Takes another span in if it continues this one in both places.
    pub(super) fn join(&mut self, next: &Self) -> bool {
        let continues = self.at + self.count == next.at && self.line + self.count == next.line;
        if continues {
            self.count += next.count;
        }
        continues
    }

    /// The lines `from..to` of this span, by their numbers in the suspect.
    fn part(&self, from: usize, to: usize) -> Option<Self> {
        let (from, to) = (from.max(self.line), to.min(self.line + self.count));
        (from < to).then(|| Self {
            at: self.at + (from - self.line),
            line: from,
            count: to - from,
        })
    }
}

/// The content of a file whose lines are compared; empty for one that is no text or too large, from
/// which then no line is.
pub(super) fn lines_of(repository: &Repository, entry: &Entry) -> Result<Vec<u8>, GitError> {
    let mut data = repository.read_as(&entry.id, Kind::Blob)?;
    if !is_text(&data) || data.len() > MAX_FILE_BYTES {
        data.clear();
    }
    Ok(data)
}

/// The lines of a file with their ends.
pub(super) fn split(data: &[u8]) -> Vec<&[u8]> {
    data.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The lines that two files have alike.
pub(super) struct Unchanged(Vec<Block>);

/// Lines that are alike, by the numbers of the first of them.
struct Block {
    old: usize,
    new: usize,
    count: usize,
}

/// Compares the lines of two files.
pub(super) fn unchanged(old: &[&[u8]], new: &[&[u8]]) -> Unchanged {
    let deadline = Some(Instant::now() + MAX_FILE_TIME);
    let operations = capture_diff_slices_deadline(Algorithm::Myers, old, new, deadline);
    let blocks = operations
        .into_iter()
        .filter_map(|operation| match operation {
            DiffOp::Equal {
                old_index: old,
                new_index: new,
                len: count,
            } => Some(Block { old, new, count }),
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => None,
        });
    Unchanged(blocks.collect())
}

impl Unchanged {
    /// Parts spans of the new file into those of the old one, and what is new.
    pub(super) fn part(&self, spans: Vec<Span>) -> (Vec<Span>, Vec<Span>) {
        let Self(blocks) = self;
        let (mut passed, mut kept) = (Vec::new(), Vec::new());
        for span in spans {
            let first = blocks.partition_point(|block| block.new + block.count <= span.line);
            let (mut line, end) = (span.line, span.line + span.count);
            for block in blocks.get(first..).unwrap_or_default() {
                if block.new >= end {
                    break;
                }
                kept.extend(span.part(line, block.new));
                line = block.new + block.count;
                passed.extend(span.part(block.new, line).map(|part| Span {
                    line: block.old + (part.line - block.new),
                    ..part
                }));
            }
            kept.extend(span.part(line, end));
        }
        (passed, kept)
    }
}
