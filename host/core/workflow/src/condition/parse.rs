//! The grammar of conditions.

use super::{Comparison, ConditionNode, MAX_CONDITION_DEPTH, Operand, Sign};
use crate::{
    reference::{Reference, reference},
    syntax::{self, Unparsed, expected, is_id_char, keyword, token},
};
use serde_json::{Number, Value};
use winnow::{
    ascii::{digit1, multispace0},
    combinator::{alt, cut_err, delimited, eof, not, opt, preceded, repeat, separated, terminated},
    error::ModalResult,
    prelude::*,
    token::one_of,
};

/// A name in a condition.
pub(super) trait Named: Sized {
    /// The forms of an operand.
    const OPERAND: &'static str;

    fn parse(source: &mut Unparsed<'_>) -> ModalResult<Self>;
}

impl Named for Reference {
    const OPERAND: &'static str =
        "a reference, a quoted text, a number, `true`, `false`, `null` or a list";

    fn parse(source: &mut Unparsed<'_>) -> ModalResult<Self> {
        reference(source)
    }
}

/// Parses a whole condition.
pub(super) fn condition<R: Named>(source: &mut Unparsed<'_>) -> ModalResult<ConditionNode<R>> {
    let end = cut_err(eof).context(expected(
        "`==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `+`, `-`, `and`, `or` or the end",
    ));
    terminated(any_of, (multispace0, end)).parse_next(source)
}

fn any_of<R: Named>(source: &mut Unparsed<'_>) -> ModalResult<ConditionNode<R>> {
    let nodes: Vec<ConditionNode<R>> = separated(1.., all_of, keyword("or")).parse_next(source)?;
    Ok(single(nodes, ConditionNode::Any))
}

fn all_of<R: Named>(source: &mut Unparsed<'_>) -> ModalResult<ConditionNode<R>> {
    let nodes: Vec<ConditionNode<R>> =
        separated(1.., cut_err(one), keyword("and")).parse_next(source)?;
    Ok(single(nodes, ConditionNode::All))
}

/// Joins several nodes, and leaves a single one alone.
fn single<R>(
    mut nodes: Vec<ConditionNode<R>>,
    join: fn(Vec<ConditionNode<R>>) -> ConditionNode<R>,
) -> ConditionNode<R> {
    match nodes.pop() {
        Some(only) if nodes.is_empty() => only,
        Some(last) => {
            nodes.push(last);
            join(nodes)
        }
        None => join(nodes),
    }
}

fn one<R: Named>(source: &mut Unparsed<'_>) -> ModalResult<ConditionNode<R>> {
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
fn deeper<'i, R>(
    source: &mut Unparsed<'i>,
    mut part: impl Parser<
        Unparsed<'i>,
        ConditionNode<R>,
        winnow::error::ErrMode<winnow::error::ContextError>,
    >,
) -> ModalResult<ConditionNode<R>> {
    if source.state >= MAX_CONDITION_DEPTH {
        return syntax::refuse(source, "at most 32 levels of parentheses and `not`");
    }
    source.state += 1;
    let node = part.parse_next(source)?;
    source.state -= 1;
    Ok(node)
}

fn comparison<R: Named>(source: &mut Unparsed<'_>) -> ModalResult<ConditionNode<R>> {
    let left = operand(source)?;
    let comparison = opt(alt((
        token("==").value(Comparison::Equal),
        token("!=").value(Comparison::Unequal),
        token("<=").value(Comparison::LessOrEqual),
        token("<").value(Comparison::Less),
        token(">=").value(Comparison::GreaterOrEqual),
        token(">").value(Comparison::Greater),
        keyword("in").value(Comparison::In),
    )))
    .parse_next(source)?;
    match comparison {
        None => Ok(ConditionNode::IsTrue(left)),
        Some(comparison) => {
            let right = cut_err(operand).parse_next(source)?;
            if comparison.is_of_order() && ![&left, &right].into_iter().all(Operand::has_order) {
                return syntax::refuse(source, "a number or a text on both sides of `<` and `>`");
            }
            Ok(ConditionNode::Compare(left, comparison, right))
        }
    }
}

fn operand<R: Named>(source: &mut Unparsed<'_>) -> ModalResult<Operand<R>> {
    let list = delimited(
        token("["),
        separated(0.., scalar, token(",")),
        cut_err(token("]")).context(expected("`,` or `]`")),
    );
    alt((list.map(Operand::List), total))
        .context(expected(R::OPERAND))
        .parse_next(source)
}

/// Parses a value, or several that are added.
fn total<R: Named>(source: &mut Unparsed<'_>) -> ModalResult<Operand<R>> {
    let first = scalar(source)?;
    let sign = alt((token("+").value(Sign::Plus), token("-").value(Sign::Minus)));
    let added = cut_err(scalar).context(expected(R::OPERAND));
    let rest: Vec<(Sign, Operand<R>)> = repeat(0.., (sign, added)).parse_next(source)?;
    if rest.is_empty() {
        return Ok(first);
    }
    let terms: Vec<_> = std::iter::once((Sign::Plus, first)).chain(rest).collect();
    let is_number = |term: &Operand<R>| match term {
        Operand::Literal(value) => value.is_number(),
        Operand::Reference(_) => true,
        Operand::List(_) | Operand::Total(_) => false,
    };
    match terms.iter().all(|(_, term)| is_number(term)) {
        true => Ok(Operand::Total(terms)),
        false => syntax::refuse(source, "numbers on both sides of `+` and `-`"),
    }
}

fn scalar<R: Named>(source: &mut Unparsed<'_>) -> ModalResult<Operand<R>> {
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
            R::parse.map(Operand::Reference),
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

impl Comparison {
    pub(super) fn is_of_order(self) -> bool {
        match self {
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => true,
            Self::Equal | Self::Unequal | Self::In => false,
        }
    }
}

impl<R> Operand<R> {
    /// Whether it can be before or after another one.
    fn has_order(&self) -> bool {
        match self {
            Self::Reference(_) | Self::Total(_) => true,
            Self::Literal(value) => value.is_number() || value.is_string(),
            Self::List(_) => false,
        }
    }
}
