//! Tests of the edge to the server: encryption, secrets, roles.

mod faults;
pub(super) mod roles;
mod secrets;
mod tls;

use tokio_postgres::{Client, NoTls};

/// Connects past the store, as an operator would.
async fn operator(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
