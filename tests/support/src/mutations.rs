//! Mutations of bytes for the fuzz targets of several crates: valid input with few changes gets
//! further than noise.

use proptest::{collection::vec, prelude::*, sample::Index};

/// One change; positions are relative to the length.
#[derive(Clone, Debug)]
enum Mutation {
    /// Another value for one byte.
    Set(Index, u8),
    /// Another value for one bit.
    Flip(Index, u8),
    /// Cuts off the end.
    Cut(Index),
    /// Removes a part.
    Remove(Index, usize),
    /// Repeats a part.
    Repeat(Index, usize),
    /// Inserts bytes.
    Insert(Index, Vec<u8>),
}

impl Mutation {
    fn any() -> impl Strategy<Value = Self> {
        let place = any::<Index>;
        prop_oneof![
            4 => (place(), any::<u8>()).prop_map(|(at, byte)| Self::Set(at, byte)),
            4 => (place(), 0..8_u8).prop_map(|(at, bit)| Self::Flip(at, bit)),
            1 => place().prop_map(Self::Cut),
            1 => (place(), 1..64_usize).prop_map(|(at, length)| Self::Remove(at, length)),
            1 => (place(), 1..64_usize).prop_map(|(at, length)| Self::Repeat(at, length)),
            1 => (place(), vec(any::<u8>(), 1..8)).prop_map(|(at, new)| Self::Insert(at, new)),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        let part = |at: &Index, size: usize| {
            let begin = at.index(length);
            begin..(begin + size).min(length)
        };
        match self {
            Self::Set(at, byte) => bytes[at.index(length)] = *byte,
            Self::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Self::Cut(at) => bytes.truncate(at.index(length)),
            Self::Remove(at, size) => drop(bytes.drain(part(at, *size))),
            Self::Repeat(at, size) => {
                let again = bytes[part(at, *size)].to_vec();
                bytes.splice(at.index(length)..at.index(length), again);
            }
            Self::Insert(at, new) => {
                drop(bytes.splice(at.index(length)..at.index(length), new.clone()))
            }
        }
    }
}

/// Applies one to eight changes to these bytes.
pub(crate) fn mutated(bytes: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    vec(Mutation::any(), 1..8).prop_map(move |mutations| {
        let mut bytes = bytes.clone();
        mutations
            .iter()
            .for_each(|mutation| mutation.apply(&mut bytes));
        bytes
    })
}
