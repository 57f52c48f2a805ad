//! The answers to the question whether a call runs.

use super::{Decision, DecisionKind, PendingCall, RememberWhat};

/// A parsed answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MenuReply {
    /// The review is over.
    Decided(Decision),
    /// This call and those behind it are approved together.
    Rest,
    /// This call and those behind it are denied, for this reason.
    RejectRest(Option<String>),
    /// Not now: the session waits.
    Later,
    /// The user enters other arguments.
    Edit,
    /// Show all rows of the call.
    Rows,
    /// Show everything else about the call, and the other answers.
    More,
    /// Show the arguments as JSON.
    Json,
    /// Remember an approval of the calls that were offered.
    Always,
    /// Remember an approval of calls with targets that this glob matches.
    Pattern(String),
    /// Remember an approval of these calls.
    Remember(RememberWhat),
}

/// The context of a call that its answers depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct MenuContext<'a> {
    /// The calls that `a` approves from now on.
    pub(super) always: &'a str,
    /// The number of calls that may be decided on together.
    pub(super) rest: usize,
    /// The number of rows that are not shown.
    pub(super) left_out: usize,
}

/// Returns the common answers that the tool allows, each with its key.
pub(super) fn menu(call: &PendingCall, context: MenuContext<'_>) -> Vec<String> {
    let mut answers: Vec<String> = Vec::new();
    if context.left_out > 0 {
        answers.push(format!("[v] show {} more rows", context.left_out));
    }
    for kind in &call.decisions {
        match kind {
            DecisionKind::Approve => {
                answers.push("[y] once".to_owned());
                if call.is_rememberable() {
                    answers.push(format!("[a] always for {}", context.always));
                }
            }
            DecisionKind::Reject => answers.push("[n] no".to_owned()),
            DecisionKind::Edit | DecisionKind::Respond => {}
        }
    }
    answers.push("[?] more".to_owned());
    answers
}

/// Returns the other answers that the tool allows, each with its key.
pub(super) fn more(call: &PendingCall, context: MenuContext<'_>) -> Vec<String> {
    let mut answers: Vec<String> = Vec::new();
    let mut add = |these: &[&str]| answers.extend(these.iter().map(|&answer| answer.to_owned()));
    let rest = context.rest;
    for kind in &call.decisions {
        match kind {
            DecisionKind::Approve => {
                if call.is_rememberable() {
                    add(&[
                        "[a GLOB] always, for targets that match a pattern such as src/**",
                        "[x] always, with exactly these arguments",
                        "[t] always, every call of this tool",
                    ]);
                }
                if rest > 1 {
                    add(&[&format!("[all] show the remaining {rest}, and allow them")]);
                }
            }
            DecisionKind::Reject => {
                add(&["[n REASON] no, and tell the model why"]);
                if rest > 1 {
                    add(&[&format!("[none] no to the remaining {rest}")]);
                }
            }
            DecisionKind::Edit => add(&["[e] edit the arguments"]),
            DecisionKind::Respond => add(&["[r TEXT] no, use TEXT as the result"]),
        }
    }
    add(&["[v] show all rows", "[j] exact JSON", "[l] decide later"]);
    answers
}

/// Parses an answer. Anything but an exact and allowed one is `None`: a stray key never approves.
pub(super) fn parse(line: &str, call: &PendingCall, rest: usize) -> Option<MenuReply> {
    let call_id = call.call_id.clone();
    let line = line.trim();
    let (word, text) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let reason = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let (kind, said) = match (word, text.trim()) {
        ("?", "") => return Some(MenuReply::More),
        ("l" | "later", "") => return Some(MenuReply::Later),
        ("j", "") => return Some(MenuReply::Json),
        ("v", "") => return Some(MenuReply::Rows),
        ("y" | "yes", "") => (
            DecisionKind::Approve,
            MenuReply::Decided(Decision::approve(call_id)),
        ),
        ("all", "") if rest > 1 => (DecisionKind::Approve, MenuReply::Rest),
        ("none", text) if rest > 1 => (DecisionKind::Reject, MenuReply::RejectRest(reason(text))),
        ("a" | "always", "") => (DecisionKind::Approve, MenuReply::Always),
        ("a" | "always", glob) => (DecisionKind::Approve, MenuReply::Pattern(glob.to_owned())),
        ("x", "") => (
            DecisionKind::Approve,
            MenuReply::Remember(RememberWhat::Arguments),
        ),
        ("t", "") => (
            DecisionKind::Approve,
            MenuReply::Remember(RememberWhat::Tool),
        ),
        ("e", "") => (DecisionKind::Edit, MenuReply::Edit),
        ("n" | "no", text) => {
            let reason = reason(text);
            let reject = Decision::Reject { call_id, reason };
            (DecisionKind::Reject, MenuReply::Decided(reject))
        }
        ("r", text) if !text.is_empty() => {
            let text = text.to_owned();
            let respond = Decision::Respond { call_id, text };
            (DecisionKind::Respond, MenuReply::Decided(respond))
        }
        _ => return None,
    };
    let remembers = matches!(
        said,
        MenuReply::Always | MenuReply::Pattern(_) | MenuReply::Remember(_)
    );
    let may = call.decisions.contains(&kind) && (!remembers || call.is_rememberable());
    may.then_some(said)
}
