//! Whose a session is: its project, and the token that started it.
//!
//! Neither is part of the session. Events and exported files may come from untrusted sources, and
//! must not say who sees a session: its owner is what the process that created it here says. It is
//! signed, so that one who can write to the database gives no session to another.

use crate::{
    row::EventRow,
    signature::{BYTES, RowKey, SignedTable, UnsignedRow, Value},
};
use std::sync::Arc;

/// Whose a session is. The sessions of its agents are owned as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ownership {
    /// The directory of the project. That of a session which was started without one, or by an
    /// older version, is its working directory.
    pub project: String,
    /// The token that started it, as a front end identifies it; absent for the user of the machine.
    pub owner: Option<String>,
}

impl Ownership {
    /// Returns whose a new session is, of which these are the first events: as its creator says, as
    /// the session that started it, or that of its directory.
    pub(crate) fn of_new(rows: &[Arc<EventRow>], starter: Option<Self>) -> Option<Self> {
        let listings = || rows.iter().map(|row| &row.listing);
        let said = listings().next().and_then(|first| first.ownership.clone());
        said.or(starter).or_else(|| {
            let directory = listings().find_map(|listing| listing.directory.clone());
            directory.map(|project| Self {
                project,
                owner: None,
            })
        })
    }

    /// Signs whose a session is, or that it has no owner. That never changes.
    pub(crate) fn sign(this: Option<&Self>, session: &str, key: &RowKey) -> [u8; BYTES] {
        key.sign(SignedTable::Owners, &Self::values(this, session))
    }

    fn values<'a>(this: Option<&'a Self>, session: &'a str) -> [Value<'a>; 3] {
        [
            Value::Text(session),
            this.map(|own| own.project.as_str()).into(),
            this.and_then(|own| own.owner.as_deref()).into(),
        ]
    }
}

/// Whose a session is as it is stored. Nothing of it is read before its signature is checked.
pub(crate) struct StoredOwnership {
    pub(crate) session: String,
    /// The ownership; absent for a session that only those see who see all.
    pub(crate) ownership: Option<Ownership>,
    pub(crate) signature: Option<Vec<u8>>,
}

impl StoredOwnership {
    /// Returns it if a host of this store wrote it as it is.
    pub(crate) fn believed(self, key: &RowKey) -> Option<Ownership> {
        self.is_valid(key).then_some(self.ownership).flatten()
    }

    /// Names it if it is not valid.
    pub(crate) fn unsigned(self, key: &RowKey) -> Option<UnsignedRow> {
        let is_valid = self.is_valid(key);
        let unsigned = || UnsignedRow::new(SignedTable::Owners, self.session, self.signature);
        (!is_valid).then(unsigned)
    }

    fn is_valid(&self, key: &RowKey) -> bool {
        let values = Ownership::values(self.ownership.as_ref(), &self.session);
        key.is_valid(SignedTable::Owners, &values, self.signature.as_deref())
    }
}

/// The sessions that a reader sees. All others are for it as if they did not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionScope {
    /// All of the store.
    #[default]
    All,
    /// Those of a project.
    Project(String),
    /// Those that a token started in a project.
    Own {
        /// The directory of the project.
        project: String,
        /// The token, as [`Ownership::owner`] has it.
        owner: String,
    },
}

impl SessionScope {
    /// Whether a session is among them; one without an owner is among all alone.
    #[must_use]
    pub fn has(&self, ownership: Option<&Ownership>) -> bool {
        let (project, owner) = (self.project(), self.owner());
        project.is_none_or(|project| ownership.is_some_and(|own| own.project == project))
            && owner.is_none_or(|owner| {
                ownership.is_some_and(|own| own.owner.as_deref() == Some(owner))
            })
    }

    /// Returns the project to which the scope is limited; `None` for no limit.
    #[must_use]
    pub fn project(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Project(project) | Self::Own { project, .. } => Some(project),
        }
    }

    /// Returns the token to which the scope is limited; `None` for no limit.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        match self {
            Self::All | Self::Project(_) => None,
            Self::Own { owner, .. } => Some(owner),
        }
    }
}

/// The one who has a session copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copier {
    /// The name, as the front end has it, for the journal.
    pub name: String,
    /// The owner of the copy.
    pub owner: Option<String>,
}
