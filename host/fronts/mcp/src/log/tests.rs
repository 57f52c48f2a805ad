use super::{MAX_LINES, messages, number, wants_output, wants_warnings};
use pretty_assertions::assert_eq;
use rmcp::model::LoggingLevel;
use serde_json::{Value, json};

fn sent(stdio: &str) -> Vec<Value> {
    let messages = messages("probe", stdio).into_iter();
    messages
        .map(|message| serde_json::to_value(message).unwrap())
        .collect()
}

fn line(text: &str) -> Value {
    json!({ "level": "info", "logger": "probe", "data": text })
}

#[test]
fn each_line_is_a_message() {
    let cases = [
        ("", vec![]),
        ("\n  \n\r\n", vec![]),
        ("one", vec![line("one")]),
        (
            "one\r\n\n  two \nthree\n",
            vec![line("one"), line("  two "), line("three")],
        ),
    ];
    for (stdio, expected) in cases {
        assert_eq!(sent(stdio), expected, "{stdio:?}");
    }
    let long = vec!["x"; MAX_LINES + 2].join("\n");
    let mut expected = vec![line("x"); MAX_LINES];
    assert_eq!(sent(&"x\n".repeat(MAX_LINES)), expected);
    expected.push(line(
        "... and 2 more lines, which the session's journal contains",
    ));
    assert_eq!(sent(&long), expected);
}

#[test]
fn level_selects_messages() {
    let levels = [
        (LoggingLevel::Debug, true, true),
        (LoggingLevel::Info, true, true),
        (LoggingLevel::Notice, false, true),
        (LoggingLevel::Warning, false, true),
        (LoggingLevel::Error, false, false),
        (LoggingLevel::Critical, false, false),
        (LoggingLevel::Alert, false, false),
        (LoggingLevel::Emergency, false, false),
    ];
    for (level, of_tools, of_warnings) in levels {
        let number = number(level);
        assert_eq!(
            (wants_output(number), wants_warnings(number)),
            (of_tools, of_warnings),
            "{level:?}"
        );
    }
    // A client that sets no level gets both.
    assert!(wants_output(0) && wants_warnings(0));
}
