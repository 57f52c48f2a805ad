//! The sessions of a host: started, found under a key, resumed and named.

use super::{Host, folded::MIN_FOLDED_RECORDS};
use crate::{
    error::HostError,
    store::{project, session_project},
};
use agent_host_engine::{
    journal::{Journal, JournalError},
    session::{ClientSession, Session, SessionStart},
    turn::Prompts,
};
use agent_host_journal::{Ownership, SessionName};
use agent_host_types::id::{SessionId, json_digest};
use serde_json::json;
use std::sync::Arc;

impl Host {
    /// Starts a session of the agent of the file's top level, for calls that are asked about.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn start_session(&self) -> Result<Session, HostError> {
        let system = self.system_prompt(Prompts::Ask);
        self.start_session_with(system).await
    }

    /// Starts a session with a system prompt.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn start_session_with(&self, system: Option<String>) -> Result<Session, HostError> {
        self.start_session_as(SessionId::new(), None, system).await
    }

    /// Starts a session with this id, owner and system prompt.
    ///
    /// # Errors
    /// When there is one with this id, or the journal cannot be written.
    pub async fn start_session_as(
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
        let project = session_project(&self.config);
        Ownership { project, owner }
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
    pub fn keyed_session_id(&self, key: &str) -> SessionId {
        let form = json!(["run", project(&self.config), key]);
        SessionId::from_hash(json_digest(&form).into_bytes())
    }

    /// Returns the session of a run under an idempotency key in this project, and whether it began
    /// before; a new one, with an owner and a system prompt, where there is none.
    ///
    /// # Errors
    /// Another process has it, or the journal cannot be read or written.
    pub async fn keyed_session(
        &self,
        key: &str,
        owner: Option<String>,
        system: Option<String>,
    ) -> Result<(Session, bool), HostError> {
        let id = self.keyed_session_id(key);
        self.session_of_id(id, owner, system).await
    }

    /// Returns the session of an id, and whether it began before; a new one, with an owner and a
    /// system prompt, where there is none.
    ///
    /// # Errors
    /// As for [`Self::keyed_session`].
    pub async fn session_of_id(
        &self,
        id: SessionId,
        owner: Option<String>,
        system: Option<String>,
    ) -> Result<(Session, bool), HostError> {
        let journal = match self.store.open_session(id).await {
            Err(JournalError::NotFound(_)) => self.create(id, owner).await?,
            opened => opened?,
        };
        match self.resume(journal.clone()).await {
            Err(JournalError::NotFound(_)) => {
                Ok((Session::start(journal, self.beginning(system, None)), false))
            }
            resumed => Ok((resumed?, true)),
        }
    }

    /// Starts a session driven by an external client; `client` is its name and version.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn start_client_session(&self, client: String) -> Result<ClientSession, HostError> {
        Ok(ClientSession::new(self.start_client(client).await?))
    }

    /// Starts the session that follows a client's session.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn continue_client_session(
        &self,
        before: &ClientSession,
        client: String,
    ) -> Result<Arc<ClientSession>, HostError> {
        Ok(before.continue_in(self.start_client(client).await?))
    }

    async fn start_client(&self, client: String) -> Result<Session, HostError> {
        let journal = self.create(SessionId::new(), None).await?;
        Ok(Session::start(journal, self.beginning(None, Some(client))))
    }

    fn beginning(&self, system: Option<String>, client: Option<String>) -> SessionStart {
        SessionStart {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            system,
            directory: Some(self.config.working_dir.display().to_string()),
            client,
            parent: None,
        }
    }

    /// Names a session.
    ///
    /// # Errors
    /// When it is not durable yet, or another session of its directory has the name.
    pub async fn name_session(
        &self,
        session: SessionId,
        name: SessionName,
    ) -> Result<(), HostError> {
        Ok(self.store.name_session(session, name).await?)
    }

    /// Resumes a session, by its name, its id, the beginning or the end of its id, or `latest` for
    /// that of the working directory.
    ///
    /// # Errors
    /// When there is no such session, another process has it, or its records cannot be read.
    pub async fn resume_session(&self, name: &str) -> Result<Session, HostError> {
        let directory = self.config.working_dir.display().to_string();
        let id = self.store.find_in(&directory, name).await?;
        let journal = self.store.open_session(id).await?;
        let session = self.resume(journal).await?;
        match session.state().parent() {
            None => Ok(session),
            Some(parent) => Err(HostError::SessionOfAgent {
                session: id,
                parent: parent.session,
            }),
        }
    }

    /// Resumes a session whose journal is open. Of a long one that ran in this process, only the
    /// records since are read.
    ///
    /// # Errors
    /// Its records cannot be read.
    pub(crate) async fn resume(&self, journal: Arc<dyn Journal>) -> Result<Session, JournalError> {
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
}
