//! `approval`: when a call of a tool needs approval, and which decisions are offered.

use super::{
    ConfigError,
    problem::{config_error, resolve_map, resolve_steps},
    review::{Danger, Review, quoted},
    section::values,
};
use agent_host_types::tool::{Approval, DecisionKind};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IntoDeserializer as _, SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use std::{collections::BTreeMap, fmt};

/// `approval` as it is written: one word, or a list of decisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum RawApproval {
    /// Every decision is offered.
    When(Approval),
    /// Every call needs approval, with one of these decisions.
    Decisions(Vec<DecisionKind>),
}

values!(RawApproval);

/// Demands what `approval` and `approvals` of the tool or server `who` leave unchecked.
pub(super) fn demand(
    all: &RawApproval,
    own: &BTreeMap<String, RawApproval>,
    who: &str,
    review: &mut Review<'_>,
) {
    let own = own
        .iter()
        .map(|(tool, approval)| (format!("{} of ", quoted(tool)), approval));
    for (of, approval) in std::iter::once((String::new(), all)).chain(own) {
        let text = match approval {
            RawApproval::When(Approval::Never) => {
                format!("runs calls of {of}{who} without asking (approval = \"never\")")
            }
            RawApproval::Decisions(allowed) if !allowed.contains(&DecisionKind::Reject) => {
                format!("does not let you reject {who}")
            }
            RawApproval::When(Approval::ByEffect | Approval::Always)
            | RawApproval::Decisions(_) => continue,
        };
        review.demand(Danger::Unchecked, text);
    }
}

/// When a call of a tool needs approval, and which decisions are offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// When a call needs approval.
    pub approval: Approval,
    /// The decisions; not empty, in the order of [`DecisionKind::ALL`].
    pub decisions: Vec<DecisionKind>,
}

/// The confirmations of the tools of one component or server.
#[derive(Clone, Debug, Default)]
pub struct Confirmations {
    /// The confirmation of tools without one of their own.
    pub general: Confirmation,
    /// The confirmations of single tools, by their names.
    pub own: BTreeMap<String, Confirmation>,
}

impl Confirmations {
    /// Resolves `approval` and `approvals` of the component or server `of`.
    pub(super) fn resolve(
        general: RawApproval,
        own: BTreeMap<String, RawApproval>,
        of: &str,
    ) -> Result<Self, ConfigError> {
        resolve_steps! {
            general = general.resolve("approval", of);
            own = resolve_map("approvals", own, |tool, approval| approval.resolve("", tool));
        }
        Ok(Self { general, own })
    }

    /// Returns the confirmation of a tool.
    #[must_use]
    pub fn of(&self, tool: &str) -> &Confirmation {
        self.own.get(tool).unwrap_or(&self.general)
    }
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
    /// Resolves the value of `key` for the tool `of`.
    pub(super) fn resolve(self, key: &str, of: &str) -> Result<Confirmation, ConfigError> {
        let allowed = match self {
            Self::When(approval) => return Ok(approval.into()),
            Self::Decisions(allowed) => allowed,
        };
        if allowed.is_empty() {
            let of = of.escape_debug();
            return Err(config_error!(
                key,
                "`approval` of `{of}` is an empty list, which allows no decision",
                "list decisions of `approve`, `edit`, `reject` and `respond`, or write `\"always\"` \
                 for all of them"
            )
            .with_value("[]"));
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

/// Reads either form, so that the error of a wrong word lists the right ones.
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
