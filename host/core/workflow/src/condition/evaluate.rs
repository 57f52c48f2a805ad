//! The evaluation of conditions. Text is compared in place; JSON is parsed where it is compared.

use super::{Comparison, ConditionNode, Operand};
use crate::{reference::Reference, value::Resolved};
use serde_json::{Number, Value};
use std::borrow::Cow;

pub(super) fn holds<'a>(
    node: &ConditionNode,
    value_of: &impl Fn(&Reference) -> Resolved<'a>,
) -> bool {
    match node {
        ConditionNode::Any(nodes) => nodes.iter().any(|node| holds(node, value_of)),
        ConditionNode::All(nodes) => nodes.iter().all(|node| holds(node, value_of)),
        ConditionNode::Not(node) => !holds(node, value_of),
        ConditionNode::IsTrue(operand) => {
            matches!(Term::of(operand, value_of), Term::Json(value) if *value == Value::Bool(true))
        }
        ConditionNode::Compare(left, comparison, right) => {
            let (left, right) = (Term::of(left, value_of), Term::of(right, value_of));
            match comparison {
                Comparison::Equal => left.is_equal(&right),
                Comparison::Unequal => !left.is_equal(&right),
                Comparison::In => left.is_in(&right),
            }
        }
    }
}

/// The value of an operand. A string is always a text.
enum Term<'a> {
    Text(Cow<'a, str>),
    Json(Cow<'a, Value>),
    List(Vec<Term<'a>>),
}

impl<'a> Term<'a> {
    fn of<'v: 'a>(operand: &'a Operand, value_of: &impl Fn(&Reference) -> Resolved<'v>) -> Self {
        match operand {
            Operand::Literal(value) => Self::of_value(value),
            Operand::List(items) => {
                Self::List(items.iter().map(|item| Self::of(item, value_of)).collect())
            }
            Operand::Reference(reference) => match value_of(reference) {
                Resolved::Null => Self::Json(Cow::Owned(Value::Null)),
                Resolved::Text(text) => Self::Text(text),
                Resolved::Json(json) => Self::Json(Cow::Owned(json.to_value())),
            },
        }
    }

    fn of_value(value: &'a Value) -> Self {
        match value {
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            other => Self::Json(Cow::Borrowed(other)),
        }
    }

    fn is_equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::Json(left), Self::Json(right)) => are_equal(left, right),
            (Self::List(left), Self::List(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(l, r)| l.is_equal(r))
            }
            (Self::List(list), Self::Json(json)) | (Self::Json(json), Self::List(list)) => {
                let items = json.as_array();
                items.is_some_and(|items| {
                    items.len() == list.len()
                        && items
                            .iter()
                            .zip(list)
                            .all(|(item, term)| Term::of_value(item).is_equal(term))
                })
            }
            (Self::Text(_), Self::Json(_) | Self::List(_))
            | (Self::Json(_) | Self::List(_), Self::Text(_)) => false,
        }
    }

    fn is_in(&self, other: &Self) -> bool {
        match other {
            Self::List(items) => items.iter().any(|item| self.is_equal(item)),
            Self::Text(text) => matches!(self, Self::Text(part) if text.contains(part.as_ref())),
            Self::Json(json) => json
                .as_array()
                .is_some_and(|items| items.iter().any(|item| Term::of_value(item).is_equal(self))),
        }
    }
}

/// Whether two values are equal, where numbers are equal by value. Recurses as deep as the parser.
fn are_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => are_equal_numbers(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| are_equal(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| are_equal(value, other)))
        }
        (left, right) => left == right,
    }
}

fn are_equal_numbers(left: &Number, right: &Number) -> bool {
    // Two integers are compared exactly: not every one has a float.
    if left.is_f64() || right.is_f64() {
        return left.as_f64() == right.as_f64();
    }
    left == right
}
