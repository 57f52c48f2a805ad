//! Classifies failed attempts: the error for the user, and whether to ask again. Text from a server
//! passes [`quote`] first, which shortens it, escapes control characters and redacts the key.

#[cfg(test)]
mod tests;

use super::{Server, account::AccountFault, hint::hint, overflow::is_context_overflow};
use crate::{
    retry::Retry,
    wire::{DecodeError, ServerError},
};
use agent_host_types::model::{ModelError, ModelErrorKind};
use reqwest::StatusCode;
use std::{fmt::Write as _, time::Duration};

/// The text in place of a redacted key.
pub(super) const REDACTED: &str = "[the key]";

/// The longest quotation of a server, in characters.
pub(crate) const MAX_QUOTE_CHARS: usize = 500;

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
pub(crate) struct AttemptError {
    /// The error for the user if no other attempt helps.
    #[source]
    pub(crate) error: ModelError,
    /// Whether to ask again.
    pub(crate) retry: Retry,
}

impl AttemptError {
    pub(crate) fn new(kind: ModelErrorKind, message: String, retry: Retry) -> Self {
        let error = ModelError::new(kind, message);
        Self { error, retry }
    }
}

/// Classifies an HTTP status.
fn classify(status: u16) -> (ModelErrorKind, Retry) {
    match status {
        401 | 403 => (ModelErrorKind::Unauthorized, Retry::Never),
        404 => (ModelErrorKind::NotFound, Retry::Never),
        408 => (ModelErrorKind::Timeout, Retry::Backoff),
        // Anthropic answers it to requests of more than 32 MB, gateways to other sizes.
        413 => (ModelErrorKind::ContextWindow, Retry::Never),
        409 => (ModelErrorKind::InvalidRequest, Retry::Backoff),
        429 => (ModelErrorKind::RateLimited, Retry::Backoff),
        400..=499 => (ModelErrorKind::InvalidRequest, Retry::Never),
        500..=599 => (ModelErrorKind::Server, Retry::Backoff),
        _ => (ModelErrorKind::Protocol, Retry::Never),
    }
}

/// Makes untrusted text fit for display: redacts the key, escapes control characters and truncates.
pub(crate) fn quote(text: &str, key: Option<&str>) -> String {
    let text = match key {
        Some(key) if !key.is_empty() => text.replace(key, REDACTED),
        Some(_) | None => text.to_owned(),
    };
    let mut quoted = String::new();
    for (count, character) in text.trim().chars().enumerate() {
        if count == MAX_QUOTE_CHARS {
            quoted.push_str(" [cut]");
            break;
        }
        match character {
            '\n' | '\t' => quoted.push(' '),
            '\r' => {}
            // The ranges are the marks that reorder text on a terminal.
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
    /// Classifies an error that the server reports; `wait` is the wait that it asks for.
    pub(crate) fn server_error(&self, error: &ServerError, wait: Option<Duration>) -> AttemptError {
        let message = error.message.as_deref();
        let is_overflow = is_context_overflow(&error.tags, message.unwrap_or_default());
        // An error within a stream has the status of the response, 200.
        let status = error.status.or(is_overflow.then_some(400));
        let Some(number) = status else {
            let (url, message) = (self.shown_url(), self.quote(message.unwrap_or_default()));
            let text =
                format!("The model server at {url} failed while answering. It says: \"{message}\"");
            return AttemptError::new(ModelErrorKind::Server, text, Retry::Backoff);
        };
        let (mut kind, mut retry) = classify(number);
        let may_be_overflow = matches!(
            kind,
            ModelErrorKind::InvalidRequest | ModelErrorKind::Server
        );
        if may_be_overflow && is_overflow {
            (kind, retry) = (ModelErrorKind::ContextWindow, Retry::Never);
        }
        let account = AccountFault::from_error(number, &error.tags, message.unwrap_or_default());
        if let Some(fault) = account {
            // Another provider may answer, which a fallback asks; this one will not.
            retry = Retry::Never;
            kind = match fault {
                AccountFault::NoCredit => ModelErrorKind::RateLimited,
                AccountFault::Region => ModelErrorKind::Unauthorized,
            };
        }
        if let (Retry::Backoff, Some(wait)) = (retry, wait) {
            retry = Retry::After(wait);
        }
        let mut text = match account {
            Some(fault) => fault.text(self.shown_url().as_str(), number),
            None => self.explanation(kind, number),
        };
        if let Some(message) = message {
            // Writing to a string cannot fail.
            let _ = write!(text, " It says: \"{}\"", self.quote(message));
            let may_be_field = matches!(
                kind,
                ModelErrorKind::InvalidRequest | ModelErrorKind::Server
            );
            if let Some(hint) = hint(message).filter(|_| may_be_field) {
                let _ = write!(text, " {hint}");
            }
        }
        AttemptError::new(kind, text, retry)
    }

    /// Says what a status means, and what to do.
    fn explanation(&self, kind: ModelErrorKind, number: u16) -> String {
        let (url, model) = (self.shown_url(), &self.model);
        match kind {
            ModelErrorKind::Unauthorized if self.has_key() => format!(
                "The model server at {url} did not accept the key ({number}). Check the key in {}.",
                self.key_source
            ),
            ModelErrorKind::Unauthorized => format!(
                "The model server at {url} requires a key ({number}), and none was sent. Set {}.",
                self.key_source
            ),
            ModelErrorKind::NotFound => format!(
                "The model server has no model `{model}`, or there is nothing at {url} (404). Check the model's name \
                 and the base URL."
            ),
            ModelErrorKind::RateLimited => format!(
                "The model server at {url} is limiting requests ({number}). Wait, or check the account's limits."
            ),
            ModelErrorKind::Server | ModelErrorKind::Timeout => format!(
                "The model server at {url} failed ({number}). Try again later, or check the server's log."
            ),
            ModelErrorKind::ContextWindow if number == 413 => {
                format!("The request is larger than the model server at {url} accepts (413).")
            }
            ModelErrorKind::ContextWindow => {
                format!("The request exceeds the context window of `{model}` at {url} ({number}).")
            }
            ModelErrorKind::InvalidRequest => {
                format!("The model server at {url} refused the request for `{model}` ({number}).")
            }
            ModelErrorKind::Protocol | ModelErrorKind::Unreachable | ModelErrorKind::Script => {
                format!(
                    "The server at {url} sent an answer ({number}) that is not from a model server. Check the base URL."
                )
            }
        }
    }

    /// Classifies a response that cannot be decoded. A reply that the model or the server broke off
    /// may be whole next time.
    pub(crate) fn decode_error(&self, error: &DecodeError) -> AttemptError {
        let retry = match error {
            DecodeError::Server(error) => return self.server_error(error, None),
            DecodeError::Unfinished | DecodeError::Unusable(_) => Retry::Backoff,
            DecodeError::FrameTooLong(_)
            | DecodeError::Json { .. }
            | DecodeError::TooLarge(_)
            | DecodeError::CutCall => Retry::Never,
        };
        self.invalid_response(&self.quote(&error.to_string()), retry)
    }

    /// The error of a redirect that was not followed: the key must not go where the user did not
    /// send it.
    pub(crate) fn redirected(&self, status: StatusCode, target: Option<&str>) -> AttemptError {
        let url = self.shown_url();
        let target = target.map_or_else(
            || "elsewhere".to_owned(),
            |target| {
                let place = target.split(['?', '#']).next().unwrap_or_default();
                format!("to \"{}\"", self.quote(place))
            },
        );
        let text = format!(
            "The server at {url} redirects {target} ({}). The redirect was not followed, because the key and the \
             conversation go only to the configured address; if the new address is right, set the base URL to it.",
            status.as_u16()
        );
        AttemptError::new(ModelErrorKind::Protocol, text, Retry::Never)
    }

    /// The error of a server that is too slow. It is not asked again: the user would wait for the
    /// same time once more.
    pub(crate) fn timeout(&self, what: &str, limit: Duration) -> AttemptError {
        let url = self.shown_url();
        let seconds = limit.as_secs_f64();
        let text = format!(
            "The model server at {url} sent {what} within {seconds} s. It may be loading the model or be overloaded; \
             try again, or raise the time limit."
        );
        AttemptError::new(ModelErrorKind::Timeout, text, Retry::Never)
    }

    /// The error of a response that is not in the documented form.
    pub(crate) fn invalid_response(&self, why: &str, retry: Retry) -> AttemptError {
        let url = self.shown_url();
        let text = format!("Cannot use the answer of the model server at {url}: {why}.");
        AttemptError::new(ModelErrorKind::Protocol, text, retry)
    }
}
