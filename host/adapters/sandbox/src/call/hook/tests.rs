use super::{HookReply, HookRequest, HookUse};
use crate::{
    Sandbox, SandboxConfig, ToolComponent,
    guests::{
        Guest,
        hook::{HookGuest, HookVerdict, MODIFY_ECHO},
    },
};
use HookVerdict::{Case, Code, Output, Text};
use agent_host_engine::{
    hook::{CallVerdict, RequestedCall, Verdict},
    policy::Grants,
    secrets::Secrets,
};
use agent_host_types::{
    failure::ToolErrorCode,
    id::{CallId, SessionId},
    limits::Limits,
    output::ToolResultOutput,
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

fn sandbox() -> Sandbox {
    Sandbox::new(SandboxConfig {
        concurrent_calls: 4,
        ..SandboxConfig::default()
    })
    .unwrap()
}

async fn load(guest: &HookGuest<'_>) -> ToolComponent {
    sandbox().load(guest.bytes()).await.unwrap()
}

fn using(limits: Limits) -> HookUse {
    HookUse {
        grants: Arc::new(Grants::default()),
        secrets: Arc::default(),
        limits,
    }
}

fn text(text: &str) -> ToolResultOutput {
    ToolResultOutput::Text(text.to_owned())
}

/// Asks about a call of `write` with these arguments.
async fn before_tool(
    hook: &ToolComponent,
    using: &HookUse,
    input: &Value,
) -> Result<CallVerdict, ToolErrorCode> {
    let input = input.as_object().unwrap();
    let verdict = hook
        .before_tool(using, call(input, &CallId("c".to_owned())))
        .await;
    verdict.map_err(|failure| failure.code)
}

fn call<'a>(input: &'a Map<String, Value>, call_id: &'a CallId) -> RequestedCall<'a> {
    RequestedCall {
        session: SessionId::new(),
        call_id,
        tool: "write",
        input,
        idempotency_key: "key",
    }
}

#[tokio::test]
async fn hook_gives_each_verdict_about_a_request() {
    let cases = [
        (Case(0), Verdict::Pass),
        (Text(1, "no"), Verdict::Block("no".to_owned())),
        (Text(2, "instead"), Verdict::Fallback("instead".to_owned())),
    ];
    for (before_model, expected) in cases {
        let guest = HookGuest {
            before_model,
            ..HookGuest::default()
        };
        let request = HookRequest {
            system: Some("Be brief.".to_owned()),
            messages: json!([{"role": "user"}]),
            tools: vec!["write".to_owned(), "read".to_owned()],
        };
        let hook = load(&guest).await;
        let verdict = hook.before_model(&using(Limits::default()), request).await;
        assert_eq!(verdict.unwrap(), expected);
    }
}

#[tokio::test]
async fn hook_gives_each_verdict_about_a_reply() {
    let cases = [
        (Case(0), Verdict::Pass),
        (Text(1, "other"), Verdict::Modify("other".to_owned())),
        (Text(2, "again"), Verdict::Retry(Some("again".to_owned()))),
        (Text(3, "no"), Verdict::Block("no".to_owned())),
        (Text(4, "instead"), Verdict::Fallback("instead".to_owned())),
    ];
    for (after_model, expected) in cases {
        let guest = HookGuest {
            after_model,
            ..HookGuest::default()
        };
        let reply = HookReply {
            text: "Hello".to_owned(),
            calls: json!([]),
        };
        let hook = load(&guest).await;
        let verdict = hook.after_model(&using(Limits::default()), reply).await;
        assert_eq!(verdict.unwrap(), expected);
    }
}

#[tokio::test]
async fn hook_gives_each_verdict_about_a_call() {
    let object = |value: Value| value.as_object().unwrap().clone().into();
    let cases = [
        (Case(0), CallVerdict::Pass),
        (
            Text(1, "{\"n\":1}"),
            CallVerdict::Modify(object(json!({"n": 1}))),
        ),
        (
            Code(MODIFY_ECHO),
            CallVerdict::Modify(object(json!({"path": "a"}))),
        ),
        (Case(2), CallVerdict::Ask),
        (Text(3, "no"), CallVerdict::Block("no".to_owned())),
        (
            Output(4, 0, "instead"),
            CallVerdict::Fallback(text("instead")),
        ),
        (
            Output(4, 4, "{\"code\":\"x\"}"),
            CallVerdict::Fallback(ToolResultOutput::error_json(json!({"code": "x"}))),
        ),
    ];
    for (verdict, expected) in cases {
        let guest = HookGuest {
            before_tool: verdict,
            ..HookGuest::default()
        };
        let hook = load(&guest).await;
        let asked = before_tool(&hook, &using(Limits::default()), &json!({"path": "a"})).await;
        assert_eq!(asked.unwrap(), expected);
    }
}

#[tokio::test]
async fn hook_gives_each_verdict_about_a_result() {
    let cases = [
        (Case(0), Verdict::Pass),
        (Output(1, 0, "other"), Verdict::Modify(text("other"))),
        (Case(2), Verdict::Retry(None)),
        (Text(3, "no"), Verdict::Block("no".to_owned())),
    ];
    for (after_tool, expected) in cases {
        let guest = HookGuest {
            after_tool,
            ..HookGuest::default()
        };
        let hook = load(&guest).await;
        let (input, id) = (Map::new(), CallId("c".to_owned()));
        let using = using(Limits::default());
        let verdict = hook
            .after_tool(&using, call(&input, &id), &text("seen"))
            .await;
        assert_eq!(verdict.unwrap(), expected);
    }
}

/// A hook that does not end, that crashes, or that returns something unusable gives no verdict.
#[tokio::test]
async fn hostile_hook_gives_no_verdict() {
    let short = Limits {
        deadline_ms: 100,
        ..Limits::default()
    };
    let small = Limits {
        output_bytes: 1_000,
        ..Limits::default()
    };
    let huge = "x".repeat(2_000);
    let out_of_bounds = "(i32.store8 (i32.const 16) (i32.const 3))
        (i32.store (i32.const 20) (i32.const -16)) (i32.store (i32.const 24) (i32.const 8))
        (i32.const 16)";
    let no_case = "(i32.store8 (i32.const 16) (i32.const 9)) (i32.const 16)";
    let cases = [
        (
            "loop",
            Code("(loop $l (br $l)) unreachable"),
            &short,
            ToolErrorCode::Timeout,
        ),
        ("trap", Code("unreachable"), &short, ToolErrorCode::Trap),
        (
            "huge reason",
            Text(3, &huge),
            &small,
            ToolErrorCode::OutputTooLarge,
        ),
        (
            "huge result",
            Output(4, 0, &huge),
            &small,
            ToolErrorCode::OutputTooLarge,
        ),
        (
            "no JSON",
            Text(1, "{\"path\":"),
            &small,
            ToolErrorCode::InvalidOutput,
        ),
        (
            "no object",
            Text(1, "[1]"),
            &small,
            ToolErrorCode::InvalidOutput,
        ),
        (
            "out of bounds",
            Code(out_of_bounds),
            &small,
            ToolErrorCode::InvalidOutput,
        ),
        (
            "no such case",
            Code(no_case),
            &small,
            ToolErrorCode::InvalidOutput,
        ),
    ];
    for (name, verdict, limits, expected) in cases {
        let guest = HookGuest {
            before_tool: verdict,
            ..HookGuest::default()
        };
        let hook = load(&guest).await;
        let asked = before_tool(&hook, &using(limits.clone()), &json!({})).await;
        assert_eq!(asked, Err(expected), "{name}");
    }
}

/// A secret is redacted from what a hook is given.
#[tokio::test]
async fn hook_is_given_no_secret() {
    let guest = HookGuest {
        before_tool: Code(MODIFY_ECHO),
        ..HookGuest::default()
    };
    let value = "tok-0123456789";
    let secrets = Secrets::new(BTreeMap::from_iter([("token".to_owned(), value.into())]));
    let secrets = Arc::new(secrets.unwrap());
    let redacted = secrets.text(value).into_owned();
    assert_ne!(redacted, value);
    let using = HookUse {
        secrets,
        ..using(Limits::default())
    };
    let hook = load(&guest).await;
    let asked = before_tool(&hook, &using, &json!({"header": value})).await;
    let expected = json!({"header": redacted}).as_object().unwrap().clone();
    assert_eq!(asked, Ok(CallVerdict::Modify(expected.into())));
}

/// A hook has no tools, and a tool has no hooks.
#[tokio::test]
async fn hook_and_tool_are_told_apart() {
    let hook = load(&HookGuest::default()).await;
    assert_eq!((hook.is_hook(), hook.definitions()), (true, &[][..]));
    assert_eq!(hook.notes(), <[String; 0]>::default());
    let tool = sandbox().load(Guest::default().bytes()).await.unwrap();
    assert!(!tool.is_hook());
    let asked = before_tool(&tool, &using(Limits::default()), &json!({})).await;
    assert_eq!(asked, Err(ToolErrorCode::ToolUnavailable));
}
