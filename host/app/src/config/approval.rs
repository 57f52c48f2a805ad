//! `approval`: when a person is asked before a call of a tool, and what they may decide then.

use super::ConfigError;
use agent_host_types::tool::{Approval, DecisionKind};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IntoDeserializer as _, SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use std::fmt;

/// `approval` as it is written: one word, or a list of what may be decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RawApproval {
    /// When a person is asked. They may decide anything.
    When(Approval),
    /// They are always asked, and may decide one of these.
    Decisions(Vec<DecisionKind>),
}

/// When a person is asked before a call of a tool, and what they may decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// When they are asked.
    pub approval: Approval,
    /// What they may decide; not empty, in the order of [`DecisionKind::ALL`].
    pub decisions: Vec<DecisionKind>,
}

impl Default for Confirmation {
    fn default() -> Self {
        Approval::default().into()
    }
}

impl From<Approval> for Confirmation {
    fn from(approval: Approval) -> Self {
        Self {
            approval,
            decisions: DecisionKind::ALL.into(),
        }
    }
}

impl Default for RawApproval {
    fn default() -> Self {
        Self::When(Approval::default())
    }
}

impl RawApproval {
    /// What it means for the tool `of`.
    pub(super) fn resolve(self, of: &str) -> Result<Confirmation, ConfigError> {
        let allowed = match self {
            Self::When(approval) => return Ok(approval.into()),
            Self::Decisions(allowed) => allowed,
        };
        if allowed.is_empty() {
            return Err(ConfigError::new(format!(
                "`approval` of `{}` is an empty list, so that nobody could decide anything; list decisions of `approve`, \
                 `edit`, `reject` and `respond`, or write `\"always\"` for all of them",
                of.escape_debug()
            )));
        }
        let decisions = DecisionKind::ALL.into_iter();
        Ok(Confirmation {
            approval: Approval::Always,
            decisions: decisions.filter(|kind| allowed.contains(kind)).collect(),
        })
    }
}

impl<'de> Deserialize<'de> for RawApproval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrList)
    }
}

/// Reads either form, so that a wrong word is told with the right ones.
struct WordOrList;

impl<'de> Visitor<'de> for WordOrList {
    type Value = RawApproval;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word such as \"always\", or a list of decisions")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<RawApproval, E> {
        Approval::deserialize(word.into_deserializer()).map(RawApproval::When)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RawApproval, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(RawApproval::Decisions)
    }
}
