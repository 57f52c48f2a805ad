//! The calls that rules count.

use super::database::{Database, Parameters};
use crate::tally::{StoredTally, TallyRows, TallySeries, beginnings};
use agent_host_engine::journal::{CountedCall, JournalError, Tallies, TallyQuery};
use agent_host_types::id::SessionId;
use deadpool_postgres::GenericClient;
use tokio_postgres::{Error, Row};

const COLUMNS: &str = "project, owner, tool, number, at_ms, session, call, amounts, signature";

const LAST: &str = "project = $1 AND owner = $2 AND tool = $3 ORDER BY number DESC LIMIT 1";

const BEFORE: &str = "project = $1 AND owner = $2 AND tool = $3 AND at_ms <= $4
    ORDER BY at_ms DESC, number DESC LIMIT 1";

/// Reads all rows as they are stored.
pub(super) async fn stored(client: &impl GenericClient) -> Result<Vec<StoredTally>, Error> {
    let query = format!("SELECT {COLUMNS} FROM tallies ORDER BY project, owner, tool, number");
    let rows = client.query(&query, &[]).await?;
    Ok(rows.iter().map(read).collect())
}

async fn one(
    client: &impl GenericClient,
    which: &str,
    values: Parameters<'_>,
) -> Result<Option<StoredTally>, Error> {
    let query = format!("SELECT {COLUMNS} FROM tallies WHERE {which}");
    let statement = client.prepare_cached(&query).await?;
    let found = client.query_opt(&statement, values).await?;
    Ok(found.as_ref().map(read))
}

async fn last(
    client: &impl GenericClient,
    series: &TallySeries,
) -> Result<Option<StoredTally>, Error> {
    one(
        client,
        LAST,
        &[&series.project, &series.owner, &series.tool],
    )
    .await
}

impl Database {
    /// Reads what earlier calls amount to.
    pub(super) async fn tallies(
        &self,
        session: SessionId,
        query: TallyQuery,
    ) -> Result<Tallies, JournalError> {
        let ownership = self.ownership(session).await?;
        let owner = ownership.as_ref().and_then(|own| own.owner.clone());
        let rows = match query.windows.is_empty() {
            true => TallyRows::default(),
            false => {
                let series = TallySeries::new(ownership, &query.tool);
                let client = self.client().await?;
                let rows = rows(&client, session, &series, &query).await;
                rows.map_err(self.failed("read the journal"))?
            }
        };
        Ok(rows.tallies(&query, owner, (self.rows_key()?, &self.location))?)
    }

    /// Counts a call, unless another one was counted since the decision about it.
    pub(super) async fn count_call(
        &self,
        session: SessionId,
        call: CountedCall,
    ) -> Result<bool, JournalError> {
        let failed = self.failed("count a call");
        let series = TallySeries::new(self.ownership(session).await?, &call.tool);
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        let last = last(&tx, &series).await.map_err(failed)?;
        let believed = (self.rows_key()?, &self.location);
        let Some(row) = StoredTally::next(series, last.as_ref(), session, call, believed)? else {
            return Ok(false);
        };
        let inserted = insert(&tx, &row).await.map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        Ok(inserted)
    }
}

/// Reads the rows from which tallies follow, the last one first: one that is written meanwhile is
/// not among them.
async fn rows(
    client: &impl GenericClient,
    session: SessionId,
    series: &TallySeries,
    query: &TallyQuery,
) -> Result<TallyRows, Error> {
    let last = last(client, series).await?;
    let mut before = Vec::with_capacity(query.windows.len());
    for at_ms in beginnings(query) {
        let values: Parameters<'_> = &[&series.project, &series.owner, &series.tool, &at_ms];
        before.push(one(client, BEFORE, values).await?);
    }
    let own: Parameters<'_> = &[&session.to_string(), &query.call.0];
    let own = one(client, "session = $1 AND call = $2", own).await?;
    Ok(TallyRows { last, before, own })
}

/// Adds a row, and removes those that no window reaches, but the last of them. Of several hosts
/// that add a row with one number, the server lets one.
async fn insert(client: &impl GenericClient, row: &StoredTally) -> Result<bool, Error> {
    let insert = format!(
        "INSERT INTO tallies ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT DO NOTHING"
    );
    let series = &row.series;
    let values: Parameters<'_> = &[
        &series.project,
        &series.owner,
        &series.tool,
        &row.number,
        &row.at_ms,
        &row.session,
        &row.call,
        &row.amounts,
        &row.signature,
    ];
    let statement = client.prepare_cached(&insert).await?;
    let inserted = client.execute(&statement, values).await?;
    let remove = format!(
        "DELETE FROM tallies WHERE project = $1 AND owner = $2 AND tool = $3 AND number <
             (SELECT number FROM tallies WHERE {BEFORE})"
    );
    let kept_from = row.kept_from();
    let kept: Parameters<'_> = &[&series.project, &series.owner, &series.tool, &kept_from];
    let statement = client.prepare_cached(&remove).await?;
    client.execute(&statement, kept).await?;
    Ok(inserted == 1)
}

fn read(row: &Row) -> StoredTally {
    StoredTally {
        series: TallySeries {
            project: row.get(0),
            owner: row.get(1),
            tool: row.get(2),
        },
        number: row.get(3),
        at_ms: row.get(4),
        session: row.get(5),
        call: row.get(6),
        amounts: row.get(7),
        signature: row.get(8),
    }
}
