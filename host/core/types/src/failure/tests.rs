use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

/// The names are a contract with models and clients.
#[test]
fn codes_have_their_fixed_names() {
    let names: Vec<&str> = ToolErrorCode::ALL
        .iter()
        .map(|code| code.as_str())
        .collect();
    insta::assert_snapshot!(names.join("\n"), @r"
    invalid-input
    unknown-tool
    timeout
    out-of-memory
    stack-overflow
    trap
    resource-limit
    output-too-large
    invalid-output
    cancelled
    interrupted-unknown
    busy
    tool-unavailable
    changed-since-approval
    agent-budget
    agent-failed
    ");
    for code in ToolErrorCode::ALL {
        assert_eq!(json!(code), json!(code.as_str()));
        assert_eq!(
            serde_json::from_value::<ToolErrorCode>(json!(code.as_str())).unwrap(),
            code
        );
        assert_eq!(code.to_string(), code.as_str());
    }
}

#[test]
fn failure_converts_to_error_json() {
    let failure = ToolFailure::new(ToolErrorCode::Trap, "The tool crashed.");
    assert_eq!(failure.to_string(), "trap: The tool crashed.");
    assert_eq!(
        ToolResultOutput::from(failure),
        ToolResultOutput::error_json(json!({"code": "trap", "message": "The tool crashed."}))
    );
}

#[test]
fn long_message_is_cut_at_a_character_boundary() {
    let bound = MAX_MESSAGE_BYTES;
    let cases = [
        ("a".repeat(bound), "a".repeat(bound)),
        (
            "a".repeat(bound + 1),
            format!("{} [cut]", "a".repeat(bound - 6)),
        ),
        // 2042 is no multiple of 3: the last character that fits ends at 2040.
        ("€".repeat(bound), format!("{} [cut]", "€".repeat(680))),
    ];
    for (message, expected) in cases {
        assert_eq!(ToolFailure::invalid_output(message).message(), expected);
    }
}
