//! The check of a value against its field.

use super::{FieldChoice, FieldKind, FormField, MAX_ANSWER_BYTES, NumberRange};
use crate::reason::Reason;
use serde_json::{Number, Value};
use std::{cmp::Ordering, collections::BTreeSet};

impl FormField {
    /// Checks that a value fits the field.
    ///
    /// # Errors
    /// The reason why it does not, as a clause that follows the name of the field.
    pub fn check(&self, value: &Value) -> Result<(), Reason> {
        match (&self.kind, value) {
            (
                FieldKind::Text {
                    min_length,
                    max_length,
                    ..
                },
                Value::String(text),
            ) => check_text(text, *min_length, *max_length),
            (FieldKind::Text { .. }, _) => Err("takes text".into()),
            (FieldKind::Number(range), Value::Number(number)) => range.check(number),
            (FieldKind::Number(_), _) => Err("takes a number".into()),
            (FieldKind::Integer(range), Value::Number(number)) if is_whole(number) => {
                range.check(number)
            }
            (FieldKind::Integer(_), _) => Err("takes a number without a fraction".into()),
            (FieldKind::Boolean, Value::Bool(_)) => Ok(()),
            (FieldKind::Boolean, _) => Err("takes true or false".into()),
            (FieldKind::One { choices }, value) => check_choice(choices, value),
            (
                FieldKind::Many {
                    choices,
                    min_items,
                    max_items,
                },
                Value::Array(values),
            ) => {
                values
                    .iter()
                    .try_for_each(|value| check_choice(choices, value))?;
                check_count(values, *min_items, *max_items)
            }
            (FieldKind::Many { .. }, _) => Err("takes a list of its choices".into()),
        }
    }
}

impl FieldKind {
    /// Whether any value fits: the bounds do not exclude each other. A user could not leave a
    /// required field without one.
    pub(super) fn has_values(&self) -> bool {
        let ordered = |least: &Option<u64>, most: u64| least.is_none_or(|least| least <= most);
        match self {
            Self::Text {
                min_length,
                max_length,
                ..
            } => ordered(
                min_length,
                max_length.unwrap_or(u64::MAX).min(MAX_ANSWER_BYTES as u64),
            ),
            Self::Number(NumberRange { minimum, maximum })
            | Self::Integer(NumberRange { minimum, maximum }) => {
                let bounds = minimum.as_ref().zip(maximum.as_ref());
                bounds.is_none_or(|(least, most)| compare(least, most) != Some(Ordering::Greater))
            }
            Self::Many {
                choices,
                min_items,
                max_items,
            } => {
                let different: BTreeSet<_> = choices.iter().map(|choice| &choice.value).collect();
                let most = max_items.unwrap_or(u64::MAX);
                ordered(min_items, most.min(different.len() as u64))
            }
            Self::Boolean | Self::One { .. } => true,
        }
    }
}

impl NumberRange {
    fn check(&self, number: &Number) -> Result<(), Reason> {
        if let Some(minimum) = &self.minimum
            && compare(number, minimum) == Some(Ordering::Less)
        {
            return Err(format!("takes a number of at least {minimum}").into());
        }
        if let Some(maximum) = &self.maximum
            && compare(number, maximum) == Some(Ordering::Greater)
        {
            return Err(format!("takes a number of at most {maximum}").into());
        }
        Ok(())
    }
}

/// Compares exactly if both are integers.
fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// Whether a number is an integer of 64 bits. For JSON Schema 3.0 is one, too; a float beyond 2^53
/// may stand for another.
fn is_whole(number: &Number) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.is_i64()
        || number
            .as_f64()
            .is_some_and(|number| number.fract() == 0.0 && number.abs() <= EXACT)
}

fn check_text(text: &str, least: Option<u64>, most: Option<u64>) -> Result<(), Reason> {
    if text.len() > MAX_ANSWER_BYTES {
        return Err(format!("takes text of at most {MAX_ANSWER_BYTES} bytes").into());
    }
    let count = text.chars().count() as u64;
    match (least, most) {
        (Some(least), _) if count < least => {
            Err(format!("takes text of at least {least} characters").into())
        }
        (_, Some(most)) if count > most => {
            Err(format!("takes text of at most {most} characters").into())
        }
        _ => Ok(()),
    }
}

fn check_choice(choices: &[FieldChoice], value: &Value) -> Result<(), Reason> {
    let is_known = |text: &str| choices.iter().any(|choice| choice.value == text);
    match value.as_str().is_some_and(is_known) {
        true => Ok(()),
        false => Err(format!("takes one of its {} choices", choices.len()).into()),
    }
}

fn check_count(values: &[Value], least: Option<u64>, most: Option<u64>) -> Result<(), Reason> {
    let count = values.len() as u64;
    let different: BTreeSet<_> = values.iter().filter_map(Value::as_str).collect();
    if different.len() < values.len() {
        return Err("takes each of its choices once".into());
    }
    match (least, most) {
        (Some(least), _) if count < least => Err(format!("takes at least {least} choices").into()),
        (_, Some(most)) if count > most => Err(format!("takes at most {most} choices").into()),
        _ => Ok(()),
    }
}
