//! The firings of triggers.

use crate::{
    firing::{Firing, FiringState, MAX_FIRINGS},
    store::TAKEN_FIRINGS,
};
use std::cmp::Reverse;

/// All firings, in the order in which they were recorded.
#[derive(Default)]
pub(super) struct Firings(Vec<Firing>);

impl Firings {
    pub(super) fn record(&mut self, firing: Firing) -> Option<Firing> {
        let known = self.0.iter().find(|known| is_same(known, &firing));
        if known.is_some() {
            return known.cloned();
        }
        let newest = self.newest(&firing.trigger, MAX_FIRINGS);
        if newest.len() >= MAX_FIRINGS as usize
            && let Some(oldest) = newest.last()
        {
            self.0.retain(|known| {
                known.trigger != firing.trigger
                    || known.due_ms.is_some()
                    || known.state == FiringState::Counted
                    || known.at_ms > oldest.at_ms
            });
        }
        self.0.push(firing);
        None
    }

    pub(super) fn take(&mut self, triggers: &[String], now_ms: u64, until_ms: u64) -> Vec<Firing> {
        let is_due = |firing: &&mut Firing| {
            triggers.contains(&firing.trigger) && firing.due_ms.is_some_and(|due| due <= now_ms)
        };
        let mut due: Vec<&mut Firing> = self.0.iter_mut().filter(is_due).collect();
        due.sort_by_key(|firing| firing.at_ms);
        due.truncate(TAKEN_FIRINGS as usize);
        let take = |firing: &mut Firing| {
            firing.due_ms = Some(until_ms);
            firing.clone()
        };
        due.into_iter().map(take).collect()
    }

    pub(super) fn update(&mut self, taken: &Firing, to: Firing) -> bool {
        let is_taken = |known: &&mut Firing| is_same(known, taken) && known.due_ms == taken.due_ms;
        let known = self.0.iter_mut().find(is_taken);
        known.map(|known| *known = to).is_some()
    }

    pub(super) fn newest(&self, trigger: &str, limit: u32) -> Vec<Firing> {
        let of_trigger = self.0.iter().filter(|firing| firing.trigger == trigger);
        let mut newest: Vec<&Firing> = of_trigger.collect();
        newest.sort_by_key(|firing| Reverse((firing.at_ms, &firing.key)));
        let listed = |firing: &Firing| Firing {
            message: None,
            ..firing.clone()
        };
        newest
            .into_iter()
            .take(limit as usize)
            .map(listed)
            .collect()
    }
}

fn is_same(one: &Firing, other: &Firing) -> bool {
    one.trigger == other.trigger && one.key == other.key
}
