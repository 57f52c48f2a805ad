//! Connections to servers with certificates, good and bad ones, and to one without.

use super::operator;
use crate::{
    JournalStore as _, PostgresOptions, PostgresStore, SealKey,
    postgres::database::Database,
    postgres_server::{Server, server_user, start},
};
use pretty_assertions::assert_eq;
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use std::{
    fs,
    net::TcpListener,
    os::unix::fs::{PermissionsExt as _, chown},
    path::Path,
    process::Command,
    sync::Arc,
};
use tempfile::TempDir;

/// The name in the certificates.
const NAME: &str = "db.example";

/// Makes an authority, and a certificate of it for [`NAME`] that is valid for `days` from now.
const MAKE: &str = r#"
new="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
openssl req -x509 $new -keyout ca.key -out ca.pem -subj /CN=authority -days 2 &&
openssl req $new -keyout server.key -out server.csr -subj /CN=server \
    -addext "subjectAltName=DNS:$2" &&
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial \
    -copy_extensions copy -days "$1" -out server.pem
"#;

/// A server on a port of this machine, with its certificate.
struct PortServer {
    files: TempDir,
    port: u16,
    /// Its database on the socket.
    socket: String,
    _server: Server,
}

impl PortServer {
    /// Starts a server whose certificate is valid for this number of days; without one, it encrypts
    /// nothing.
    async fn start(days: Option<i32>) -> Option<Self> {
        let files = TempDir::new().unwrap();
        let path = |name: &str| files.path().join(name);
        // Free until the server takes it, a moment later.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut settings = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            format!("hba_file={}", path("hba").display()),
        ];
        let mut hba = "local all all trust\nhost all all all trust\n";
        if let Some(days) = days {
            make_certificate(files.path(), days);
            hba =
                "local all all trust\nhostssl all all all scram-sha-256\nhost all all all trust\n";
            settings.extend([
                "ssl=on".to_owned(),
                format!("ssl_cert_file={}", path("server.pem").display()),
                format!("ssl_key_file={}", path("server.key").display()),
            ]);
        }
        fs::write(path("hba"), hba).unwrap();
        for file in fs::read_dir(files.path()).unwrap() {
            chown(file.unwrap().path(), server_user(), server_user()).unwrap();
        }
        chown(files.path(), server_user(), server_user()).unwrap();
        drop(listener);
        let server = start(&settings)?;
        let socket = server.database("sessions", port);
        let password = "ALTER ROLE host PASSWORD 'secret'";
        operator(&socket)
            .await
            .batch_execute(password)
            .await
            .unwrap();
        Some(Self {
            files,
            port,
            socket,
            _server: server,
        })
    }

    /// Returns an address of the server, with more parameters.
    fn address(&self, host: &str, more: &str) -> String {
        let port = self.port;
        format!("host={host} port={port} user=host password=secret dbname=sessions {more}")
    }

    /// Returns the options of a host that trusts the server's authority, or none.
    fn options(&self, trusts: bool) -> PostgresOptions {
        let mut authorities = RootCertStore::empty();
        if trusts {
            let file = fs::read(self.files.path().join("ca.pem")).unwrap();
            authorities
                .add(CertificateDer::from_pem_slice(&file).unwrap())
                .unwrap();
        }
        PostgresOptions {
            authorities: Arc::new(authorities),
            seal: Some(SealKey::parse(&"ab".repeat(32)).unwrap()),
            ..PostgresOptions::default()
        }
    }

    async fn refused(&self, address: &str, trusts: bool) -> String {
        let opened = PostgresStore::open(address, self.options(trusts)).await;
        let text = opened.err().unwrap().to_string();
        assert!(!text.contains("secret "), "{text}");
        text
    }
}

fn make_certificate(directory: &Path, days: i32) {
    let made = Command::new("sh")
        .args(["-c", MAKE, "sh", &days.to_string(), NAME])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let key = directory.join("server.key");
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A server on another machine is spoken to by TLS with the channel bound, also by the connection
/// that listens.
#[tokio::test]
async fn server_with_a_good_certificate_is_encrypted() {
    let Some(server) = PortServer::start(Some(2)).await else {
        return;
    };
    let elsewhere = "hostaddr=127.0.0.1 channel_binding=require sslmode=verify-full";
    let address = server.address(NAME, elsewhere);
    let store = PostgresStore::open(&address, server.options(true))
        .await
        .unwrap();
    assert_eq!(store.list().await.unwrap(), []);
    let own = Database::new(&address, &server.options(true)).unwrap();
    let (listening, connection) = own.connect().await.unwrap();
    let driver = tokio::spawn(connection);
    let own_port = "SELECT client_port, ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE usename = 'host' AND client_port > 0";
    listening.batch_execute("LISTEN anything").await.unwrap();
    let rows = operator(&server.socket)
        .await
        .query(own_port, &[])
        .await
        .unwrap();
    let encrypted: Vec<bool> = rows.iter().map(|row| row.get(1)).collect();
    assert!(encrypted.len() >= 2 && encrypted.iter().all(|ssl| *ssl));
    drop(listening);
    driver.await.unwrap().unwrap();
}

#[tokio::test]
async fn server_that_cannot_be_verified_is_refused() {
    let Some(good) = PortServer::start(Some(2)).await else {
        return;
    };
    let expired = PortServer::start(Some(-1)).await.unwrap();
    let plain = PortServer::start(None).await.unwrap();
    let elsewhere = "hostaddr=127.0.0.1";
    let strict = "sslmode=require";
    for (server, host, more, trusts, expected) in [
        (
            &good,
            "other.example",
            elsewhere,
            true,
            "the certificate of database sessions on other.example is for another name (certificate not valid for \
             name \\\"other.example\\\"; certificate is only valid for DnsName(\\\"db.example\\\")); use a name from \
             the certificate in the address, or issue one for this name",
        ),
        (
            &good,
            NAME,
            elsewhere,
            false,
            "the certificate of database sessions on db.example is from an authority that is not trusted here; set \
             `ca` in [store] to the authority's certificate",
        ),
        (
            &good,
            "127.0.0.1",
            strict,
            true,
            "the certificate of database sessions on 127.0.0.1 is for another name (certificate not valid for name \
             \\\"127.0.0.1\\\"; certificate is only valid for DnsName(\\\"db.example\\\")); use a name from the \
             certificate in the address, or issue one for this name",
        ),
        (
            &plain,
            NAME,
            elsewhere,
            true,
            "database sessions on db.example does not encrypt its connections, so nothing was sent to it; set `ssl = \
             on` there, with a certificate for its name",
        ),
        (
            &plain,
            "localhost",
            strict,
            true,
            "database sessions on localhost does not encrypt its connections, so nothing was sent to it; set `ssl = \
             on` there, with a certificate for its name",
        ),
    ] {
        // The server without certificates has no authority either.
        let trusts = trusts && server.port != plain.port;
        let refused = server.refused(&server.address(host, more), trusts).await;
        assert_eq!(
            refused,
            format!("cannot connect to the journal: {expected}")
        );
    }
    let refused = expired
        .refused(&expired.address(NAME, elsewhere), true)
        .await;
    let expected = "cannot connect to the journal: the certificate of database sessions on db.example has expired; \
        renew it, or correct this machine's clock";
    assert_eq!(refused, expected);
}

/// On this machine a connection is plain unless the address asks for more, whatever the server
/// offers.
#[tokio::test]
async fn server_on_this_machine_may_be_plain() {
    let Some(server) = PortServer::start(None).await else {
        return;
    };
    for (host, more) in [
        ("localhost", ""),
        ("127.0.0.1", "sslmode=prefer"),
        ("127.0.0.1", "sslmode=disable"),
    ] {
        let address = server.address(host, more);
        let store = PostgresStore::open(&address, server.options(false)).await;
        assert_eq!(store.unwrap().list().await.unwrap(), []);
    }
}

/// An address that would send something in the clear, or a copy that could be read, is refused
/// before any connection.
#[tokio::test]
async fn address_without_protection_is_refused() {
    let seal = || Some(SealKey::parse(&"ab".repeat(32)).unwrap());
    for (address, seal, expected) in [
        (
            "postgres://ann:secret@192.0.2.1/sessions?sslmode=disable",
            seal(),
            "the database sessions on 192.0.2.1 is on another machine, and `sslmode=disable` would send",
        ),
        (
            "host=localhost hostaddr=192.0.2.1 dbname=sessions user=ann sslmode=disable",
            seal(),
            "the database sessions on localhost is on another machine, and `sslmode=disable` would send",
        ),
        (
            "postgres://ann:secret@db.example/sessions",
            None,
            "the database sessions on db.example is on another machine, and no key seals its secrets",
        ),
        ("mysql://a:secret@b", seal(), "invalid database address"),
    ] {
        let options = PostgresOptions {
            seal,
            ..PostgresOptions::default()
        };
        let refused = PostgresStore::open(address, options).await.err().unwrap();
        let refused = refused.to_string();
        assert!(refused.starts_with(expected), "{refused}");
        assert!(!refused.contains("secret@"), "{refused}");
    }
}
