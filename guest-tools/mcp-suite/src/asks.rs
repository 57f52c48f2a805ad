//! Tools that ask the user. The host chooses the form of the question and the number of requests.

use agent_tool::{Answer, Question, ask, input, tool};

#[input]
pub(crate) struct Message {
    /// The text that the user reads.
    message: String,
}

/// Asks for a text in the given words.
#[tool(effect = "read-only")]
pub(crate) fn test_elicitation(input: Message) -> String {
    format!("User response: {}", told(&Question::open(input.message)))
}

/// Asks a question while the client reads a stream.
#[tool(effect = "read-only")]
pub(crate) fn test_streaming_elicitation() -> String {
    told(&Question::open("What should be streamed?"))
}

/// Asks for a name, and greets.
#[tool(effect = "read-only")]
pub(crate) fn test_input_required_result_elicitation() -> String {
    format!("Hello, {}!", told(&Question::open("What is your name?")))
}

/// Asks for a confirmation, and returns whether the question was answered.
#[tool(effect = "read-only")]
pub(crate) fn test_input_required_result_request_state() -> String {
    format!("state-ok, {}", told(&confirm()))
}

/// Asks for a name, and then for a colour.
#[tool(effect = "read-only")]
pub(crate) fn test_input_required_result_multi_round() -> String {
    let name = told(&Question::open("Step 1: What is your name?"));
    let colour = told(&Question::open("Step 2: What is your favorite color?"));
    format!("{name} likes {colour}")
}

/// Asks for a confirmation. The state that the client sends with the answer is modified on the way.
#[tool(effect = "read-only")]
pub(crate) fn test_input_required_result_tampered_state() -> String {
    told(&confirm())
}

fn confirm() -> Question {
    Question::choice("Please confirm", ["Yes", "No"])
}

/// The answer in words.
fn told(question: &Question) -> String {
    match ask(question) {
        Answer::Text(text) => text,
        Answer::Choice(index) => question.choices.get(index).cloned().unwrap_or_default(),
        Answer::Choices(indexes) => {
            let chosen = indexes
                .into_iter()
                .filter_map(|index| question.choices.get(index));
            chosen.cloned().collect::<Vec<_>>().join(", ")
        }
        Answer::Cancelled => "no answer".to_owned(),
        Answer::Unavailable => "no user to ask".to_owned(),
    }
}
