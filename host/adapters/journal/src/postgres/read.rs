//! The statements that read. They need no claim, and wait for no writer.

use super::{database::Database, owners::stored_owner};
use crate::{
    chain::{ChainLink, StoredEvent},
    copy::SessionSource,
    error::{Damage, Location, StoreError},
    find::Wanted,
    ownership::SessionScope,
    row::{PAGE_BYTES, damaged},
    session_list::{ListPage, SessionInfo},
    signature::RowKey,
    store::WAITING,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    session_status::{SessionClaim, SessionPhase, SessionStatus},
};
use std::{collections::BTreeMap, str::FromStr, sync::Arc};
use tokio_postgres::{Row, types::ToSql};

/// The columns of a [`SessionInfo`], of a session `s` and the one that started it, if that exists.
const INFO: &str =
    "SELECT s.id, s.started_ms, w.last_ms, w.events, s.title, s.directory, w.outcome,
        p.id, s.name, w.model, w.cost_micros, w.phase, l.session IS NOT NULL, r.session IS NOT NULL,
        s.project, s.owner, s.owner_signature
    FROM progress w JOIN sessions s ON s.id = w.session LEFT JOIN sessions p ON p.id = s.parent
        LEFT JOIN leases l ON l.session = w.session AND l.until > clock_timestamp()
        LEFT JOIN runs r ON r.session = w.session AND r.state = 'waiting'";

/// The number of sessions up to which those that match a search are sorted, in place of all
/// sessions being looked at in order.
const FEW: i64 = 2_000;

/// The most events of a page, so that the server sends no more than is used.
pub(super) const PAGE_EVENTS: i64 = 512;

impl Database {
    /// Reads the number of durable events of a session; `None` if it does not exist.
    pub(super) async fn count(&self, session: SessionId) -> Result<Option<u64>, StoreError> {
        let query = "SELECT events FROM progress WHERE session = $1";
        let rows = self.read(query, &[&session.to_string()]).await?;
        Ok(rows.first().map(|row| positive(row.get(0))))
    }

    /// Checks that a session exists.
    pub(super) async fn must_exist(&self, session: SessionId) -> Result<(), JournalError> {
        match self.count(session).await? {
            Some(_) => Ok(()),
            None => Err(StoreError::NoSession(session).into()),
        }
    }

    /// Returns a page of a session, which must exist if the page is empty.
    pub(super) async fn existing(
        &self,
        session: SessionId,
        page: Vec<EventRecord>,
    ) -> Result<Vec<EventRecord>, JournalError> {
        if page.is_empty() {
            self.must_exist(session).await?;
        }
        Ok(page)
    }

    /// Reads the next durable records from number `from` on, in order; none behind the last and for
    /// a session that does not exist.
    pub(super) async fn page(
        &self,
        session: SessionId,
        from: u64,
    ) -> Result<Vec<EventRecord>, JournalError> {
        let Ok(first) = i64::try_from(from) else {
            return Ok(Vec::new());
        };
        // One statement, which sees one moment: the events, the one before them, and their number.
        let rows = self.read(
            "WITH page AS (
                SELECT seq, at_ms, v, kind, json, digest,
                    sum(length(json)) OVER (ORDER BY seq) - length(json) AS before
                FROM (SELECT * FROM events WHERE session = $1 AND seq >= $2 ORDER BY seq LIMIT $3) AS events
            )
            SELECT seq, at_ms, v, kind, json, digest,
                (SELECT digest FROM events WHERE session = $1 AND seq = $2 - 1),
                (SELECT events FROM progress WHERE session = $1)
            FROM page WHERE before < $4 ORDER BY seq",
            &[
                &session.to_string(),
                &first,
                &PAGE_EVENTS,
                &i64::try_from(PAGE_BYTES).unwrap_or(i64::MAX),
            ],
        ).await?;
        let Some(any) = rows.first() else {
            return self.end(session, from).await;
        };
        let mut link = ChainLink::before(session, from, any.get(6)).ok_or_else(|| {
            let (expected, found) = (from.saturating_sub(1), any.get(0));
            damaged(&self.location, session, Damage::Gap { expected, found })
        })?;
        let mut records = Vec::with_capacity(rows.len());
        for (row, expected) in rows.iter().zip(from..) {
            let event = stored_event(row);
            records.push(event.check(&self.location, session, expected, &mut link)?);
        }
        Ok(records)
    }

    /// Returns the empty page behind the last event, if it is there.
    async fn end(&self, session: SessionId, from: u64) -> Result<Vec<EventRecord>, JournalError> {
        match self.count(session).await? {
            // They may have been written since.
            Some(expected)
                if from < expected && self.position(session).await?.next <= signed(from) =>
            {
                let damage = Damage::Truncated {
                    found: from,
                    expected,
                };
                Err(damaged(&self.location, session, damage).into())
            }
            _ => Ok(Vec::new()),
        }
    }

    pub(super) async fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        let query = "SELECT bytes FROM blobs WHERE digest = $1";
        let rows = self.read(query, &[&digest.to_string()]).await?;
        let location = Arc::clone(&self.location);
        match rows.first().map(|row| row.get::<_, Vec<u8>>(0)) {
            Some(bytes) if Digest::of(&bytes) == digest => Ok(bytes),
            Some(_) => Err(StoreError::ChangedBlob { digest, location }.into()),
            None => Err(StoreError::NoBlob { digest, location }.into()),
        }
    }

    /// Reads the blobs that a session refers to, in order.
    async fn blobs_of(&self, session: SessionId) -> Result<Vec<Digest>, JournalError> {
        let query = "SELECT digest FROM blob_references WHERE session = $1 ORDER BY digest";
        let rows = self.read(query, &[&session.to_string()]).await?;
        rows.iter().map(|row| parsed(row.get(0))).collect()
    }

    /// Reads the sessions of a scope, the one that was written to last first.
    pub(super) async fn sessions(
        &self,
        scope: &SessionScope,
    ) -> Result<Vec<SessionInfo>, JournalError> {
        let mut parameters = Vec::new();
        let within = within(scope, "w.project", &mut parameters);
        let query = format!("{INFO} WHERE true {within} ORDER BY w.last_write DESC");
        let rows = self.read_planned(&query, &parameters).await?;
        self.infos_within(&rows, scope)
    }

    /// Reads the rows of a list. The condition of the query finds those of a scope; here those go
    /// whose owner is not believed.
    fn infos_within(
        &self,
        rows: &[Row],
        scope: &SessionScope,
    ) -> Result<Vec<SessionInfo>, JournalError> {
        let key = self.rows_key()?;
        let infos = rows.iter().map(|row| info(row, key));
        let mut infos = infos.collect::<Result<Vec<_>, _>>()?;
        infos.retain(|info| scope.has(info.ownership.as_ref()));
        Ok(infos)
    }

    /// Reads a part of the sessions that no other started, the one that was written to last first.
    pub(super) async fn list_page(
        &self,
        page: &ListPage,
    ) -> Result<Vec<SessionInfo>, JournalError> {
        let words = page.words();
        let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
        let offset = i64::try_from(page.offset).unwrap_or(i64::MAX);
        // Words have letters and digits alone, so none ends the text that quotes it.
        let words: Vec<String> = words.iter().map(|word| format!("'{word}':*")).collect();
        let words = words.join(" & ");
        let found = match words.is_empty() {
            true => None,
            false => self.few_matches(&words, &page.scope).await?,
        };
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&limit, &offset];
        let filter = match (&found, words.is_empty()) {
            (Some(ids), _) => {
                parameters.push(ids);
                "AND s.id = ANY ($3)"
            }
            (None, false) => {
                parameters.push(&words);
                "AND s.words @@ $3::text::tsquery"
            }
            (None, true) => "",
        };
        let mut within = within(&page.scope, "w.project", &mut parameters);
        if let Some(directory) = &page.directory {
            parameters.push(directory);
            within = format!("{within} AND s.directory = ${}", parameters.len());
        }
        let query = format!(
            "{INFO} WHERE p.id IS NULL {filter} {within} ORDER BY w.last_write DESC LIMIT $1 OFFSET $2"
        );
        let rows = self.read_planned(&query, &parameters).await?;
        self.infos_within(&rows, &page.scope)
    }

    /// Reads the ids of sessions with these words; `None` for more than [`FEW`], of which a page is
    /// sooner found in the order of the list. The server cannot tell how many there are, and would
    /// look through all sessions for a word that none has. Of a project with few sessions these are
    /// looked at, since the index has the words of all projects.
    async fn few_matches(
        &self,
        words: &str,
        scope: &SessionScope,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let failed = self.failed("read the journal");
        let few = usize::try_from(FEW).unwrap_or(usize::MAX);
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        let by_index = "SET LOCAL enable_seqscan = off";
        tx.batch_execute(by_index).await.map_err(failed)?;
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&words, &FEW];
        if let Some(project) = scope.project() {
            let query = "SELECT session FROM progress WHERE project = $1 LIMIT $2";
            let rows = tx.query(query, &[&project, &FEW]).await.map_err(failed)?;
            if rows.len() < few {
                let ids: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
                let query = "SELECT id FROM sessions
                    WHERE id = ANY ($1) AND words @@ $2::text::tsquery";
                let rows = tx.query(query, &[&ids, &words]).await.map_err(failed)?;
                tx.rollback().await.map_err(failed)?;
                return Ok(Some(rows.iter().map(|row| row.get(0)).collect()));
            }
        }
        let within = within(scope, "s.project", &mut parameters);
        let query = format!(
            "SELECT s.id FROM sessions s WHERE s.words @@ $1::text::tsquery {within} LIMIT $2"
        );
        let rows = tx.query(&query, &parameters).await.map_err(failed)?;
        tx.rollback().await.map_err(failed)?;
        let ids: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        Ok((rows.len() < few).then_some(ids))
    }

    /// Reads the sessions that wait and that no other started, the one that was written to longest
    /// ago first.
    pub(super) async fn waiting(&self) -> Result<Vec<SessionInfo>, JournalError> {
        let which = format!("w.phase IN {WAITING} AND p.id IS NULL ORDER BY w.last_write");
        let rows = self.read(&format!("{INFO} WHERE {which}"), &[]).await?;
        self.infos_within(&rows, &SessionScope::All)
    }

    /// Counts the sessions of a scope by status.
    pub(super) async fn count_statuses(
        &self,
        scope: &SessionScope,
    ) -> Result<BTreeMap<SessionStatus, u64>, JournalError> {
        let mut parameters = Vec::new();
        let within = within(scope, "w.project", &mut parameters);
        let query = format!(
            "SELECT w.phase, l.session IS NOT NULL, r.session IS NOT NULL, count(*)
            FROM progress w JOIN sessions s ON s.id = w.session LEFT JOIN sessions p ON p.id = s.parent
                LEFT JOIN leases l ON l.session = w.session AND l.until > clock_timestamp()
                LEFT JOIN runs r ON r.session = w.session AND r.state = 'waiting'
            WHERE p.id IS NULL {within} GROUP BY 1, 2, 3"
        );
        let mut counts = BTreeMap::new();
        for row in self.read_planned(&query, &parameters).await? {
            *counts.entry(status(&row, 0)?).or_default() += positive(row.get(3));
        }
        Ok(counts)
    }

    /// Reads the rows of sessions in lists.
    pub(super) async fn infos(
        &self,
        sessions: &[SessionId],
    ) -> Result<Vec<SessionInfo>, JournalError> {
        let ids: Vec<String> = sessions.iter().map(SessionId::to_string).collect();
        let query = format!("{INFO} WHERE s.id = ANY ($1)");
        let rows = self.read(&query, &[&ids]).await?;
        self.infos_within(&rows, &SessionScope::All)
    }

    /// Reads the rows of the sessions with a name, the one that was written to last first.
    pub(super) async fn named(&self, name: &str) -> Result<Vec<SessionInfo>, JournalError> {
        let query = format!("{INFO} WHERE s.name = $1 ORDER BY w.last_write DESC");
        let rows = self.read(&query, &[&text(name)]).await?;
        self.infos_within(&rows, &SessionScope::All)
    }

    /// Reads the ids that match, the session that was written to last first. An id is of digits and
    /// letters before `g`, so the ids with a beginning are a range.
    pub(super) async fn matches(
        &self,
        wanted: &Wanted<'_>,
    ) -> Result<Vec<SessionId>, JournalError> {
        let limit = i64::try_from(wanted.limit()).unwrap_or(i64::MAX);
        let rows = if wanted.is_latest() {
            let query = "SELECT s.id FROM progress w JOIN sessions s ON s.id = w.session
                    LEFT JOIN sessions p ON p.id = s.parent
                WHERE p.id IS NULL ORDER BY w.last_write DESC LIMIT $1";
            self.read(query, &[&limit]).await?
        } else {
            let query = "SELECT id FROM sessions JOIN progress ON session = id
                WHERE id >= $1 AND id < $1 || 'g'
                    OR $2 AND reverse(id) COLLATE \"C\" >= reverse($1)
                        AND reverse(id) COLLATE \"C\" < reverse($1) || 'g'
                    OR name = $3
                ORDER BY last_write DESC LIMIT $4";
            let (prefix, name) = (text(&wanted.prefix), text(wanted.given.trim()));
            self.read(query, &[&prefix, &wanted.may_be_end(), &name, &limit])
                .await?
        };
        rows.iter().map(|row| parsed(row.get(0))).collect()
    }

    /// Reads the session whose call started this one, if it exists.
    pub(super) async fn parent(
        &self,
        session: SessionId,
    ) -> Result<Option<SessionId>, JournalError> {
        let query =
            "SELECT p.id FROM sessions s JOIN sessions p ON p.id = s.parent WHERE s.id = $1";
        let rows = self.read(query, &[&session.to_string()]).await?;
        let parents = rows.iter().map(|row| row.get(0)).collect();
        self.of_same_owner(session, parents)
            .await
            .map(|mut parents| parents.pop())
    }

    /// Reads the sessions of a session's agents, and of theirs; each after the one that started it.
    pub(super) async fn descendants(
        &self,
        session: SessionId,
    ) -> Result<Vec<SessionId>, JournalError> {
        let query = "WITH RECURSIVE family (id, depth) AS (
                SELECT id, 1 FROM sessions WHERE parent = $1
                UNION SELECT s.id, depth + 1 FROM sessions s JOIN family ON s.parent = family.id
            ) SELECT id FROM family GROUP BY id ORDER BY min(depth), id";
        let rows = self.read(query, &[&session.to_string()]).await?;
        let ids = rows.iter().map(|row| row.get(0)).collect();
        self.of_same_owner(session, ids).await
    }
}

fn info(row: &Row, key: &RowKey) -> Result<SessionInfo, JournalError> {
    let parent: Option<&str> = row.get(7);
    Ok(SessionInfo {
        id: parsed(row.get(0))?,
        status: status(row, 11)?,
        started_ms: positive(row.get(1)),
        last_ms: positive(row.get(2)),
        events: positive(row.get(3)),
        title: row.get(4),
        directory: row.get(5),
        outcome: row.get(6),
        parent: parent.map(parsed).transpose()?,
        name: row.get(8),
        model: row.get(9),
        cost_micros: row.get::<_, Option<i64>>(10).map(positive),
        ownership: stored_owner(row, row.get(0), 14).believed(key),
    })
}

/// Returns the condition that a session `s` is in a scope, whose project is in this column, and
/// adds its parameters.
pub(super) fn within<'s>(
    scope: &'s SessionScope,
    column: &str,
    parameters: &mut Vec<&'s (dyn ToSql + Sync)>,
) -> String {
    let mut condition = String::new();
    if let SessionScope::Project(project) | SessionScope::Own { project, .. } = scope {
        parameters.push(project);
        condition = format!("AND {column} = ${}", parameters.len());
    }
    if let SessionScope::Own { owner, .. } = scope {
        parameters.push(owner);
        condition = format!("{condition} AND s.owner = ${}", parameters.len());
    }
    condition
}

/// Returns the status of a session: its phase is in column `first`, and behind it whether a host
/// has it, and whether its run waits for one.
fn status(row: &Row, first: usize) -> Result<SessionStatus, JournalError> {
    let claim = match (row.get(first + 1), row.get(first + 2)) {
        (true, _) => SessionClaim::Held,
        (false, true) => SessionClaim::Queued,
        (false, false) => SessionClaim::None,
    };
    Ok(phase(row.get(first))?.status(claim))
}

/// Parses the stored name of a phase.
pub(super) fn phase(name: &str) -> Result<SessionPhase, JournalError> {
    SessionPhase::from_stored(name).ok_or_else(|| {
        let name = name.escape_debug();
        JournalError::corrupt(format!("`{name}` in the journal is not a session phase"))
    })
}

/// Parses an id or a digest.
pub(super) fn parsed<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, JournalError> {
    text.parse().map_err(|error: T::Err| {
        let text = text.escape_debug();
        JournalError::corrupt(format!("`{text}` in the journal is not an id: {error}"))
    })
}

/// Returns a text without NUL, which PostgreSQL's texts cannot have, so that nothing matches it.
fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

pub(super) fn positive(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Reads the columns `seq, at_ms, v, kind, json, digest`.
pub(super) fn stored_event(row: &Row) -> StoredEvent {
    StoredEvent {
        numbers: [row.get(0), row.get(1), row.get(2)],
        kind: row.get::<_, String>(3).into_bytes(),
        json: row.get::<_, String>(4).into_bytes(),
        digest: row.get(5),
    }
}

/// A session that is read as a whole, on a thread that may block.
pub(super) struct StoredSession<'a> {
    pub(super) database: &'a Database,
    pub(super) session: SessionId,
}

impl SessionSource for StoredSession<'_> {
    fn session(&self) -> SessionId {
        self.session
    }

    fn location(&self) -> &Location {
        &self.database.location
    }

    fn events(&self) -> Result<u64, JournalError> {
        let count = self.database.wait(self.database.count(self.session))?;
        Ok(count.unwrap_or_default())
    }

    fn page(&self, from: u64) -> Result<Vec<EventRecord>, JournalError> {
        self.database.wait(self.database.page(self.session, from))
    }

    fn blobs(&self) -> Result<Vec<Digest>, JournalError> {
        self.database.wait(self.database.blobs_of(self.session))
    }

    fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        self.database.wait(self.database.blob(digest))
    }

    fn agents(&self) -> Result<Vec<Box<dyn SessionSource + '_>>, JournalError> {
        let database = self.database;
        let family = database.wait(database.descendants(self.session))?;
        let boxed =
            |session| Box::new(StoredSession { database, session }) as Box<dyn SessionSource>;
        Ok(family.into_iter().map(boxed).collect())
    }
}
