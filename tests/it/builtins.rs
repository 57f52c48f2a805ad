//! Tests the built-in tools in the real sandbox. `AGENT_HOST_TEST_DIST` names another directory of
//! components, so that CI tests components that it has just rebuilt.

mod code;
mod files;

use agent_host_test_support::{
    Ran, TestEnv, dist,
    pictures::{png, png_size},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    thread,
};

/// Calls a tool with further command line arguments, and returns the run.
pub(crate) fn call_with(
    env: &TestEnv,
    component: &str,
    tool: &str,
    input: &Value,
    more: &[&str],
) -> Ran {
    let component = dist().join(format!("{component}.wasm"));
    let input = input.to_string();
    env.run(
        &[
            &["call", component.to_str().unwrap(), tool, &input, "--json"],
            more,
        ]
        .concat(),
    )
}

/// Calls a tool and returns its result as JSON.
fn call(env: &TestEnv, component: &str, tool: &str, input: &Value) -> Value {
    call_with(env, component, tool, input, &[]).json()
}

#[test]
fn list_directory() {
    let env = TestEnv::new();
    env.write("b.txt", "12345");
    env.write("a/deep/x.rs", "1");
    std::os::unix::fs::symlink("/etc", env.work().join("link")).unwrap();
    assert_eq!(
        call(&env, "files", "list_directory", &json!({ "path": "." })),
        json!({ "type": "json", "value": {
            "path": ".",
            "entries": [
                { "name": "a", "kind": "directory" },
                { "name": "b.txt", "kind": "file", "size_bytes": 5 },
                { "name": "link", "kind": "symlink" },
            ],
            "truncated": false,
        }})
    );
    let deep = call(
        &env,
        "files",
        "list_directory",
        &json!({ "path": ".", "depth": 3 }),
    );
    let names: Vec<&str> = deep["value"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "a/deep", "a/deep/x.rs", "b.txt", "link"]);
}

#[test]
fn read_file_by_kind() {
    let env = TestEnv::new();
    env.write("t.txt", "one\ntwo\nthree\n");
    env.write("p.png", png(3, 2));
    env.write("b.bin", [0, 159, 146, 150]);
    assert_eq!(
        call(&env, "files", "read_file", &json!({ "path": "t.txt" })),
        json!({ "type": "text", "value": "one\ntwo\nthree\n" })
    );
    let image = call(
        &env,
        "files",
        "read_file",
        &json!({ "path": "/workspace/p.png" }),
    );
    assert_eq!(image["type"], "content");
    let part = file_part(&image);
    assert_eq!(part["media_type"], "image/png");
    assert_eq!(
        STANDARD
            .decode(part["data"]["value"].as_str().unwrap())
            .unwrap(),
        png(3, 2)
    );
    let binary = call(&env, "files", "read_file", &json!({ "path": "b.bin" }));
    assert_eq!(file_part(&binary)["media_type"], "application/octet-stream");
    assert_eq!(
        file_part(&binary)["data"],
        json!({ "type": "bytes", "value": STANDARD.encode([0, 159, 146, 150]) })
    );
}

fn file_part(output: &Value) -> &Value {
    output["value"]
        .as_array()
        .unwrap()
        .iter()
        .find(|part| part["type"] == "file")
        .unwrap_or_else(|| panic!("no file in {output}"))
}

#[test]
fn outside_and_hidden_files_are_unreachable() {
    let env = TestEnv::new();
    env.write(".env", "SECRET=1");
    env.write("sub/.ssh/id", "SECRET=2");
    std::fs::write(env.outside().join("secret"), "SECRET=3").unwrap();
    std::os::unix::fs::symlink(env.outside().join("secret"), env.work().join("out")).unwrap();
    let attempts = [
        ("/etc/hostname", "execution-denied"),
        ("../secret", "execution-denied"),
        ("sub/../../secret", "execution-denied"),
        ("out", "execution-denied"),
        (".env", "error-text"),
        ("./sub/../.env", "error-text"),
        ("sub/.ssh/id", "error-text"),
    ];
    for (path, expected) in attempts {
        let output = call(&env, "files", "read_file", &json!({ "path": path }));
        assert_eq!(output["type"], expected, "{path}: {output}");
        assert!(!output.to_string().contains("SECRET"), "{path}: {output}");
        assert!(
            !output.to_string().contains(env.outside().to_str().unwrap()),
            "a host path in {output}"
        );
    }
    let listed = call(
        &env,
        "files",
        "list_directory",
        &json!({ "path": ".", "depth": 5 }),
    )
    .to_string();
    assert!(
        !listed.contains(".env") && !listed.contains(".ssh"),
        "{listed}"
    );
}

#[test]
fn writing_needs_the_grant() {
    let env = TestEnv::new();
    let write = json!({ "path": "n.txt", "content": "new" });
    let denied = call_with(&env, "files", "write_file", &write, &[]);
    assert_eq!(
        (denied.code, denied.json()["type"].as_str()),
        (Some(5), Some("execution-denied")),
        "{denied:?}"
    );
    assert!(
        denied.json()["reason"]
            .as_str()
            .unwrap()
            .contains("read-only"),
        "{denied:?}"
    );
    assert!(!env.work().join("n.txt").exists());

    let written = call_with(&env, "files", "write_file", &write, &["--write"]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let edit = |old: &str, new: &str| {
        let input = json!({ "path": "n.txt", "old": old, "new": new });
        call_with(&env, "files", "edit_file", &input, &["--write"])
    };
    assert_eq!(edit("ew", "ice").code, Some(0));
    assert_eq!(
        std::fs::read_to_string(env.work().join("n.txt")).unwrap(),
        "nice"
    );
    assert_eq!(edit("absent", "x").code, Some(1));
    let protected = json!({ "path": "agent.toml", "content": "" });
    let refused = call_with(&env, "files", "write_file", &protected, &["--write"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(!env.work().join("agent.toml").exists());
}

#[test]
fn search_files_by_pattern_and_glob() {
    let env = TestEnv::new();
    env.write("a.rs", "fn one() {}\nfn two() {}\n");
    env.write("b.txt", "fn three\n");
    let found = call(
        &env,
        "files",
        "search_files",
        &json!({ "pattern": "fn t\\w+", "glob": "*.rs" }),
    )
    .to_string();
    assert!(
        found.contains("a.rs") && found.contains("fn two") && !found.contains("three"),
        "{found}"
    );
}

#[test]
fn images() {
    let env = TestEnv::new();
    env.write("p.png", png(200, 100));
    let info = call(&env, "image", "image_info", &json!({ "path": "p.png" }));
    assert_eq!(
        (&info["value"]["width"], &info["value"]["height"]),
        (&json!(200), &json!(100))
    );
    let input = json!({ "path": "p.png", "max_width": 50, "max_height": 50 });
    let thumbnail = call(&env, "image", "image_thumbnail", &input);
    let bytes = STANDARD
        .decode(file_part(&thumbnail)["data"]["value"].as_str().unwrap())
        .unwrap();
    assert_eq!(png_size(&bytes), (50, 25));
    let jpeg = json!({ "path": "p.png", "max_width": 50, "max_height": 50, "format": "jpeg" });
    assert_eq!(
        file_part(&call(&env, "image", "image_thumbnail", &jpeg))["media_type"],
        "image/jpeg"
    );
}

/// Answers one request on loopback and returns the port.
fn serve_once(head: &'static str, body: Vec<u8>) -> (u16, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut first = String::new();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        reader.read_line(&mut first).unwrap();
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() > 2 {
            line.clear();
        }
        write!(
            stream,
            "HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        )
        .unwrap();
        stream.write_all(&body).unwrap();
        first
    });
    (port, served)
}

#[test]
fn fetch_by_content_type() {
    let cases: [(&'static str, Vec<u8>, Value); 4] = [
        (
            "200 OK\r\ncontent-type: text/plain",
            b"hello".to_vec(),
            json!({ "type": "text", "value": "hello" }),
        ),
        (
            "200 OK\r\ncontent-type: application/json",
            b"{\"a\":[1]}".to_vec(),
            json!({ "type": "json", "value": { "a": [1] } }),
        ),
        (
            "200 OK\r\ncontent-type: image/png",
            png(2, 2),
            json!("image/png"),
        ),
        (
            "404 Not Found\r\ncontent-type: text/plain",
            b"nope".to_vec(),
            json!(404),
        ),
    ];
    for (head, body, expected) in cases {
        let env = TestEnv::new();
        let (port, served) = serve_once(head, body);
        let input = json!({ "url": format!("http://127.0.0.1:{port}/x?y=1") });
        let grant = format!("http:http://127.0.0.1:{port}");
        let output = call_with(&env, "fetch", "fetch", &input, &["--grant", &grant]).json();
        assert_eq!(served.join().unwrap(), "GET /x?y=1 HTTP/1.1\r\n");
        match &expected {
            Value::String(media) => assert_eq!(&file_part(&output)["media_type"], media),
            Value::Number(status) => {
                assert_eq!(
                    (&output["type"], &output["value"]["status"]),
                    (&json!("error-json"), &json!(status))
                );
            }
            whole => assert_eq!(&output, whole),
        }
    }
}

#[test]
fn fetch_without_grant_is_denied() {
    let env = TestEnv::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let cases = [
        (vec![], url.clone(), "default-deny"),
        (vec!["--grant", "http:*"], url.clone(), "default-deny"),
        (
            vec!["--grant", "http:example.com"],
            "http://example.org/".to_owned(),
            "default-deny",
        ),
    ];
    for (more, url, rule) in cases {
        let ran = call_with(&env, "fetch", "fetch", &json!({ "url": url }), &more);
        assert_eq!(ran.code, Some(5), "{ran:?}");
        assert!(
            ran.json()["reason"].as_str().unwrap().contains(rule),
            "{ran:?}"
        );
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "something connected");
}
