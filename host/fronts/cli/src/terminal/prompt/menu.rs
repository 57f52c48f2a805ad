//! The answers to the question whether a call runs.

use super::{Decision, DecisionKind, PendingCall, Remember, RememberScope, RememberWhat};

/// Every call of the tool, in this session.
const THIS_TOOL: Remember = Remember {
    what: RememberWhat::Tool,
    scope: RememberScope::Session,
};

/// A parsed answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MenuReply {
    /// The review is over.
    Decided(Decision),
    /// This call and those behind it are approved together.
    Rest,
    /// Not now: the session waits.
    Later,
    /// Other arguments are to be entered.
    Edit,
    /// The arguments are to be shown as JSON.
    Json,
    /// An approval is to be remembered, with this scope if it is chosen.
    Remember(Option<Remember>),
    /// An approval is to be remembered for targets that this glob matches.
    Pattern(String),
}

/// Returns the answers that the tool allows, each with its key. `rest` is the number of calls that
/// may be approved together.
pub(super) fn menu(call: &PendingCall, rest: usize) -> Vec<String> {
    let mut answers: Vec<String> = Vec::new();
    let mut add = |these: &[&str]| answers.extend(these.iter().map(|&answer| answer.to_owned()));
    for kind in &call.decisions {
        match kind {
            DecisionKind::Approve => {
                add(&["[y] yes"]);
                if rest > 1 {
                    add(&[&format!("[a] show the remaining {rest}, and approve them")]);
                }
                add(&[
                    "[t] yes, and each call of this tool in this session",
                    "[p GLOB] yes, and calls with a matching target",
                    "[m] yes, and do not ask again",
                ]);
            }
            DecisionKind::Edit => add(&["[e] with other arguments"]),
            DecisionKind::Reject => add(&["[n] no", "[n REASON] no, and tell the model why"]),
            DecisionKind::Respond => add(&["[r TEXT] no, use TEXT as its result"]),
        }
    }
    add(&["[l] decide later", "[j] show the exact JSON"]);
    answers
}

/// Parses the choice of a rule.
pub(super) fn chosen(line: &str) -> Option<Remember> {
    let (what, scope) = match line.trim() {
        "1" => (RememberWhat::Arguments, RememberScope::Session),
        "2" => (RememberWhat::Tool, RememberScope::Session),
        "3" => (RememberWhat::Arguments, RememberScope::Project),
        "4" => (RememberWhat::Tool, RememberScope::Project),
        _ => return None,
    };
    Some(Remember { what, scope })
}

/// Parses an answer. Anything but an exact and allowed one is `None`: a stray key never approves.
pub(super) fn parse(line: &str, call: &PendingCall, rest: usize) -> Option<MenuReply> {
    let call_id = call.call_id.clone();
    let line = line.trim();
    let (word, text) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (kind, said) = match (word, text.trim()) {
        ("l" | "later", "") => return Some(MenuReply::Later),
        ("j", "") => return Some(MenuReply::Json),
        ("y" | "yes", "") => (
            DecisionKind::Approve,
            MenuReply::Decided(Decision::approve(call_id)),
        ),
        ("a", "") if rest > 1 => (DecisionKind::Approve, MenuReply::Rest),
        ("t", "") => (DecisionKind::Approve, MenuReply::Remember(Some(THIS_TOOL))),
        ("p", glob) if !glob.is_empty() => {
            (DecisionKind::Approve, MenuReply::Pattern(glob.to_owned()))
        }
        ("m", "") => (DecisionKind::Approve, MenuReply::Remember(None)),
        ("e", "") => (DecisionKind::Edit, MenuReply::Edit),
        ("n" | "no", reason) => {
            let reason = (!reason.is_empty()).then(|| reason.to_owned());
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
    call.decisions.contains(&kind).then_some(said)
}
