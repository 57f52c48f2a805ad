//! The names of one directory, in little memory: a directory may have hundreds of thousands.

use crate::walk::Kind;

/// The bytes of names that are stored together. A growing `String` would need twice its size.
const BLOCK_BYTES: usize = 64 * 1024;

/// The names that are looked for in every directory.
const SPECIAL: [&str; 3] = [".git", ".gitignore", ".ignore"];

#[derive(Default)]
pub(super) struct Names {
    blocks: Vec<String>,
    entries: Vec<NameEntry>,
    /// Which of the special names there are.
    special: [bool; SPECIAL.len()],
}

/// The place of a name, and the kind of its entry.
#[derive(Clone, Copy)]
struct NameEntry {
    block: u16,
    start: u16,
    length: u16,
    kind: Kind,
}

impl Names {
    /// Adds a name. One that is longer than any file system has, or one too many, is left out.
    pub(super) fn push(&mut self, name: &str, kind: Kind) {
        let fits = |block: &String| block.len() + name.len() < BLOCK_BYTES;
        if !self.blocks.last().is_some_and(fits) {
            self.blocks.push(String::with_capacity(BLOCK_BYTES));
        }
        let index = self.blocks.len() - 1;
        let Some(block) = self.blocks.last_mut() else {
            return;
        };
        let place = (
            u16::try_from(index),
            u16::try_from(block.len()),
            u16::try_from(name.len()),
        );
        let (Ok(block_index), Ok(start), Ok(length)) = place else {
            return;
        };
        block.push_str(name);
        self.entries.push(NameEntry {
            block: block_index,
            start,
            length,
            kind,
        });
        for (special, is_there) in SPECIAL.iter().zip(&mut self.special) {
            *is_there |= *special == name;
        }
    }

    /// True if one of the special names is there.
    pub(super) fn has_special(&self, name: &str) -> bool {
        let mut all = SPECIAL.iter().zip(&self.special);
        all.any(|(special, is_there)| *special == name && *is_there)
    }

    /// Sorts by the paths that the names begin: that of a directory has a slash after its name.
    pub(super) fn sort(&mut self) {
        let Self {
            blocks, entries, ..
        } = self;
        entries.sort_unstable_by(|a, b| {
            let (one, other) = (name_of(blocks, *a), name_of(blocks, *b));
            let common = one.len().min(other.len());
            let (head, tail) = one.as_bytes().split_at(common);
            let (other_head, other_tail) = other.as_bytes().split_at(common);
            head.cmp(other_head)
                .then_with(|| next(tail, a.kind).cmp(&next(other_tail, b.kind)))
                .then_with(|| tail.len().cmp(&other_tail.len()))
        });
    }

    pub(super) fn get(&self, index: usize) -> Option<(&str, Kind)> {
        let entry = *self.entries.get(index)?;
        Some((name_of(&self.blocks, entry), entry.kind))
    }
}

/// The byte of a path after what two names have in common.
fn next(tail: &[u8], kind: Kind) -> Option<u8> {
    let slash = (kind == Kind::Directory).then_some(b'/');
    tail.first().copied().or(slash)
}

fn name_of(blocks: &[String], entry: NameEntry) -> &str {
    let (start, length) = (usize::from(entry.start), usize::from(entry.length));
    let block = blocks.get(usize::from(entry.block));
    block
        .and_then(|block| block.get(start..start + length))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::Names;
    use crate::walk::Kind;

    #[test]
    fn names_are_sorted_by_the_paths_that_they_begin() {
        let mut names = Names::default();
        for name in ["a.txt", "b", "a0", "a-b", "z"] {
            names.push(name, Kind::File);
        }
        names.push("a", Kind::Directory);
        names.sort();
        let sorted: Vec<&str> = (0..6)
            .filter_map(|index| Some(names.get(index)?.0))
            .collect();
        // `a/x` is between `a.txt` and `a0`.
        assert_eq!(sorted, ["a-b", "a.txt", "a", "a0", "b", "z"]);
        assert_eq!((names.get(6), names.has_special(".git")), (None, false));
    }
}
