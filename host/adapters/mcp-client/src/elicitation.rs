//! Questions of a server to the user (`elicitation/create`): bounded forms of primitive fields, and
//! addresses that the user opens. Every text in them is the server's.

use agent_host_engine::BoxFuture;
use agent_host_types::form::{FormField, MAX_FIELDS};
use agent_host_types::reason::Reason;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value};
use std::fmt;

/// The maximum length of a message, in bytes; that of a tool's question.
const MAX_MESSAGE_BYTES: usize = 4 * 1024;

/// The maximum length of an address, in bytes.
const MAX_TEXT_BYTES: usize = 2 * 1024;

/// Asks the user on behalf of servers.
pub trait Elicitor: fmt::Debug + Send + Sync {
    /// Asks one question. The answer to a form fits its fields.
    fn ask(&self, elicitation: Elicitation) -> BoxFuture<'static, ElicitationAnswer>;
}

/// A question of a server.
#[derive(Debug)]
pub struct Elicitation {
    /// The configured name of the server.
    pub server: String,
    /// The server's words.
    pub message: String,
    /// The kind of answer.
    pub kind: ElicitationKind,
}

/// The kind of answer that a server wants.
#[derive(Debug)]
pub enum ElicitationKind {
    /// A form.
    Form(Vec<FormField>),
    /// An `http` or `https` address that the user is to open; the answer goes elsewhere.
    Url(String),
}

/// The user's answer to a server.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// The values of the fields; empty for an address that the user agreed to open.
    Accept(Map<String, Value>),
    /// The user refused.
    Decline,
    /// The user made no choice.
    Cancel,
}

fn bounded(text: &str) -> Result<String, Reason> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("one of its strings has more than {MAX_TEXT_BYTES} bytes").into());
    }
    Ok(text.to_owned())
}

impl Elicitation {
    /// Checks the bounds of a question.
    ///
    /// # Errors
    /// The bound that it exceeds, as a clause.
    pub(crate) fn new(server: &str, params: ElicitRequestParams) -> Result<Self, Reason> {
        let (message, kind) = match params {
            ElicitRequestParams::FormElicitationParams {
                message,
                requested_schema,
                ..
            } => (message, ElicitationKind::Form(fields(&requested_schema)?)),
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                (message, ElicitationKind::Url(web_address(&url)?))
            }
            _ => return Err("its mode is unknown".into()),
        };
        if message.len() > MAX_MESSAGE_BYTES {
            return Err(format!("its message has more than {MAX_MESSAGE_BYTES} bytes").into());
        }
        Ok(Self {
            server: server.to_owned(),
            message,
            kind,
        })
    }
}

/// Returns the fields in the server's order.
fn fields(schema: &ElicitationSchema) -> Result<Vec<FormField>, Reason> {
    if schema.properties.len() > MAX_FIELDS {
        return Err(format!("its form has more than {MAX_FIELDS} fields").into());
    }
    let required = schema.required.as_deref().unwrap_or_default();
    let sorted = || schema.properties.keys().cloned().collect();
    let names: Vec<String> = schema.property_order.clone().unwrap_or_else(sorted);
    let definitions = names.iter().filter_map(|name| {
        let definition = schema.properties.get(name)?;
        Some((name, definition))
    });
    definitions
        .map(|(name, definition)| {
            let definition = serde_json::to_value(definition).map_err(|error| error.to_string())?;
            let field = FormField::from_schema(name, &definition, required.contains(name));
            field.map_err(|why| format!("a field of its form {why}").into())
        })
        .collect()
}

/// Returns an address that a browser may be shown: `http` or `https`, with a host and without a
/// user, which would be taken for the host.
fn web_address(text: &str) -> Result<String, Reason> {
    let address: reqwest::Url = bounded(text)?
        .parse()
        .map_err(|_| "its address is invalid".to_owned())?;
    if !matches!(address.scheme(), "http" | "https") || address.host_str().is_none() {
        return Err("its address is not an http or https URL".into());
    }
    if !address.username().is_empty() || address.password().is_some() {
        return Err("its address contains a user name".into());
    }
    // In the form that browsers use: the host in ASCII.
    Ok(address.into())
}

impl From<ElicitationAnswer> for ElicitResult {
    fn from(answer: ElicitationAnswer) -> Self {
        match answer {
            ElicitationAnswer::Accept(values) if values.is_empty() => {
                Self::new(ElicitationAction::Accept)
            }
            ElicitationAnswer::Accept(values) => {
                Self::new(ElicitationAction::Accept).with_content(Value::Object(values))
            }
            ElicitationAnswer::Decline => Self::new(ElicitationAction::Decline),
            ElicitationAnswer::Cancel => Self::new(ElicitationAction::Cancel),
        }
    }
}

#[cfg(test)]
mod tests;
