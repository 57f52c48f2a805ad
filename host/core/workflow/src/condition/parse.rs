//! The grammar of conditions.

use super::{Comparison, ConditionNode, MAX_CONDITION_DEPTH, Operand};
use crate::{
    reference::reference,
    syntax::{self, Unparsed, expected, is_id_char, keyword, token},
};
use serde_json::{Number, Value};
use winnow::{
    ascii::{digit1, multispace0},
    combinator::{alt, cut_err, delimited, eof, not, opt, preceded, separated, terminated},
    error::ModalResult,
    prelude::*,
    token::one_of,
};

const OPERAND: &str = "a reference, a quoted text, a number, `true`, `false`, `null` or a list";

/// Parses a whole condition.
pub(super) fn condition(source: &mut Unparsed<'_>) -> ModalResult<ConditionNode> {
    let end = cut_err(eof).context(expected("`==`, `!=`, `in`, `and`, `or` or the end"));
    terminated(any_of, (multispace0, end)).parse_next(source)
}

fn any_of(source: &mut Unparsed<'_>) -> ModalResult<ConditionNode> {
    let nodes: Vec<ConditionNode> = separated(1.., all_of, keyword("or")).parse_next(source)?;
    Ok(single(nodes, ConditionNode::Any))
}

fn all_of(source: &mut Unparsed<'_>) -> ModalResult<ConditionNode> {
    let nodes: Vec<ConditionNode> =
        separated(1.., cut_err(one), keyword("and")).parse_next(source)?;
    Ok(single(nodes, ConditionNode::All))
}

/// Joins several nodes, and leaves a single one alone.
fn single(
    mut nodes: Vec<ConditionNode>,
    join: fn(Vec<ConditionNode>) -> ConditionNode,
) -> ConditionNode {
    match nodes.pop() {
        Some(only) if nodes.is_empty() => only,
        Some(last) => {
            nodes.push(last);
            join(nodes)
        }
        None => join(nodes),
    }
}

fn one(source: &mut Unparsed<'_>) -> ModalResult<ConditionNode> {
    if opt(keyword("not")).parse_next(source)?.is_some() {
        let negated = deeper(source, cut_err(one))?;
        return Ok(ConditionNode::Not(Box::new(negated)));
    }
    if opt(token("(")).parse_next(source)?.is_some() {
        let group = deeper(source, any_of)?;
        cut_err(token(")"))
            .context(expected("`)`"))
            .parse_next(source)?;
        return Ok(group);
    }
    comparison(source)
}

/// Parses a part with one more level around it.
fn deeper<'i>(
    source: &mut Unparsed<'i>,
    mut part: impl Parser<
        Unparsed<'i>,
        ConditionNode,
        winnow::error::ErrMode<winnow::error::ContextError>,
    >,
) -> ModalResult<ConditionNode> {
    if source.state >= MAX_CONDITION_DEPTH {
        return syntax::refuse(source, "at most 32 levels of parentheses and `not`");
    }
    source.state += 1;
    let node = part.parse_next(source)?;
    source.state -= 1;
    Ok(node)
}

fn comparison(source: &mut Unparsed<'_>) -> ModalResult<ConditionNode> {
    let left = operand(source)?;
    let comparison = opt(alt((
        token("==").value(Comparison::Equal),
        token("!=").value(Comparison::Unequal),
        keyword("in").value(Comparison::In),
    )))
    .parse_next(source)?;
    match comparison {
        None => Ok(ConditionNode::IsTrue(left)),
        Some(comparison) => {
            let right = cut_err(operand).parse_next(source)?;
            Ok(ConditionNode::Compare(left, comparison, right))
        }
    }
}

fn operand(source: &mut Unparsed<'_>) -> ModalResult<Operand> {
    let list = delimited(
        token("["),
        separated(0.., scalar, token(",")),
        cut_err(token("]")).context(expected("`,` or `]`")),
    );
    alt((list.map(Operand::List), scalar))
        .context(expected(OPERAND))
        .parse_next(source)
}

fn scalar(source: &mut Unparsed<'_>) -> ModalResult<Operand> {
    let literal = alt((
        syntax::quoted.map(Value::String),
        number.map(Value::Number),
        keyword("true").value(Value::Bool(true)),
        keyword("false").value(Value::Bool(false)),
        keyword("null").value(Value::Null),
    ));
    preceded(
        multispace0,
        alt((
            literal.map(Operand::Literal),
            reference.map(Operand::Reference),
        )),
    )
    .parse_next(source)
}

/// Parses a number; `1.text` is a reference, since ids may be digits.
fn number(source: &mut Unparsed<'_>) -> ModalResult<Number> {
    let digits = (opt('-'), digit1, opt(('.', digit1)));
    terminated(digits.take(), not(one_of(|c| is_id_char(c) || c == '.')))
        .verify_map(|text: &str| text.parse().ok())
        .parse_next(source)
}
