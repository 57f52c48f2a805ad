//! Values of fields that a user typed.

use super::{FieldChoice, FieldKind, FormField};
use crate::reason::Reason;
use serde_json::Value;

impl FormField {
    /// Parses what the user typed: the number of a choice, several with commas between them, `y` or
    /// `n`, a number, or text. Nothing typed is the default, or no value.
    ///
    /// # Errors
    /// The reason why it is no value of the field, as a sentence.
    pub fn parse(&self, typed: &str) -> Result<Option<Value>, Reason> {
        let typed = typed.trim();
        let value = match (typed, &self.default) {
            ("", Some(default)) => default.clone(),
            ("", None) if self.required => return Err("A value is required.".into()),
            ("", None) => return Ok(None),
            _ => self.kind.parse(typed)?,
        };
        match self.check(&value) {
            Ok(()) => Ok(Some(value)),
            Err(why) => Err(format!("This field {why}.").into()),
        }
    }
}

impl FieldKind {
    fn parse(&self, typed: &str) -> Result<Value, Reason> {
        match self {
            Self::Text { .. } => Ok(typed.into()),
            Self::Number(_) | Self::Integer(_) => match serde_json::from_str(typed) {
                Ok(Value::Number(number)) => Ok(Value::Number(number)),
                _ => Err("Type a number, such as 12.".into()),
            },
            Self::Boolean => match typed.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(true.into()),
                "n" | "no" | "false" => Ok(false.into()),
                _ => Err("Type y or n.".into()),
            },
            Self::One { choices } => chosen(choices, typed),
            Self::Many { choices, .. } => {
                let each = typed.split(',').map(|one| chosen(choices, one.trim()));
                each.collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
        }
    }
}

/// Returns the choice of a number, counted from 1.
fn chosen(choices: &[FieldChoice], typed: &str) -> Result<Value, Reason> {
    let index = typed.parse::<usize>().ok();
    let choice = index.and_then(|number| choices.get(number.checked_sub(1)?));
    choice
        .map(|choice| choice.value.as_str().into())
        .ok_or_else(|| format!("Type the number of a choice, 1 to {}.", choices.len()).into())
}
