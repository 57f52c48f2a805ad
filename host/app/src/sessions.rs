//! The sessions of a project in a store: started, found under a key and resumed; and the approvals
//! that are remembered for all of them.

mod folded;

use crate::{
    config::Config,
    error::HostError,
    store::{open_store, project, session_project},
};
use agent_host_engine::{
    artifact::Artifacts,
    journal::{Journal, JournalError},
    session::{Session, SessionStart, now_ms},
};
use agent_host_journal::{
    FoundEvents, JournalStore, Ownership, ProjectApproval, SessionInfo, SessionName, StoreError,
};
use agent_host_types::{
    approval::ApprovalRule,
    event::EventRecord,
    id::{SessionId, json_digest},
};
use folded::{FoldedSessions, MIN_FOLDED_RECORDS};
use serde_json::json;
use std::sync::Arc;

/// The sessions of a project, in the store of its configuration.
#[derive(Debug)]
pub struct Sessions {
    store: Arc<dyn JournalStore>,
    /// The project to which the sessions belong.
    project: String,
    /// The project for which approvals are remembered.
    approval_project: String,
    /// The working directory.
    directory: String,
    folded: FoldedSessions,
}

impl Sessions {
    /// Opens the store of a configuration.
    ///
    /// # Errors
    /// It cannot be opened, or the remembered approvals cannot be read.
    pub(crate) async fn open(config: &Config) -> Result<Self, HostError> {
        let sessions = Self {
            store: open_store(config, config.session.keep).await?,
            project: session_project(config),
            approval_project: project(config),
            directory: config.working_dir.display().to_string(),
            folded: FoldedSessions::default(),
        };
        // An error is reported before anything runs.
        sessions.remembered().await?;
        Ok(sessions)
    }

    /// Returns the store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn JournalStore> {
        &self.store
    }

    /// Starts a session with a system prompt.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn start(&self, system: Option<String>) -> Result<Session, HostError> {
        self.start_as(SessionId::new(), None, system).await
    }

    /// Starts a session with this id, owner and system prompt.
    ///
    /// # Errors
    /// When there is one with this id, or the journal cannot be written.
    pub async fn start_as(
        &self,
        id: SessionId,
        owner: Option<String>,
        system: Option<String>,
    ) -> Result<Session, HostError> {
        let journal = self.create(id, owner).await?;
        Ok(Session::start(journal, self.beginning(system, None)))
    }

    /// Returns whose a session is that is created here. The owner is a token, as a front end
    /// identifies it, or else the user of the machine.
    #[must_use]
    pub fn ownership(&self, owner: Option<String>) -> Ownership {
        Ownership {
            project: self.project.clone(),
            owner,
        }
    }

    /// Creates the journal of a session of this project.
    async fn create(
        &self,
        id: SessionId,
        owner: Option<String>,
    ) -> Result<Arc<dyn Journal>, JournalError> {
        let ownership = self.ownership(owner);
        self.store.create_owned(id, Some(ownership)).await
    }

    /// Returns the id of the session of a run under an idempotency key in this project.
    #[must_use]
    pub fn keyed_id(&self, key: &str) -> SessionId {
        let form = json!(["run", self.approval_project, key]);
        SessionId::from_hash(json_digest(&form).into_bytes())
    }

    /// Returns the session of an id, and whether it began before; a new one, with an owner and a
    /// system prompt, where there is none.
    ///
    /// # Errors
    /// Another process has it, or the journal cannot be read or written.
    pub async fn with_id(
        &self,
        id: SessionId,
        owner: Option<String>,
        system: Option<String>,
    ) -> Result<(Session, bool), HostError> {
        let journal = match self.store.open_session(id).await {
            Err(JournalError::NotFound(_)) => self.create(id, owner).await?,
            opened => opened?,
        };
        match self.resume_journal(journal.clone()).await {
            Err(JournalError::NotFound(_)) => {
                Ok((Session::start(journal, self.beginning(system, None)), false))
            }
            resumed => Ok((resumed?, true)),
        }
    }

    /// Starts a session driven by an external client; `client` is its name and version, `labels` the
    /// sources of what came before.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn start_client(
        &self,
        client: String,
        labels: Vec<String>,
    ) -> Result<Session, HostError> {
        let journal = self.create(SessionId::new(), None).await?;
        let start = SessionStart {
            labels,
            ..self.beginning(None, Some(client))
        };
        Ok(Session::start(journal, start))
    }

    fn beginning(&self, system: Option<String>, client: Option<String>) -> SessionStart {
        SessionStart {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            system,
            directory: Some(self.directory.clone()),
            client,
            parent: None,
            labels: Vec::new(),
        }
    }

    /// Resumes a session, by its name, its id, the beginning or the end of its id, or `latest` for
    /// that of the working directory.
    ///
    /// # Errors
    /// When there is no such session, another process has it, or its records cannot be read.
    pub async fn resume(&self, name: &str) -> Result<Session, HostError> {
        let id = self.store.find_in(&self.directory, name).await?;
        let journal = self.store.open_session(id).await?;
        let session = self.resume_journal(journal).await?;
        match session.state().parent() {
            None => Ok(session),
            Some(parent) => Err(HostError::SessionOfAgent {
                session: id,
                parent: parent.session,
            }),
        }
    }

    /// Checks that a session may get a name when it has its first events; `None` for one that does
    /// not exist yet.
    ///
    /// # Errors
    /// Another session of the directory has it, or the names cannot be read.
    pub async fn check_name(
        &self,
        session: Option<SessionId>,
        name: &SessionName,
    ) -> Result<(), JournalError> {
        let known = self.store.named(name.as_str().to_owned()).await?;
        let own = Some(self.ownership(None));
        let other = known.into_iter().find(|info| {
            Some(info.id) != session
                && info.directory.as_deref() == Some(&*self.directory)
                && info.ownership == own
        });
        match other {
            Some(SessionInfo { id: other, .. }) => {
                let name = name.as_str().to_owned();
                Err(StoreError::NameTaken { other, name }.into())
            }
            None => Ok(()),
        }
    }

    /// Resumes a session whose journal is open. Of a long one that ran in this process, only the
    /// records since are read.
    ///
    /// # Errors
    /// Its records cannot be read.
    pub(crate) async fn resume_journal(
        &self,
        journal: Arc<dyn Journal>,
    ) -> Result<Session, JournalError> {
        match self.folded.take(journal.session()) {
            Some(folded) => Session::resume_from(journal, folded).await,
            None => Session::resume(journal).await,
        }
    }

    /// Gives a session up, and keeps what its next run in this process needs of it.
    pub(crate) async fn give_up(&self, session: Session) {
        if session.record_count() >= MIN_FOLDED_RECORDS
            && let Some(folded) = session.into_folded().await
        {
            self.folded.keep(folded);
        }
    }
    /// Returns the approvals that are remembered for this project now, for
    /// [`agent_host_engine::turn::TurnContext::approvals`]. Another process may revoke one at any
    /// time, so they are read for each turn.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn remembered(&self) -> Result<Vec<ApprovalRule>, JournalError> {
        let project = Some(self.approval_project.clone());
        let approvals = self.store.approvals(project).await?.into_iter();
        Ok(approvals.map(|approval| approval.rule).collect())
    }

    /// Remembers, for this project, the approvals of a session. Only for decisions of the user.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub async fn remember(
        &self,
        session: SessionId,
        rules: Vec<ApprovalRule>,
    ) -> Result<(), HostError> {
        let at_ms = now_ms();
        let approvals = rules.into_iter().map(|rule| ProjectApproval {
            project: self.approval_project.clone(),
            rule,
            session,
            at_ms,
        });
        Ok(self.store.remember_approvals(approvals.collect()).await?)
    }

    /// Returns the files that the durable calls of a session returned.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn artifacts(&self, session: SessionId) -> Result<Artifacts, HostError> {
        let mut artifacts = Artifacts::default();
        let add = |record: EventRecord| artifacts.add(&record.event);
        let store = self.store.as_ref();
        store
            .for_each_found(session, FoundEvents::OfArtifacts, add)
            .await?;
        Ok(artifacts)
    }
}
