use super::LockFile;
use agent_host_types::{
    id::Digest,
    lock::{Lock, LockEntry, LockedComponent, LockedServer},
    tool::{Effect, ToolDefinition},
};
use pretty_assertions::assert_eq;
use serde_json::json;

/// Every field of the format, in the bytes of version 1. A change of this file is a new version.
const GOLDEN: &str = include_str!("tests/agent.lock");

#[test]
fn lock_of_version_1_is_read_and_written_unchanged() {
    let read = ToolDefinition {
        name: "read".to_owned(),
        title: Some("Read".to_owned()),
        description: "Reads a file.\nReturns its \"text\".".to_owned(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        output_schema: Some(json!({"type": "string"})),
        effect: Effect::ReadOnly,
    };
    let push = ToolDefinition {
        name: "git_push".to_owned(),
        title: None,
        description: "Pushes.".to_owned(),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        effect: Effect::Effectful,
    };
    let imports = ["wasi:filesystem/types@0.2.6", "wasi:io/streams@0.2.6"].map(str::to_owned);
    let component = LockedComponent::new(Digest::of(b"code"), &imports, &[read]);
    let server = LockedServer::new("https://example.com/mcp".to_owned(), &[push]);
    let mut lock = Lock::default();
    lock.accept("files".to_owned(), LockEntry::Component(component));
    lock.accept("git".to_owned(), LockEntry::Server(server));
    assert_eq!(LockFile::parse(GOLDEN), Ok(lock.clone()));
    assert_eq!(LockFile::text(&lock).unwrap(), GOLDEN);
}
