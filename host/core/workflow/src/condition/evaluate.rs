//! The evaluation of conditions. Text is compared in place; JSON is parsed where it is compared.

use super::{Comparison, ConditionNode, Operand};
use crate::value::Resolved;
use agent_host_types::json::is_equal;
use serde_json::{Number, Value};
use std::{borrow::Cow, cmp::Ordering};

/// The knowledge of a condition. Of one about a missing value neither is true, and of a number
/// compared with a text both are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Truth {
    may_hold: bool,
    may_fail: bool,
}

impl Truth {
    const UNKNOWN: Self = Self {
        may_hold: false,
        may_fail: false,
    };

    fn known(holds: bool) -> Self {
        Self {
            may_hold: holds,
            may_fail: !holds,
        }
    }

    /// Whether it holds, whatever a value of another type may mean.
    pub(super) fn is_certain(self) -> bool {
        self.may_hold && !self.may_fail
    }

    /// Whether it holds, or would if a value of another type meant what it is compared with.
    pub(super) fn is_possible(self) -> bool {
        self.may_hold
    }
}

pub(super) fn judge<'a, R>(
    node: &'a ConditionNode<R>,
    value_of: &impl Fn(&'a R) -> Option<Term<'a>>,
) -> Truth {
    let all = |nodes: &'a [ConditionNode<R>]| nodes.iter().map(|node| judge(node, value_of));
    match node {
        ConditionNode::Any(nodes) => Truth {
            may_hold: all(nodes).any(|truth| truth.may_hold),
            may_fail: all(nodes).all(|truth| truth.may_fail),
        },
        ConditionNode::All(nodes) => Truth {
            may_hold: all(nodes).all(|truth| truth.may_hold),
            may_fail: all(nodes).any(|truth| truth.may_fail),
        },
        ConditionNode::Not(node) => {
            let Truth { may_hold, may_fail } = judge(node, value_of);
            Truth {
                may_hold: may_fail,
                may_fail: may_hold,
            }
        }
        ConditionNode::IsTrue(operand) => match Term::of(operand, value_of) {
            Some(Term::Json(value)) => Truth::known(*value == Value::Bool(true)),
            Some(Term::Text(_) | Term::List(_)) => Truth::known(false),
            None => Truth::UNKNOWN,
        },
        ConditionNode::Compare(left, comparison, right) => {
            match (Term::of(left, value_of), Term::of(right, value_of)) {
                (Some(left), Some(right)) => compare(&left, *comparison, &right),
                _ => Truth::UNKNOWN,
            }
        }
    }
}

fn compare(left: &Term<'_>, comparison: Comparison, right: &Term<'_>) -> Truth {
    let in_order = |holds: fn(Ordering) -> bool| match left.order(right) {
        Some(order) => Truth::known(holds(order)),
        None => Truth {
            may_hold: true,
            may_fail: true,
        },
    };
    match comparison {
        Comparison::Equal => Truth::known(left.is_equal(right)),
        Comparison::Unequal => Truth::known(!left.is_equal(right)),
        Comparison::In => Truth::known(left.is_in(right)),
        Comparison::Less => in_order(Ordering::is_lt),
        Comparison::LessOrEqual => in_order(Ordering::is_le),
        Comparison::Greater => in_order(Ordering::is_gt),
        Comparison::GreaterOrEqual => in_order(Ordering::is_ge),
    }
}

/// The value of an operand. A string is always a text.
pub(super) enum Term<'a> {
    Text(Cow<'a, str>),
    Json(Cow<'a, Value>),
    List(Vec<Term<'a>>),
}

impl<'a> From<Resolved<'a>> for Term<'a> {
    fn from(resolved: Resolved<'a>) -> Self {
        match resolved {
            Resolved::Null => Self::Json(Cow::Owned(Value::Null)),
            Resolved::Text(text) => Self::Text(text),
            Resolved::Json(json) => Self::Json(Cow::Owned(json.to_value())),
        }
    }
}

impl<'a> From<&'a Value> for Term<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            other => Self::Json(Cow::Borrowed(other)),
        }
    }
}

impl<'a> Term<'a> {
    /// Returns the value; `None` if it, or one in the list, is missing.
    fn of<R>(
        operand: &'a Operand<R>,
        value_of: &impl Fn(&'a R) -> Option<Term<'a>>,
    ) -> Option<Self> {
        match operand {
            Operand::Literal(value) => Some(value.into()),
            Operand::List(items) => {
                let items = items.iter().map(|item| Self::of(item, value_of));
                items.collect::<Option<_>>().map(Self::List)
            }
            Operand::Reference(reference) => value_of(reference),
        }
    }

    /// Returns the order of two numbers or two texts; `None` for anything else.
    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(left), Self::Text(right)) => Some(left.cmp(right)),
            (Self::Json(left), Self::Json(right)) => match (left.as_ref(), right.as_ref()) {
                (Value::Number(left), Value::Number(right)) => order_of_numbers(left, right),
                _ => None,
            },
            _ => None,
        }
    }

    fn is_equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::Json(left), Self::Json(right)) => is_equal(left, right),
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
                            .all(|(item, term)| Term::from(item).is_equal(term))
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
                .is_some_and(|items| items.iter().any(|item| Term::from(item).is_equal(self))),
        }
    }
}

/// Two integers are compared exactly: not every one has a float.
fn order_of_numbers(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}
