//! The memory of agents beyond a session.

use crate::memory_item::{
    MAX_ITEM_BYTES, MemoryChange, MemoryItem, MemoryQuery, Remembered, StoredItem, words,
};
use std::cmp::Reverse;

/// All items, the oldest first.
#[derive(Default)]
pub(super) struct Items(Vec<StoredItem>);

impl Items {
    pub(super) fn add(&mut self, item: MemoryItem, max: u32) -> Remembered {
        self.0.retain(|known| known.item.expires_ms > item.at_ms);
        if self.0.iter().any(|known| known.item.id == item.id) {
            return Remembered::Known;
        }
        let is_beside = |known: &&StoredItem| {
            !known.is_forgotten
                && known.item.project == item.project
                && known.item.owner == item.owner
                && known.item.sources.is_empty() == item.sources.is_empty()
        };
        if self.0.iter().filter(is_beside).count() >= max as usize {
            return Remembered::Full;
        }
        self.0.push(item.into());
        Remembered::Stored
    }

    pub(super) fn found(&self, query: &MemoryQuery) -> Vec<MemoryItem> {
        let Some(wanted) = query.wanted() else {
            return Vec::new();
        };
        let count = |item: &MemoryItem| {
            let words = words(&item.text, MAX_ITEM_BYTES);
            let is_in = |wanted: &&String| words.iter().any(|word| word.starts_with(*wanted));
            wanted.iter().filter(is_in).count()
        };
        let known = self.0.iter().rev().filter(|known| !known.is_forgotten);
        let found = known
            .map(|known| &known.item)
            .filter(|item| query.has(item));
        let mut found: Vec<(usize, &MemoryItem)> = found.map(|item| (count(item), item)).collect();
        found.retain(|(count, _)| wanted.is_empty() || *count > 0);
        found.sort_by_key(|(count, _)| Reverse(*count));
        let page = found.into_iter().skip(query.offset as usize);
        let page = page.take(query.limit as usize);
        page.map(|(_, item)| item.clone()).collect()
    }

    pub(super) fn change(&mut self, item: &MemoryItem, change: MemoryChange, now_ms: u64) -> bool {
        let known = self.0.iter_mut().find(|known| known.item == *item);
        let changed = known.map(|known| *known = item.clone().changed(change, now_ms));
        changed.is_some()
    }
}
