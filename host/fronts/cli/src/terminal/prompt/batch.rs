//! The calls of a request as one list with a cursor. The list decides nothing by itself, except
//! that no call may run: what is selected is shown in full and confirmed by a security prompt.

use super::{BOLD, Review};
use crate::terminal::{
    GREEN, Size, YELLOW, fitted,
    input::{Key, Named, pick},
};
use agent_host_types::{approval::Decision, continuation::PendingCall, id::CallId};

/// The rows around the list: a blank one, the heading, the keys, and the cursor's own.
const OTHER_ROWS: usize = 4;

/// The keys of the list.
const KEYS: &str = "[space] select  [a] all  [enter] decide  [d] details  [n] no to all  [l] later";

/// The calls of a request, between two looks at their list. Each may be approved and rejected.
#[derive(Clone, Debug)]
pub(crate) struct BatchList {
    cursor: usize,
    calls: Vec<ListedCall>,
}

#[derive(Clone, Debug)]
struct ListedCall {
    call_id: CallId,
    line: String,
    /// The decision so far.
    mark: Option<Decision>,
}

/// The end of a look at the list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BatchReply {
    /// The user looks at the call of this index alone.
    Open(usize),
    /// The user decided on all calls.
    Decided(Vec<Decision>),
    /// The user decides later.
    Later,
}

/// A key's meaning, where it ends the look at the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListKey {
    Open,
    Confirm,
    RejectAll,
    Later,
}

impl BatchList {
    pub(crate) fn new(calls: &[PendingCall]) -> Self {
        let listed = |call: &PendingCall| ListedCall {
            call_id: call.call_id.clone(),
            line: String::new(),
            mark: None,
        };
        Self {
            cursor: 0,
            calls: calls.iter().map(listed).collect(),
        }
    }

    /// Keeps the decision about a call that was shown alone.
    pub(crate) fn mark(&mut self, index: usize, decision: Decision) {
        if let Some(call) = self.calls.get_mut(index) {
            call.mark = Some(decision);
        }
        self.cursor = (index + 1).min(self.calls.len().saturating_sub(1));
    }

    /// Shows the list until the user opens a call or decides on all of them.
    pub(crate) fn ask(&mut self, reviews: &[Review<'_>]) -> BatchReply {
        let Some(first) = reviews.first() else {
            return BatchReply::Later;
        };
        for (call, review) in self.calls.iter_mut().zip(reviews) {
            call.line = review.line();
        }
        loop {
            match pick(first.terminal, self, KEYS, Self::rows, Self::press) {
                Some(ListKey::Open) => return BatchReply::Open(self.cursor),
                Some(ListKey::RejectAll) => {
                    return BatchReply::Decided(self.calls.iter().map(reject).collect());
                }
                Some(ListKey::Confirm) => match self.confirm(reviews) {
                    Some(true) => {
                        let decisions = self.calls.iter().map(ListedCall::decision);
                        return BatchReply::Decided(decisions.collect());
                    }
                    Some(false) => {}
                    None => return BatchReply::Later,
                },
                Some(ListKey::Later) | None => return BatchReply::Later,
            }
        }
    }

    /// Takes a key. Enter confirms what is selected, and opens the call under the cursor where
    /// nothing is.
    fn press(&mut self, key: Key) -> Option<ListKey> {
        let last = self.calls.len().saturating_sub(1);
        match key {
            Key::Named(Named::Up) | Key::Char('k') => self.cursor = self.cursor.saturating_sub(1),
            Key::Named(Named::Down) | Key::Char('j') => self.cursor = (self.cursor + 1).min(last),
            Key::Named(Named::Home) => self.cursor = 0,
            Key::Named(Named::End) => self.cursor = last,
            Key::Char(' ') => {
                if let Some(call) = self.calls.get_mut(self.cursor) {
                    call.mark = match call.mark {
                        None => Some(Decision::approve(call.call_id.clone())),
                        Some(_) => None,
                    };
                }
            }
            Key::Char('a') => {
                for call in &mut self.calls {
                    let approve = || Decision::approve(call.call_id.clone());
                    call.mark.get_or_insert_with(approve);
                }
            }
            Key::Char('d') => return Some(ListKey::Open),
            Key::Enter => {
                let is_marked = self.calls.iter().any(|call| call.mark.is_some());
                return Some(if is_marked {
                    ListKey::Confirm
                } else {
                    ListKey::Open
                });
            }
            Key::Char('n') => return Some(ListKey::RejectAll),
            Key::Char('l') => return Some(ListKey::Later),
            _ => {}
        }
        None
    }

    /// Returns the rows of the list on a screen: those around the cursor, where not all fit.
    fn rows(&self, size: Size) -> Vec<String> {
        let height = size.rows.saturating_sub(OTHER_ROWS).max(1);
        let width = size.columns.saturating_sub(1);
        let first = (self.cursor + 1).saturating_sub(height);
        let count = self.calls.len();
        let heading = fitted(&format!("{count} calls need approval"), width);
        let mut rows = vec![String::new(), format!("{YELLOW}{heading}{YELLOW:#}")];
        let shown = self.calls.iter().enumerate().skip(first).take(height);
        rows.extend(shown.map(|(index, call)| {
            let (pointer, style) = match index == self.cursor {
                true => (">", BOLD),
                false => (" ", anstyle::Style::new()),
            };
            let mark = mark_sign(call.mark.as_ref());
            let line = fitted(&format!("{pointer} [{mark}] {}", call.line), width);
            format!("{style}{line}{style:#}")
        }));
        rows
    }

    /// Shows the calls that were selected without a look at them, lists what is decided, and asks
    /// for confirmation; `None` at the end of the input.
    fn confirm(&self, reviews: &[Review<'_>]) -> Option<bool> {
        let first = reviews.first()?;
        let mut prompt = String::new();
        let (mut runs, mut lines) = (0, String::new());
        for (call, review) in self.calls.iter().zip(reviews) {
            let decision = call.decision();
            if decision == Decision::approve(call.call_id.clone()) {
                prompt.push_str(&review.shown(usize::MAX).text);
                prompt.push('\n');
            }
            let word = match decision {
                Decision::Reject { .. } => format!("{YELLOW}deny  {YELLOW:#}"),
                Decision::Respond { .. } => format!("{YELLOW}answer{YELLOW:#}"),
                Decision::Edit { .. } => format!("{GREEN}edited{GREEN:#}"),
                Decision::Approve { .. } => format!("{GREEN}allow {GREEN:#}"),
            };
            runs += usize::from(matches!(
                decision,
                Decision::Approve { .. } | Decision::Edit { .. }
            ));
            lines.push_str(&format!("\n{word}  {}", call.line));
        }
        let question = format!("Run {runs} of {} calls, as listed?", self.calls.len());
        first.confirms(&format!("{prompt}{lines}"), &question)
    }
}

impl ListedCall {
    /// Returns the decision: a call that was not selected does not run.
    fn decision(&self) -> Decision {
        self.mark.clone().unwrap_or_else(|| reject(self))
    }
}

fn reject(call: &ListedCall) -> Decision {
    Decision::Reject {
        call_id: call.call_id.clone(),
        reason: None,
    }
}

/// Returns the sign of a decision in the list.
fn mark_sign(mark: Option<&Decision>) -> char {
    match mark {
        None => ' ',
        Some(Decision::Approve { remember: None, .. }) => 'x',
        Some(Decision::Approve { .. }) => 'a',
        Some(Decision::Edit { .. }) => 'e',
        Some(Decision::Respond { .. }) => 'r',
        Some(Decision::Reject { .. }) => '-',
    }
}

#[cfg(test)]
mod tests {
    use super::{BatchList, ListKey, ListedCall};
    use crate::terminal::{
        Size,
        input::{Key, Named},
    };
    use agent_host_types::id::CallId;
    use pretty_assertions::assert_eq;

    fn list(calls: usize) -> BatchList {
        let listed = |number: usize| ListedCall {
            call_id: CallId(format!("c{number}")),
            line: format!("write_file {number}.txt  may change things"),
            mark: None,
        };
        BatchList {
            cursor: 0,
            calls: (1..=calls).map(listed).collect(),
        }
    }

    fn plain(list: &BatchList, columns: usize, rows: usize) -> Vec<String> {
        let shown = list.rows(Size { columns, rows });
        let plain = |row: &String| anstream::adapter::strip_str(row).to_string();
        shown.iter().map(plain).collect()
    }

    #[test]
    fn keys_select_and_only_some_end_the_look() {
        let down = Key::Named(Named::Down);
        let up = Key::Named(Named::Up);
        let space = Key::Char(' ');
        let cases: [(&[Key], &str, Option<ListKey>); 9] = [
            (&[space, down, down, space], "x x", None),
            (&[space, space], "   ", None),
            (&[Key::Char('a')], "xxx", None),
            (&[up, down, down, down, down, space], "  x", None),
            (
                &[
                    Key::Named(Named::End),
                    space,
                    Key::Named(Named::Home),
                    space,
                ],
                "x x",
                None,
            ),
            // Nothing is selected, so Enter looks at the call under the cursor.
            (&[Key::Enter], "   ", Some(ListKey::Open)),
            (&[space, Key::Enter], "x  ", Some(ListKey::Confirm)),
            (&[Key::Char('n')], "   ", Some(ListKey::RejectAll)),
            // No letter approves.
            (
                &[Key::Char('y'), Key::Char('x'), Key::Tab, Key::Char('l')],
                "   ",
                Some(ListKey::Later),
            ),
        ];
        for (keys, marks, end) in cases {
            let mut list = list(3);
            let ended = keys.iter().find_map(|&key| list.press(key));
            let shown = list
                .calls
                .iter()
                .map(|call| super::mark_sign(call.mark.as_ref()));
            assert_eq!(
                (shown.collect::<String>().as_str(), ended),
                (marks, end),
                "{keys:?}"
            );
        }
    }

    #[test]
    fn rows_fit_the_screen_around_the_cursor() {
        let mut list = list(40);
        list.press(Key::Named(Named::End));
        let shown = plain(&list, 30, 9);
        assert_eq!(
            shown,
            [
                "",
                "40 calls need approval       ",
                "  [ ] write_file 36.txt  may…",
                "  [ ] write_file 37.txt  may…",
                "  [ ] write_file 38.txt  may…",
                "  [ ] write_file 39.txt  may…",
                "> [ ] write_file 40.txt  may…",
            ]
        );
        for (columns, rows) in [(1, 1), (0, 0), (200, 60)] {
            assert!(plain(&list, columns, rows).len() >= 3, "{columns} {rows}");
        }
    }
}
