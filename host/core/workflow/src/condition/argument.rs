//! Conditions about the arguments of a call.

use super::{
    Comparison, Condition, Operand,
    evaluate::{Term, Types},
    parse::Named,
};
use crate::{
    reference::steps,
    syntax::{self, SyntaxError, Unparsed},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{fmt, str::FromStr};
use winnow::{combinator::opt, error::ModalResult, prelude::*};

/// The value that an argument alone is compared with.
const TRUE: Value = Value::Bool(true);

/// A condition about the arguments of a call, such as `amount <= 500 and currency == 'EUR'`.
///
/// ```
/// use agent_host_workflow::condition::ArgumentCondition;
/// use serde_json::json;
///
/// let condition: ArgumentCondition = "amount <= 500 and currency == 'EUR'".parse()?;
/// let holds = |input: serde_json::Value| condition.holds(input.as_object().unwrap(), false);
/// assert!(holds(json!({"amount": 12.5, "currency": "EUR"})));
/// assert!(!holds(json!({"amount": 501, "currency": "EUR"})));
/// // A missing value satisfies nothing.
/// assert!(!holds(json!({"currency": "EUR"})));
/// # Ok::<(), agent_host_workflow::reference::SyntaxError>(())
/// ```
pub type ArgumentCondition = Condition<ArgumentPath>;

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
}

impl ArgumentPath {
    /// Returns its steps; there is at least one.
    #[must_use]
    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// Returns the value; `None` if the arguments lack it, or have null.
    fn find<'v>(&self, input: &'v Map<String, Value>) -> Option<&'v Value> {
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

impl Named for ArgumentPath {
    const OPERAND: &'static str =
        "an argument, a quoted text, a number, `true`, `false`, `null` or a list";

    fn parse(source: &mut Unparsed<'_>) -> ModalResult<Self> {
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

impl FromStr for ArgumentCondition {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        let condition = Self::parse(text)?;
        let mut has_null = false;
        condition.root.each_comparison(&mut |operands, _| {
            has_null |= operands.iter().any(|operand| operand.has_null());
        });
        match has_null {
            true => Err(SyntaxError {
                expected: "a value other than null, since no condition about a missing argument holds,",
                column: text.find("null").unwrap_or_default() + 1,
            }),
            false => Ok(condition),
        }
    }
}

impl ArgumentCondition {
    /// Returns whether it holds for these arguments. One about a value that they lack does not,
    /// negated or not. `is_possible` is whether it is enough that it may hold: a tool may read `"600"`
    /// as a number and `["a"]` as a text, so `amount > 500` may hold for `"600"`, and surely does not.
    #[must_use]
    pub fn holds(&self, input: &Map<String, Value>, is_possible: bool) -> bool {
        let types = Types::MayMeanTheSame;
        let truth = types.judge(&self.root, &|path: &ArgumentPath| {
            path.find(input).map(Term::from)
        });
        match is_possible {
            true => truth.may_hold,
            false => truth.surely_holds,
        }
    }

    /// Returns the arguments that it compares, in the order of the text.
    #[must_use]
    pub fn compared(&self) -> Vec<ComparedArgument<'_>> {
        let mut found = Vec::new();
        let mut add = |path, literal| found.push(ComparedArgument { path, literal });
        self.root.each_comparison(&mut |operands, comparison| {
            match (operands, comparison) {
                ([Operand::Reference(path)], None) => add(path, Some(&TRUE)),
                // Part of a text, or in a list.
                ([Operand::Literal(_), Operand::Reference(path)], Some(Comparison::In)) => {
                    add(path, None);
                }
                (
                    [Operand::Reference(path), Operand::Literal(literal)]
                    | [Operand::Literal(literal), Operand::Reference(path)],
                    _,
                ) => add(path, Some(literal)),
                ([Operand::Reference(path), Operand::List(items)], Some(Comparison::In)) => {
                    for item in items {
                        match item {
                            Operand::Literal(literal) => add(path, Some(literal)),
                            _ => add(path, None),
                        }
                    }
                }
                (others, _) => {
                    let mut paths = Vec::new();
                    for operand in others {
                        operand.collect(&mut paths);
                    }
                    paths.into_iter().for_each(|path| add(path, None));
                }
            }
        });
        found
    }
}

impl Serialize for ArgumentCondition {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_str().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ArgumentCondition {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
