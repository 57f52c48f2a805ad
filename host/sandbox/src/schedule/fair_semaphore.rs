//! Places that are handed out in turn: within a party to whoever has waited longest, between the parties to one after the
//! other, and never more to one party than its share. Some places can be kept for parties that have none, so that a few that
//! always want more do not have them all. Calls wait here to be admitted, and guests that compute for long wait here for a
//! processor.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    ops::Bound,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};
use tokio::sync::oneshot;

/// The places, and who has and who wants one.
pub(crate) struct Turns(Mutex<Book>);

struct Book {
    /// The places that nobody has.
    free: usize,
    /// The last of the free places: as many go only to parties that have none.
    kept: usize,
    /// All who wait, and how many may.
    waiting: usize,
    most_waiting: usize,
    /// The party that got a place last.
    last: u64,
    /// The number of the next party, and of the next one who waits.
    next: u64,
    parties: BTreeMap<u64, Share>,
}

/// What a party may have, has, and waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Most {
    /// Places.
    pub(crate) places: usize,
    /// Who wait.
    pub(crate) waiting: usize,
}

struct Share {
    most: Most,
    places: usize,
    /// Who wait, by the number under which they came.
    waiting: BTreeMap<u64, oneshot::Sender<()>>,
}

/// Nobody more may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// Of this party.
    Party,
    /// Of all parties together.
    All,
}

impl Turns {
    /// So many places, of which some are kept for parties that have none, and so many who wait for one.
    pub(crate) fn new(places: usize, kept: usize, most_waiting: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Book {
            free: places,
            kept,
            waiting: 0,
            most_waiting,
            last: 0,
            next: 0,
            parties: BTreeMap::new(),
        })))
    }

    /// A new party, which may have this much.
    pub(crate) fn party(self: &Arc<Self>, most: Most) -> Arc<Party> {
        let mut book = self.book();
        let number = book.number();
        let share = Share {
            most,
            places: 0,
            waiting: BTreeMap::new(),
        };
        book.parties.insert(number, share);
        Arc::new(Party {
            turns: Arc::clone(self),
            number,
        })
    }

    /// The book is whole between any two of its lines, so a poisoned lock is still good.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Whether there is a place for a party with this share.
    fn has_place(&self, share: &Share) -> bool {
        let kept = if share.places == 0 { 0 } else { self.kept };
        self.free > kept && share.places < share.most.places
    }

    /// A place for a party that may have one more, if there is one. While somebody waits who could have it there is none.
    fn take(&mut self, party: u64) -> bool {
        let share = self.parties.get(&party);
        let may = share.is_some_and(|share| self.has_place(share));
        if may {
            self.give(party);
        }
        may
    }

    fn give(&mut self, party: u64) {
        if let Some(share) = self.parties.get_mut(&party) {
            share.places += 1;
            self.free -= 1;
            self.last = party;
        }
    }

    fn give_back(&mut self, party: u64) {
        self.free += 1;
        if let Some(share) = self.parties.get_mut(&party) {
            share.places -= 1;
        }
        self.hand_out();
    }

    /// Gives free places to those who wait, beginning with the party after the one that got the last.
    fn hand_out(&mut self) {
        while let Some(number) = self.next_in_turn()
            && let Some(share) = self.parties.get_mut(&number)
            && let Some((_, first)) = share.waiting.pop_first()
        {
            // Whoever waits leaves the book before it goes, so it hears of this.
            let _ = first.send(());
            self.waiting -= 1;
            self.give(number);
        }
    }

    /// The next party that waits and may have one more place.
    fn next_in_turn(&self) -> Option<u64> {
        let after = (Bound::Excluded(self.last), Bound::Unbounded);
        self.parties
            .range(after)
            .chain(self.parties.range(..=self.last))
            .find(|(_, share)| self.has_place(share) && !share.waiting.is_empty())
            .map(|(number, _)| *number)
    }
}

/// One of those between whom places are shared.
pub(crate) struct Party {
    turns: Arc<Turns>,
    number: u64,
}

impl Party {
    /// A place now, if there is one.
    pub(crate) fn try_take(self: &Arc<Self>) -> Option<Place> {
        let taken = self.turns.book().take(self.number);
        taken.then(|| Place(Arc::clone(self)))
    }

    /// A place now or in turn.
    ///
    /// # Errors
    /// When as many wait as may.
    pub(crate) fn turn(self: &Arc<Self>) -> Result<Turn, Full> {
        let mut guard = self.turns.book();
        let book = &mut *guard;
        if book.take(self.number) {
            return Ok(Turn::now(self));
        }
        if book.waiting >= book.most_waiting {
            return Err(Full::All);
        }
        let number = book.number();
        let share = book.parties.get_mut(&self.number).ok_or(Full::Party)?;
        if share.waiting.len() >= share.most.waiting {
            return Err(Full::Party);
        }
        let (sender, receiver) = oneshot::channel();
        share.waiting.insert(number, sender);
        book.waiting += 1;
        Ok(Turn {
            party: Arc::clone(self),
            state: State::Waits { number, receiver },
        })
    }

    /// Whether this party has all places that it may have.
    pub(crate) fn has_its_share(&self) -> bool {
        let book = self.turns.book();
        book.parties
            .get(&self.number)
            .is_some_and(|share| share.places >= share.most.places)
    }

    /// The places that nobody has, and that this party did not get.
    pub(crate) fn left_to_others(&self) -> usize {
        self.turns.book().free
    }
}

impl Drop for Party {
    /// Every place and everyone who waits holds its party, so it has neither any more.
    fn drop(&mut self) {
        self.turns.book().parties.remove(&self.number);
    }
}

/// A place. Dropping it gives it to the next in turn.
pub(crate) struct Place(Arc<Party>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.turns.book().give_back(self.0.number);
    }
}

/// The future of a [`Place`]. Dropping it leaves the queue, or gives the place back.
pub(crate) struct Turn {
    party: Arc<Party>,
    state: State,
}

enum State {
    /// The place is here and was not taken over.
    Has,
    /// In the book under this number until the place comes.
    Waits {
        number: u64,
        receiver: oneshot::Receiver<()>,
    },
    /// The place was taken over.
    Done,
}

impl Turn {
    fn now(party: &Arc<Party>) -> Self {
        Self {
            party: Arc::clone(party),
            state: State::Has,
        }
    }
}

impl Future for Turn {
    type Output = Place;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Place> {
        if let State::Waits { receiver, .. } = &mut self.state {
            // The sender is in the book until it sends, so it cannot be gone without having sent.
            let _ = ready!(Pin::new(receiver).poll(context));
        }
        self.state = State::Done;
        Poll::Ready(Place(Arc::clone(&self.party)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let State::Waits { number, .. } = &self.state else {
            if matches!(self.state, State::Has) {
                self.party.turns.book().give_back(self.party.number);
            }
            return;
        };
        let mut guard = self.party.turns.book();
        let book = &mut *guard;
        let waits = book
            .parties
            .get_mut(&self.party.number)
            .and_then(|share| share.waiting.remove(number));
        match waits {
            Some(_) => book.waiting -= 1,
            // Its place came at this very moment.
            None => book.give_back(self.party.number),
        }
    }
}
