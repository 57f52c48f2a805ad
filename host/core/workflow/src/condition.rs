//! Conditions: comparisons of values and literals, joined by `and`, `or` and `not`. Those of a
//! workflow's edges are about outputs, and those of the policy's rules about a call: its arguments,
//! and facts such as the time.
//! Parsed once, when the definition is checked; never evaluated as code.
//!
//! ```text
//! condition  = all, { "or", all } ;
//! all        = one, { "and", one } ;
//! one        = "not", one | "(", condition, ")" | comparison ;
//! comparison = operand, [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" ), operand ] ;
//! operand    = list | value, { ( "+" | "-" ), value } ;
//! value      = reference | quoted text | number | "true" | "false" | "null" ;
//! list       = "[", [ value, { ",", value } ], "]" ;
//! ```
//!
//! Comparison is typed: `1 == 1.0`, and `'1' != 1`. Numbers and texts have an order, and neither is
//! before the other. `in` is membership of a list, or part of a text. An operand alone holds if it
//! is `true`. An unknown path of an output is null. `+` and `-` are of numbers, exact for integers of
//! JSON and for up to six decimals; names may have a `-`, so it has spaces around it.

mod argument;
mod call;
mod evaluate;
mod parse;
#[cfg(test)]
mod tests;

pub use argument::{ArgumentPath, ComparedArgument};
pub use call::{CallCondition, CallFact, CallValue, UtcOffset};

use crate::{
    reference::Reference,
    syntax::{self, SyntaxError},
    value::Resolved,
};
use evaluate::Types;
use serde_json::Value;
use std::str::FromStr;

/// The longest condition, in bytes.
pub const MAX_CONDITION_BYTES: usize = 4 * 1024;

/// The most parentheses and negations around an operand.
pub const MAX_CONDITION_DEPTH: usize = 32;

/// A parsed condition about what a `R` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition<R = Reference> {
    root: ConditionNode<R>,
    text: String,
}

/// A part of a condition. Drop and evaluation recurse at most [`MAX_CONDITION_DEPTH`] deep.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ConditionNode<R> {
    Any(Vec<ConditionNode<R>>),
    All(Vec<ConditionNode<R>>),
    Not(Box<ConditionNode<R>>),
    Compare(Operand<R>, Comparison, Operand<R>),
    IsTrue(Operand<R>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operand<R> {
    Reference(R),
    Literal(Value),
    /// Literals and references.
    List(Vec<Operand<R>>),
    /// Two or more numbers that are added, or subtracted.
    Total(Vec<(Sign, Operand<R>)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
}

impl FromStr for Condition {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        Self::parse(text)
    }
}

impl<R> Condition<R> {
    fn parse(text: &str) -> Result<Self, SyntaxError>
    where
        R: parse::Named,
    {
        if text.len() > MAX_CONDITION_BYTES {
            return Err(SyntaxError {
                expected: "at most 4,096 bytes",
                column: 1,
            });
        }
        Ok(Self {
            root: syntax::parse_all(parse::condition, text)?,
            text: text.trim().to_owned(),
        })
    }

    /// Returns the text of the definition.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns what it names, in the order of the text.
    #[must_use]
    pub fn references(&self) -> Vec<&R> {
        let mut found = Vec::new();
        self.root.each_comparison(&mut |operands, _| {
            for operand in operands {
                operand.collect(&mut found);
            }
        });
        found
    }
}

impl Condition {
    /// Returns whether the condition holds with these values of references.
    pub(crate) fn holds<'a>(&self, value_of: &impl Fn(&Reference) -> Resolved<'a>) -> bool {
        let truth = Types::Differ.judge(&self.root, &|reference| Some(value_of(reference).into()));
        truth.surely_holds
    }
}

impl<R> ConditionNode<R> {
    /// Visits the operands of each comparison, in the order of the text. An operand alone is compared
    /// with nothing.
    fn each_comparison<'a>(
        &'a self,
        visit: &mut impl FnMut(&[&'a Operand<R>], Option<Comparison>),
    ) {
        match self {
            Self::Any(nodes) | Self::All(nodes) => {
                for node in nodes {
                    node.each_comparison(visit);
                }
            }
            Self::Not(node) => node.each_comparison(visit),
            Self::Compare(left, comparison, right) => visit(&[left, right], Some(*comparison)),
            Self::IsTrue(operand) => visit(&[operand], None),
        }
    }
}

impl<R> Operand<R> {
    fn has_null(&self) -> bool {
        match self {
            Self::Reference(_) => false,
            Self::Literal(value) => value.is_null(),
            Self::List(items) => items.iter().any(Self::has_null),
            Self::Total(_) => false,
        }
    }

    fn collect<'a>(&'a self, found: &mut Vec<&'a R>) {
        match self {
            Self::Reference(reference) => found.push(reference),
            Self::Literal(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.collect(found)),
            Self::Total(terms) => terms.iter().for_each(|(_, term)| term.collect(found)),
        }
    }
}
