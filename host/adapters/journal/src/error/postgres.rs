//! Errors of PostgreSQL: of operations, connections, the address, the seals of secrets, and the
//! tables.

mod advice;

use advice::{postgres_advice, said};
use std::{sync::Arc, time::Duration};

/// A failure of PostgreSQL, or a fault in its setup.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// An operation failed.
    #[error("cannot {action}: {}", postgres_advice(location, source))]
    Operation {
        /// Completes "cannot ...", such as "write the journal".
        action: &'static str,
        /// The server and the database.
        location: Arc<str>,
        /// The error of the server or of the connection.
        source: tokio_postgres::Error,
    },
    /// Every connection of this process is in use.
    #[error(
        "cannot use the journal: all {connections} connections to the database were in use for {waited:?}; raise \
         `connections` in [store], and the server's `max_connections` accordingly"
    )]
    PoolExhausted {
        /// The most connections.
        connections: usize,
        /// How long one was waited for.
        waited: Duration,
    },
    /// A server did not answer in time.
    #[error(
        "cannot use the journal: {location} did not answer within {waited:?}; check the server, the address and the network, \
         then try again"
    )]
    NoAnswer {
        /// The server and the database.
        location: Arc<str>,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The connections could not be made ready.
    #[error("cannot use the journal: its connections cannot be set up ({0}); check [store]")]
    Pool(String),
    /// The server is a standby, or takes no writes for another reason.
    #[error(
        "{0} accepts no writes: the server is a standby, or `default_transaction_read_only` is set; give the address \
         of the primary"
    )]
    ReadOnly(Arc<str>),
    /// The address of a database is none.
    #[error(
        "invalid database address: {0}; write it like `postgres://USER:PASSWORD@HOST:PORT/DATABASE`"
    )]
    Url(#[source] tokio_postgres::Error),
    /// The address asks for plain connections to another machine.
    #[error(
        "the {0} is on another machine, and `sslmode=disable` would send sessions and the password unencrypted; \
         remove it, and set `ca` in [store] to the certificate of the server's authority if that is a private one"
    )]
    Unencrypted(Arc<str>),
    /// No key seals the secrets in a database on another machine.
    #[error(
        "the {0} is on another machine, and no key seals its secrets, so anyone with a copy of it could impersonate \
         this host; create a key with `openssl rand -hex 32`, store it elsewhere, and set `key` in [store] \
         (`env:NAME`, `file:PATH` or `cmd:COMMAND`) on every host"
    )]
    SealRequired(Arc<str>),
    /// The secrets are sealed, and no key is set.
    #[error(
        "the secrets in the {0} are sealed, and no key is set; set `key` in [store] to the key of the other hosts"
    )]
    SealMissing(Arc<str>),
    /// The secrets are sealed with another key.
    #[error(
        "the key in [store] does not open the secrets in the {0}: they were sealed with another key, or were \
         changed; use the key of the other hosts, or seal them again with `agent-host store rekey --from KEY`. \
         Nothing was changed"
    )]
    SealWrong(Arc<str>),
    /// The secrets are not sealed, and a key is set.
    #[error(
        "the secrets in the {0} are not sealed yet, but `key` in [store] is set; seal them once with `agent-host \
         store rekey`, then start every host with the key"
    )]
    NotSealed(Arc<str>),
    /// An operation needs the secrets of a database that were not read yet.
    #[error("the secrets in the {0} are still sealed; open the store first")]
    StillSealed(Arc<str>),
    /// A secret of the database is not what this program writes.
    #[error("a key in the {0} is invalid; restore the database from a backup")]
    SecretForm(Arc<str>),
    /// A secret cannot be sealed.
    #[error("cannot seal the secrets in the {location}: {source}")]
    Seal {
        /// The server and the database.
        location: Arc<str>,
        /// Why.
        source: crate::sealed::SealError,
    },
    /// The user may not make the tables.
    #[error(
        "the {location} has no journal tables, or outdated ones, and this user may not create them ({}); run \
         `agent-host store migrate` as their owner; `agent-host store grants ROLE` then shows what a host needs",
        said(source)
    )]
    SchemaRights {
        /// The server and the database.
        location: Arc<str>,
        /// The error of the server.
        source: tokio_postgres::Error,
    },
    /// The tables have an older version.
    #[error(
        "the journal {location} has format {found}, and this program needs format {known}: stop the hosts of the \
         older version, back up the database, and run `agent-host store migrate`"
    )]
    SchemaOlder {
        /// The server and the database.
        location: Arc<str>,
        /// The version of its tables.
        found: i64,
        /// The version of this program.
        known: i64,
    },
}
