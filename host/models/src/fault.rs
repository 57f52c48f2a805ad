//! What went wrong with one request to a model server, in words for a person, and whether to ask again. Adapters add the
//! server's own words, which pass [`quote`] first: short, without control characters, without the key.

pub(crate) mod reported;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use words::{status_in, words_in, words_of};

use crate::{http::Server, retry::Retry};
use agent_host_types::model::{ModelError, ModelErrorKind};
use reqwest::StatusCode;
use std::{fmt::Write as _, io, time::Duration};

/// The longest quotation of a server's words, in characters.
pub(crate) const MAX_QUOTE_CHARS: usize = 500;

/// One failed attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    /// What to tell the person if nothing else helps.
    pub(crate) error: ModelError,
    /// Whether to ask again.
    pub(crate) retry: Retry,
}

impl Fault {
    /// A fault that another attempt may mend.
    pub(crate) fn passing(kind: ModelErrorKind, message: String) -> Self {
        Self {
            error: ModelError::new(kind, message),
            retry: Retry::Backoff,
        }
    }

    /// A fault that stays.
    pub(crate) fn lasting(kind: ModelErrorKind, message: String) -> Self {
        Self {
            error: ModelError::new(kind, message),
            retry: Retry::Never,
        }
    }
}

/// What an HTTP status means in the vocabulary of all providers, and whether to ask again.
pub(crate) fn meaning(status: u16) -> (ModelErrorKind, Retry) {
    match status {
        401 | 403 => (ModelErrorKind::Unauthorized, Retry::Never),
        404 => (ModelErrorKind::NotFound, Retry::Never),
        408 => (ModelErrorKind::Timeout, Retry::Backoff),
        409 => (ModelErrorKind::InvalidRequest, Retry::Backoff),
        429 => (ModelErrorKind::RateLimited, Retry::Backoff),
        400..=499 => (ModelErrorKind::InvalidRequest, Retry::Never),
        500..=599 => (ModelErrorKind::Server, Retry::Backoff),
        _ => (ModelErrorKind::Protocol, Retry::Never),
    }
}

/// Whether a server's words say that the request is too long for the model. There is no common code, and the codes that there are
/// come with one of these phrases: OpenAI and vLLM, OpenAI's Responses, Anthropic (two), Gemini, llama.cpp, Ollama, others.
fn is_about_the_window(words: &str) -> bool {
    const PHRASES: [&str; 8] = [
        "maximum context length",
        "exceeds the context window",
        "prompt is too long",
        "exceed context limit",
        "exceeds the maximum number of tokens",
        "exceeds the available context size",
        "exceeds the context length",
        "context_length_exceeded",
    ];
    let words = words.to_ascii_lowercase();
    PHRASES.iter().any(|phrase| words.contains(phrase))
}

/// Makes foreign words fit to be shown: the key is struck out, control characters are escaped, and they are cut.
pub(crate) fn quote(words: &str, key: Option<&str>) -> String {
    let words = match key {
        Some(key) if !key.is_empty() => words.replace(key, "[the key]"),
        Some(_) | None => words.to_owned(),
    };
    let mut quoted = String::new();
    for (count, character) in words.trim().chars().enumerate() {
        if count == MAX_QUOTE_CHARS {
            quoted.push_str(" [cut]");
            break;
        }
        match character {
            '\n' | '\t' => quoted.push(' '),
            '\r' => {}
            // Besides control characters these are the marks that reorder text on a terminal.
            _ if character.is_control()
                || matches!(character, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                quoted.extend(character.escape_default());
            }
            _ => quoted.push(character),
        }
    }
    quoted
}

impl Server {
    /// The fault behind an answer that is not 2xx. `words` is what the server says itself, raw.
    pub(crate) fn refused(
        &self,
        status: StatusCode,
        words: Option<&str>,
        wait: Option<Duration>,
    ) -> Fault {
        let (mut kind, mut retry) = meaning(status.as_u16());
        let is_fault_of_request = matches!(
            kind,
            ModelErrorKind::InvalidRequest | ModelErrorKind::Server
        );
        if is_fault_of_request && words.is_some_and(is_about_the_window) {
            (kind, retry) = (ModelErrorKind::ContextWindow, Retry::Never);
        }
        if let (Retry::Backoff, Some(wait)) = (retry, wait) {
            retry = Retry::After(wait);
        }
        let (url, model) = (&self.url, &self.model);
        let number = status.as_u16();
        let mut text = match kind {
            ModelErrorKind::Unauthorized if self.has_key() => format!(
                "The model server at {url} did not accept the key ({number}). Check the key in {}.",
                self.key_source
            ),
            ModelErrorKind::Unauthorized => format!(
                "The model server at {url} wants a key ({number}), and none was sent. Set {}.",
                self.key_source
            ),
            ModelErrorKind::NotFound => format!(
                "The model server has no model `{model}`, or nothing is at {url} (404). Check the model's name and \
                 the base URL."
            ),
            ModelErrorKind::RateLimited => format!(
                "The model server at {url} turned the request away for now ({number}). Wait, or check the account's limits."
            ),
            ModelErrorKind::Server | ModelErrorKind::Timeout => format!(
                "The model server at {url} failed ({number}). Try again later, or look at the server's log."
            ),
            ModelErrorKind::ContextWindow => {
                format!("The request is longer than the window of `{model}` at {url} ({number}).")
            }
            ModelErrorKind::InvalidRequest => {
                format!("The model server at {url} refused the request for `{model}` ({number}).")
            }
            ModelErrorKind::Protocol | ModelErrorKind::Unreachable | ModelErrorKind::Script => {
                format!(
                    "The server at {url} gave an answer ({number}) that no model server gives. Check the base URL."
                )
            }
        };
        if let Some(words) = words {
            // Writing to a string cannot fail.
            let _ = write!(text, " It says: \"{}\"", self.quote(words));
        }
        Fault {
            error: ModelError::new(kind, text),
            retry,
        }
    }

    /// The fault of an answer that became an error of no known kind: it is the server's own, and may pass.
    pub(crate) fn failed(&self, words: &str) -> Fault {
        let (url, words) = (&self.url, self.quote(words));
        Fault::passing(
            ModelErrorKind::Server,
            format!("The model server at {url} failed while it answered. It says: \"{words}\""),
        )
    }

    /// The fault of a redirection that was not followed: the key must not go where the person did not send it.
    pub(crate) fn redirected(&self, status: StatusCode, target: Option<&str>) -> Fault {
        let url = &self.url;
        let target = target.map_or_else(
            || "elsewhere".to_owned(),
            |target| format!("to \"{}\"", self.quote(target)),
        );
        Fault::lasting(
            ModelErrorKind::Protocol,
            format!(
                "The server at {url} redirects {target} ({}), which is not followed: the key and the conversation go only \
                 where you sent them. If the new place is right, set the base URL to it.",
                status.as_u16()
            ),
        )
    }

    /// The fault behind a failed connection or transfer.
    pub(crate) fn broken(&self, error: &reqwest::Error) -> Fault {
        let url = &self.url;
        if error.is_connect() && error.is_timeout() {
            let seconds = self.timeouts.connect.as_secs_f64();
            return Fault::passing(
                ModelErrorKind::Unreachable,
                format!(
                    "No connection to the model server at {url} within {seconds} s. Check the base URL and the network."
                ),
            );
        }
        let cause = root_cause(error);
        let refused = cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        let text = if refused {
            format!(
                "No model server answers at {url}: the connection was refused. Is the server running? A local one must be \
                 started first, e.g. with `ollama serve`; else check the base URL."
            )
        } else if error.is_dns() {
            format!(
                "The host name in {url} could not be found ({}). Check the base URL and the network.",
                self.quote(&cause.to_string())
            )
        } else if error.is_connect() {
            format!(
                "No connection to the model server at {url}: {}. Check the base URL.",
                self.quote(&cause.to_string())
            )
        } else {
            format!(
                "The connection to the model server at {url} broke: {}.",
                self.quote(&cause.to_string())
            )
        };
        Fault::passing(ModelErrorKind::Unreachable, text)
    }

    /// The fault of a server that is too slow. It is not asked again: a person would wait for the same time once more.
    pub(crate) fn slow(&self, what: &str, limit: Duration) -> Fault {
        let url = &self.url;
        let seconds = limit.as_secs_f64();
        Fault::lasting(
            ModelErrorKind::Timeout,
            format!(
                "The model server at {url} sent {what} within {seconds} s. It may be loading the model or be overloaded; \
                 try again, or raise the time limit."
            ),
        )
    }

    /// The fault of an answer that is not in the documented form.
    pub(crate) fn garbled(&self, why: &str, retry: Retry) -> Fault {
        let url = &self.url;
        Fault {
            error: ModelError::new(
                ModelErrorKind::Protocol,
                format!("The answer of the model server at {url} cannot be used: {why}."),
            ),
            retry,
        }
    }
}

/// The innermost cause, which is the one that says something.
fn root_cause<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> &'a (dyn std::error::Error + 'static) {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause
}
