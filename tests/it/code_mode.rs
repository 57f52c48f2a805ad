//! Tests of `code = true`: the model writes programs that call tools, with approvals inside.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
    pictures::png,
    terminal::on_a_terminal,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const CONFIG: &str = r#"
code = true

[[grants.dir]]
host = "."
mode = "read-write"
"#;

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.configure(CONFIG);
    env.write("a.txt", "one");
    env.write("b.txt", "two");
    env
}

fn program(code: &str) -> Answer {
    Answer::calls(&[("run_javascript", json!({ "code": code }))])
}

/// Runs one program, and returns its result as the model is shown it.
fn run(env: &TestEnv, code: &str) -> String {
    let server = ChatServer::start(vec![program(code), Answer::text("Done.")]);
    let ran = ask(env, &server, &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut results = server.tool_results();
    assert_eq!(results.len(), 1);
    results.remove(0)
}

fn value(expected: &Value) -> String {
    json!({ "value": expected }).to_string()
}

fn done(ran: &Ran) {
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Done.\n"),
        "{ran:?}"
    );
}

#[test]
fn program_calls_tools_in_one_round_trip() {
    let env = env();
    let server = ChatServer::start(vec![
        program(
            "const [a, b] = await Promise.all(['a.txt', 'b.txt'].map((path) => tools.read_file({ path }))); \
             return { a, b }",
        ),
        Answer::text("Done."),
    ]);
    let ran = ask(&env, &server, &["go"]);
    done(&ran);
    assert!(
        ran.stderr.contains("the program is running"),
        "{}",
        ran.stderr
    );
    let row = "code     programs of the model call the tools\nreach";
    assert!(ran.stderr.contains(row), "{}", ran.stderr);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let offered = requests[0]["tools"].as_array().unwrap();
    let names: Vec<&str> = offered
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["run_javascript"]);
    let description = offered[0]["function"]["description"].as_str().unwrap();
    assert!(
        description.contains("\n  read_file(input: {"),
        "{description}"
    );
    assert!(description.contains("path: string"), "{description}");
    let result: Value = serde_json::from_str(&server.tool_results()[0]).unwrap();
    let read = |name: &str| result["value"][name].to_string();
    assert!(
        read("a").contains("one") && read("b").contains("two"),
        "{result}"
    );
    let explained = env.run(&["explain", "latest", "--json"]).json();
    let calls = explained["calls"].as_array().unwrap();
    let ids: Vec<&Value> = calls.iter().map(|call| &call["call_id"]).collect();
    assert_eq!(ids, ["call_0", "call_0/call-1", "call_0/call-2"]);
}

/// A program has nothing but its tools, and a script of `builtin:code` has no tools.
#[test]
fn program_has_no_effect_of_its_own() {
    let env = env();
    let cases = [
        (
            "[typeof fs, typeof fetch, typeof require, typeof tools.read_file]",
            json!(["undefined", "undefined", "undefined", "function"]),
        ),
        (
            "try { await tools.missing() } catch (e) { return e.name }",
            json!("ReferenceError"),
        ),
        (
            "try { await tools.read_file({ path: '../../etc/passwd' }) } catch (e) { return e.name }",
            json!("ToolError"),
        ),
        (
            "try { await tools.read_file({ file: 1 }) } catch (e) { return e.value.code }",
            json!("invalid-input"),
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(run(&env, code), value(&expected), "{code}");
    }
    let plain = env.run(&[
        "call",
        "builtin:code",
        "run_javascript",
        r#"{"code": "typeof tools"}"#,
        "--json",
    ]);
    assert_eq!(plain.json()["value"], json!({ "value": "undefined" }));
}

/// A call inside waits for the user; another process brings the decision and runs the program
/// again, which makes the same calls though they depend on the clock and on random numbers.
#[test]
fn approval_inside_a_program_is_decided_elsewhere() {
    let env = env();
    let code = "const stamp = `${Math.random()} ${Date.now()}`; \
         await tools.read_file({ path: 'a.txt' }); \
         await tools.write_file({ path: 'note.txt', content: stamp }); \
         await tools.write_file({ path: 'more.txt', content: stamp }); \
         return stamp";
    let server = ChatServer::start(vec![program(code), Answer::text("Done.")]);
    let ran = ask(&env, &server, &["--permission-prompts", "later", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr
            .contains("The program of call call_0 is waiting."),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("  call_0/call-2  write_file"),
        "{}",
        ran.stderr
    );
    let decide = |decision| ask(&env, &server, &["--resume", "latest", "--decide", decision]);
    let ran = decide("call_0/call-2=approve");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let note = env.work().join("note.txt");
    let first = std::fs::read_to_string(&note).unwrap();
    // A second run of the call would write it again.
    std::fs::remove_file(&note).unwrap();
    done(&decide("call_0/call-3=approve"));
    assert!(!note.exists());
    let second = std::fs::read_to_string(env.work().join("more.txt")).unwrap();
    assert_eq!(first, second);
    assert_eq!(server.tool_results(), [value(&json!(first))]);
    assert_eq!(of_kind(&env.events(), "children-waiting").len(), 2);
}

/// Runs a program that writes `x`, rejects the call, and returns the result that the model reads.
fn rejected(code: &str) -> String {
    let env = env();
    let server = ChatServer::start(vec![program(code), Answer::text("Done.")]);
    let ran = ask(&env, &server, &["--permission-prompts", "later", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let reject = "call_0/call-1=reject:not now";
    done(&ask(
        &env,
        &server,
        &["--resume", "latest", "--decide", reject],
    ));
    assert!(!env.work().join("x").exists());
    let [result] = server.tool_results().try_into().unwrap();
    result
}

#[test]
fn denial_inside_a_program_is_an_exception() {
    let code = "try { await tools.write_file({ path: 'x', content: 'x' }) } \
         catch (e) { return [e.name, e.message, e.denied] }";
    let expected = json!(["ToolError", "not now", true]);
    assert_eq!(rejected(code), value(&expected));
}

/// The model is told of a denial that its program does not wait for.
#[test]
fn denial_that_nothing_awaits_is_a_note() {
    let result = rejected("tools.write_file({ path: 'x', content: 'x' }); return 1");
    let note = "a promise was rejected, and nothing awaited it: ToolError: not now";
    assert!(result.contains(note), "{result}");
}

/// The user sees the program before the call that it makes.
#[test]
fn program_is_shown_before_an_approval() {
    let env = env();
    let code = "// writes\u{1b}[2J\nawait tools.write_file({ path: 'note.txt', content: 'hello' })";
    let server = ChatServer::start(vec![program(code), Answer::text("Done.")]);
    let ran = on_a_terminal(&env, &server, "run --model openai-compat:m go", "y\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = &ran.stdout;
    let at = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("no {text:?} in {shown}"))
    };
    assert!(at("The program of call call_0 waits:") < at("// writes"));
    assert!(at("// writes") < at("await tools.write_file("));
    assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
    assert_eq!(
        std::fs::read_to_string(env.work().join("note.txt")).unwrap(),
        "hello"
    );
}

/// An image of a result goes through a program as a handle, and reaches the model.
#[test]
fn image_passes_through_a_program() {
    let env = env();
    env.write("p.png", png(3, 2));
    let code = "const parts = await tools.read_file({ path: 'p.png' }); \
         parts.filter((part) => typeof part === 'object').map((file) => { output(file); return file.mediaType })";
    let server = ChatServer::start(vec![program(code), Answer::text("Done.")]);
    done(&ask(&env, &server, &["go"]));
    let events = env.events();
    let settled = of_kind(&events, "call-settled");
    let output = &settled.last().unwrap()["output"];
    assert_eq!(output["type"], "content", "{output}");
    let parts = output["value"].as_array().unwrap();
    assert_eq!(parts[0]["text"], value(&json!(["image/png"])));
    assert_eq!(
        (&parts[1]["media_type"], &parts[1]["data"]["type"]),
        (&json!("image/png"), &json!("blob"))
    );
}

#[test]
fn limits_end_a_program() {
    let env = env();
    env.configure(format!(
        "code-calls = 3\n{CONFIG}\n[limits]\ndeadline-ms = 700\n"
    ));
    let cases = [
        ("for (;;) {}", "timeout"),
        (
            "for (;;) await tools.read_file({ path: 'a.txt' })",
            "resource-limit",
        ),
        (
            "await Promise.all([1, 2, 3, 4].map(() => tools.read_file({ path: 'a.txt' })))",
            "resource-limit",
        ),
    ];
    for (code, expected) in cases {
        let result: Value = serde_json::from_str(&run(&env, code)).unwrap();
        assert_eq!(result["error"]["code"], expected, "{code}: {result}");
    }
}

/// A program that waits for its calls has no permit, so it cannot keep them from running.
#[test]
fn program_runs_its_calls_within_one_permit() {
    let env = env();
    env.configure(format!("{CONFIG}\n[sandbox]\nconcurrent-calls = 1\n"));
    let code = "let n = 0; for (let i = 0; i < 5; i++) n += (await tools.read_file({ path: 'a.txt' })).length > 0; return n";
    assert_eq!(run(&env, code), value(&json!(5)));
}

/// An agent can have `code`, and its programs can start agents.
#[test]
fn agents_and_programs_start_each_other() {
    let env = env();
    env.configure(format!(
        "agents = [\"clerk\"]\nagent-depth = 2\n{CONFIG}\n[[agent]]\nname = \"clerk\"\ndescription = \"Reads.\"\ncode = true\ntools = [\"read_file\"]\n"
    ));
    let server = ChatServer::start(vec![
        program("return await tools.agent_clerk({ instructions: 'read a.txt' })"),
        program("return (await tools.read_file({ path: 'a.txt' })).length > 0"),
        Answer::text("It is read."),
        Answer::text("Done."),
    ]);
    done(&ask(&env, &server, &["go"]));
    assert_eq!(server.tool_results(), [value(&json!("It is read."))]);
    let of_clerk = server.requests()[2]["messages"]
        .as_array()
        .unwrap()
        .last()
        .cloned();
    assert_eq!(of_clerk.unwrap()["content"], value(&json!(true)));
}

/// The tool that ends the run of an agent is the model's own.
#[test]
fn run_ends_through_a_tool_that_the_model_calls() {
    let env = env();
    env.configure(format!(
        "{CONFIG}\n[[agent]]\nname = \"clerk\"\ndescription = \"Reads.\"\ncode = true\nuntil-tool = [\"read_file\"]\n"
    ));
    let server = ChatServer::start(vec![
        program("return await tools.read_file({ path: 'a.txt' })"),
        Answer::calls(&[("read_file", json!({ "path": "b.txt" }))]),
    ]);
    let ran = ask(&env, &server, &["--agent", "clerk", "go"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "two\n"),
        "{ran:?}"
    );
}

/// Tools for which the declarations have no space are named, and described when they are asked for.
#[test]
fn many_tools_are_described_on_demand() {
    let env = env();
    let mut config = CONFIG.to_owned();
    for n in 0..200 {
        config += &format!(
            "\n[[external-tool]]\nname = \"far_{n}\"\ndescription = \"{}\"\ninput-schema = {{ type = \"object\" }}\n",
            format!("Does number {n}. ").repeat(12)
        );
    }
    env.configure(config);
    let server = ChatServer::start(vec![
        Answer::calls(&[("describe_tools", json!({ "query": "far_199" }))]),
        Answer::text("Done."),
    ]);
    done(&ask(&env, &server, &["go"]));
    let requests = server.requests();
    let offered = requests[0]["tools"].as_array().unwrap();
    let names: Vec<&str> = offered
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["run_javascript", "describe_tools"]);
    let description = offered[0]["function"]["description"].as_str().unwrap();
    assert!(description.contains("Not declared here") && description.contains("far_199"));
    let told = &server.tool_results()[0];
    assert!(
        told.contains("  far_199(input: Record<string, unknown>): Promise<any>;"),
        "{told}"
    );
}

#[test]
fn invalid_number_of_calls_is_refused() {
    let env = env();
    env.configure(format!("code-calls = 0\n{CONFIG}"));
    let ran = env.run(&["run", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("set it to 1 to 10000, or leave it out"),
        "{}",
        ran.stderr
    );
}
