//! Tests of `code`: JavaScript that a model writes, over what is granted and within the limits.

use super::{call_with, serve_once};
use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    pictures::png,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const READ: &str = "run_javascript";
const CHANGE: &str = "run_javascript_with_effects";

fn script(env: &TestEnv, tool: &str, code: &str, more: &[&str]) -> Value {
    call_with(env, "code", tool, &json!({ "code": code }), more).json()
}

fn value(expected: &Value) -> Value {
    json!({ "type": "json", "value": { "value": expected } })
}

#[test]
fn script_reads_data_and_puts_out_an_image() {
    let env = TestEnv::new();
    env.write("sales.csv", "city,sum\nVienna,3\nGraz,4\n");
    env.write("ids.json", "[9007199254740993, {\"__proto__\": 1}]");
    env.write("p.png", png(3, 2));
    let cases = [
        (
            "const rows = fs.readFileSync('sales.csv', 'utf8').trim().split('\\n').slice(1); \
             rows.reduce((sum, row) => sum + Number(row.split(',')[1]), 0)",
            json!(7),
        ),
        (
            "JSON.parse(fs.readFileSync('/workspace/ids.json', 'utf8'))",
            json!([9_007_199_254_740_993_u64, { "__proto__": 1 }]),
        ),
        (
            "fs.readdirSync('.')",
            json!(["ids.json", "p.png", "sales.csv"]),
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(script(&env, READ, code, &[]), value(&expected), "{code}");
    }
    let image = script(
        &env,
        READ,
        "output.image(fs.readFileSync('p.png'), 'p.png'); 1",
        &[],
    );
    assert_eq!(
        image,
        json!({ "type": "content", "value": [
            { "type": "text", "text": "{\"value\":1}" },
            { "type": "file", "media_type": "image/png", "filename": "p.png",
              "data": { "type": "bytes", "value": STANDARD.encode(png(3, 2)) } },
        ]})
    );
}

#[test]
fn effect_of_the_tool_is_enforced() {
    let env = TestEnv::new();
    let write = "fs.writeFileSync('out.txt', 'made'); fs.readFileSync('out.txt', 'utf8')";
    let writable = ["--grant", "dir:.:read-write"];
    let denied = script(&env, READ, write, &writable);
    assert_eq!(denied["type"], "execution-denied", "{denied}");
    assert!(!env.work().join("out.txt").exists());
    let denied = script(&env, CHANGE, write, &[]);
    assert_eq!(denied["type"], "execution-denied", "{denied}");
    assert_eq!(
        script(&env, CHANGE, write, &writable),
        value(&json!("made"))
    );

    let (port, served) = serve_once(
        "200 OK\r\ncontent-type: application/json",
        b"{\"id\":1}".to_vec(),
    );
    let grant = format!("http:GET,POST=http://127.0.0.1:{port}");
    let code = |method: &str| {
        format!(
            "const r = await fetch('http://127.0.0.1:{port}/a', {{ method: '{method}' }}); [r.status, await r.json()]"
        )
    };
    let denied = script(&env, READ, &code("POST"), &["--grant", &grant]);
    assert_eq!(denied["type"], "execution-denied", "{denied}");
    let sent = script(&env, CHANGE, &code("POST"), &["--grant", &grant]);
    assert_eq!(sent, value(&json!([200, { "id": 1 }])));
    assert_eq!(served.join().unwrap(), "POST /a HTTP/1.1\r\n");
}

#[test]
fn script_reaches_nothing_that_is_not_granted() {
    let env = TestEnv::new();
    env.write(".env", "SECRET=1");
    std::fs::write(env.outside().join("secret"), "SECRET=2").unwrap();
    std::os::unix::fs::symlink(env.outside().join("secret"), env.work().join("out")).unwrap();
    let attempts = [
        ("fs.readFileSync('/etc/hostname')", "execution-denied"),
        ("fs.readFileSync('../secret')", "execution-denied"),
        ("fs.readFileSync('out')", "execution-denied"),
        ("fs.readFileSync('.env')", "error-text"),
        ("fs.readFileSync('/session/a')", "execution-denied"),
        ("await fetch('http://127.0.0.1:1/')", "execution-denied"),
        // A refusal that the code hides is one all the same.
        (
            "try { fs.readFileSync('/etc/hostname') } catch { 'fine' }",
            "json",
        ),
    ];
    for (code, expected) in attempts {
        let result = script(&env, READ, code, &[]);
        assert_eq!(result["type"], expected, "{code}: {result}");
        assert!(!result.to_string().contains("SECRET"), "{code}: {result}");
    }
    let globals =
        "[typeof process, typeof std, typeof os, typeof Worker, Object.keys(input ?? {})]";
    let none = json!(["undefined", "undefined", "undefined", "undefined", []]);
    assert_eq!(script(&env, READ, globals, &[]), value(&none));
}

#[test]
fn limits_end_a_script() {
    let env = TestEnv::new();
    let short = "deadline-ms = 250\n";
    let coded = [
        (short, "for (;;);", "timeout"),
        (short, "for (;;) await 1", "timeout"),
        (short, "/(a+)+$/.test('a'.repeat(40) + 'b')", "timeout"),
        (short, "for (;;) console.log('x')", "timeout"),
        // Without the deadline, which a busy machine may reach first.
        ("", "const f = () => f(); f()", "stack-overflow"),
        ("", "JSON.parse('['.repeat(100000))", "stack-overflow"),
        ("", "'x'.repeat(100000)", "output-too-large"),
    ];
    let limits = "memory-bytes = 33554432\noutput-bytes = 65536\n";
    for (deadline, code, expected) in coded {
        env.configure(format!("[limits]\n{limits}{deadline}"));
        let result = script(&env, READ, code, &[]);
        assert_eq!(
            (&result["type"], &result["value"]["code"]),
            (&json!("error-json"), &json!(expected)),
            "{code}: {result}"
        );
    }
    let out_of_memory = [
        "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)",
        "new Uint8Array(1e9)",
        "'x'.repeat(2 ** 29)",
        "new Array(1e8).fill({})",
    ];
    env.configure("[limits]\nmemory-bytes = 33554432\n");
    for code in out_of_memory {
        let result = script(&env, READ, code, &[]);
        assert_eq!(result["type"], "error-text", "{code}: {result}");
        let text = result["value"].as_str().unwrap();
        assert!(text.contains("out of memory"), "{code}: {text}");
    }
    // A fresh instance has all limits anew.
    assert_eq!(script(&env, READ, "1 + 1", &[]), value(&json!(2)));
}

/// Globals are gone with the call; files below `/session` stay for the session, where the operator
/// grants its artifacts.
#[test]
fn session_directory_outlives_the_call() {
    let env = TestEnv::new();
    env.configure(
        "[[tool]]\nname = \"code\"\ncomponent = \"builtin:code\"\nartifacts = \"read-write\"\napproval = \"never\"\n",
    );
    let code = |tool: &str, code: &str| Answer::calls(&[(tool, json!({ "code": code }))]);
    let server = ChatServer::start(vec![
        code(
            CHANGE,
            "globalThis.kept = 1; fs.writeFileSync('/session/data/n.json', '[1]')",
        ),
        code(
            CHANGE,
            "fs.appendFileSync('/session/data/n.json', '\\n[2]'); typeof kept",
        ),
        code(
            READ,
            "[fs.readdirSync('/session/data'), fs.readFileSync('/session/data/n.json', 'utf8')]",
        ),
        Answer::text("Done."),
    ]);
    let ran = ask(&env, &server, &["go"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Done.\n"),
        "{ran:?}"
    );
    let requests = server.requests();
    let messages = requests[3]["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    let results: Vec<_> = results.map(|message| &message["content"]).collect();
    assert_eq!(
        results,
        [
            "{}",
            "{\"value\":\"undefined\"}",
            "{\"value\":[[\"n.json\"],\"[1]\\n[2]\"]}"
        ]
    );
}
