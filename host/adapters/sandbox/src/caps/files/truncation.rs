//! The truncations of one file that opens asked for and that wait. The first write that is accepted
//! makes all of them; else each is made when its handle is closed, as if at open. A handle that had
//! a write refused makes none.

/// A truncation of a file, by a number that the file gives to no other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TruncationId(u64);

#[derive(Debug, Default)]
pub(super) struct Truncations {
    next: u64,
    waiting: Vec<Truncation>,
}

#[derive(Debug)]
struct Truncation {
    id: TruncationId,
    is_refused: bool,
}

impl Truncations {
    pub(super) fn add(&mut self) -> TruncationId {
        let id = TruncationId(self.next);
        self.next = self.next.saturating_add(1);
        self.waiting.push(Truncation {
            id,
            is_refused: false,
        });
        id
    }

    pub(super) fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Records that a write or change of size was refused. A later one still truncates the file.
    pub(super) fn refuse(&mut self, id: Option<TruncationId>) {
        let mut waiting = self.waiting.iter_mut();
        if let Some(truncation) = waiting.find(|waiting| Some(waiting.id) == id) {
            truncation.is_refused = true;
        }
    }

    /// Records that the file was truncated.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Ends the wait of one. Returns true if the file has to be truncated now.
    pub(super) fn close(&mut self, id: TruncationId) -> bool {
        let Some(at) = self.waiting.iter().position(|waiting| waiting.id == id) else {
            return false;
        };
        let truncates = !self.waiting.remove(at).is_refused;
        if truncates {
            self.clear();
        }
        truncates
    }
}
