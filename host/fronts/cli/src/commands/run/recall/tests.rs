use super::{Exchange, MAX_ROWS, exchanges, last_rows};
use agent_host_types::{
    id::CallId,
    message::{Message, Role},
    tool::ToolCall,
};
use pretty_assertions::assert_eq;

#[test]
fn last_exchanges_have_question_calls_and_answer() {
    let calling = Message {
        tool_calls: vec![ToolCall::parse(
            CallId("c".to_owned()),
            "read".to_owned(),
            "{}".to_owned(),
        )],
        ..Message::text(Role::Assistant, "I look.")
    };
    let messages = [
        Message::text(Role::User, "first"),
        Message::text(Role::Assistant, "one"),
        Message::text(Role::User, "second"),
        calling,
        Message::results(Vec::new()),
        Message::text(Role::Assistant, "two"),
        Message::text(Role::User, "third"),
    ];
    let exchange = |input: &str, calls, answer: &str| Exchange {
        input: input.to_owned(),
        calls,
        answer: answer.to_owned(),
    };
    assert_eq!(
        exchanges(&messages),
        [exchange("second", 1, "two"), exchange("third", 0, "")]
    );
    assert_eq!(exchanges(&messages[1..2]), []);
}

#[test]
fn long_answer_is_shown_by_its_end() {
    let text: String = (0..MAX_ROWS + 3)
        .map(|row| format!("row {row}\n"))
        .collect();
    let rows = last_rows(&text);
    assert_eq!(rows.len(), MAX_ROWS + 1);
    assert_eq!(rows[..2], ["\u{1b}[2m… 3 rows above\u{1b}[0m", "row 3"]);
    assert_eq!(last_rows("a\nb"), ["a", "b"]);
}
