//! The calls that rules count: how many there were of a tool, and what their arguments amount to.
//!
//! Each row has the totals up to it. So what the calls within a window amount to follows from the
//! last row and from the last one before the window, however many there are. Rows are numbered
//! without gaps, and one with a number that another host has just written is refused.

use crate::{
    error::{Location, StoreError},
    ownership::Ownership,
    signature::{BYTES, RowKey, SignedTable, UnsignedRow, Value},
};
use agent_host_engine::journal::{CountedCall, Tallies, TallyQuery};
use agent_host_types::{
    facts::{MAX_WINDOW_MS, WindowTally, from_millionths, to_millionths},
    id::SessionId,
};
use serde::{Deserialize, Serialize};
use serde_json::Number;
use std::collections::BTreeMap;

/// The most arguments of a tool that have totals; beyond it, sums are not known.
const MAX_ARGUMENTS: usize = 64;

/// The calls that are counted together: those of a tool by an owner in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TallySeries {
    /// The project; empty for sessions without one.
    pub(crate) project: String,
    /// The owner; empty for the user of the machine.
    pub(crate) owner: String,
    pub(crate) tool: String,
}

impl TallySeries {
    pub(crate) fn new(ownership: Option<Ownership>, tool: &str) -> Self {
        let (project, owner) = match ownership {
            Some(Ownership { project, owner }) => (project, owner.unwrap_or_default()),
            None => (String::new(), String::new()),
        };
        Self {
            project,
            owner,
            tool: tool.to_owned(),
        }
    }
}

/// A counted call as it is stored. Nothing of it is read before its signature is checked.
#[derive(Clone, Debug)]
pub(crate) struct StoredTally {
    pub(crate) series: TallySeries,
    /// Its position in the series, from 1.
    pub(crate) number: i64,
    /// Never before that of the row before it, whatever the clocks say.
    pub(crate) at_ms: i64,
    pub(crate) session: String,
    pub(crate) call: String,
    /// The totals of its arguments, by JSON pointer, as JSON.
    pub(crate) amounts: String,
    pub(crate) signature: Option<Vec<u8>>,
}

/// An argument of a call, with the totals of the series up to it, in millionths as text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct RunningAmount {
    /// The amount of the call; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<String>,
    total: String,
    /// The number of calls whose amount is unknown.
    unknown: u64,
}

/// The rows from which tallies follow.
#[derive(Debug, Default)]
pub(crate) struct TallyRows {
    /// The last one of the series.
    pub(crate) last: Option<StoredTally>,
    /// The last ones before the windows, in their order.
    pub(crate) before: Vec<Option<StoredTally>>,
    /// That of the call itself.
    pub(crate) own: Option<StoredTally>,
}

impl TallyRows {
    /// Returns what the calls amount to.
    pub(crate) fn tallies(
        self,
        query: &TallyQuery,
        owner: Option<String>,
        (key, location): (&RowKey, &Location),
    ) -> Result<Tallies, StoreError> {
        let check = |row: &Option<StoredTally>| match row {
            Some(row) if !row.is_valid(key) => Err(row.refusal(location)),
            _ => Ok(()),
        };
        check(&self.last)?;
        check(&self.own)?;
        let mut windows = Vec::with_capacity(self.before.len());
        for (window_ms, before) in query.windows.iter().zip(&self.before) {
            check(before)?;
            windows.push(self.within(*window_ms, before.as_ref(), &query.arguments));
        }
        Ok(Tallies {
            owner,
            counted: number_of(self.last.as_ref()),
            has_call: self.own.is_some(),
            windows,
        })
    }

    fn within(
        &self,
        window_ms: u64,
        before: Option<&StoredTally>,
        arguments: &[String],
    ) -> WindowTally {
        // The call itself is left out, unless it is before the window.
        let own = self.own.as_ref();
        let own = own.filter(|own| own.number > before.map_or(0, |row| row.number));
        let count = number_of(self.last.as_ref())
            .saturating_sub(number_of(before))
            .saturating_sub(u64::from(own.is_some()));
        let amounts = |row: Option<&StoredTally>| row.map(StoredTally::amounts).unwrap_or_default();
        let (last, before, own) = (amounts(self.last.as_ref()), amounts(before), amounts(own));
        let sums = arguments.iter().map(|argument| {
            let of_argument = last.get(argument);
            let is_known = of_argument.is_some() || last.len() < MAX_ARGUMENTS;
            let sum = sum(of_argument, before.get(argument), own.get(argument));
            (argument.clone(), sum.filter(|_| is_known))
        });
        WindowTally {
            window_ms,
            count,
            sums: sums.collect(),
        }
    }
}

fn number_of(row: Option<&StoredTally>) -> u64 {
    row.map_or(0, |row| u64::try_from(row.number).unwrap_or_default())
}

/// Returns the sum of an argument between two rows, without the call itself; `None` if one of the
/// calls has an amount that is unknown.
fn sum(
    last: Option<&RunningAmount>,
    before: Option<&RunningAmount>,
    own: Option<&RunningAmount>,
) -> Option<Number> {
    // No call so far had it counted.
    let Some(last) = last else {
        return Some(Number::from(0));
    };
    let (mut total, mut unknown) = (last.total()?, last.unknown);
    if let Some(before) = before {
        total = total.checked_sub(before.total()?)?;
        unknown = unknown.checked_sub(before.unknown)?;
    }
    if let Some(own) = own {
        match &own.own {
            Some(amount) => total = total.checked_sub(amount.parse().ok()?)?,
            None => unknown = unknown.checked_sub(1)?,
        }
    }
    from_millionths(total).filter(|_| unknown == 0)
}

impl RunningAmount {
    fn total(&self) -> Option<i128> {
        self.total.parse().ok()
    }

    /// Returns the totals with a further call.
    fn with(before: Option<&Self>, amount: Option<&Number>) -> Self {
        let (total, unknown) = match before {
            Some(before) => (before.total().unwrap_or_default(), before.unknown),
            None => (0, 0),
        };
        let own = amount.and_then(to_millionths);
        match own.and_then(|own| Some((own, total.checked_add(own)?))) {
            Some((own, total)) => Self {
                own: Some(own.to_string()),
                total: total.to_string(),
                unknown,
            },
            None => Self {
                own: None,
                total: total.to_string(),
                unknown: unknown.saturating_add(1),
            },
        }
    }
}

impl StoredTally {
    /// Returns the row of a call behind the last one; `None` if another one was counted since the
    /// decision about the call.
    pub(crate) fn next(
        series: TallySeries,
        last: Option<&Self>,
        session: SessionId,
        call: CountedCall,
        (key, location): (&RowKey, &Location),
    ) -> Result<Option<Self>, StoreError> {
        if let Some(last) = last.filter(|last| !last.is_valid(key)) {
            return Err(last.refusal(location));
        }
        if number_of(last) != call.counted {
            return Ok(None);
        }
        let before = last.map(Self::amounts).unwrap_or_default();
        let mut amounts = before.clone();
        // Totals of arguments that no rule sums up any more stay, since one may again.
        for amount in amounts.values_mut() {
            amount.own = Some("0".to_owned());
        }
        for (argument, amount) in &call.amounts {
            if amounts.len() < MAX_ARGUMENTS || amounts.contains_key(argument) {
                let now = RunningAmount::with(before.get(argument), amount.as_ref());
                amounts.insert(argument.clone(), now);
            }
        }
        let at_ms = i64::try_from(call.at_ms).unwrap_or(i64::MAX);
        let mut row = Self {
            series,
            number: last.map_or(0, |last| last.number) + 1,
            at_ms: last.map_or(at_ms, |last| last.at_ms.max(at_ms)),
            session: session.to_string(),
            call: call.call.0,
            amounts: serde_json::to_string(&amounts).unwrap_or_default(),
            signature: None,
        };
        row.signature = Some(row.sign(key).to_vec());
        Ok(Some(row))
    }

    /// Returns the time before which no window reaches.
    pub(crate) fn kept_from(&self) -> i64 {
        let longest = i64::try_from(MAX_WINDOW_MS).unwrap_or(i64::MAX);
        self.at_ms.saturating_sub(longest)
    }

    fn amounts(&self) -> BTreeMap<String, RunningAmount> {
        // What is signed was written by this program.
        serde_json::from_str(&self.amounts).unwrap_or_default()
    }

    fn sign(&self, key: &RowKey) -> [u8; BYTES] {
        key.sign(SignedTable::Tallies, &self.values())
    }

    /// True if a host of this store wrote it as it is.
    fn is_valid(&self, key: &RowKey) -> bool {
        key.is_valid(
            SignedTable::Tallies,
            &self.values(),
            self.signature.as_deref(),
        )
    }

    fn refusal(&self, location: &Location) -> StoreError {
        let tool = self.series.tool.escape_debug().to_string();
        StoreError::UnsignedTally(tool, location.clone())
    }

    /// Names it if it is not valid.
    pub(crate) fn unsigned(self, key: &RowKey) -> Option<UnsignedRow> {
        let is_valid = self.is_valid(key);
        let unsigned = || UnsignedRow {
            table: SignedTable::Tallies,
            row: format!("call {} of {}", self.number, self.series.tool),
            key: vec![
                self.series.project,
                self.series.owner,
                self.series.tool,
                self.number.to_string(),
            ],
            signature: self.signature,
        };
        (!is_valid).then(unsigned)
    }

    /// Returns the values that are signed: those of all columns.
    fn values(&self) -> [Value<'_>; 8] {
        [
            Value::Text(&self.series.project),
            Value::Text(&self.series.owner),
            Value::Text(&self.series.tool),
            Value::Number(self.number),
            Value::Number(self.at_ms),
            Value::Text(&self.session),
            Value::Text(&self.call),
            Value::Text(&self.amounts),
        ]
    }
}

/// Returns the times at which the windows of a query begin: a call at one of them is before its
/// window.
pub(crate) fn beginnings(query: &TallyQuery) -> Vec<i64> {
    let begins = query
        .windows
        .iter()
        .map(|window| query.at_ms.saturating_sub(*window));
    begins
        .map(|at| i64::try_from(at).unwrap_or(i64::MAX))
        .collect()
}
