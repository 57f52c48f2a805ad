use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn failure_after_a_refusal_names_it() {
    let refused = |is_limit| {
        Some(Denial {
            sentence: "`read /x` was refused".to_owned(),
            is_limit,
        })
    };
    let text = |text: &str| text.to_owned();
    let failure = |code, message: &str| ToolFailure::new(code, message);
    let trap = failure(ToolErrorCode::Trap, "The tool crashed.");
    let denied = |said: &str| {
        ToolResultOutput::ExecutionDenied(Some(format!(
            "`read /x` was refused. The tool then said: {said}"
        )))
    };
    let limited = |said: &str| -> ToolResultOutput {
        let message = format!("`read /x` was refused. The tool then said: {said}");
        failure(ToolErrorCode::ResourceLimit, &message).into()
    };
    let error = || Ok(ToolResultOutput::ErrorText(text("no")));
    let cases = [
        (error(), refused(false), denied("no")),
        (error(), refused(true), limited("no")),
        (
            Ok(ToolResultOutput::error_json(json!({"e": 1}))),
            refused(false),
            denied(r#"{"e":1}"#),
        ),
        (
            Err(trap.clone()),
            refused(false),
            denied("The tool crashed."),
        ),
        (
            Err(trap.clone()),
            refused(true),
            limited("The tool crashed."),
        ),
        (
            Ok(ToolResultOutput::Text(text("fine"))),
            refused(true),
            ToolResultOutput::Text(text("fine")),
        ),
        (
            Ok(ToolResultOutput::ExecutionDenied(None)),
            refused(false),
            ToolResultOutput::ExecutionDenied(None),
        ),
        (error(), None, ToolResultOutput::ErrorText(text("no"))),
        (Err(trap.clone()), None, trap.into()),
    ];
    for (result, denial, expected) in cases {
        assert_eq!(with_denial(result, denial), expected);
    }
    for code in [
        ToolErrorCode::Timeout,
        ToolErrorCode::OutOfMemory,
        ToolErrorCode::StackOverflow,
        ToolErrorCode::ResourceLimit,
        ToolErrorCode::OutputTooLarge,
        ToolErrorCode::InvalidOutput,
    ] {
        let expected = failure(code, "Ended. Before that, `read /x` was refused.");
        let told = with_denial(Err(failure(code, "Ended.")), refused(false));
        assert_eq!(told, expected.into());
    }
    let long = with_denial(
        Ok(ToolResultOutput::ErrorText("é".repeat(4_000))),
        refused(false),
    );
    let ToolResultOutput::ExecutionDenied(Some(reason)) = long else {
        panic!("{long:?}");
    };
    assert!(reason.len() <= 2_048);
}
