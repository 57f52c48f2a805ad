//! Rulings below the grants of an agent: both have to allow.

use super::{rules, short};
use crate::policy::{
    ArtifactAccess, DirGrant, DirMode, EnvGrant, FileOp, Grants, HttpGrant, HttpRequest, Ruling,
    SecretGrant, SecretPlace, decide_address, decide_artifact, decide_file, decide_http,
    decide_secret,
};
use agent_host_types::{audit::ArtifactOp, tool::Effect};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::sync::Arc;

fn dir(host: &str, mode: DirMode, allow: &[&str], deny: &[&str]) -> DirGrant {
    DirGrant {
        allow: rules(allow),
        deny: rules(deny),
        ..DirGrant::new(host, "/workspace", mode)
    }
}

fn of_dirs(dirs: Vec<DirGrant>) -> Grants {
    Grants {
        dirs,
        ..Grants::default()
    }
}

#[test]
fn file_ruling_needs_the_tool_and_the_agent() {
    use DirMode::{ReadOnly as Ro, ReadWrite as Rw};
    use FileOp::{List, Move, Read, Write};
    let tool = || of_dirs(vec![dir("/srv/work", Rw, &[], &["private"])]);
    let masked = DirGrant {
        mask: rules(&["*.key"]),
        ..dir("/srv", Rw, &[], &[])
    };
    let docs = || dir("/srv/work/docs", Rw, &["*.md"], &["draft.md"]);
    let table = [
        // A directory above that of the tool: the tool's own grant decides.
        (
            vec![dir("/srv", Rw, &[], &[])],
            Write,
            "a",
            "allow grants.dir[0]",
        ),
        (
            vec![dir("/srv", Rw, &[], &[])],
            Write,
            "private",
            "deny grants.dir[0].deny `private`",
        ),
        (
            vec![dir("/srv", Ro, &[], &[])],
            Write,
            "a",
            "deny agent.grants.dir[0].mode",
        ),
        (
            vec![dir("/srv", Ro, &[], &[])],
            Read,
            "a",
            "allow grants.dir[0]",
        ),
        (
            vec![dir("/srv", Rw, &[], &["work/a"])],
            Read,
            "a/b",
            "deny agent.grants.dir[0].deny `work/a`",
        ),
        (
            vec![masked],
            Read,
            "a.key",
            "deny agent.grants.dir[0].mask `*.key`",
        ),
        // One below it.
        (vec![docs()], Write, "docs/a.md", "allow grants.dir[0]"),
        (
            vec![docs()],
            Write,
            "docs/draft.md",
            "deny agent.grants.dir[0].deny `draft.md`",
        ),
        (
            vec![docs()],
            Write,
            "docs/a.txt",
            "deny agent.grants.dir[0].allow",
        ),
        (vec![docs()], List, "docs", "allow grants.dir[0]"),
        (vec![docs()], List, "", "deny agent.grants.dir"),
        (
            vec![docs()],
            Read,
            "documents/a.md",
            "deny agent.grants.dir",
        ),
        (vec![docs()], Move, "docs", "deny agent.grants.dir[0].allow"),
        // The closest of several; none at all.
        (
            vec![dir("/srv", Ro, &[], &[]), docs()],
            Write,
            "docs/a.md",
            "allow grants.dir[0]",
        ),
        (
            vec![dir("/srv", Ro, &[], &[]), docs()],
            Write,
            "a.md",
            "deny agent.grants.dir[0].mode",
        ),
        (
            vec![dir("/home", Rw, &[], &[])],
            Read,
            "a",
            "deny agent.grants.dir",
        ),
        (vec![], Read, "a", "deny agent.grants.dir"),
    ];
    for (ceiling, op, path, expected) in table {
        let narrowed = tool().below(&Arc::new(of_dirs(ceiling)));
        let ruling = decide_file(&narrowed, Effect::Effectful, 0, op, path);
        assert_eq!(short(ruling), expected, "{op:?} {path}");
    }
}

/// The remedy names the grants of the agent, and the guest's path alone.
#[test]
fn denial_suggests_the_grant_of_the_agent() {
    let ceiling = Arc::new(of_dirs(vec![dir("/srv/work", DirMode::ReadOnly, &[], &[])]));
    let narrowed = of_dirs(vec![dir("/srv/work", DirMode::ReadWrite, &[], &[])]).below(&ceiling);
    let ruling = decide_file(&narrowed, Effect::Effectful, 0, FileOp::Write, "a");
    let expected = Ruling::Deny {
        rule: "agent.grants.dir[0].mode".into(),
        reason: "the grants of the agent do not reach so far: /workspace is granted read-only".into(),
        grant: Some(
            "# changed lines of the [[agent.grants.dir]] with guest = \"/workspace\"\nmode = \"read-write\"".into(),
        ),
    };
    assert_eq!(ruling, expected);
}

/// An agent that another one started has the grants of both.
#[test]
fn agent_of_an_agent_has_the_grants_of_both() {
    let above = Arc::new(of_dirs(vec![dir(
        "/srv/work/docs",
        DirMode::ReadWrite,
        &[],
        &[],
    )]));
    let own = of_dirs(vec![dir(
        "/srv/work",
        DirMode::ReadWrite,
        &[],
        &["docs/old"],
    )]);
    let both = Arc::new(own.below(&above));
    let tool = of_dirs(vec![dir("/srv", DirMode::ReadWrite, &[], &[])]).below(&both);
    for (path, expected) in [
        ("work/docs/a", "allow grants.dir[0]"),
        (
            "work/docs/old/a",
            "deny agent.grants.dir[0].deny `docs/old`",
        ),
        ("work/a", "deny agent.agent.grants.dir"),
        ("a", "deny agent.grants.dir"),
    ] {
        let ruling = decide_file(&tool, Effect::Effectful, 0, FileOp::Write, path);
        assert_eq!(short(ruling), expected, "{path}");
    }
}

fn host(name: &str) -> HttpGrant {
    HttpGrant {
        host: name.into(),
        ..HttpGrant::default()
    }
}

fn request(host: &str) -> HttpRequest<'_> {
    HttpRequest {
        method: "GET",
        scheme: "https",
        host,
        port: 443,
        path: "/",
    }
}

#[test]
fn other_rulings_need_the_tool_and_the_agent() {
    let secret = |name: &str| SecretGrant {
        name: name.into(),
        scheme: "https".into(),
        host: "api.example".into(),
        port: 443,
        in_query: false,
    };
    let variable = |name: &str, value: &str| EnvGrant {
        name: name.into(),
        value: value.into(),
    };
    let tool = Grants {
        http: vec![host("*"), host("10.0.0.1")],
        secrets: vec![secret("a"), secret("b")],
        env: vec![variable("A", "1"), variable("B", "2")],
        artifacts: Some(ArtifactAccess::ReadWrite),
        ..Grants::default()
    };
    let ceiling = Grants {
        http: vec![host("api.example")],
        secrets: vec![secret("a")],
        env: vec![variable("A", "other"), variable("C", "3")],
        artifacts: Some(ArtifactAccess::ReadOnly),
        ..Grants::default()
    };
    let narrowed = tool.below(&Arc::new(ceiling));
    assert_eq!(narrowed.env, [variable("A", "1")]);
    let effect = Effect::Effectful;
    let address = "10.0.0.1".parse().unwrap();
    let api = request("api.example");
    let by_secret = |name: &str| decide_secret(&narrowed, name, SecretPlace::Header, &api);
    for (ruling, expected) in [
        (decide_http(&narrowed, effect, &api), "allow grants.http[0]"),
        (
            decide_http(&narrowed, effect, &request("other.example")),
            "deny agent.default-deny",
        ),
        (
            decide_address(&narrowed, &request("10.0.0.1"), address, false),
            "deny agent.address.private",
        ),
        (by_secret("a"), "allow grants.secrets[0]"),
        (by_secret("b"), "deny agent.default-deny"),
        (by_secret("c"), "deny default-deny"),
        (
            decide_artifact(&narrowed, effect, ArtifactOp::ReadArtifact),
            "allow grants.artifacts",
        ),
        (
            decide_artifact(&narrowed, effect, ArtifactOp::StoreArtifact),
            "deny agent.grants.artifacts",
        ),
    ] {
        assert_eq!(short(ruling), expected);
    }
    let nothing = tool.below(&Arc::default());
    assert_eq!(
        short(decide_http(&nothing, effect, &api)),
        "deny agent.default-deny"
    );
    let read = decide_artifact(&nothing, effect, ArtifactOp::ReadArtifact);
    assert_eq!(short(read), "deny agent.default-deny");
}

fn any_dir() -> impl Strategy<Value = DirGrant> {
    let hosts = proptest::sample::select(vec!["/s", "/s/a", "/s/a/b", "/t"]);
    let patterns = || proptest::sample::subsequence(vec!["a", "b/**", "*.md", "a/b"], 0..3);
    (hosts, any::<bool>(), patterns(), patterns()).prop_map(|(host, is_writable, allow, deny)| {
        let mode = match is_writable {
            true => DirMode::ReadWrite,
            false => DirMode::ReadOnly,
        };
        dir(host, mode, &allow, &deny)
    })
}

proptest! {
    /// A ceiling only ever denies: whatever it is, nothing is allowed that the tool's grants do not
    /// allow.
    #[test]
    fn ceiling_never_allows_more(
        own in any_dir(),
        ceiling in proptest::collection::vec(any_dir(), 0..3),
        path in "(a|b|x\\.md)(/(a|b|x\\.md)){0,2}",
        op in proptest::sample::select(vec![FileOp::Read, FileOp::List, FileOp::Write, FileOp::Move]),
    ) {
        let tool = of_dirs(vec![own]);
        let narrowed = tool.below(&Arc::new(of_dirs(ceiling)));
        let allows = |grants: &Grants| {
            matches!(decide_file(grants, Effect::Effectful, 0, op, &path), Ruling::Allow { .. })
        };
        prop_assert!(!allows(&narrowed) || allows(&tool));
    }
}
