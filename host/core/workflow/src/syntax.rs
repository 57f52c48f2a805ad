//! The parts of expressions that references and conditions share: words, quoted literals, spaces,
//! and the error that tells what was expected, and where. Recursion is bounded by the state.

use winnow::{
    Stateful,
    ascii::multispace0,
    combinator::{cut_err, fail, not, preceded},
    error::{ContextError, ErrMode, ModalResult, ParseError, StrContext, StrContextValue},
    prelude::*,
    token::{any, literal, one_of, take_till, take_while},
};

/// The text that is left, and the number of groups and negations around it.
pub(crate) type Unparsed<'i> = Stateful<&'i str, usize>;

/// A text that is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} at column {column}")]
pub struct SyntaxError {
    /// The grammar of what was expected.
    pub expected: &'static str,
    /// The position in characters, from 1.
    pub column: usize,
}

/// Parses all of a text.
pub(crate) fn parse_all<'i, T>(
    mut parser: impl Parser<Unparsed<'i>, T, ErrMode<ContextError>>,
    text: &'i str,
) -> Result<T, SyntaxError> {
    let source = Stateful {
        input: text,
        state: 0,
    };
    parser
        .parse(source)
        .map_err(|error| syntax_error(&error, text))
}

fn syntax_error(error: &ParseError<Unparsed<'_>, ContextError>, text: &str) -> SyntaxError {
    let expected = error.inner().context().find_map(|context| match context {
        StrContext::Expected(StrContextValue::Description(text)) => Some(*text),
        _ => None,
    });
    let before = text.get(..error.offset()).unwrap_or(text);
    SyntaxError {
        expected: expected.unwrap_or("an operator or the end"),
        column: before.chars().count() + 1,
    }
}

/// The context of a parser that tells what it expects.
pub(crate) fn expected(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

/// Whether a character may be in the id of a node.
pub(crate) fn is_id_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Parses an id, a key or the name of a field.
pub(crate) fn word<'i>(source: &mut Unparsed<'i>) -> ModalResult<&'i str> {
    take_while(1.., is_id_char).parse_next(source)
}

/// Parses a word that is not the start of a reference.
pub(crate) fn keyword<'i>(
    word: &'static str,
) -> impl Parser<Unparsed<'i>, (), ErrMode<ContextError>> {
    preceded(
        multispace0,
        (literal(word), not(one_of(|c| is_id_char(c) || c == '.'))),
    )
    .void()
}

/// Parses a token after spaces.
pub(crate) fn token<'i>(
    token: &'static str,
) -> impl Parser<Unparsed<'i>, (), ErrMode<ContextError>> {
    preceded(multispace0, literal(token)).void()
}

/// Parses a literal in single or double quotes. The escapes are `\\`, `\'`, `\"`, `\n` and `\t`.
pub(crate) fn quoted(source: &mut Unparsed<'_>) -> ModalResult<String> {
    let quote = one_of(['\'', '"']).parse_next(source)?;
    let mut text = String::new();
    loop {
        let part: &str = take_till(0.., |c| c == quote || c == '\\').parse_next(source)?;
        text.push_str(part);
        let next = cut_err(any)
            .context(expected("a closing quote"))
            .parse_next(source)?;
        if next == quote {
            return Ok(text);
        }
        text.push(escape(source)?);
    }
}

/// Parses the character after a backslash.
fn escape(source: &mut Unparsed<'_>) -> ModalResult<char> {
    let is_escape = |c| matches!(c, '\\' | '\'' | '"' | 'n' | 't');
    let escaped = cut_err(one_of(is_escape))
        .context(expected(
            "one of the escapes `\\\\`, `\\'`, `\\\"`, `\\n` and `\\t`",
        ))
        .parse_next(source)?;
    Ok(match escaped {
        'n' => '\n',
        't' => '\t',
        other => other,
    })
}

/// Fails for good with what was expected.
pub(crate) fn refuse<T>(source: &mut Unparsed<'_>, what: &'static str) -> ModalResult<T> {
    cut_err(fail).context(expected(what)).parse_next(source)
}
