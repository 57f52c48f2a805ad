//! The arguments of a call in a condition.

use super::{CallCondition, CallFact, CallValue, Comparison, Operand};
use crate::{
    reference::steps,
    syntax::{self, Unparsed},
};
use serde_json::{Map, Value};
use std::fmt;
use winnow::{combinator::opt, error::ModalResult, prelude::*};

/// The value that an argument alone is compared with.
const TRUE: Value = Value::Bool(true);

/// The path to a part of the arguments of a call, such as `amount`, `to.0` or `headers['X-Id']`. A
/// name that has other characters, begins with a digit or is a keyword follows `$`: `$['a key']`,
/// `$.in`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentPath(Vec<String>);

/// An argument in a comparison, with the literal on its other side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedArgument<'a> {
    /// The argument.
    pub path: &'a ArgumentPath,
    /// The literal; absent where another argument, a list or nothing is.
    pub literal: Option<&'a Value>,
    /// Whether it is added to others, so that it has to be a number.
    pub is_added: bool,
}

impl ArgumentPath {
    /// Returns its steps; there is at least one.
    #[must_use]
    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// Returns it as a JSON pointer, by which its sums are stored.
    #[must_use]
    pub fn pointer(&self) -> String {
        let steps = self.0.iter();
        let steps = steps.map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1")));
        steps.collect()
    }

    /// Returns the value; `None` if the arguments lack it, or have null.
    #[must_use]
    pub fn find<'v>(&self, input: &'v Map<String, Value>) -> Option<&'v Value> {
        let (first, rest) = self.0.split_first()?;
        let found = rest
            .iter()
            .try_fold(input.get(first)?, |value, step| match value {
                Value::Object(fields) => fields.get(step),
                Value::Array(items) => items.get(step.parse::<usize>().ok()?),
                _ => None,
            });
        found.filter(|value| !value.is_null())
    }
}

impl fmt::Display for ArgumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

impl ArgumentPath {
    pub(super) fn parse(source: &mut Unparsed<'_>) -> ModalResult<Self> {
        let mut path = match opt('$').parse_next(source)? {
            Some(_) => Vec::new(),
            None => {
                let is_name =
                    |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
                vec![syntax::word.verify(is_name).parse_next(source)?.to_owned()]
            }
        };
        path.append(&mut steps(source)?);
        match path.is_empty() {
            true => syntax::refuse(source, "a key after `$`, as in `$['a key']`"),
            false => Ok(Self(path)),
        }
    }
}

impl CallCondition {
    /// Returns the arguments that it compares or adds, in the order of the text.
    #[must_use]
    pub fn compared(&self) -> Vec<ComparedArgument<'_>> {
        let mut found = Vec::new();
        self.root.each_comparison(&mut |operands, comparison| {
            for (at, operand) in operands.iter().enumerate() {
                let other = operands.get(1 - at.min(1)).filter(|_| operands.len() > 1);
                add(&mut found, operand, (comparison, at == 0), other.copied());
            }
        });
        found
    }
}

/// Adds the arguments of an operand of a comparison, which is the first or the second one.
fn add<'a>(
    found: &mut Vec<ComparedArgument<'a>>,
    operand: &'a Operand<CallValue>,
    (comparison, is_first): (Option<Comparison>, bool),
    other: Option<&'a Operand<CallValue>>,
) {
    let mut push = |path, literal, is_added| {
        found.push(ComparedArgument {
            path,
            literal,
            is_added,
        });
    };
    let path = match operand {
        Operand::Reference(CallValue::Argument(path)) => path,
        Operand::Reference(CallValue::Fact(CallFact::Sum { argument, .. })) => {
            return push(argument, None, true);
        }
        Operand::Reference(CallValue::Fact(_)) | Operand::Literal(_) => return,
        Operand::List(items) => {
            return items
                .iter()
                .for_each(|item| add(found, item, (comparison, is_first), None));
        }
        Operand::Total(terms) => {
            let mut values = Vec::new();
            terms.iter().for_each(|(_, term)| term.collect(&mut values));
            return values
                .into_iter()
                .filter_map(CallValue::number)
                .for_each(|path| push(path, None, true));
        }
    };
    let is_in = comparison == Some(Comparison::In);
    match other {
        None => push(path, comparison.is_none().then_some(&TRUE), false),
        // Part of a text, or in a list.
        Some(Operand::Literal(_)) if is_in && !is_first => push(path, None, false),
        Some(Operand::Literal(literal)) => push(path, Some(literal), false),
        Some(Operand::List(items)) if is_in && is_first => {
            for item in items {
                let literal = match item {
                    Operand::Literal(literal) => Some(literal),
                    _ => None,
                };
                push(path, literal, false);
            }
        }
        Some(other) => push(path, None, other.is_number()),
    }
}
