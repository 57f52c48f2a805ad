use super::*;
use crate::parts::parts;
use agent_host_engine::tool::CallReport;
use agent_host_sandbox::{Call, CallContext, LoadError, Sandbox, SandboxConfig};
use agent_host_test_guests::{BEHIND, Body, Guest, PARTIAL_TEXT, PASS, PROGRESS};
use agent_host_types::{id::CallId, limits::Limits, output::ToolResultOutput, tool::Effect};
use pretty_assertions::assert_eq;
use serde_json::Map;
use std::{sync::Arc, time::Duration};

fn part(name: &str, guest: &Guest<'_>) -> Part {
    Part::of_file(Path::new(name), guest.bytes())
}

/// A filter that runs this code, and may call the tool behind.
fn filter(name: &str, code: &str) -> Part {
    let guest = Guest {
        imports: &[BEHIND],
        ..Guest::running(code)
    };
    part(name, &guest)
}

fn says(text: &'static [u8]) -> Guest<'static> {
    Guest::returning(Body::Text(0, text))
}

fn compose(tool: &Part, filters: &[Part]) -> Result<Composed, AuthorError> {
    super::compose(tool, filters, Pieces::Refused)
}

fn composed(tool: &Part, filters: &[Part]) -> Vec<u8> {
    compose(tool, filters).unwrap().bytes
}

async fn call(component: &[u8], limits: &Limits) -> CallReport {
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    call_in(&sandbox, component, limits).await
}

async fn call_in(sandbox: &Sandbox, component: &[u8], limits: &Limits) -> CallReport {
    let tool = sandbox.load(component).await.unwrap();
    tool.call(Call {
        tool: "echo",
        call_id: &CallId("call-1".to_owned()),
        input: &Map::new().into(),
        idempotency_key: "key-1",
        effect: Effect::ReadOnly,
        grants: Arc::default(),
        secrets: Arc::default(),
        limits,
        context: CallContext::default(),
        progress: &|_| {},
    })
    .await
    .settled()
    .unwrap()
}

fn code_of(report: &CallReport) -> String {
    let ToolResultOutput::ErrorJson(value) = &report.output else {
        panic!("not a failure: {report:?}");
    };
    value.to_value()["code"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn filters_pass_calls_on_in_their_order() {
    let tool = part("tool", &says(b"tool"));
    let answers =
        "(i32.store (i32.const 16) (i32.const 0)) (i32.store (i32.const 20) (local.get $name))
        (i32.store (i32.const 24) (local.get $name-len)) (i32.const 16)";
    let (passes, answers) = (filter("passes", PASS), filter("answers", answers));
    for (filters, expected) in [
        (vec![passes.clone()], "tool"),
        (vec![passes.clone(), passes.clone()], "tool"),
        (vec![passes.clone(), answers.clone()], "echo"),
        (vec![answers, passes], "echo"),
    ] {
        let component = composed(&tool, &filters);
        let report = call(&component, &Limits::default()).await;
        assert_eq!(report.output, ToolResultOutput::Text(expected.to_owned()));
        let described: Vec<_> = filters.iter().chain([&tool]).map(Part::describe).collect();
        assert_eq!(parts(&component), described);
    }
}

/// A filter in front of a composed tool makes the same chain as filters that are composed at once.
#[test]
fn composed_tool_is_composed_again() {
    let (tool, inner) = (part("tool", &says(b"tool")), filter("inner", PASS));
    let outer = filter("outer", PASS);
    let once = Part::of_file(
        Path::new("once.wasm"),
        composed(&tool, std::slice::from_ref(&inner)),
    );
    let twice = composed(&once, std::slice::from_ref(&outer));
    let expected = [outer.describe(), inner.describe(), tool.describe()];
    assert_eq!(parts(&twice), expected);
}

#[test]
fn section_that_lies_about_its_length_is_refused() {
    // A section of four gigabytes in fifteen bytes.
    let lies = b"\0asm\x0d\0\x01\0\x06\xd8\xfd\xff\xff\x0f\0".to_vec();
    let tool = Part::of_file(Path::new("lies.wasm"), lies);
    let error = compose(&tool, &[filter("passes", PASS)]).unwrap_err();
    assert!(
        error.to_string().starts_with("cannot use `lies`: "),
        "{error}"
    );
}

#[tokio::test]
async fn imports_are_those_of_all_parts() {
    let tool = Guest {
        imports: &[PROGRESS],
        ..says(b"tool")
    };
    let asks = Guest {
        imports: &[BEHIND, agent_host_test_guests::ASK, PROGRESS],
        ..Guest::running(PASS)
    };
    let component = composed(&part("tool", &tool), &[part("asks", &asks)]);
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let mut imports = sandbox.load(&component).await.unwrap().imports().to_vec();
    imports.sort();
    let expected = ["human", "progress", "types"].map(|it| format!("agent:tool/{it}@0.1.0"));
    assert_eq!(imports, expected);
}

#[tokio::test]
async fn memory_limit_counts_all_parts() {
    const PAGES: u32 = 64;
    let tool = Guest {
        pages: PAGES,
        ..says(b"tool")
    };
    let passes = Guest {
        pages: PAGES,
        imports: &[BEHIND],
        ..Guest::running(PASS)
    };
    let component = composed(&part("tool", &tool), &[part("passes", &passes)]);
    let both = u64::from(2 * PAGES) * 65_536;
    for (memory_bytes, expected) in [(both, None), (both - 65_536, Some("out-of-memory"))] {
        let limits = Limits {
            memory_bytes,
            ..Limits::default()
        };
        let report = call(&component, &limits).await;
        match expected {
            None => {
                assert_eq!(report.output, ToolResultOutput::Text("tool".to_owned()));
                assert_eq!(report.accounting.peak_memory_bytes, both);
            }
            Some(code) => assert_eq!(code_of(&report), code),
        }
    }
}

#[tokio::test]
async fn endless_tool_behind_a_filter_is_stopped() {
    let tool = part("tool", &Guest::running("(loop $l (br $l)) unreachable"));
    let component = composed(&tool, &[filter("passes", PASS)]);
    let limits = Limits {
        deadline_ms: 100,
        ..Limits::default()
    };
    assert_eq!(code_of(&call(&component, &limits).await), "timeout");
}

/// The only place for calls is free again once a call was dropped.
#[tokio::test]
async fn dropped_call_behind_a_filter_ends() {
    let sandbox = Sandbox::new(SandboxConfig {
        concurrent_calls: 1,
        ..SandboxConfig::default()
    });
    let sandbox = sandbox.unwrap();
    let endless = part("tool", &Guest::running("(loop $l (br $l)) unreachable"));
    let endless = composed(&endless, &[filter("passes", PASS)]);
    let limits = Limits::default();
    let running = call_in(&sandbox, &endless, &limits);
    let waited = tokio::time::timeout(Duration::from_millis(100), running);
    assert!(waited.await.is_err());
    let tool = composed(&part("tool", &says(b"tool")), &[filter("passes", PASS)]);
    let report = call_in(&sandbox, &tool, &limits).await;
    assert_eq!(report.output, ToolResultOutput::Text("tool".to_owned()));
}

#[tokio::test]
async fn trap_of_a_part_ends_the_call() {
    let tool = part("tool", &Guest::running("unreachable"));
    let component = composed(&tool, &[filter("passes", PASS)]);
    let report = call(&component, &Limits::default()).await;
    assert_eq!(code_of(&report), "trap");
}

#[tokio::test]
async fn skill_of_the_tool_is_kept() {
    let mut tool = says(b"tool").bytes();
    let section = CustomSection {
        name: SKILL_SECTION.into(),
        data: b"the archive"[..].into(),
    };
    wasm_encoder::ComponentSection::append_to_component(&section, &mut tool);
    let tool = Part::of_file(Path::new("tool.wasm"), tool);
    let component = composed(&tool, &[filter("passes", PASS)]);
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let loaded = sandbox.load(&component).await.unwrap();
    assert_eq!(loaded.skill(), Some(&b"the archive"[..]));
}

#[test]
fn hooks_of_the_tool_are_left_out() {
    let hooks = r#"(instance $none) (export "agent:tool/hook@0.1.0" (instance $none))"#;
    for (component, expected) in [("", false), (hooks, true)] {
        let tool = Guest {
            component,
            ..says(b"tool")
        };
        let made = compose(&part("tool", &tool), &[filter("passes", PASS)]).unwrap();
        assert_eq!(made.leaves_hooks_out, expected);
        let exports = crate::PackageInfo::from_component(&made.bytes)
            .unwrap()
            .exports;
        assert_eq!(exports, [TOOL]);
    }
}

#[tokio::test]
async fn filter_by_itself_does_not_load() {
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let error = sandbox.load(&filter("passes", PASS).bytes).await;
    let Err(error @ LoadError::UncomposedFilter) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.fault().as_str(), "missing-capability");
}

#[test]
fn parts_that_do_not_fit_are_refused_in_one_line() {
    let (tool, passes) = (part("tool", &says(b"tool")), filter("passes", PASS));
    let newer = Guest {
        export: "agent:tool/tool@0.2.0",
        ..says(b"tool")
    };
    let plain = Part::of_file(Path::new("plain"), wat::parse_str("(component)").unwrap());
    let module = Part::of_file(Path::new("module"), wat::parse_str("(module)").unwrap());
    let mut cut = tool.clone();
    cut.bytes.truncate(tool.bytes.len() / 2);
    let text = Part::of_file(Path::new("te\nxt"), b"hello".to_vec());
    let newer = part("newer", &newer);
    let table = [
        (
            &passes,
            &passes,
            "cannot use `passes`: it is a filter, not a tool; name a tool, and the filter with `--with`",
        ),
        (
            &tool,
            &tool,
            "cannot use `tool`: it is a tool, not a filter: a filter imports `agent:tool/tool@0.1.0`, too",
        ),
        (
            &newer,
            &passes,
            "cannot use `newer`: it is built for `agent:tool/tool@0.2.0`, and this program composes `agent:tool/tool@0.1.0`",
        ),
        (
            &plain,
            &passes,
            "cannot use `plain`: it does not export `agent:tool/tool@0.1.0`, which tools and filters do",
        ),
        (
            &tool,
            &plain,
            "cannot use `plain`: it does not export `agent:tool/tool@0.1.0`, which tools and filters do",
        ),
        (
            &module,
            &passes,
            "cannot use `module`: it is a core module, not a component",
        ),
        (
            &text,
            &passes,
            "cannot use `te_xt`: it is not a WebAssembly component",
        ),
    ];
    for (tool, filter, expected) in table {
        let error = compose(tool, std::slice::from_ref(filter)).unwrap_err();
        assert_eq!(error, AuthorError::Usage(expected.to_owned()));
    }
    let error = compose(&cut, &[passes]).unwrap_err().to_string();
    assert!(error.starts_with("cannot use `tool`: "), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

/// Pieces of a result reach the host directly, so only the outermost part may give them.
#[test]
fn results_that_no_filter_sees_are_refused() {
    let gives = |imports| {
        let guest = Guest {
            imports,
            ..Guest::running("(drop (call $text (i32.const 0) (i32.const 0))) (i32.const 16)")
        };
        part("gives", &guest)
    };
    let (tool, gives_tool) = (part("tool", &says(b"tool")), gives(&[PARTIAL_TEXT]));
    let (passes, gives_filter) = (filter("passes", PASS), gives(&[PARTIAL_TEXT, BEHIND]));
    let refused = "cannot put a filter in front of `gives`: it imports `agent:tool/partial@0.1.0`, with which it gives results that no filter sees; `--unfiltered-pieces` lets them go past the filters";
    for (tool, filters, expected) in [
        (&gives_tool, vec![passes.clone()], Some(refused)),
        (
            &tool,
            vec![passes.clone(), gives_filter.clone()],
            Some(refused),
        ),
        (&tool, vec![gives_filter, passes], None),
    ] {
        let error = compose(tool, &filters).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), expected);
        assert!(super::compose(tool, &filters, Pieces::Unfiltered).is_ok());
    }
}

#[test]
fn filter_with_other_types_is_refused() {
    let other = Guest {
        component: r#"(import "agent:tool/tool@0.1.0" (instance
            (export "call" (func (param "call" string) (result string)))))"#,
        ..says(b"filter")
    };
    let error = compose(&part("tool", &says(b"tool")), &[part("other", &other)]);
    let error = error.unwrap_err().to_string();
    let start = "the components do not fit together: ";
    assert!(error.starts_with(start), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

/// A composition is recognised by its form, so that what stands beside the parts cannot hide.
#[test]
fn component_with_other_contents_has_no_parts() {
    let component = composed(&part("tool", &says(b"tool")), &[filter("passes", PASS)]);
    assert_eq!(parts(&component).len(), 2);
    let mut with_module = component.clone();
    let module = wat::parse_str("(module)").unwrap();
    let section = wasm_encoder::RawSection {
        id: wasm_encoder::ComponentSectionId::CoreModule as u8,
        data: &module,
    };
    wasm_encoder::ComponentSection::append_to_component(&section, &mut with_module);
    let mut with_component = component.clone();
    let inside = wat::parse_str("(component)").unwrap();
    let section = wasm_encoder::RawSection {
        id: wasm_encoder::ComponentSectionId::Component as u8,
        data: &inside,
    };
    wasm_encoder::ComponentSection::append_to_component(&section, &mut with_component);
    for other in [with_module, with_component, says(b"tool").bytes()] {
        assert_eq!(parts(&other), []);
    }
    for end in 0..component.len() {
        drop(parts(component.get(..end).unwrap()));
    }
}
