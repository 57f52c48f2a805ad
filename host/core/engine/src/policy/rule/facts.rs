//! The facts that rules name, which are read before they decide.

use super::CallRule;
use agent_host_workflow::condition::{ArgumentPath, CallFact};
use serde_json::{Map, Number, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The facts that the rules about the calls of a tool name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedFacts {
    /// The windows over which its calls are counted, in milliseconds.
    pub windows: BTreeSet<u64>,
    /// The arguments that are summed up, by JSON pointer.
    arguments: BTreeMap<String, ArgumentPath>,
    /// Whether a rule is about the caller.
    pub has_caller: bool,
}

impl WantedFacts {
    /// Returns the facts that rules about the calls of a tool name; `None` if they name none.
    #[must_use]
    pub fn of<'r>(rules: impl IntoIterator<Item = &'r CallRule>, tool: &str) -> Option<Self> {
        let mut wanted = None;
        let rules = rules.into_iter();
        let conditions = rules.filter_map(|rule| Some((rule, rule.condition.as_ref()?)));
        for (_, condition) in conditions.filter(|(rule, _)| rule.names(tool)) {
            for fact in condition.facts() {
                wanted.get_or_insert_with(Self::default).add(fact);
            }
        }
        wanted
    }

    fn add(&mut self, fact: &CallFact) {
        match fact {
            CallFact::Count { window_ms } => {
                self.windows.insert(*window_ms);
            }
            CallFact::Sum {
                argument,
                window_ms,
            } => {
                self.windows.insert(*window_ms);
                self.arguments.insert(argument.pointer(), argument.clone());
            }
            CallFact::Caller => self.has_caller = true,
            CallFact::Time(_) | CallFact::Weekday(_) => {}
        }
    }

    /// Whether the calls of the tool are counted.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        !self.windows.is_empty()
    }

    /// Returns the arguments that are summed up.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        self.arguments.keys().cloned().collect()
    }

    /// Returns the values of these arguments of a call; absent where one is missing or not a number.
    #[must_use]
    pub fn amounts(&self, input: &Map<String, Value>) -> BTreeMap<String, Option<Number>> {
        let amounts = self.arguments.iter().map(|(pointer, path)| {
            let value = path.find(input).and_then(Value::as_number);
            (pointer.clone(), value.cloned())
        });
        amounts.collect()
    }
}
