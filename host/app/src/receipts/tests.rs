mod entries;
mod hostile;
mod tampered;

use super::{
    FaultKind, ReceiptError, ReceiptFault, VerifiedReceipts, export_receipts, verify_receipts,
};
use agent_host_journal::{JournalStore as _, SqliteOptions, SqliteStore};
use agent_host_registry::SigningKey;
use agent_host_types::{
    accounting::Accounting,
    event::{EVENT_VERSION, EventRecord},
    id::SessionId,
    output::Blob,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Keys of tests, which sign nothing else.
const KEY: &str = "MC4CAQAwBQYDK2VwBCIEIGea1DmOG8MEgWTMU8WMmuTCwFixTFWDJX1sclO2uMTy";
const OTHER_KEY: &str = "MC4CAQAwBQYDK2VwBCIEILr3VLZjMAHD/wD/aevGhAJmvESC2gtSJYQPuV234VwP";
const P256_KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEXDg5IG2s/52/dBRBxO4AIivU3ovssm2w7ZF6nQr1LqhRANCAATeD8ZyN8O2z1K14+UM4f79iwWgLtQjrLG0TvtJCO0cYj/afD6hKN3/Tkb75v18MkfNjT/8BsHAyNZr4z8Qb7kD";

fn key(body: &str) -> SigningKey {
    let text = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    text.parse().unwrap()
}

fn session() -> SessionId {
    "01998f30-4f6e-7a51-8f0e-3c1d2b4a5968".parse().unwrap()
}

/// A store, and the directory that it is in.
struct StoredSession {
    store: SqliteStore,
    _state_dir: TempDir,
}

/// A session of these events, in a store.
async fn stored(events: Vec<Value>, blobs: Vec<Blob>) -> StoredSession {
    let state_dir = TempDir::new().unwrap();
    let store = SqliteStore::open(state_dir.path(), SqliteOptions::default());
    let store = store.await.unwrap();
    let journal = store.create(session()).await.unwrap();
    let records = events.into_iter().enumerate().map(|(seq, event)| {
        let seq = seq as u64;
        EventRecord {
            v: EVENT_VERSION,
            session: session(),
            seq,
            at_ms: 1_000 + seq,
            event: serde_json::from_value(event).unwrap(),
        }
    });
    journal.append(&records.collect::<Vec<_>>(), blobs);
    journal.barrier().await.unwrap();
    StoredSession {
        store,
        _state_dir: state_dir,
    }
}

/// Exports the receipts of a store's session.
async fn export(stored: &StoredSession, signing: &SigningKey, redact: bool) -> Vec<String> {
    let mut out = Vec::new();
    let count = export_receipts(&stored.store, session(), signing, redact, &mut out).await;
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(count.unwrap() as usize, lines.len() - 1);
    lines
}

fn received(call: &str, input: &Value) -> Value {
    json!({ "kind": "call-received", "call_id": call, "tool": "say", "input": input })
}

fn settled(call: &str, output: &Value) -> Value {
    json!({ "kind": "call-settled", "call_id": call, "tool": "say", "output": output,
            "accounting": Accounting::default() })
}

/// A session of this many calls.
async fn calls(count: usize) -> StoredSession {
    let events = (0..count).flat_map(|number| {
        let call = format!("call_{number}");
        let output = json!({ "type": "text", "value": format!("result {number}") });
        [
            received(&call, &json!({ "number": number })),
            settled(&call, &output),
        ]
    });
    stored(events.collect(), Vec::new()).await
}

/// Verifies lines with the key of the tests.
fn verify(lines: &[impl AsRef<[u8]>]) -> Result<VerifiedReceipts, ReceiptFault> {
    let mut file = Vec::new();
    for line in lines {
        file.extend_from_slice(line.as_ref());
        file.push(b'\n');
    }
    verify_receipts(file.as_slice(), &key(KEY).public()).unwrap()
}

/// The number of receipts, or the kind and the line of the first fault.
type Judgement = Result<u64, (FaultKind, u64)>;

fn fault(lines: &[impl AsRef<[u8]>]) -> Judgement {
    let verified = verify(lines).map(|verified| verified.calls + verified.decisions);
    verified.map_err(|fault| (fault.kind, fault.line))
}

#[tokio::test]
async fn key_that_is_not_ed25519_is_refused() {
    let why = "receipts are signed with Ed25519, and this is a P-256 key; make one with \
               `openssl genpkey -algorithm ed25519`";
    let stored = calls(1).await;
    let (key, mut out) = (key(P256_KEY), Vec::new());
    let exported = export_receipts(&stored.store, session(), &key, false, &mut out).await;
    let verified = verify_receipts(&b""[..], &key.public());
    for error in [exported.map(drop), verified.map(drop)] {
        assert!(matches!(&error, Err(ReceiptError::Key(_))));
        assert_eq!(error.unwrap_err().to_string(), why);
    }
    assert_eq!(out, b"");
}
