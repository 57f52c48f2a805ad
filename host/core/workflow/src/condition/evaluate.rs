//! The evaluation of conditions. Text is compared in place; JSON is parsed where it is compared.

use super::{Comparison, ConditionNode, Operand, Sign};
use crate::value::Resolved;
use agent_host_types::{
    facts::{from_millionths, to_millionths},
    json::is_equal,
};
use serde_json::{Number, Value};
use std::{borrow::Cow, cmp::Ordering};

/// How values of different types compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Types {
    /// They differ, and have no order.
    Differ,
    /// A tool may convert one, so they may be equal and in any order.
    MayMeanTheSame,
}

/// The knowledge of a condition. Of one about a missing value nothing is certain and nothing
/// possible; of one about a value that may mean another, both is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Truth {
    pub(super) surely_holds: bool,
    surely_fails: bool,
    pub(super) may_hold: bool,
    may_fail: bool,
}

impl Truth {
    const MISSING: Self = Self {
        surely_holds: false,
        surely_fails: false,
        may_hold: false,
        may_fail: false,
    };

    fn known(holds: bool) -> Self {
        Self {
            surely_holds: holds,
            surely_fails: !holds,
            may_hold: holds,
            may_fail: !holds,
        }
    }

    fn of_any(of: &[Self]) -> Self {
        Self {
            surely_holds: of.iter().any(|truth| truth.surely_holds),
            surely_fails: of.iter().all(|truth| truth.surely_fails),
            may_hold: of.iter().any(|truth| truth.may_hold),
            may_fail: of.iter().all(|truth| truth.may_fail),
        }
    }

    fn negated(self) -> Self {
        Self {
            surely_holds: self.surely_fails,
            surely_fails: self.surely_holds,
            may_hold: self.may_fail,
            may_fail: self.may_hold,
        }
    }
}

impl Types {
    /// Returns what is known of a comparison of two types.
    fn mixed(self, holds: bool) -> Truth {
        match self {
            Self::Differ => Truth::known(holds),
            Self::MayMeanTheSame => Truth {
                may_hold: true,
                may_fail: true,
                ..Truth::MISSING
            },
        }
    }

    /// Two values without an order are in none, and not in none either.
    fn unordered(self) -> Truth {
        match self {
            Self::Differ => Truth::MISSING,
            Self::MayMeanTheSame => self.mixed(false),
        }
    }

    fn are_equal(self, left: &Term<'_>, right: &Term<'_>) -> Truth {
        match left.has_type_of(right) && !matches!(left, Term::Unknown) {
            true => Truth::known(left.is_equal(right)),
            false => self.mixed(false),
        }
    }

    fn compare(self, left: &Term<'_>, comparison: Comparison, right: &Term<'_>) -> Truth {
        let in_order = |holds: fn(Ordering) -> bool| match left.order(right) {
            Some(order) => Truth::known(holds(order)),
            None => self.unordered(),
        };
        match comparison {
            Comparison::Equal => self.are_equal(left, right),
            Comparison::Unequal => self.are_equal(left, right).negated(),
            Comparison::In => self.is_in(left, right),
            Comparison::Less => in_order(Ordering::is_lt),
            Comparison::LessOrEqual => in_order(Ordering::is_le),
            Comparison::Greater => in_order(Ordering::is_gt),
            Comparison::GreaterOrEqual => in_order(Ordering::is_ge),
        }
    }

    fn is_in(self, left: &Term<'_>, right: &Term<'_>) -> Truth {
        match (left, right) {
            (_, Term::List(items)) => {
                let items = items.iter().map(|item| self.are_equal(left, item));
                Truth::of_any(&items.collect::<Vec<_>>())
            }
            (Term::Text(part), Term::Text(text)) => Truth::known(text.contains(part.as_ref())),
            (_, Term::Json(json)) => match json.as_array() {
                Some(items) => {
                    let items = items.iter().map(|item| self.are_equal(left, &item.into()));
                    Truth::of_any(&items.collect::<Vec<_>>())
                }
                None => self.mixed(false),
            },
            (_, Term::Text(_) | Term::Unknown) => self.mixed(false),
        }
    }

    /// Judges a condition. `value_of` is `None` for a missing value.
    pub(super) fn judge<'a, R>(
        self,
        node: &'a ConditionNode<R>,
        value_of: &impl Fn(&'a R) -> Option<Term<'a>>,
    ) -> Truth {
        let all =
            |nodes: &'a [ConditionNode<R>]| nodes.iter().map(|node| self.judge(node, value_of));
        match node {
            ConditionNode::Any(nodes) => Truth::of_any(&all(nodes).collect::<Vec<_>>()),
            // All hold unless any fails.
            ConditionNode::All(nodes) => {
                let fails = all(nodes).map(Truth::negated);
                Truth::of_any(&fails.collect::<Vec<_>>()).negated()
            }
            ConditionNode::Not(node) => self.judge(node, value_of).negated(),
            ConditionNode::IsTrue(operand) => match self.value(operand, value_of) {
                Some(Term::Json(value)) if value.is_boolean() => {
                    Truth::known(*value == Value::Bool(true))
                }
                Some(_) => self.mixed(false),
                None => Truth::MISSING,
            },
            ConditionNode::Compare(left, comparison, right) => {
                match (self.value(left, value_of), self.value(right, value_of)) {
                    (Some(left), Some(right)) => self.compare(&left, *comparison, &right),
                    _ => Truth::MISSING,
                }
            }
        }
    }
}

impl Types {
    /// Returns the value of an operand; `None` if it, or a part of it, is missing.
    fn value<'a, R>(
        self,
        operand: &'a Operand<R>,
        value_of: &impl Fn(&'a R) -> Option<Term<'a>>,
    ) -> Option<Term<'a>> {
        match operand {
            Operand::Literal(value) => Some(value.into()),
            Operand::List(items) => {
                let items = items.iter().map(|item| self.value(item, value_of));
                items.collect::<Option<_>>().map(Term::List)
            }
            Operand::Reference(reference) => value_of(reference),
            Operand::Total(terms) => {
                let terms = terms
                    .iter()
                    .map(|(sign, term)| Some((*sign, self.value(term, value_of)?)));
                let terms = terms.collect::<Option<Vec<_>>>()?;
                Some(match (total(&terms), self) {
                    (Some(total), _) => Term::Json(Cow::Owned(Value::Number(total))),
                    // A tool may read something else as a number.
                    (None, Self::MayMeanTheSame) => Term::Unknown,
                    (None, Self::Differ) => Term::Json(Cow::Owned(Value::Null)),
                })
            }
        }
    }
}

/// Returns the total of numbers; `None` if one is not a number, or the total has no form in JSON.
fn total(terms: &[(Sign, Term<'_>)]) -> Option<Number> {
    let numbers = terms.iter().map(|(sign, term)| match term {
        Term::Json(value) => value.as_number().map(|number| (*sign, number)),
        Term::Text(_) | Term::List(_) | Term::Unknown => None,
    });
    let numbers: Vec<(Sign, &Number)> = numbers.collect::<Option<_>>()?;
    let exact = numbers.iter().try_fold(0_i128, |total, (sign, number)| {
        let added = to_millionths(number).filter(|it| {
            from_millionths(*it)
                .is_some_and(|near| order_of_numbers(&near, number) == Some(Ordering::Equal))
        })?;
        match sign {
            Sign::Plus => total.checked_add(added),
            Sign::Minus => total.checked_sub(added),
        }
    });
    if let Some(exact) = exact {
        return from_millionths(exact);
    }
    let total = numbers.iter().try_fold(0.0, |total, (sign, number)| {
        let added = number.as_f64()?;
        Some(match sign {
            Sign::Plus => total + added,
            Sign::Minus => total - added,
        })
    });
    Number::from_f64(total?)
}

/// The value of an operand. A string is always a text.
pub(super) enum Term<'a> {
    Text(Cow<'a, str>),
    Json(Cow<'a, Value>),
    List(Vec<Term<'a>>),
    /// Some value, of which nothing is known.
    Unknown,
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
            | (Self::Json(_) | Self::List(_), Self::Text(_))
            | (Self::Unknown, _)
            | (_, Self::Unknown) => false,
        }
    }

    /// Whether two values have one type, and so are equal or not.
    fn has_type_of(&self, other: &Self) -> bool {
        let kind = |term: &Self| match term {
            Self::Text(_) => Some(5),
            Self::List(_) => Some(4),
            Self::Unknown => Some(6),
            Self::Json(json) => match json.as_ref() {
                Value::Null => None,
                Value::Bool(_) => Some(1),
                Value::Number(_) => Some(2),
                Value::Object(_) => Some(3),
                Value::Array(_) => Some(4),
                Value::String(_) => Some(5),
            },
        };
        kind(self) == kind(other)
    }
}

/// Numbers are compared exactly: not every integer has a float.
fn order_of_numbers(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (None, None) => left.as_f64()?.partial_cmp(&right.as_f64()?),
        (Some(whole), None) => Some(order_with_float(whole, right.as_f64()?)),
        (None, Some(whole)) => Some(order_with_float(whole, left.as_f64()?).reverse()),
    }
}

/// Returns the order of an integer of JSON, which has at most 64 bits, and a float that is a number.
#[expect(
    clippy::cast_possible_truncation,
    reason = "it saturates, beyond each integer of JSON"
)]
fn order_with_float(whole: i128, float: f64) -> Ordering {
    let rest = 0.0_f64.total_cmp(&float.fract());
    whole.cmp(&(float.trunc() as i128)).then(rest)
}
