//! A plain component of WASI 0.3: its async functions and streams, and every function of the
//! interfaces that it imports.

mod network;

use super::*;
use crate::WasiVersion;
use agent_host_engine::{policy::PathRules, tool::CallUpdate};
use pretty_assertions::assert_eq;
use std::{fs, os::unix::fs::symlink, path::PathBuf};

/// `guest-tools/concurrent`.
fn guest() -> PathBuf {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/guests/dist/concurrent.wasm"
    );
    path.into()
}

async fn tool() -> ToolComponent {
    let sandbox = Sandbox::new(SandboxConfig {
        concurrent_calls: 4,
        wasi: WasiVersion::V0_3,
        ..SandboxConfig::default()
    });
    sandbox.unwrap().load(guest()).await.unwrap()
}

async fn run(tool: &ToolComponent, name: &str, arguments: Value, grants: &Grants) -> CallReport {
    run_within(tool, name, arguments, grants, &Limits::default()).await
}

async fn run_within(
    tool: &ToolComponent,
    name: &str,
    arguments: Value,
    grants: &Grants,
    limits: &Limits,
) -> CallReport {
    call_as(
        Effect::Effectful,
        tool,
        name,
        arguments,
        grants.clone(),
        limits,
    )
    .await
}

#[tokio::test]
async fn streams_and_futures_are_read_to_their_ends() {
    let tool = tool().await;
    let text = |text: &str| ToolResultOutput::Text(text.to_owned());
    for (name, arguments, expected) in [
        ("count", json!({"to": 3}), text("0\n1\n2\n")),
        ("count", json!({"to": 0}), text("")),
        ("upper", json!({"bytes": "w7xiZXI="}), text("üBER")),
        (
            "lines",
            json!({"lines": 2}),
            text("\"line 1\"\n\"line 2\"\n"),
        ),
        ("later", json!({"text": "at last"}), text("at last")),
        (
            "crossed",
            json!({"size": 3}),
            ToolResultOutput::json(json!([3, "eHh4", [0, 1, 2]])),
        ),
        (
            "binary",
            json!({"fails": false}),
            ToolResultOutput::Content(vec![ContentPart::File(FilePart {
                media_type: "application/octet-stream".to_owned(),
                data: FileData::Bytes(vec![0xff, 0, 0xfe]),
                filename: None,
            })]),
        ),
        (
            "binary",
            json!({"fails": true}),
            ToolResultOutput::ErrorText("asked to fail".to_owned()),
        ),
    ] {
        let report = run(&tool, name, arguments, &Grants::default()).await;
        assert_eq!(report.output, expected, "{name}");
    }
}

#[tokio::test]
async fn streamed_answer_is_seen_as_it_comes() {
    let tool = tool().await;
    let seen = Mutex::new(String::new());
    let call = Call {
        tool: "lines",
        call_id: &CallId("call-1".to_owned()),
        input: &input(&json!({"lines": 300})).into(),
        idempotency_key: "key-1",
        effect: Effect::Effectful,
        grants: Arc::default(),
        secrets: Arc::default(),
        limits: &Limits::default(),
        context: CallContext::default(),
        progress: &|update| {
            if let CallUpdate::Output(lines) = update {
                seen.lock().unwrap().push_str(lines);
            }
        },
    };
    let report = tool.call(call).await.settled().unwrap();
    let ToolResultOutput::Text(text) = &report.output else {
        panic!("{:?}", report.output);
    };
    assert_eq!(text.lines().count(), 300);
    // What comes faster than it can be shown is left out, and so is the rest when the call ends.
    let seen = seen.lock().unwrap();
    let whole = |line: &str| text.contains(&format!("\"{line}\"\n"));
    assert!(!seen.is_empty() && seen.lines().all(whole), "{seen}");
    assert_eq!(report.accounting.stdio, "");
}

#[tokio::test]
async fn functions_that_have_no_form_are_named_with_reasons() {
    assert_eq!(
        tool().await.notes(),
        [
            "`put`: its arguments have a stream inside a value; only an argument itself can be a stream",
            "`records`: its types have a stream of values other than numbers, booleans, characters, text and bytes",
        ]
    );
}

#[tokio::test]
async fn component_of_wasi_0_3_says_how_to_turn_it_on() {
    let error = sandbox().load(guest()).await.unwrap_err().to_string();
    let said = "WASI 0.3 is off: set `wasi = \"0.3\"` in `[sandbox]`";
    assert!(error.contains(said), "{error}");
}

#[tokio::test]
async fn waits_of_one_call_run_at_once() {
    let (tool, none) = (tool().await, Grants::default());
    let report = run(&tool, "nap", json!({"times": 200, "ms": 50}), &none).await;
    let ToolResultOutput::Json(passed) = report.output else {
        panic!("no number");
    };
    // One after another they would take 10 s.
    let passed = passed.to_value().as_u64().unwrap();
    assert!((50..5_000).contains(&passed), "{passed}");
}

#[tokio::test]
async fn limits_end_async_functions() {
    let tool = tool().await;
    let limits = Limits {
        deadline_ms: 500,
        open_resources: 100,
        output_bytes: 100_000,
        ..Limits::default()
    };
    for (name, arguments, expected) in [
        (
            "stuck",
            json!({}),
            (
                "trap",
                "The tool was stopped: it waits for something that can no longer happen.",
            ),
        ),
        (
            "spin",
            json!({}),
            ("timeout", "The tool did not end within 500 ms"),
        ),
        (
            "nap",
            json!({"times": 1, "ms": 60_000}),
            ("timeout", "The tool did not end within 500 ms"),
        ),
        // Each sleep is a task of its own.
        (
            "nap",
            json!({"times": 200, "ms": 10_000}),
            (
                "resource-limit",
                "it held more than 100 handles at once (limit `open-resources`)",
            ),
        ),
        (
            "hoard",
            json!({"streams": 60}),
            (
                "resource-limit",
                "it held more than 100 handles at once (limit `open-resources`)",
            ),
        ),
    ] {
        let report = run_within(&tool, name, arguments, &Grants::default(), &limits).await;
        let (found, message) = code(&report);
        assert_eq!(found, expected.0, "{name}: {message}");
        assert!(message.contains(expected.1), "{name}: {message}");
    }
    let fits = json!({"streams": 40});
    let report = run_within(&tool, "hoard", fits, &Grants::default(), &limits).await;
    assert_eq!(report.output, ToolResultOutput::json(json!(40)));
}

#[tokio::test]
async fn stream_without_end_is_cut_at_the_output_limit() {
    let limits = Limits {
        output_bytes: 100_000,
        ..Limits::default()
    };
    let tool = tool().await;
    let report = run_within(&tool, "endless", json!({}), &Grants::default(), &limits).await;
    let ToolResultOutput::Content(parts) = &report.output else {
        panic!("{:?}", report.output);
    };
    let [ContentPart::Text { text }, ContentPart::Text { text: note }] = parts.as_slice() else {
        panic!("{} parts", parts.len());
    };
    assert_eq!(*text, ".".repeat(100_000 - 512));
    assert_eq!(
        note,
        "[The tool sent more than a result may hold; the rest was left out. Ask it for less.]"
    );
}

/// The end of an attempt: a result, the code of an error, or the code after the gate refused it.
enum End {
    Ok(&'static str),
    Err(&'static str),
    Denied(&'static str),
}

/// The operation, its path and value, and its end.
type Attempt<'a> = (&'a str, &'a str, &'a str, End);

async fn attempt(tool: &ToolComponent, grants: &Grants, attempts: &[Attempt<'_>]) {
    for (operation, path, value, expected) in attempts {
        let arguments = json!({"operation": operation, "path": path, "value": value});
        let report = run(tool, "attempt", arguments, grants).await;
        let expected = match expected {
            End::Ok(text) => ToolResultOutput::Text((*text).to_owned()),
            End::Err(code) => ToolResultOutput::ErrorText(format!("ErrorCode::{code}")),
            End::Denied(code) => {
                let ToolResultOutput::ExecutionDenied(Some(reason)) = &report.output else {
                    panic!("{operation} {path} {value}: {:?}", report.output);
                };
                let said = format!("The tool then said: ErrorCode::{code}");
                assert!(
                    reason.ends_with(&said),
                    "{operation} {path} {value}: {reason}"
                );
                continue;
            }
        };
        assert_eq!(report.output, expected, "{operation} {path} {value}");
    }
}

/// A granted directory with a file, a directory, a secret, and a link that leads out.
fn project() -> (tempfile::TempDir, Grants) {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("project");
    fs::create_dir_all(project.join("sub")).unwrap();
    fs::write(project.join("a.txt"), "alpha").unwrap();
    fs::write(project.join("secret.key"), "hidden").unwrap();
    fs::write(dir.path().join("outside.txt"), "outside").unwrap();
    symlink("../outside.txt", project.join("out")).unwrap();
    symlink("a.txt", project.join("in")).unwrap();
    let grant = DirGrant {
        mask: PathRules::new(&["*.key"]).unwrap(),
        deny: PathRules::new(&["denied*"]).unwrap(),
        ..DirGrant::new(&project, "/project", DirMode::ReadWrite)
    };
    let grants = Grants {
        dirs: vec![grant],
        env: vec![EnvGrant {
            name: "LANG".to_owned(),
            value: "C".to_owned(),
        }],
        ..Grants::default()
    };
    (dir, grants)
}

#[tokio::test]
async fn files_of_wasi_0_3_pass_the_gate() {
    use End::{Denied, Err, Ok};

    let (dir, grants) = project();
    let tool = tool().await;
    attempt(
        &tool,
        &grants,
        &[
            ("read", "/project/a.txt", "", Ok("alpha")),
            ("read", "./a.txt", "", Ok("alpha")),
            ("read", "/project/in", "", Ok("alpha")),
            ("read", "/project/out", "", Denied("NotPermitted")),
            ("read", "/project/../outside.txt", "", Denied("NotPermitted")),
            ("read", "/project/secret.key", "", Err("NoEntry")),
            ("read", "/project/sub", "", Err("IsDirectory")),
            ("read", "/project/none", "", Err("NoEntry")),
            ("list", "/project", "", Ok("a.txt DescriptorType::RegularFile\nin DescriptorType::SymbolicLink\nout DescriptorType::SymbolicLink\nsub DescriptorType::Directory")),
            ("write", "/project/b.txt", "beta", Ok("written")),
            ("append", "/project/b.txt", " and more", Ok("written")),
            ("read", "/project/b.txt", "", Ok("beta and more")),
            ("write", "/project/denied.txt", "x", Denied("Access")),
            ("write", "/project/secret.key", "x", Denied("Access")),
            ("write-unopened", "/project/b.txt", "x", Err("NotPermitted")),
            ("read-unopened", "/project/b.txt", "x", Err("BadDescriptor")),
            ("create", "/project/a.txt", "", Err("Exist")),
            ("truncate", "/project/b.txt", "", Ok("emptied")),
            ("stat", "/project/b.txt", "", Ok("DescriptorType::RegularFile 0")),
            ("lstat", "/project/in", "", Ok("DescriptorType::SymbolicLink 5")),
            ("descriptor", "/project/a.txt", "", Ok("DescriptorType::RegularFile DescriptorFlags(READ) true")),
            ("size", "/project/b.txt", "9", Ok("9")),
            ("times", "/project/b.txt", "1000", Ok("Some(1000)")),
            ("times", "/project/b.txt", "-1", Err("Overflow")),
            ("make-directory", "/project/new", "", Ok("done")),
            ("make-directory", "/project/new", "", Err("Exist")),
            ("rename", "/project/b.txt", "new/c.txt", Ok("done")),
            ("rename", "/project/new/c.txt", "../c.txt", Denied("NotPermitted")),
            ("link", "/project/new/c.txt", "d.txt", Ok("done")),
            ("symlink", "/project/link", "d.txt", Ok("done")),
            ("symlink", "/project/away", "../outside.txt", Denied("NotPermitted")),
            ("readlink", "/project/link", "", Ok("d.txt")),
            ("hash", "/project/d.txt", "", Ok("true")),
            ("remove-directory", "/project/new", "", Err("NotEmpty")),
            ("remove", "/project/new/c.txt", "", Ok("done")),
            ("remove-directory", "/project/new", "", Ok("done")),
        ],
    )
    .await;
    let read_only = Grants {
        dirs: vec![DirGrant::new(
            dir.path().join("project"),
            "/project",
            DirMode::ReadOnly,
        )],
        ..Grants::default()
    };
    attempt(
        &tool,
        &read_only,
        &[
            ("read", "/project/a.txt", "", Ok("alpha")),
            ("write", "/project/a.txt", "x", Denied("Access")),
            ("make-directory", "/project/x", "", Denied("Access")),
            ("times", "/project/a.txt", "1", Denied("Access")),
        ],
    )
    .await;
    let arguments = json!({"operation": "read", "path": "/project/a.txt", "value": ""});
    assert_eq!(
        run(&tool, "attempt", arguments, &Grants::default())
            .await
            .output,
        ToolResultOutput::ErrorText("no directory is open there".to_owned())
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("outside.txt")).unwrap(),
        "outside"
    );
}

#[tokio::test]
async fn large_files_pass_in_chunks() {
    let (dir, grants) = project();
    let tool = tool().await;
    let content = "0123456789abcdef".repeat(20_000);
    let arguments = json!({"operation": "write", "path": "/project/large", "value": content});
    let report = run(&tool, "attempt", arguments, &grants).await;
    assert_eq!(report.output, ToolResultOutput::Text("written".to_owned()));
    let written = fs::read_to_string(dir.path().join("project/large")).unwrap();
    assert!(written == content);
    let arguments = json!({"operation": "read", "path": "/project/large", "value": ""});
    let report = run(&tool, "attempt", arguments, &grants).await;
    assert!(report.output == ToolResultOutput::Text(content));
    for entry in 0..500 {
        fs::write(dir.path().join(format!("project/sub/{entry}")), "").unwrap();
    }
    let arguments = json!({"operation": "list", "path": "/project/sub", "value": ""});
    let ToolResultOutput::Text(list) = run(&tool, "attempt", arguments, &grants).await.output
    else {
        panic!("no list");
    };
    assert_eq!(list.lines().count(), 500);
}

#[tokio::test]
async fn other_interfaces_of_wasi_0_3_are_those_of_0_2() {
    use End::{Denied, Err, Ok};

    let (_dir, grants) = project();
    let tool = tool().await;
    attempt(
        &tool,
        &grants,
        &[
            ("environment", "", "", Ok(r#"[("LANG", "C")]"#)),
            ("arguments", "", "", Ok("[]")),
            ("directory", "", "", Ok(r#"Some("/project")"#)),
            ("input", "", "", Ok("[] Ok(())")),
            ("terminals", "", "", Ok("false false false")),
            ("clocks", "", "", Ok("true")),
            ("random", "", "16", Ok("16 16 3")),
            ("tcp", "", "", Err("AccessDenied")),
            ("udp", "", "", Err("AccessDenied")),
            ("lookup", "", "localhost", Err("PermanentResolverFailure")),
            ("get", "http://127.0.0.1/", "", Denied("HttpRequestDenied")),
        ],
    )
    .await;
    for (operation, stream) in [("output", "said"), ("errors", "said")] {
        let arguments = json!({"operation": operation, "path": "", "value": "said"});
        let report = run(&tool, "attempt", arguments, &grants).await;
        assert_eq!(report.accounting.stdio, stream);
        assert_eq!(report.output, ToolResultOutput::Text("Ok(())".to_owned()));
    }
    for (operation, status) in [("exit", 7), ("exit-failed", 1)] {
        let arguments = json!({"operation": operation, "path": "", "value": ""});
        let report = run(&tool, "attempt", arguments, &grants).await;
        let message =
            format!("The tool ended itself with exit code {status} and returned no result.");
        assert_eq!(code(&report), ("trap", message.as_str()));
    }
}
