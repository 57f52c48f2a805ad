//! References to outputs, to the item of a loop, to the message of the run and to its shared state;
//! and values of the definition, which are references or quoted literals.

#[cfg(test)]
mod tests;

pub use crate::syntax::SyntaxError;

use crate::syntax::{self, Unparsed};
use std::{fmt, str::FromStr};
use winnow::{
    ascii::multispace0,
    combinator::{alt, cut_err, delimited, eof, preceded, repeat, terminated},
    error::ModalResult,
    prelude::*,
};

/// The most steps of a path.
const MAX_PATH: usize = 32;

/// The first words of references that are not to nodes. No node may have such an id.
pub const RESERVED_IDS: [&str; 3] = ["loop", "run", "state"];

/// A reference.
///
/// ```
/// use agent_host_workflow::reference::{Field, Reference};
///
/// let reference: Reference = "plan.artifacts['notes.md'].lines.0".parse()?;
/// let path = ["notes.md", "lines", "0"].map(String::from).to_vec();
/// let node = "plan".to_owned();
/// assert_eq!(reference, Reference::Node { node, field: Field::Artifacts, path });
/// # Ok::<(), agent_host_workflow::reference::SyntaxError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// `ID.text`, `ID.output`, `ID.artifacts.KEY`, `ID.error` or `ID.items`, and a path into JSON.
    Node {
        /// The id of the node.
        node: String,
        /// The part of its output.
        field: Field,
        /// The steps into the part; the first one into `artifacts` is its key.
        path: Vec<String>,
    },
    /// `loop.item`, `loop.index`, `loop.total` or `loop.prior_results`, and a path into JSON.
    Loop {
        /// The fact about the iteration.
        field: LoopField,
        /// The steps into it.
        path: Vec<String>,
    },
    /// `run.message`: the initial message.
    Message,
    /// `state.KEY`: the shared state as the nodes before this one left it, and a path into JSON.
    State {
        /// The key and the steps into its value.
        path: Vec<String>,
    },
}

/// A part of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Field {
    /// The text.
    Text,
    /// The typed result of a tool; the text where there is none.
    Output,
    /// A value by name.
    Artifacts,
    /// The failure; null for a success.
    Error,
    /// The end of each item of a `foreach`: `{"ok": true, "value"}` or `{"ok": false, "error"}`. These
    /// items can be used even if the loop failed.
    Items,
}

/// A fact about an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LoopField {
    /// The item.
    Item,
    /// Its index, from 0.
    Index,
    /// The number of items.
    Total,
    /// The results of the iterations before, in order.
    PriorResults,
}

/// A value of the definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A bare reference.
    Reference(Reference),
    /// A quoted literal.
    Literal(String),
}

impl FromStr for Reference {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        let what = "a reference, such as `plan.text` or `loop.item`";
        let reference = reference.context(syntax::expected(what));
        syntax::parse_all(spaced(reference), text)
    }
}

impl FromStr for Expression {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        let expression = alt((
            syntax::quoted.map(Self::Literal),
            reference.map(Self::Reference),
        ))
        .context(syntax::expected(
            "a reference such as `plan.text`, or a quoted literal such as `'text'`",
        ));
        syntax::parse_all(spaced(expression), text)
    }
}

/// Parses one thing with spaces around it, and the end.
fn spaced<'i, T>(
    parser: impl Parser<Unparsed<'i>, T, winnow::error::ErrMode<winnow::error::ContextError>>,
) -> impl Parser<Unparsed<'i>, T, winnow::error::ErrMode<winnow::error::ContextError>> {
    let end = cut_err(eof).context(syntax::expected("the end"));
    terminated(delimited(multispace0, parser, multispace0), end)
}

/// Parses a reference. After the first period there is no other choice.
pub(crate) fn reference(source: &mut Unparsed<'_>) -> ModalResult<Reference> {
    let head = terminated(syntax::word, '.').parse_next(source)?;
    match head {
        "loop" => loop_reference(source),
        "run" => {
            let what = "`message` after `run.`";
            cut_err("message")
                .context(syntax::expected(what))
                .parse_next(source)?;
            Ok(Reference::Message)
        }
        "state" => {
            let key = cut_err(syntax::word)
                .context(syntax::expected("a key of the shared state"))
                .parse_next(source)?;
            let mut path = vec![key.to_owned()];
            path.append(&mut steps(source)?);
            Ok(Reference::State { path })
        }
        node => node_reference(node, source),
    }
}

fn node_reference(node: &str, source: &mut Unparsed<'_>) -> ModalResult<Reference> {
    let what = "`text`, `output`, `artifacts`, `error` or `items`";
    let field = cut_err(syntax::word.verify_map(|word| match word {
        "text" => Some(Field::Text),
        "output" => Some(Field::Output),
        "artifacts" => Some(Field::Artifacts),
        "error" => Some(Field::Error),
        "items" => Some(Field::Items),
        _ => None,
    }))
    .context(syntax::expected(what))
    .parse_next(source)?;
    let path = match field {
        Field::Text => Vec::new(),
        Field::Output | Field::Error | Field::Artifacts | Field::Items => steps(source)?,
    };
    if field == Field::Artifacts && path.is_empty() {
        return syntax::refuse(source, "a key, as in `plan.artifacts.KEY`");
    }
    let node = node.to_owned();
    Ok(Reference::Node { node, field, path })
}

fn loop_reference(source: &mut Unparsed<'_>) -> ModalResult<Reference> {
    let what = "`item`, `index`, `total` or `prior_results` after `loop.`";
    let field = cut_err(syntax::word.verify_map(|word| match word {
        "item" => Some(LoopField::Item),
        "index" => Some(LoopField::Index),
        "total" => Some(LoopField::Total),
        "prior_results" => Some(LoopField::PriorResults),
        _ => None,
    }))
    .context(syntax::expected(what))
    .parse_next(source)?;
    let path = match field {
        LoopField::Index | LoopField::Total => Vec::new(),
        LoopField::Item | LoopField::PriorResults => steps(source)?,
    };
    Ok(Reference::Loop { field, path })
}

/// Parses a path: `.key`, `.0` and `['any key']`.
pub(crate) fn steps(source: &mut Unparsed<'_>) -> ModalResult<Vec<String>> {
    let key = cut_err(syntax::word).context(syntax::expected("a key or an index after `.`"));
    let quoted =
        cut_err(terminated(syntax::quoted, ']')).context(syntax::expected("a quoted key and `]`"));
    let step = alt((preceded('.', key.map(str::to_owned)), preceded('[', quoted)));
    repeat(0..=MAX_PATH, step).parse_next(source)
}

impl Reference {}

impl Expression {
    /// Returns the reference, if it is one.
    #[must_use]
    pub fn reference(&self) -> Option<&Reference> {
        match self {
            Self::Reference(reference) => Some(reference),
            Self::Literal(_) => None,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self {
            Self::Node { node, field, path } => {
                write!(f, "{node}.{}", <&str>::from(*field))?;
                path
            }
            Self::Loop { field, path } => {
                write!(f, "loop.{}", <&str>::from(*field))?;
                path
            }
            Self::Message => return f.write_str("run.message"),
            Self::State { path } => {
                f.write_str("state")?;
                path
            }
        };
        for step in path {
            if !step.is_empty() && step.chars().all(syntax::is_id_char) {
                write!(f, ".{step}")?;
            } else {
                let step = step.replace('\\', "\\\\").replace('\'', "\\'");
                let step = step.replace('\n', "\\n").replace('\t', "\\t");
                write!(f, "['{step}']")?;
            }
        }
        Ok(())
    }
}
