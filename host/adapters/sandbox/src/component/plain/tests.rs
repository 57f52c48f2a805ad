mod async_functions;
mod ends;
mod fuzz;
mod made;
mod names;
mod values;

use crate::{
    Allocator, Call, CallContext, Compiled, LoadError, LoadFault, Sandbox, SandboxConfig,
    ToolComponent, secrets::tests::secrets,
};
use agent_host_engine::tool::CallReport;
use agent_host_types::{
    failure::FailureFields, id::CallId, limits::Limits, output::ToolResultOutput, tool::Effect,
};
use made::{component, docs, echo, with_section};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::path::Path;

fn sandbox() -> Sandbox {
    Sandbox::new(SandboxConfig {
        concurrent_calls: 4,
        ..SandboxConfig::default()
    })
    .unwrap()
}

async fn load(wit: &str, core: &str) -> Result<ToolComponent, LoadError> {
    sandbox().load(component(wit, core)).await
}

async fn report(tool: &ToolComponent, name: &str, input: &Value, limits: &Limits) -> CallReport {
    tool.call(Call {
        tool: name,
        call_id: &CallId("call-1".to_owned()),
        input: &input.as_object().unwrap().clone().into(),
        idempotency_key: "key-1",
        effect: Effect::Effectful,
        grants: std::sync::Arc::default(),
        secrets: secrets(&[("token", "correct-horse")]),
        limits,
        context: CallContext::default(),
        progress: &|_| {},
    })
    .await
    .settled()
    .unwrap()
}

async fn call(tool: &ToolComponent, name: &str, input: &Value) -> ToolResultOutput {
    report(tool, name, input, &Limits::default()).await.output
}

/// The code of an abnormal end, and its text.
fn failure(output: &ToolResultOutput) -> (&'static str, &'static str) {
    let ToolResultOutput::ErrorJson(value) = output else {
        panic!("not a failure: {output:?}");
    };
    let FailureFields { code, message } = FailureFields::from_json(value).unwrap();
    (code.leak(), message.leak())
}

#[tokio::test]
async fn secret_in_function_result_is_redacted() {
    let wit = "package test:made; world w { export f: func(v: string) -> string; }";
    let tool = load(wit, &echo("f")).await.unwrap();
    assert_eq!(
        call(&tool, "f", &json!({ "v": "it is correct-horse" })).await,
        ToolResultOutput::Text("it is [secret:token]".to_owned())
    );
}

fn names(tool: &ToolComponent) -> Vec<&str> {
    let definitions = tool.definitions().iter();
    definitions
        .map(|definition| definition.name.as_str())
        .collect()
}

/// The content of an interface whose function is refused.
struct Refused {
    items: String,
    function: String,
    /// The parameters of its core function.
    params: &'static str,
    why: &'static str,
}

impl Refused {
    /// A function `f` without parameters.
    fn new(items: impl Into<String>, why: &'static str) -> Self {
        Self {
            items: items.into(),
            function: "f".to_owned(),
            params: "",
            why,
        }
    }
}

fn refused() -> Vec<Refused> {
    const RESOURCE: &str = "`test:made/api#f`: its types have a resource, which has no JSON form";
    let fields: Vec<String> = (0..3_000).map(|at| format!("field-{at}: bool")).collect();
    let lists = |levels| (0..levels).fold("u32".to_owned(), |ty, _| format!("list<{ty}>"));
    let long = "f".repeat(65);
    vec![
        Refused::new("resource r; f: func() -> own<r>;", RESOURCE),
        Refused {
            params: "(param i32 i32)",
            ..Refused::new("resource r; f: func(v: list<borrow<r>>) -> u32;", RESOURCE)
        },
        Refused::new(
            format!("record r {{ {} }} f: func() -> list<r>;", fields.join(", ")),
            "`test:made/api#f`: its types are too large for a schema",
        ),
        Refused::new(
            format!(
                "variant a {{ x({}) }} variant b {{ x(a) }} variant c {{ x(b) }} variant d {{ x(c) }} f: func() -> list<d>;",
                lists(16)
            ),
            "`test:made/api#f`: the output schema nests deeper than 32 levels",
        ),
        Refused::new(
            format!("f: func() -> {};", lists(30)),
            "`test:made/api#f`: its types nest more than 24 levels deep",
        ),
        Refused {
            function: long.clone(),
            ..Refused::new(
                format!("{long}: func() -> u32;"),
                "fff`: a name has 1 to 64 letters, digits, `_` and `-`",
            )
        },
        // A long name is cut in favour of the reason.
        Refused {
            function: "f".repeat(200),
            ..Refused::new(
                format!("{}: func() -> u32;", "f".repeat(200)),
                "fff...`: a name has 1 to 64 letters, digits, `_` and `-`",
            )
        },
    ]
}

#[tokio::test]
async fn unusable_function_is_refused_with_reason() {
    for refused in refused() {
        let Refused {
            items,
            function,
            params,
            why,
        } = refused;
        let interface = format!("package test:made; interface api {{ {items} }}");
        let core = format!(
            r#"(func (export "test:made/api#{function}") {params} (result i32) unreachable)"#
        );
        let alone = format!("{interface} world w {{ export api; }}");
        let error = load(&alone, &core).await.unwrap_err();
        assert_eq!(error.fault(), LoadFault::ContractMismatch, "{error}");
        let text = error.to_string();
        assert!(text.starts_with("none of the functions"), "{text}");
        assert!(text.contains(why), "{why}: {text}");
        // Beside it another one is a tool.
        let beside = format!("{interface} world w {{ export api; export g: func(); }}");
        let core = format!(r#"{core} (func (export "g"))"#);
        let tool = load(&beside, &core).await.unwrap();
        assert_eq!(names(&tool), ["g"]);
        let [reason] = tool.notes() else {
            panic!("{:?}", tool.notes());
        };
        assert!(reason.ends_with(why), "{why}: {reason}");
    }
}

#[tokio::test]
async fn functions_of_resources_or_wasi_are_refused() {
    let wit = "package test:made;
        interface api { resource counter { constructor(); next: func() -> u32; } plain: func(); }
        world w { export api; }";
    let core = r#"(func (export "test:made/api#[constructor]counter") (result i32) unreachable)
        (func (export "test:made/api#[method]counter.next") (param i32) (result i32) unreachable)
        (func (export "test:made/api#plain"))"#;
    let tool = load(wit, core).await.unwrap();
    let why = "it belongs to a resource, which has no JSON form";
    assert_eq!(names(&tool), ["plain"]);
    assert_eq!(
        tool.notes(),
        [
            format!("`test:made/api#[constructor]counter`: {why}"),
            format!("`test:made/api#[method]counter.next`: {why}"),
        ]
    );
    let program =
        "package wasi:cli@0.2.6; interface run { run: func() -> result; } world w { export run; }";
    let core = r#"(func (export "wasi:cli/run@0.2.6#run") (result i32) unreachable)"#;
    let error = load(program, core).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "none of the functions that the component exports can be a tool: `wasi:cli/run@0.2.6#run`: it is an entry point of WASI. Export functions that take and return plain values, or build it against the WIT package agent:tool (contract-mismatch)"
    );
}

#[tokio::test]
async fn too_many_functions_are_refused() {
    for (count, says) in [
        (129, "it defines 129 tools, and the maximum is 128"),
        (1_001, "exports more than 1000 functions"),
    ] {
        let (mut wit, mut core) = ("package test:made; world w {".to_owned(), String::new());
        for index in 0..count {
            wit.push_str(&format!("export call-{index}: func();"));
            core.push_str(&format!(r#"(func (export "call-{index}"))"#));
        }
        wit.push('}');
        let error = load(&wit, &core).await.unwrap_err();
        assert_eq!(error.fault(), LoadFault::ContractMismatch);
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test]
async fn function_of_importing_component_is_effectful() {
    const SEED: &str =
        r#"(import "wasi:random/insecure-seed@0.2.6" "insecure-seed" (func (param i32)))"#;
    let cases: [(&str, &str, Effect, &[&str]); 3] = [
        ("", "", Effect::ReadOnly, &[]),
        // Types have no effects, whatever interface they belong to.
        ("use types.{point};", "", Effect::ReadOnly, &[]),
        (
            "import wasi:random/insecure-seed@0.2.6;",
            SEED,
            Effect::Effectful,
            &["wasi:random/insecure-seed@0.2.6"],
        ),
    ];
    for (import, core, effect, imports) in cases {
        let wit = format!(
            "package test:made;
            interface types {{ record point {{ x: u32 }} }}
            world w {{ {import} export f: func(); }}
            package wasi:random@0.2.6 {{ interface insecure-seed {{ insecure-seed: func() -> tuple<u64, u64>; }} }}"
        );
        let tool = load(&wit, &format!(r#"{core} (func (export "f"))"#))
            .await
            .unwrap();
        let [definition] = tool.definitions() else {
            panic!("{:?}", tool.definitions());
        };
        assert_eq!(definition.effect, effect, "{import}");
        assert_eq!(tool.imports(), imports, "{import}");
    }
}

#[tokio::test]
async fn types_of_another_interface_are_accepted() {
    let wit = "package test:made;
        interface types { record point { x: u32 } }
        interface api { use types.{point}; same: func(p: point) -> point; }
        world w { use types.{point}; export api; export at-the-root: func(p: point) -> point; }";
    let core = r#"(func (export "test:made/api#same") (param i32) (result i32) (local.get 0))
        (func (export "at-the-root") (param i32) (result i32) (local.get 0))"#;
    let tool = load(wit, core).await.unwrap();
    for name in ["same", "at-the-root"] {
        let point = json!({ "x": 7 });
        assert_eq!(
            call(&tool, name, &json!({ "p": point })).await,
            ToolResultOutput::json(point)
        );
    }
}

const DOCUMENTED: &str = "package test:made;
    interface api {
        /// Adds nothing.
        ///
        /// Twice.
        f: func();
        bare: func();
    }
    world w {
        export api;
        /// At the root.
        export g: func();
        export inline: interface {
            /// Within.
            h: func();
        }
    }";

const DOCUMENTED_CORE: &str = r#"(func (export "test:made/api#f")) (func (export "test:made/api#bare"))
    (func (export "g")) (func (export "inline#h"))"#;

#[tokio::test]
async fn component_docs_describe_its_tools() {
    let documented = with_section(
        component(DOCUMENTED, DOCUMENTED_CORE),
        "package-docs",
        &docs(DOCUMENTED),
    );
    let tool = sandbox().load(documented).await.unwrap();
    let mut said: Vec<_> = tool
        .definitions()
        .iter()
        .map(|tool| (tool.name.as_str(), tool.description.as_str()))
        .collect();
    said.sort_unstable();
    assert_eq!(
        said,
        [
            ("bare", "Calls the function `test:made/api#bare()`."),
            ("f", "Adds nothing.\n\nTwice."),
            ("g", "At the root."),
            ("h", "Within."),
        ]
    );
}

#[tokio::test]
async fn unusable_docs_are_ignored() {
    let told = "Calls the function `f()`.";
    let docs = |said: Value| {
        let json = json!({ "worlds": { "w": { "funcs": { "f": said } } } });
        [b"\x01", json.to_string().as_bytes()].concat()
    };
    let long = "x".repeat(300 * 1024);
    let cases = [
        (docs(json!("As text.")), "As text.".to_owned()),
        (
            docs(json!({ "docs": "As an object." })),
            "As an object.".to_owned(),
        ),
        (
            docs(json!({ "docs": "turned \u{202e} round" })),
            "turned \u{fffd} round".to_owned(),
        ),
        (
            docs(json!("x".repeat(9_000))),
            format!("{}...", "x".repeat(8 * 1024 - 3)),
        ),
        (docs(json!({ "stability": "unknown" })), told.to_owned()),
        (docs(json!(null)), told.to_owned()),
        (docs(json!([1])), told.to_owned()),
        (docs(json!(long)), told.to_owned()),
        (b"\x01{".to_vec(), told.to_owned()),
        (b"\x02{}".to_vec(), told.to_owned()),
        (b"\x01[[]]".to_vec(), told.to_owned()),
        (Vec::new(), told.to_owned()),
    ];
    let wit = "package test:made; world w { export f: func(); }";
    let plain = component(wit, r#"(func (export "f"))"#);
    for (index, (section, expected)) in cases.into_iter().enumerate() {
        let documented = with_section(plain.clone(), "package-docs", &section);
        let tool = sandbox().load(documented).await.unwrap();
        assert_eq!(tool.definitions()[0].description, expected, "{index}");
    }
}

#[tokio::test]
async fn plain_component_loads_from_cache() {
    let dir = tempfile::tempdir().unwrap();
    let sandbox = |dir: &Path| {
        Sandbox::new(SandboxConfig {
            cache_dir: Some(dir.join("cache")),
            concurrent_calls: 1,
            ..SandboxConfig::default()
        })
        .unwrap()
    };
    let bytes = with_section(
        component(DOCUMENTED, DOCUMENTED_CORE),
        "package-docs",
        &docs(DOCUMENTED),
    );
    let first = sandbox(dir.path()).load(&bytes).await.unwrap();
    let second = sandbox(dir.path()).load(&bytes).await.unwrap();
    assert_eq!(
        (first.compiled(), second.compiled(), second.allocator()),
        (Compiled::Now, Compiled::FromCache, Allocator::Pooling)
    );
    assert_eq!(first.definitions(), second.definitions());
    assert_eq!(
        call(&second, "f", &json!({})).await,
        ToolResultOutput::json(Value::Null)
    );
}
