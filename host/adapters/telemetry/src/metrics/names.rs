//! Names as values of attributes, bounded in number and length.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

/// The longest name, in bytes: a model may call tools of any name.
const MAX_NAME_BYTES: usize = 128;

/// The value of every name beyond the bounds. No tool, model or agent has this name.
pub(super) const OTHER: &str = "(other)";

/// The names of one kind that were seen so far.
#[derive(Debug)]
pub(super) struct SeenNames {
    seen: Mutex<HashSet<String>>,
    most: usize,
}

impl SeenNames {
    pub(super) fn new(most: usize) -> Self {
        Self {
            seen: Mutex::default(),
            most,
        }
    }

    /// Returns a name as the value of an attribute. Models call tools by invented names, and
    /// servers can bring as many tools as they like, so that further names are one.
    pub(super) fn value(&self, name: &str) -> String {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.contains(name) {
            if seen.len() >= self.most || name.len() > MAX_NAME_BYTES {
                return OTHER.to_owned();
            }
            seen.insert(name.to_owned());
        }
        name.to_owned()
    }
}
