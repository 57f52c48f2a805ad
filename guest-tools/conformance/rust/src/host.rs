//! Tools that call the host: progress, questions, state, and the standard streams. Those that change
//! the session are in `session.rs`.

use agent_tool::{
    Answer, FormAnswer, Output, Question, ask, ask_form, context, input, partial, progress, state,
    tool,
};
use serde_json::Value;

#[input]
pub(crate) struct Steps {
    /// The number of steps to report.
    #[schemars(range(max = 10))]
    steps: u32,
}

#[input]
pub(crate) struct Pieces {
    /// The end: `text`, `parts`, `json` or `error`.
    end: String,
}

#[input]
pub(crate) struct Asked {
    /// The text that the user reads.
    prompt: String,
    /// The choices.
    choices: Vec<String>,
    /// True if the user may answer with free text.
    free_text: bool,
    /// True if the user may take several of the choices.
    #[serde(default)]
    multiple: bool,
}

#[input]
pub(crate) struct Form {
    /// The text that the user reads.
    prompt: String,
    /// The JSON Schema of the form.
    schema: Value,
}

#[input]
pub(crate) struct Entry {
    /// The name in the state.
    key: String,
    /// Any JSON.
    value: Value,
}

#[input]
pub(crate) struct Printed {
    /// The text to print.
    text: String,
}

/// Reports the given number of steps, each with its fraction.
#[tool(effect = "read-only")]
pub(crate) fn report(input: Steps) -> &'static str {
    let steps = input.steps;
    for step in 1..=steps {
        progress::report_fraction(
            format!("step {step} of {steps}"),
            f64::from(step) / f64::from(steps),
        );
    }
    "done"
}

/// Reports progress without a fraction.
#[tool(effect = "read-only")]
pub(crate) fn report_unmeasured() -> &'static str {
    progress::report("working");
    "done"
}

/// Gives its result piece by piece, with a file unless the end is `text`.
#[tool(effect = "read-only")]
pub(crate) fn give_pieces(input: Pieces) -> Output {
    partial::text("one ");
    partial::text("two ");
    if input.end != "text" {
        partial::file("text/plain", Some("abc.txt"));
        partial::bytes(b"ab");
        partial::bytes(b"c");
    }
    match input.end.as_str() {
        "json" => Output::Json(serde_json::json!({ "whole": true })),
        "error" => Output::error("whole"),
        _ => Output::text("☃"),
    }
}

/// Asks the user and returns the answer.
#[tool(effect = "read-only")]
pub(crate) fn ask_question(input: Asked) -> String {
    let question = Question {
        prompt: input.prompt,
        choices: input.choices,
        free_text: input.free_text,
        multiple: input.multiple,
    };
    match ask(&question) {
        Answer::Text(text) => format!("text: {text}"),
        Answer::Choice(index) => format!("choice: {index}"),
        Answer::Choices(indexes) => {
            let indexes: Vec<String> = indexes.iter().map(ToString::to_string).collect();
            format!("choices: {}", indexes.join(", "))
        }
        Answer::Cancelled => "cancelled".to_owned(),
        Answer::Unavailable => "unavailable".to_owned(),
    }
}

/// Has the user fill in a form, and returns the fields.
#[tool(effect = "read-only")]
pub(crate) fn fill_form(input: Form) -> Output {
    match ask_form(&input.prompt, &input.schema) {
        FormAnswer::Fields(fields) => Output::Json(Value::Object(fields)),
        FormAnswer::Cancelled => Output::text("cancelled"),
        FormAnswer::Unavailable => Output::text("unavailable"),
    }
}

/// Returns the context of the session.
#[tool(effect = "read-only")]
pub(crate) fn read_context() -> Value {
    Value::Object(context::get())
}

/// Merges one entry into the shared state, and gives the state from before.
#[tool(effect = "effectful")]
pub(crate) fn remember(input: Entry) -> Value {
    state::merge([(input.key, input.value)]);
    Value::Object(state::get())
}

/// Prints the text to both of its streams.
#[tool(effect = "read-only")]
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what becomes of it is what the suite asks"
)]
pub(crate) fn print(input: Printed) -> &'static str {
    println!("{}", input.text);
    eprintln!("{}", input.text);
    "printed"
}
