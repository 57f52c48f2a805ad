//! Conditions about a call: its arguments, the time, the caller, and what earlier calls amount to.

#[cfg(test)]
mod tests;

use super::{
    ArgumentPath, Comparison, Condition, Operand,
    evaluate::{Term, Types},
    parse::Named,
};
use crate::syntax::{self, SyntaxError, Unparsed, expected, is_id_char};
use agent_host_types::facts::{CallFacts, MAX_WINDOW_MS};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{borrow::Cow, fmt, str::FromStr};
use winnow::{
    ascii::{digit1, multispace0},
    combinator::{cut_err, opt, peek, preceded, terminated},
    error::ModalResult,
    prelude::*,
    token::take_while,
};

/// The days, as `weekday()` has them.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// The units of windows, in milliseconds, the longest first.
const UNITS: [(&str, u64); 4] = [
    ("d", 24 * 60 * 60 * 1_000),
    ("h", 60 * 60 * 1_000),
    ("m", 60 * 1_000),
    ("s", 1_000),
];

/// A condition about a call, such as `amount <= 500 and currency == 'EUR'`, or `count(1d) < 3`.
///
/// ```
/// use agent_host_types::facts::CallFacts;
/// use agent_host_workflow::condition::CallCondition;
/// use serde_json::json;
///
/// let condition: CallCondition = "amount <= 500 and time() < '17:00'".parse()?;
/// let noon = CallFacts { at_ms: 12 * 60 * 60 * 1000, ..CallFacts::default() };
/// let holds = |input: serde_json::Value| {
///     condition.holds(input.as_object().unwrap(), Some(&noon), /*is_possible*/ false)
/// };
/// assert!(holds(json!({"amount": 12.5})));
/// assert!(!holds(json!({"amount": 501})));
/// // A missing value satisfies nothing.
/// assert!(!holds(json!({})));
/// # Ok::<(), agent_host_workflow::reference::SyntaxError>(())
/// ```
pub type CallCondition = Condition<CallValue>;

/// A value that a condition about a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallValue {
    /// An argument.
    Argument(ArgumentPath),
    /// A fact beside the arguments.
    Fact(CallFact),
}

/// A fact about a call beside its arguments. It is written with parentheses, which no argument has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFact {
    /// `count(1d)`: the number of earlier calls of the tool within a window.
    Count {
        /// The length of the window, in milliseconds.
        window_ms: u64,
    },
    /// `sum(amount, 1d)`: the sum of an argument of these calls.
    Sum {
        /// The argument.
        argument: ArgumentPath,
        /// The length of the window, in milliseconds.
        window_ms: u64,
    },
    /// `time()`: the time of day, such as `09:00`.
    Time(UtcOffset),
    /// `weekday()`: the day of the week, such as `mon`.
    Weekday(UtcOffset),
    /// `caller()`: the name of the caller; `operator` for the user of the machine.
    Caller,
}

/// The zone of a time of day: UTC, or an offset such as `+02:00`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UtcOffset {
    minutes: i16,
}

impl CallValue {
    /// Returns the argument that has to be a number where this is added.
    pub(super) fn number(&self) -> Option<&ArgumentPath> {
        match self {
            Self::Argument(path) | Self::Fact(CallFact::Sum { argument: path, .. }) => Some(path),
            Self::Fact(_) => None,
        }
    }
}

impl Named for CallValue {
    const OPERAND: &'static str =
        "an argument, a quoted text, a number, `true`, `false`, `null`, a list or a function";

    fn parse(source: &mut Unparsed<'_>) -> ModalResult<Self> {
        let called = peek(opt(terminated(syntax::word, (multispace0, '(')))).parse_next(source)?;
        match called {
            None => ArgumentPath::parse(source).map(Self::Argument),
            Some(_) => function(source).map(Self::Fact),
        }
    }
}

fn function(source: &mut Unparsed<'_>) -> ModalResult<CallFact> {
    let name = terminated(syntax::word, (multispace0, '(')).parse_next(source)?;
    let fact = match name {
        "count" => CallFact::Count {
            window_ms: window(source)?,
        },
        "sum" => {
            let argument = preceded(multispace0, ArgumentPath::parse);
            let argument = cut_err(argument)
                .context(expected("an argument, as in `sum(amount, 1d)`"))
                .parse_next(source)?;
            cut_err(syntax::token(","))
                .context(expected("`,` and a window, as in `sum(amount, 1d)`"))
                .parse_next(source)?;
            CallFact::Sum {
                argument,
                window_ms: window(source)?,
            }
        }
        "time" => CallFact::Time(offset(source)?),
        "weekday" => CallFact::Weekday(offset(source)?),
        "caller" => CallFact::Caller,
        _ => {
            return syntax::refuse(
                source,
                "`count(1d)`, `sum(ARGUMENT, 1d)`, `time()`, `weekday()` or `caller()`",
            );
        }
    };
    cut_err(syntax::token(")"))
        .context(expected("`)`"))
        .parse_next(source)?;
    Ok(fact)
}

fn window(source: &mut Unparsed<'_>) -> ModalResult<u64> {
    let unit = take_while(1.., is_id_char);
    let window = (preceded(multispace0, digit1), unit).verify_map(|(count, unit): (&str, &str)| {
        let (_, ms) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let window = count.parse::<u64>().ok()?.checked_mul(*ms)?;
        (1..=MAX_WINDOW_MS).contains(&window).then_some(window)
    });
    cut_err(window)
        .context(expected(
            "a window of 1s to 31d in `s`, `m`, `h` or `d`, such as `1d`",
        ))
        .parse_next(source)
}

/// Parses `'+02:00'`; nothing is UTC.
fn offset(source: &mut Unparsed<'_>) -> ModalResult<UtcOffset> {
    if peek(opt((multispace0, ')'))).parse_next(source)?.is_some() {
        return Ok(UtcOffset::default());
    }
    let quoted = preceded(multispace0, syntax::quoted);
    cut_err(quoted.verify_map(|text| UtcOffset::parse(&text)))
        .context(expected("nothing for UTC, or an offset such as `'+02:00'`"))
        .parse_next(source)
}

impl UtcOffset {
    fn parse(text: &str) -> Option<Self> {
        let (sign, rest) = text.split_at_checked(1)?;
        let minutes = minutes_of(rest).filter(|minutes| *minutes <= 14 * 60)?;
        match sign {
            "+" => Some(Self { minutes }),
            "-" => Some(Self { minutes: -minutes }),
            _ => None,
        }
    }

    /// Returns the minutes since 1970 there.
    fn minutes_since(self, at_ms: u64) -> i64 {
        let minutes = i64::try_from(at_ms / 60_000).unwrap_or_default();
        minutes + i64::from(self.minutes)
    }
}

impl fmt::Display for UtcOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.minutes.abs();
        match self.minutes {
            0 => Ok(()),
            offset => {
                let sign = if offset < 0 { '-' } else { '+' };
                write!(f, "'{sign}{:02}:{:02}'", minutes / 60, minutes % 60)
            }
        }
    }
}

/// Returns the minutes of a time of day such as `09:00`.
fn minutes_of(text: &str) -> Option<i16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |digits: &str, most: i16| {
        let is_plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse::<i16>().ok().filter(|number| *number < most);
        number.filter(|_| is_plain)
    };
    Some(number(hours, 24)? * 60 + number(minutes, 60)?)
}

impl CallFact {
    /// Returns the value as a text, if it is known.
    #[must_use]
    pub fn value(&self, facts: &CallFacts) -> Option<String> {
        match self.term(Some(facts)) {
            Term::Text(text) => Some(format!("'{text}'")),
            Term::Json(value) => Some(value.to_string()),
            Term::List(_) | Term::Unknown => None,
        }
    }

    /// Returns the value; an unknown one may be anything.
    fn term<'a>(&self, facts: Option<&'a CallFacts>) -> Term<'a> {
        let Some(facts) = facts else {
            return Term::Unknown;
        };
        let number = |number| Term::Json(Cow::Owned(Value::Number(number)));
        let window = |window_ms: &u64| facts.window(*window_ms);
        match self {
            Self::Count { window_ms } => match window(window_ms) {
                Some(tally) => number(tally.count.into()),
                None => Term::Unknown,
            },
            Self::Sum {
                argument,
                window_ms,
            } => match window(window_ms).and_then(|tally| tally.sums.get(&argument.pointer())) {
                Some(Some(sum)) => number(sum.clone()),
                Some(None) | None => Term::Unknown,
            },
            Self::Time(offset) => {
                let minutes = offset.minutes_since(facts.at_ms).rem_euclid(24 * 60);
                let time = format!("{:02}:{:02}", minutes / 60, minutes % 60);
                Term::Text(Cow::Owned(time))
            }
            Self::Weekday(offset) => {
                // 1970 began on a Thursday.
                let days = offset.minutes_since(facts.at_ms).div_euclid(24 * 60) + 3;
                let day = usize::try_from(days.rem_euclid(7)).ok();
                let day = day.and_then(|day| DAYS.get(day)).copied();
                Term::Text(Cow::Borrowed(day.unwrap_or_default()))
            }
            Self::Caller => Term::Text(Cow::Borrowed(&facts.caller)),
        }
    }

    /// Whether it is a number, which follows from the calls that are counted.
    #[must_use]
    pub fn is_number(&self) -> bool {
        match self {
            Self::Count { .. } | Self::Sum { .. } => true,
            Self::Time(_) | Self::Weekday(_) | Self::Caller => false,
        }
    }

    /// Returns the form of a literal that it is compared with, unless this one has it.
    fn misfit(&self, literal: &Value, comparison: Comparison) -> Option<&'static str> {
        let text = literal.as_str();
        let (fits, wanted) = match self {
            Self::Count { .. } | Self::Sum { .. } => {
                (literal.is_number(), "a number beside `count` and `sum`")
            }
            Self::Time(_) => (
                text.and_then(minutes_of).is_some(),
                "a time of day such as '09:00' beside `time`",
            ),
            Self::Weekday(_) => (
                text.is_some_and(|day| DAYS.contains(&day)) && !comparison.is_of_order(),
                "`==`, `!=` or `in` and 'mon', 'tue', 'wed', 'thu', 'fri', 'sat' or 'sun' beside `weekday`",
            ),
            Self::Caller => (text.is_some(), "a text beside `caller`"),
        };
        (!fits).then_some(wanted)
    }
}

impl fmt::Display for CallFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = |window_ms: &u64| {
            let unit = UNITS.iter().find(|(_, ms)| window_ms.is_multiple_of(*ms));
            let (unit, ms) = unit.copied().unwrap_or(("ms", 1));
            format!("{}{unit}", window_ms / ms)
        };
        match self {
            Self::Count { window_ms } => write!(f, "count({})", window(window_ms)),
            Self::Sum {
                argument,
                window_ms,
            } => write!(f, "sum({argument}, {})", window(window_ms)),
            Self::Time(offset) => write!(f, "time({offset})"),
            Self::Weekday(offset) => write!(f, "weekday({offset})"),
            Self::Caller => f.write_str("caller()"),
        }
    }
}

impl Operand<CallValue> {
    /// Whether it is surely a number.
    pub(super) fn is_number(&self) -> bool {
        match self {
            Self::Reference(CallValue::Fact(fact)) => fact.is_number(),
            Self::Literal(value) => value.is_number(),
            Self::Total(_) => true,
            Self::Reference(CallValue::Argument(_)) | Self::List(_) => false,
        }
    }

    /// Returns the literals in it.
    fn literals(&self) -> Vec<&Value> {
        match self {
            Self::Literal(value) => vec![value],
            Self::List(items) => items.iter().flat_map(Self::literals).collect(),
            Self::Reference(_) | Self::Total(_) => Vec::new(),
        }
    }

    fn fact(&self) -> Option<&CallFact> {
        match self {
            Self::Reference(CallValue::Fact(fact)) => Some(fact),
            Self::Reference(CallValue::Argument(_))
            | Self::Literal(_)
            | Self::List(_)
            | Self::Total(_) => None,
        }
    }
}

/// Returns why a comparison never means anything, with the text at which that is shown.
fn refusal(
    operands: &[&Operand<CallValue>],
    comparison: Option<Comparison>,
) -> Option<(&'static str, String)> {
    const NULL: &str =
        "a value other than null, since no condition about a missing argument holds,";
    if operands.iter().any(|operand| operand.has_null()) {
        return Some((NULL, "null".to_owned()));
    }
    let Some(comparison) = comparison else {
        let fact = operands.iter().find_map(|operand| operand.fact())?;
        return Some(("a comparison, as in `count(1d) < 3`,", fact.to_string()));
    };
    let (left, right) = (operands.first()?, operands.get(1)?);
    [(left, right), (right, left)]
        .iter()
        .find_map(|(one, other)| {
            let literals = other.literals().into_iter();
            if let Some(fact) = one.fact() {
                let mut wanted = literals.map(|literal| fact.misfit(literal, comparison));
                let of_texts = || other.is_number() != fact.is_number() && other.fact().is_some();
                let wanted = wanted.find_map(|wanted| wanted).or_else(|| {
                    (of_texts() || matches!(other, Operand::Total(_)) && !fact.is_number())
                        .then_some("two numbers, or two texts,")
                });
                return Some((wanted?, fact.to_string()));
            }
            let is_total = matches!(one, Operand::Total(_));
            let mut texts = literals.filter(|literal| is_total && !literal.is_number());
            texts
                .next()
                .map(|text| ("a number beside `+` and `-`", text.to_string()))
        })
}

impl FromStr for CallCondition {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        let condition = Self::parse(text)?;
        let mut refused = None;
        condition.root.each_comparison(&mut |operands, comparison| {
            refused = refused.take().or_else(|| refusal(operands, comparison));
        });
        match refused {
            Some((expected, at)) => Err(SyntaxError {
                expected,
                column: text.find(&at).unwrap_or_default() + 1,
            }),
            None => Ok(condition),
        }
    }
}

impl CallCondition {
    /// Returns whether it holds for a call. One about an argument that the call lacks does not,
    /// negated or not. `is_possible` is whether it is enough that it may hold: a tool may read
    /// `"600"` as a number and `["a"]` as a text, so `amount > 500` may hold for `"600"`, and surely
    /// does not; nor is anything certain about facts that are not known.
    #[must_use]
    pub fn holds(
        &self,
        input: &Map<String, Value>,
        facts: Option<&CallFacts>,
        is_possible: bool,
    ) -> bool {
        let types = Types::MayMeanTheSame;
        let truth = types.judge(&self.root, &|value: &CallValue| match value {
            CallValue::Argument(path) => path.find(input).map(Term::from),
            CallValue::Fact(fact) => Some(fact.term(facts)),
        });
        match is_possible {
            true => truth.may_hold,
            false => truth.surely_holds,
        }
    }

    /// Returns the facts that it names, in the order of the text.
    #[must_use]
    pub fn facts(&self) -> Vec<&CallFact> {
        let values = self.references().into_iter();
        let facts = values.filter_map(|value| match value {
            CallValue::Fact(fact) => Some(fact),
            CallValue::Argument(_) => None,
        });
        facts.collect()
    }
}

impl Serialize for CallCondition {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_str().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CallCondition {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
