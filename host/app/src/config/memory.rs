//! `[memory]`: what agents remember beyond a session.

use super::section::section;

/// How long an item is kept by default, in days.
const DEFAULT_DAYS: u32 = 365;

/// The longest time that can be set, in days: 100 years.
const MAX_DAYS: u64 = 36_500;

/// The most items of an owner for one project by default, and for all projects.
const DEFAULT_ITEMS: u32 = 1_000;

/// The most items that can be set.
const MAX_ITEMS: u64 = 100_000;

section! {
    /// `[memory]`.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    pub(super) struct RawMemory {
        /// Whether agents remember texts beyond a session.
        enabled: bool => asks(Other,
            "lets agents recall what they remembered in other sessions (memory.enabled = true)");
        /// How long an item is kept, in days.
        days: Option<u32>, in days, within(1, MAX_DAYS) = DEFAULT_DAYS => at_most;
        /// The maximum number of items for a project, and for all projects.
        max_items: Option<u32>, within(1, MAX_ITEMS) = DEFAULT_ITEMS => at_most;
    }
}

/// The memory of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryConfig {
    /// How long an item is kept, in days.
    pub days: u32,
    /// The maximum number of items of an owner for a project, and for all projects.
    pub max_items: u32,
}

/// Resolves the section; `None` if nothing is remembered.
pub(super) fn resolve(raw: RawMemory) -> Option<MemoryConfig> {
    raw.enabled.then(|| MemoryConfig {
        days: raw.days(),
        max_items: raw.max_items(),
    })
}
