//! The conditions of edges: comparisons of outputs and literals, joined by `and`, `or` and `not`.
//! Parsed once, when the definition is checked; never evaluated as code.
//!
//! ```text
//! condition  = all, { "or", all } ;
//! all        = one, { "and", one } ;
//! one        = "not", one | "(", condition, ")" | comparison ;
//! comparison = operand, [ ( "==" | "!=" | "in" ), operand ] ;
//! operand    = reference | quoted text | number | "true" | "false" | "null" | list ;
//! list       = "[", [ operand, { ",", operand } ], "]" ;
//! ```
//!
//! Comparison is typed: `1 == 1.0`, and `'1' != 1`. `in` is membership of a list, or part of a
//! text. An operand alone holds if it is `true`. An unknown path is null.

mod evaluate;
mod parse;
#[cfg(test)]
mod tests;

use crate::{
    reference::Reference,
    syntax::{self, SyntaxError},
    value::Resolved,
};
use serde_json::Value;
use std::str::FromStr;

/// The longest condition, in bytes.
pub const MAX_CONDITION_BYTES: usize = 4 * 1024;

/// The most parentheses and negations around an operand.
pub const MAX_CONDITION_DEPTH: usize = 32;

/// A parsed condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    root: ConditionNode,
    text: String,
}

/// A part of a condition. Drop and evaluation recurse at most [`MAX_CONDITION_DEPTH`] deep.
#[derive(Clone, Debug, PartialEq)]
enum ConditionNode {
    Any(Vec<ConditionNode>),
    All(Vec<ConditionNode>),
    Not(Box<ConditionNode>),
    Compare(Operand, Comparison, Operand),
    IsTrue(Operand),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    In,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Reference(Reference),
    Literal(Value),
    /// Literals and references.
    List(Vec<Operand>),
}

impl FromStr for Condition {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
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
}

impl Condition {
    /// Returns the text of the definition.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the condition holds with these values of references.
    pub(crate) fn holds<'a>(&self, value_of: &impl Fn(&Reference) -> Resolved<'a>) -> bool {
        evaluate::holds(&self.root, value_of)
    }

    /// Returns the references, in the order of the text.
    #[must_use]
    pub fn references(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        collect(&self.root, &mut found);
        found
    }
}

fn collect<'a>(node: &'a ConditionNode, found: &mut Vec<&'a Reference>) {
    match node {
        ConditionNode::Any(nodes) | ConditionNode::All(nodes) => {
            nodes.iter().for_each(|node| collect(node, found))
        }
        ConditionNode::Not(node) => collect(node, found),
        ConditionNode::Compare(left, _, right) => {
            collect_operand(left, found);
            collect_operand(right, found);
        }
        ConditionNode::IsTrue(operand) => collect_operand(operand, found),
    }
}

fn collect_operand<'a>(operand: &'a Operand, found: &mut Vec<&'a Reference>) {
    match operand {
        Operand::Reference(reference) => found.push(reference),
        Operand::Literal(_) => {}
        Operand::List(items) => items.iter().for_each(|item| collect_operand(item, found)),
    }
}
