//! The suite that every store passes: it knows the trait alone.

pub(super) mod approvals;
mod copies;
pub(super) mod families;
mod firings;
mod found;
mod journals;
mod links;
pub(super) mod memory_items;
pub(super) mod owners;
mod prune;
mod reads;
pub(super) mod stats;
mod statuses;
pub(super) mod tallies;
pub(super) mod transfer;

use super::{input, record};
use crate::{
    JournalStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, postgres::of_role,
    postgres_server::database,
};
use agent_host_engine::journal::{Journal, JournalError};
use agent_host_types::{event::EventRecord, id::SessionId};
use std::sync::Arc;
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// A kind of store at one place. All stores of one backend share their content, as those of several
/// processes do.
trait Backend: Sized {
    /// Makes an empty place; `None` where the software of it is not installed.
    async fn make() -> Option<Self>;

    async fn open(&self) -> Arc<dyn JournalStore>;

    /// Makes sessions two days old whose events say so, where the store goes by another clock.
    async fn age(&self, _sessions: &[SessionId]) {}
}

/// The stores on SQLite in one directory.
struct SqliteBackend(TempDir);

impl Backend for SqliteBackend {
    async fn make() -> Option<Self> {
        Some(Self(TempDir::new().unwrap()))
    }

    async fn open(&self) -> Arc<dyn JournalStore> {
        let store = SqliteStore::open(self.0.path(), SqliteOptions::default());
        Arc::new(store.await.unwrap())
    }
}

/// The stores on PostgreSQL in one database, by a role with the rights of a host alone.
struct PostgresBackend(String);

impl Backend for PostgresBackend {
    async fn make() -> Option<Self> {
        Some(Self(of_role(&database()?, "suite").await))
    }

    async fn open(&self) -> Arc<dyn JournalStore> {
        let store = PostgresStore::open(&self.0, PostgresOptions::default());
        Arc::new(store.await.unwrap())
    }

    async fn age(&self, sessions: &[SessionId]) {
        let (client, connection) = tokio_postgres::connect(&self.0, NoTls).await.unwrap();
        tokio::spawn(connection);
        let ids: Vec<String> = sessions.iter().map(SessionId::to_string).collect();
        let aged =
            "UPDATE progress SET written = written - interval '2 days' WHERE session = ANY ($1)";
        client.execute(aged, &[&ids]).await.unwrap();
    }
}

/// Runs every case against one backend.
macro_rules! suite {
    ($name:ident: $backend:ty) => {
        mod $name {
            use super::*;

            suite!(@cases $backend;
                approvals::approval_holds_in_its_project_until_revoked
                approvals::approvals_by_many_writers_are_all_kept
                approvals::approvals_are_bounded
                approvals::continuation_key_is_the_same_for_every_store
                copies::fork_has_the_events_up_to_the_end_of_a_turn
                copies::fork_elsewhere_than_at_a_turn_end_is_refused
                copies::fork_without_a_beginning_is_refused
                copies::blob_is_removed_with_its_last_session
                copies::delete_of_a_session_in_use_is_refused
                copies::session_of_an_agent_stays_with_its_parent
                families::fork_takes_the_agents_along
                families::export_takes_the_agents_along
                families::import_takes_no_session_that_none_started
                families::sealed_session_keeps_what_waits
                families::sealed_session_is_not_continued_twice
                families::sealed_session_that_was_forgotten_is_refused
                families::sealed_session_that_waits_for_an_agent_is_refused
                firings::firing_is_recorded_once_for_its_key
                firings::firing_by_many_hosts_is_recorded_by_one
                firings::due_firing_is_taken_by_one_host
                firings::firing_that_another_host_took_is_not_changed
                firings::closed_firings_are_bounded
                found::found_events_are_those_of_the_session
                found::last_record_is_found_far_back
                journals::events_of_all_kinds_come_back_unchanged
                journals::events_before_their_barrier_are_not_durable
                journals::drop_stores_the_queue_and_frees_the_session
                journals::barrier_with_a_dropped_future_is_carried_out
                journals::retry_after_a_gap_is_refused
                journals::second_claim_is_refused_with_the_owner
                journals::create_of_a_session_that_exists_is_refused
                links::link_goes_with_its_session
                links::link_is_found_and_removed_by_every_host
                links::link_is_opened_by_one_of_many_hosts
                links::links_are_bounded_until_they_expire
                memory_items::item_is_found_by_words_and_then_by_time
                memory_items::item_is_seen_by_its_owner_in_its_project
                memory_items::item_of_a_call_is_stored_once
                memory_items::items_are_bounded_until_they_expire
                memory_items::forgotten_item_stays_forgotten
                memory_items::item_is_trusted_by_the_user_alone
                owners::scope_has_its_sessions_alone
                owners::copy_is_owned_by_the_one_who_asked
                owners::import_is_owned_by_the_importer
                owners::name_is_taken_among_the_sessions_of_one_owner
                prune::prune_removes_the_oldest_beyond_the_size
                prune::prune_keeps_sessions_in_use_or_awaiting
                reads::list_shows_the_latest_session_first
                reads::list_is_read_in_pages_and_searched
                reads::latest_follows_the_order_of_writing
                reads::session_is_found_by_the_beginning_of_its_id
                reads::session_is_found_by_its_end_name_and_directory
                reads::long_session_is_read_in_pages
                reads::absent_sessions_and_blobs_are_not_found
                reads::undamaged_store_has_lost_nothing
                stats::sums_are_those_of_the_events
                stats::sums_keep_what_retention_removes
                stats::sums_have_what_many_open_sessions_used
                statuses::status_follows_events_and_claims
                statuses::waiting_sessions_are_listed_oldest_first
                statuses::copy_has_a_status_of_its_own
                tallies::calls_amount_to_what_is_within_a_window
                tallies::calls_of_others_are_not_counted
                tallies::last_place_is_taken_by_one_call
                tallies::call_is_counted_once_over_restarts_and_copies
                tallies::calls_that_no_window_reaches_are_removed
                tallies::clocks_do_not_let_calls_pass_early
                transfer::exported_session_is_imported
                transfer::session_that_exists_is_imported_as_new
                transfer::forged_files_are_refused
                transfer::truncated_file_is_refused
            );
        }
    };
    (@cases $backend:ty; $($module:ident::$case:ident)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                if let Some(backend) = <$backend>::make().await {
                    $module::$case(&backend).await;
                }
            }
        )*
    };
}

suite!(sqlite: SqliteBackend);
suite!(postgres_store: PostgresBackend);

/// Makes a session of `events` small durable events.
async fn session_of(store: &dyn JournalStore, events: u64) -> (Arc<dyn Journal>, Vec<EventRecord>) {
    let session = SessionId::new();
    let journal = store.create(session).await.unwrap();
    let records: Vec<_> = (0..events)
        .map(|seq| record(session, seq, input(&format!("message {seq}"))))
        .collect();
    journal.append(&records, Vec::new());
    journal.barrier().await.unwrap();
    (journal, records)
}

/// Reads all durable records of a session.
pub(super) async fn read(
    store: &dyn JournalStore,
    session: SessionId,
) -> Result<Vec<EventRecord>, JournalError> {
    let mut records = Vec::new();
    store
        .for_each_record(session, |record| records.push(record))
        .await?;
    Ok(records)
}

async fn ids(store: &dyn JournalStore) -> Vec<SessionId> {
    let sessions = store.list().await.unwrap();
    sessions.iter().map(|info| info.id).collect()
}
