//! The parameters that the API takes besides those that it reads.

use super::error::ApiError;
use serde_json::{Map, Value};

/// The treatment of a parameter. `null` stands for an absent one.
enum Treatment {
    /// It is a hint, or asks for details of OpenAI's service: the operator's configuration decides.
    Ignored,
    /// It would change the result; these values, as JSON, are those of a client without a wish.
    Only(&'static [&'static str]),
}

use Treatment::{Ignored, Only};

/// Parameters of both endpoints.
const PARAMETERS: [(&str, Treatment); 44] = [
    // Of the service.
    ("include", Ignored),
    ("metadata", Ignored),
    ("parallel_tool_calls", Ignored),
    ("prompt_cache_key", Ignored),
    ("prompt_cache_options", Ignored),
    ("prompt_cache_retention", Ignored),
    ("safety_identifier", Ignored),
    ("service_tier", Ignored),
    ("store", Ignored),
    ("stream_options", Ignored),
    ("user", Ignored),
    // Of the model, which the operator configures, as the budgets of a run.
    ("frequency_penalty", Ignored),
    ("logit_bias", Ignored),
    ("max_completion_tokens", Ignored),
    ("max_output_tokens", Ignored),
    ("max_tokens", Ignored),
    ("prediction", Ignored),
    ("presence_penalty", Ignored),
    ("reasoning", Ignored),
    ("reasoning_effort", Ignored),
    ("seed", Ignored),
    ("temperature", Ignored),
    ("top_p", Ignored),
    ("truncation", Ignored),
    ("verbosity", Ignored),
    // What an agent does not do.
    ("access_programs", Only(&[])),
    ("audio", Only(&[])),
    ("background", Only(&["false"])),
    ("background_options", Only(&[])),
    ("context_management", Only(&["[]"])),
    ("conversation", Only(&[])),
    ("function_call", Only(&[])),
    ("functions", Only(&["[]"])),
    ("image", Only(&[])),
    ("input_transformations", Only(&["[]"])),
    ("logprobs", Only(&["false"])),
    ("max_tool_calls", Only(&[])),
    ("modalities", Only(&[r#"["text"]"#])),
    ("moderation", Only(&[])),
    ("n", Only(&["1"])),
    ("prompt", Only(&[])),
    ("stop", Only(&["[]", r#""""#])),
    ("top_logprobs", Only(&["0"])),
    ("web_search_options", Only(&[])),
];

/// Checks the parameters of a request that are not read.
///
/// # Errors
/// One of them is unknown, or has a value that would change the result.
pub(super) fn check(rest: &Map<String, Value>) -> Result<(), ApiError> {
    for (name, value) in rest {
        let known = PARAMETERS.iter().find(|(known, _)| known == name);
        match known {
            None => return Err(ApiError::unknown_parameter(name)),
            Some(_) if value.is_null() => {}
            Some((_, Ignored)) => {}
            Some((_, Only(values))) if values.contains(&value.to_string().as_str()) => {}
            Some((name, Only(values))) => {
                let message = match values {
                    [] => format!("agents do not support `{name}`; remove it"),
                    values => format!(
                        "agents support only {} as `{name}`; remove it",
                        values.join(" or ")
                    ),
                };
                return Err(ApiError::unsupported(*name, message));
            }
        }
    }
    Ok(())
}
