//! `agent-host store migrate`, `grants` and `rekey`: the care of a database.

use crate::{
    exit::{Exit, Failure},
    terminal::{Terminal, counted, escape_line},
};
use agent_host_app::{Config, Database, Environment, config::read_store_key, parse_key};
use agent_host_journal::PostgresStore;

/// The longest name of a role, in bytes, as PostgreSQL has it.
const MAX_ROLE_BYTES: usize = 63;

pub(super) fn grants(role: &str, terminal: &Terminal) -> Result<Exit, Failure> {
    if role.is_empty() || role.len() > MAX_ROLE_BYTES || role.contains(char::is_control) {
        return Err(Failure::usage(format!(
            "`{}` is not a role name; use a name of up to {MAX_ROLE_BYTES} bytes",
            escape_line(role)
        )));
    }
    terminal.println(&PostgresStore::grants(role));
    Ok(Exit::Done)
}

/// Returns the database of the configuration.
async fn database(config: &Config) -> Result<Database, Failure> {
    let database = Database::configured(config, &config.store).await?;
    database.ok_or_else(|| {
        Failure::usage(
            "[store] has no database; set `url` in it (the state directory needs no maintenance)",
        )
    })
}

pub(super) async fn migrate(config: &Config, terminal: &Terminal) -> Result<Exit, Failure> {
    let database = database(config).await?;
    let url = database.url().to_owned();
    let done = PostgresStore::migrate(&url, database.options()).await?;
    terminal.note(&match (done.from, done.to) {
        (0, to) => format!("The tables were created with version {to}."),
        (from, to) if from == to => format!("The tables already have version {to}."),
        (from, to) => format!("The tables were updated from version {from} to {to}."),
    });
    if done.signed > 0 {
        terminal.note(&format!(
            "{} from before this update {} now signed and trusted; review those that approve calls: agent-host \
             approvals list",
            counted(done.signed, "row"),
            if done.signed == 1 { "is" } else { "are" }
        ));
    }
    Ok(Exit::Done)
}

pub(super) async fn rekey(
    config: &Config,
    from: Option<&str>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let from = match from {
        None => None,
        Some(text) => {
            let key = read_store_key(text, &Environment::from_process()?).await?;
            Some(parse_key(&key)?)
        }
    };
    let database = database(config).await?;
    let url = database.url().to_owned();
    let options = database.options();
    let how = match options.seal {
        Some(_) => "are sealed with the key in [store]",
        None => "are no longer sealed, because [store] has no key",
    };
    let count = PostgresStore::rekey(&url, options, from).await?;
    terminal.note(&format!(
        "{count} secrets {how}. Running hosts still use the old key; restart them with the same [store]."
    ));
    Ok(Exit::Done)
}
