//! Artifacts: what each grant and effect allow.

use crate::policy::{ArtifactAccess, Grants, Ruling, decide_artifact};
use agent_host_types::{audit::ArtifactOp, tool::Effect};
use pretty_assertions::assert_eq;

#[test]
fn artifacts_need_a_grant_and_an_effect() {
    use ArtifactOp::{DeleteArtifact, ListArtifacts, ReadArtifact, StoreArtifact};
    let deny = |rule: &str, access: Option<&str>| {
        let grant = access
            .map(|access| format!("# in [grants], or in the [[tool]]\nartifacts = \"{access}\""));
        Some((rule.to_owned(), grant))
    };
    let none = || deny("default-deny", Some("read-only"));
    let (read_only, read_write) = (ArtifactAccess::ReadOnly, ArtifactAccess::ReadWrite);
    for (artifacts, effect, op, expected) in [
        (None, Effect::Effectful, ListArtifacts, none()),
        (None, Effect::ReadOnly, ReadArtifact, none()),
        (
            None,
            Effect::Effectful,
            StoreArtifact,
            deny("default-deny", Some("read-write")),
        ),
        (Some(read_only), Effect::Effectful, ListArtifacts, None),
        (Some(read_only), Effect::ReadOnly, ReadArtifact, None),
        (
            Some(read_only),
            Effect::Idempotent,
            DeleteArtifact,
            deny("grants.artifacts", Some("read-write")),
        ),
        (Some(read_write), Effect::Idempotent, DeleteArtifact, None),
        (Some(read_write), Effect::Effectful, StoreArtifact, None),
        (
            Some(read_write),
            Effect::ReadOnly,
            StoreArtifact,
            deny("effect.read-only", None),
        ),
        (
            None,
            Effect::ReadOnly,
            StoreArtifact,
            deny("effect.read-only", None),
        ),
    ] {
        let grants = Grants {
            artifacts,
            ..Grants::default()
        };
        let got = match decide_artifact(&grants, effect, op) {
            Ruling::Allow { rule } => {
                assert_eq!(rule, "grants.artifacts");
                None
            }
            Ruling::Deny { rule, grant, .. } => Some((rule, grant)),
            Ruling::Ask { rule } => panic!("{rule}"),
        };
        assert_eq!(got, expected, "{artifacts:?} {effect:?} {op:?}");
    }
}
