//! Tools that change the session: its state, its artifacts, and the end of its run.

use agent_tool::artifacts::{self, ArtifactError};
use agent_tool::{Output, control, input, state, tool};
use serde_json::{Value, json};

#[input]
pub(crate) struct Ending {
    /// How the call ends.
    end: End,
}

#[input]
#[serde(rename_all = "snake_case")]
enum End {
    Success,
    Error,
    ErrorJson,
    Denied,
}

#[input]
pub(crate) struct Action {
    /// The function to call.
    action: Function,
    /// The name of the artifact.
    #[serde(default)]
    name: String,
    /// The media type to store it with.
    #[serde(default)]
    media_type: String,
    /// The content to store.
    #[serde(default)]
    text: String,
}

#[input]
#[serde(rename_all = "snake_case")]
enum Function {
    List,
    Get,
    Put,
    Delete,
}

/// Changes the state, asks to end the run, stores an artifact, and then ends as it is told.
#[tool(effect = "effectful")]
pub(crate) fn change_and_end(input: Ending) -> Output {
    state::merge([("touched", true)]);
    control::halt("too early");
    control::halt("enough");
    if let Err(error) = artifacts::put("out.txt", "text/plain", b"changed") {
        return Output::error(kind(error));
    }
    match input.end {
        End::Success => Output::text("changed"),
        End::Error => Output::error("failed"),
        End::ErrorJson => Output::error_json(&json!({ "code": "failed" })),
        End::Denied => Output::denied("refused"),
    }
}

/// Calls a function of the artifacts. Afterwards it lists them, unless it reads one.
#[tool(effect = "effectful")]
pub(crate) fn artifact(input: Action) -> Output {
    let name = &input.name;
    let done = match input.action {
        Function::Get => {
            return match artifacts::get(name) {
                Ok(bytes) => Output::text(String::from_utf8_lossy(&bytes)),
                Err(error) => Output::error(kind(error)),
            };
        }
        Function::List => Ok(()),
        Function::Put => artifacts::put(name, &input.media_type, input.text.as_bytes()),
        Function::Delete => artifacts::delete(name),
    };
    match done.and_then(|()| artifacts::list()) {
        Ok(listed) => Output::Json(
            listed
                .into_iter()
                .map(|artifact| json!([artifact.name, artifact.media_type, artifact.size]))
                .collect::<Value>(),
        ),
        Err(error) => Output::error(kind(error)),
    }
}

/// The name of the error in the contract.
fn kind(error: ArtifactError) -> &'static str {
    match error {
        ArtifactError::NotFound => "not-found",
        ArtifactError::Denied => "denied",
        ArtifactError::InvalidName => "invalid-name",
        ArtifactError::InvalidMediaType => "invalid-media-type",
        ArtifactError::TooLarge => "too-large",
        ArtifactError::QuotaExceeded => "quota-exceeded",
    }
}
