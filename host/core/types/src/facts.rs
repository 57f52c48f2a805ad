//! The facts about a call beside its arguments, which the conditions of rules may name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use std::collections::BTreeMap;

/// The longest window over which calls are counted, in milliseconds: 31 days.
pub const MAX_WINDOW_MS: u64 = 31 * 24 * 60 * 60 * 1_000;

/// The facts with which the policy decided on a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallFacts {
    /// The time of the decision, in milliseconds since 1970.
    pub at_ms: u64,
    /// The name of the caller, as the front end has it; [`LOCAL_CALLER`] for the user of the machine.
    pub caller: String,
    /// The tallies of earlier calls of the tool, by window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<WindowTally>,
}

/// The earlier calls of a tool within a window before a decision: those by the same owner in the
/// same project, without the call that is decided on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowTally {
    /// The length of the window, in milliseconds.
    pub window_ms: u64,
    /// The number of the calls.
    pub count: u64,
    /// The sums of their arguments, by JSON pointer; absent if one of them is unknown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sums: BTreeMap<String, Option<Number>>,
}

impl CallFacts {
    /// Returns the tally of a window, if it is known.
    #[must_use]
    pub fn window(&self, window_ms: u64) -> Option<&WindowTally> {
        let mut windows = self.windows.iter();
        windows.find(|tally| tally.window_ms == window_ms)
    }
}

/// The name of the user of the machine as a caller; no token has it.
pub const LOCAL_CALLER: &str = "operator";

/// The millionths of one.
const MILLION: i128 = 1_000_000;

/// The largest float with millionths, which a calculation with it keeps.
const MAX_FLOAT: f64 = 1e15;

/// Returns a number in millionths, to the nearest; `None` for a float beyond 10^15.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "a float within the bound has at most 10^21 millionths"
)]
pub fn to_millionths(number: &Number) -> Option<i128> {
    if let Some(whole) = number.as_i128() {
        return whole.checked_mul(MILLION);
    }
    let float = number.as_f64().filter(|float| float.abs() <= MAX_FLOAT)?;
    Some((float * 1e6).round() as i128)
}

/// Returns the number of these millionths: exact for integers of JSON, otherwise the nearest float.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "the nearest float is the result"
)]
pub fn from_millionths(millionths: i128) -> Option<Number> {
    let whole = (millionths % MILLION == 0).then_some(millionths / MILLION);
    let whole = whole.and_then(Number::from_i128);
    whole.or_else(|| Number::from_f64(millionths as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn millionths_of_decimals_add_up_exactly() {
        let number = |text: &str| text.parse::<Number>().unwrap();
        let total: i128 = ["0.1", "0.2", "1e-7", "-3"]
            .map(|text| to_millionths(&number(text)).unwrap())
            .iter()
            .sum();
        assert_eq!(from_millionths(total), Some(number("-2.7")));
        assert_eq!(to_millionths(&number("1e300")), None);
        let largest = to_millionths(&Number::from(u64::MAX)).unwrap();
        assert_eq!(from_millionths(largest), Some(Number::from(u64::MAX)));
        assert_eq!(from_millionths(i128::MAX).unwrap().as_i128(), None);
    }
}
