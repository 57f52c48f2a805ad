//! Whose a session is: its project, and the token that started it.
//!
//! Neither is part of the session. Events and exported files may come from untrusted sources, and
//! must not say who sees a session: its owner is what the process that created it here says.

/// Whose a session is. The sessions of its agents are owned as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// The directory of the project. That of a session which was started without one, or by an
    /// older version, is its working directory.
    pub project: String,
    /// The token that started it, as a front end identifies it; absent for the user of the machine.
    pub owner: Option<String>,
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
