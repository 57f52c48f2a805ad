use super::{ArtifactsCtx, MAX_CHANGES};
use crate::{
    bindings::artifacts::{ArtifactError, Host as _},
    gate::Gate,
    secrets::{Redactors, tests::secrets},
};
use agent_host_engine::{
    artifact::SessionArtifacts,
    journal::MemoryJournal,
    policy::{ArtifactAccess, Grants, SecretGrant},
    session::{Session, SessionStart},
    tool::SessionChange,
};
use agent_host_types::{accounting::AuditVerdict, id::SessionId, limits::Limits, tool::Effect};
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// The most bytes that one call moves here.
const MAX_BYTES: u64 = 100;

const SECRET: &str = "s3cr3t-value-of-some-length";

fn session() -> SessionArtifacts {
    let journal = Arc::new(MemoryJournal::new(SessionId::new()));
    let mut session = Session::start(journal, SessionStart::default());
    for (name, content) in [
        ("a.txt", "one".to_owned()),
        ("b/c.txt", "two".to_owned()),
        ("large.txt", "x".repeat(101)),
        ("leaks.txt", format!("it is {SECRET}")),
    ] {
        session
            .store_artifact(name, "text/plain", content.into_bytes())
            .unwrap();
    }
    session.artifacts()
}

fn ctx_of(access: Option<ArtifactAccess>, effect: Effect, quota: u64) -> ArtifactsCtx {
    let grants = Grants {
        artifacts: access,
        secrets: vec![SecretGrant {
            name: "token".to_owned(),
            scheme: "https".to_owned(),
            host: "example.com".to_owned(),
            port: 443,
            in_query: false,
        }],
        ..Grants::default()
    };
    let gate = Gate::new(Arc::new(grants), effect, &Limits::default());
    let all = secrets(&[("token", SECRET)]);
    let redactors = Redactors {
        granted: gate.granted_secrets(&all),
        all,
    };
    ArtifactsCtx::new(
        gate,
        redactors,
        Some(session().with_quota(quota)),
        MAX_BYTES,
    )
}

fn ctx() -> ArtifactsCtx {
    ctx_of(Some(ArtifactAccess::ReadWrite), Effect::Effectful, 1_000)
}

async fn put(ctx: &mut ArtifactsCtx, name: &str, content: &str) -> Result<(), ArtifactError> {
    let (name, bytes) = (name.to_owned(), content.as_bytes().to_vec());
    ctx.put(name, "text/plain".to_owned(), bytes).await.unwrap()
}

async fn get(ctx: &mut ArtifactsCtx, name: &str) -> Result<String, ArtifactError> {
    let got = ctx.get(name.to_owned()).await.unwrap();
    got.map(|bytes| String::from_utf8(bytes).unwrap())
}

async fn delete(ctx: &mut ArtifactsCtx, name: &str) -> Result<(), ArtifactError> {
    ctx.delete(name.to_owned()).await.unwrap()
}

async fn names(ctx: &mut ArtifactsCtx) -> Vec<(String, u64)> {
    let listed = ctx.list().await.unwrap().unwrap().into_iter();
    listed.map(|kept| (kept.name, kept.size)).collect()
}

#[tokio::test]
async fn call_sees_its_own_changes() {
    let mut ctx = ctx();
    assert_eq!(put(&mut ctx, "a.txt", "four").await, Ok(()));
    assert_eq!(put(&mut ctx, "n/ew.txt", "new").await, Ok(()));
    assert_eq!(delete(&mut ctx, "b/c.txt").await, Ok(()));
    assert_eq!(put(&mut ctx, "gone.txt", "x").await, Ok(()));
    assert_eq!(delete(&mut ctx, "gone.txt").await, Ok(()));
    let seen = [
        ("a.txt", 4),
        ("large.txt", 101),
        ("leaks.txt", 33),
        ("n/ew.txt", 3),
    ];
    let seen = seen.map(|(name, size)| (name.to_owned(), size));
    assert_eq!(names(&mut ctx).await, seen);
    assert_eq!(get(&mut ctx, "a.txt").await, Ok("four".to_owned()));
    assert_eq!(get(&mut ctx, "b/c.txt").await, Err(ArtifactError::NotFound));
    assert_eq!(ctx.held_bytes(), 7);
    let changes = ctx.take_changes().map(|change| match change {
        SessionChange::Store(new) => format!("+{}", new.name()),
        SessionChange::Delete(name) => format!("-{name}"),
        other => panic!("{other:?}"),
    });
    let expected = ["+a.txt", "-b/c.txt", "-gone.txt", "+n/ew.txt"];
    assert_eq!(changes.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn artifacts_need_a_grant_and_leave_a_record() {
    use ArtifactAccess::{ReadOnly, ReadWrite};
    for (access, effect, reads, writes) in [
        (None, Effect::Effectful, false, false),
        (Some(ReadOnly), Effect::Effectful, true, false),
        (Some(ReadWrite), Effect::ReadOnly, true, false),
        (Some(ReadWrite), Effect::Idempotent, true, true),
    ] {
        let mut ctx = ctx_of(access, effect, 1_000);
        let granted = |is_granted, got: bool| assert_eq!(got, is_granted, "{access:?} {effect:?}");
        granted(reads, ctx.list().await.unwrap().is_ok());
        granted(reads, get(&mut ctx, "a.txt").await.is_ok());
        granted(writes, put(&mut ctx, "a.txt", "x").await.is_ok());
        granted(writes, delete(&mut ctx, "b/c.txt").await.is_ok());
        let audit = ctx.gate.stats().audit;
        let verdict = |is_granted| match is_granted {
            true => AuditVerdict::Allowed,
            false => AuditVerdict::Denied,
        };
        let got: Vec<(String, AuditVerdict)> = audit
            .iter()
            .map(|entry| (entry.request.to_string(), entry.verdict))
            .collect();
        let expected = [
            ("list-artifacts", verdict(reads)),
            ("read-artifact a.txt", verdict(reads)),
            ("store-artifact a.txt", verdict(writes)),
            ("delete-artifact b/c.txt", verdict(writes)),
        ];
        assert_eq!(
            got,
            expected.map(|(text, verdict)| (text.to_owned(), verdict))
        );
        // A change comes after the call, so the call may still ask the user.
        assert!(!ctx.gate.is_dirty());
    }
}

/// Every error of the contract, and every bound.
#[tokio::test]
async fn artifact_errors_are_those_of_the_contract() {
    use ArtifactError::{InvalidMediaType, InvalidName, NotFound, QuotaExceeded, TooLarge};
    let mut ctx = ctx();
    for name in ["/a", "../a", "a/../b", "", "a\\b", &"n".repeat(1_025)] {
        assert_eq!(get(&mut ctx, name).await, Err(InvalidName), "{name}");
        assert_eq!(put(&mut ctx, name, "x").await, Err(InvalidName), "{name}");
        assert_eq!(delete(&mut ctx, name).await, Err(InvalidName), "{name}");
    }
    // Results can be read, and neither replaced nor deleted.
    assert_eq!(get(&mut ctx, "results/x").await, Err(NotFound));
    assert_eq!(put(&mut ctx, "results/x", "x").await, Err(InvalidName));
    assert_eq!(delete(&mut ctx, "results/x").await, Err(InvalidName));
    assert_eq!(get(&mut ctx, "none").await, Err(NotFound));
    assert_eq!(delete(&mut ctx, "none").await, Err(NotFound));
    for (media_type, bytes) in [
        ("text", &b"x"[..]),
        ("image/png", b"GIF89a"),
        ("a/b/c", b"x"),
    ] {
        let put = ctx.put("a".to_owned(), media_type.to_owned(), bytes.to_vec());
        assert_eq!(put.await.unwrap(), Err(InvalidMediaType), "{media_type}");
    }
    assert_eq!(get(&mut ctx, "large.txt").await, Err(TooLarge));
    assert_eq!(put(&mut ctx, "a", &"x".repeat(101)).await, Err(TooLarge));
    // All of them together.
    assert_eq!(put(&mut ctx, "a", &"x".repeat(60)).await, Ok(()));
    assert_eq!(put(&mut ctx, "a", &"x".repeat(41)).await, Err(TooLarge));
    assert_eq!(put(&mut ctx, "a", &"x".repeat(40)).await, Ok(()));
    // 140 bytes are stored before.
    let mut ctx = ctx_of(Some(ArtifactAccess::ReadWrite), Effect::Effectful, 150);
    assert_eq!(
        put(&mut ctx, "a", &"x".repeat(11)).await,
        Err(QuotaExceeded)
    );
    assert_eq!(put(&mut ctx, "a", &"x".repeat(10)).await, Ok(()));
    assert_eq!(delete(&mut ctx, "a").await, Ok(()));
    // Deleting gives nothing back, since the journal keeps what was stored.
    assert_eq!(put(&mut ctx, "a", "x").await, Err(QuotaExceeded));
}

#[tokio::test]
async fn changes_of_one_call_are_bounded() {
    let mut ctx = ctx();
    for _ in 0..MAX_CHANGES / 2 {
        assert_eq!(put(&mut ctx, "a", "").await, Ok(()));
        assert_eq!(delete(&mut ctx, "a").await, Ok(()));
    }
    assert_eq!(
        put(&mut ctx, "a", "").await,
        Err(ArtifactError::QuotaExceeded)
    );
    let deleted = delete(&mut ctx, "a.txt").await;
    assert_eq!(deleted, Err(ArtifactError::QuotaExceeded));
}

/// A secret that the tool was granted is neither read nor stored.
#[tokio::test]
async fn secrets_are_redacted_from_artifacts() {
    let mut ctx = ctx();
    let read = get(&mut ctx, "leaks.txt").await;
    assert_eq!(read, Ok("it is [secret:token]".to_owned()));
    let stored = put(&mut ctx, "a", &format!("again {SECRET}")).await;
    assert_eq!(stored, Ok(()));
    assert_eq!(
        get(&mut ctx, "a").await,
        Ok("again [secret:token]".to_owned())
    );
    let named = put(&mut ctx, SECRET, "x").await;
    assert_eq!(named, Err(ArtifactError::InvalidName));
}
