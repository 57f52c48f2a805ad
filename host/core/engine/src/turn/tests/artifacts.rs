//! Artifacts that calls store: what is recorded, what calls see, and the quota.

use super::harness::*;
use crate::{
    artifact::{ArtifactName, MAX_STORED, NewArtifact},
    session::{Session, SessionCopy},
    tool::{CallReport, Invocation, SessionChange},
};
use agent_host_types::{
    event::{Event, EventRecord},
    id::SessionId,
    output::ToolResultOutput,
    tool::{Approval, Effect},
    turn::AgentInput,
};
use pretty_assertions::assert_eq;
use serde_json::json;

fn store(name: &str, content: &str) -> SessionChange {
    let bytes = content.as_bytes().to_vec();
    SessionChange::Store(NewArtifact::new(name, "text/plain".into(), bytes).unwrap())
}

/// A tool that returns the artifacts that it sees, makes these changes, and ends so.
fn keeper(name: &str, changes: Vec<SessionChange>, output: Option<ToolResultOutput>) -> Tool {
    tool(name, Effect::Effectful, Approval::Never).ends(move |invocation: Invocation| {
        let seen = invocation.artifacts.unwrap();
        let names: Vec<&str> = seen.list().keys().map(ArtifactName::as_str).collect();
        CallReport {
            changes: changes.clone(),
            ..CallReport::of(
                output
                    .clone()
                    .unwrap_or(ToolResultOutput::json(json!(names))),
            )
        }
        .into()
    })
}

fn delete(name: &str) -> SessionChange {
    SessionChange::Delete(name.parse().unwrap())
}

/// The events of artifacts, a line each.
fn lines(records: &[EventRecord]) -> Vec<String> {
    records
        .iter()
        .filter_map(|record| match &record.event {
            Event::ArtifactStored {
                name, tool, blob, ..
            } => Some(format!("+{name} {} {tool:?}", blob.size)),
            Event::ArtifactDeleted { name, .. } => Some(format!("-{name}")),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn artifacts_are_kept_with_a_success_alone() {
    let failed = ToolResultOutput::ErrorText("broken".into());
    let tools = vec![
        keeper(
            "keep",
            vec![store("a.txt", "one"), store("b.txt", "2")],
            None,
        ),
        keeper(
            "fail",
            vec![store("c.txt", "3"), delete("a.txt")],
            Some(failed),
        ),
        keeper("clean", vec![delete("b.txt"), store("a.txt", "four")], None),
    ];
    let batch = [("a", "keep", ""), ("b", "fail", ""), ("c", "clean", "")];
    let mut bench = Bench::with(vec![calls(&batch), says("ok")], tools);

    bench.say("go").await;

    let seen = |names: &[&str]| ToolResultOutput::json(json!(names));
    let expected = [
        ("a", seen(&[])),
        ("b", ToolResultOutput::ErrorText("broken".into())),
        ("c", seen(&["a.txt", "b.txt"])),
    ];
    assert_eq!(bench.results(), pairs(expected));
    let expected = [
        "+a.txt 3 Some(\"keep\")",
        "+b.txt 1 Some(\"keep\")",
        "-b.txt",
        "+a.txt 4 Some(\"clean\")",
    ];
    assert_eq!(lines(&bench.journal.durable()), expected);
    // The result and its changes are one record for the journal.
    let together = bench.journal.kinds_together();
    let of_first = ["call-settled", "artifact-stored", "artifact-stored"];
    assert!(together.iter().any(|kinds| *kinds == of_first));
    // The same after a restart, with the bytes; and the model can read them.
    let again = Bench::resume(&bench.journal, Vec::new(), Vec::new()).await;
    assert_eq!(again.session.state(), bench.session.state());
    let artifacts = again.session.artifacts();
    let (name, artifact) = artifacts.list().first_key_value().unwrap();
    assert_eq!(name.as_str(), "a.txt");
    assert_eq!(artifacts.read(artifact).await.unwrap(), b"four");
}

#[tokio::test]
async fn artifacts_over_the_quota_are_a_failure() {
    for (quota, content, count, fits) in [
        (4, "four", 1, true),
        (3, "four", 1, false),
        (8, "four", 2, true),
        (7, "four", 2, false),
        (u64::MAX, "", MAX_STORED + 1, false),
    ] {
        // The same name each time: what was replaced counts.
        let changes = (0..count).map(|_| store("a.txt", content)).collect();
        let mut bench = Bench::with(
            vec![calls(&[("a", "keep", "")])],
            vec![keeper("keep", changes, None)],
        );
        bench.agent.settings.artifact_bytes = quota;
        bench.say("go").await;
        let output = bench.results().remove(0).1;
        let bytes = content.len() as u64 * count;
        let message = format!(
            "The call ended, but its artifacts are not stored: with them the session would have stored {bytes} of {quota} bytes and {count} of 10000 artifacts (`artifact-bytes` in [session])."
        );
        let expected = match fits {
            true => ToolResultOutput::json(json!([])),
            false => failure("resource-limit", &message),
        };
        assert_eq!(output, expected);
        let kept = u64::try_from(lines(&bench.journal.durable()).len()).unwrap();
        assert_eq!(kept, if fits { count } else { 0 });
    }
}

/// A program stores and deletes by the session, and a copy of the session takes the blobs along.
#[tokio::test]
async fn session_stores_artifacts_and_a_copy_has_them() {
    let mut bench = Bench::with(
        vec![calls(&[("a", "keep", "")]), says("ok")],
        vec![keeper("keep", Vec::new(), None)],
    );
    let session = &mut bench.session;
    let store = |session: &mut Session, name: &str, bytes: &[u8]| {
        session.store_artifact(name, "text/plain", bytes.to_vec())
    };
    store(session, "a.txt", b"one").unwrap();
    store(session, "b.txt", b"two").unwrap();
    assert!(store(session, "results/a", b"no").is_err());
    assert!(session.delete_artifact(&"b.txt".parse().unwrap()));
    assert!(!session.delete_artifact(&"b.txt".parse().unwrap()));
    bench.say("go").await;
    assert_eq!(
        bench.results()[0].1,
        ToolResultOutput::json(json!(["a.txt"]))
    );
    bench.turn(AgentInput::Continue).await;
    let records = bench.journal.durable();
    assert_eq!(
        lines(&records),
        ["+a.txt 3 None", "+b.txt 3 None", "-b.txt"]
    );
    let mut copy = SessionCopy::new(bench.session.id(), SessionId::new());
    for record in records {
        copy.next(record).unwrap();
    }
    let listed = bench.session.artifacts();
    let kept = listed.list().values().next().unwrap().blob.digest;
    assert!(copy.blobs().contains(&kept));
}
