//! Tests resources and the completion of their templates: files that the tools may read, and
//! artifacts of the connection.

use agent_host_test_support::mcp_client::{Client, call, request, response};
use agent_host_test_support::{TestEnv, installed::here, of_kind};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

/// A directory with files, some of which the configuration hides or denies.
fn project() -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "served.toml",
        "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n\
         [[grants.dir]]\nhost = \"data\"\nmask = [\"masked/**\"]\ndeny = [\"denied.txt\"]\n",
    );
    env.write("outside.txt", "outside");
    env.write("data/a b.txt", "hello");
    env.write("data/sub/c.txt", "deep");
    env.write("data/dot.gif", b"GIF89a\x01\0\x01\0\0\0\0,");
    env.write("data/masked/secret.txt", "secret");
    env.write("data/denied.txt", "denied");
    symlink(
        env.work().join("outside.txt"),
        env.work().join("data/link.txt"),
    )
    .unwrap();
    env
}

fn read(id: u64, uri: &str) -> Value {
    request(id, "resources/read", json!({ "uri": uri }))
}

fn names(listed: &Value) -> Vec<&str> {
    let resources = listed["result"]["resources"].as_array();
    let resources = resources.unwrap_or_else(|| panic!("{listed}")).iter();
    resources
        .map(|resource| resource["uri"].as_str().unwrap())
        .collect()
}

#[test]
fn mcp_files_are_resources_as_far_as_the_tools_see_them() {
    let env = project();
    let mut client = Client::start(&env, &["--config", "served.toml"], json!({}));
    let listed = client.ask(request(1, "resources/list", json!({})));
    let expected = [
        "file:///workspace/a%20b.txt",
        "file:///workspace/denied.txt",
        "file:///workspace/dot.gif",
        "file:///workspace/sub/c.txt",
    ];
    assert_eq!(names(&listed), expected, "{listed}");
    let first = json!({"uri": "file:///workspace/a%20b.txt", "name": "a b.txt", "size": 5});
    assert_eq!(listed["result"]["resources"][0], first);
    let contents = json!([{
        "uri": "file:///workspace/a%20b.txt", "mimeType": "text/plain", "text": "hello",
    }]);
    let expected = json!({ "contents": contents });
    assert_eq!(
        client.ask(read(2, "file:///workspace/a%20b.txt")),
        response(2, expected)
    );
    let picture = client.ask(read(3, "file:///workspace/dot.gif"));
    assert_eq!(
        picture["result"]["contents"][0]["mimeType"], "image/gif",
        "{picture}"
    );
    assert_eq!(client.close().code, Some(0));
    // Each look is a call of a tool, by the policy, in the journal.
    let events = env.events();
    let calls = of_kind(&events, "call-intended");
    let tools: Vec<&str> = calls
        .iter()
        .map(|call| call["tool"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["list_directory", "read_file", "read_file"]);
}

#[test]
fn mcp_resource_outside_of_the_grants_is_not_found() {
    let env = project();
    let mut client = Client::start(&env, &["--config", "served.toml"], json!({}));
    let outside = env.work().join("outside.txt");
    let uris = [
        "file:///etc/passwd",
        "file:///workspace/../outside.txt",
        "file:///workspace/..%2Foutside.txt",
        "file:///workspace/%2e%2e/outside.txt",
        "file:///workspace/link.txt",
        "file:///workspace/denied.txt",
        "file:///workspace/masked/secret.txt",
        "file:///workspace/absent.txt",
        "file:///workspace",
        &format!("file://{}", outside.display()),
        "file://localhost/etc/passwd",
        "artifact:///../outside.txt",
        "artifact:///absent.txt",
        "http://example.com/",
        "a\u{1b}[2J\u{202e}",
        "",
    ];
    for (id, uri) in (1..).zip(uris) {
        let answer = client.ask(read(id, uri));
        let error = &answer["error"];
        assert_eq!(
            (&error["code"], &error["data"]),
            (&json!(-32002), &json!({ "uri": uri })),
            "{answer}"
        );
        for text in ["root:", "outside\"", "secret\""] {
            assert!(
                !answer["error"]["message"].to_string().contains(text),
                "{answer}"
            );
        }
    }
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn mcp_resources_are_listed_in_pages() {
    let env = project();
    for n in 0..230 {
        env.write(&format!("data/many/{n:03}.txt"), "x");
    }
    let mut client = Client::start(&env, &["--config", "served.toml"], json!({}));
    let mut params = json!({});
    let mut seen = Vec::new();
    for (id, expected) in (1..).zip([100, 100, 34]) {
        let listed = client.ask(request(id, "resources/list", params));
        assert_eq!(names(&listed).len(), expected, "{listed}");
        seen.extend(names(&listed).iter().map(|uri| (*uri).to_owned()));
        params = json!({ "cursor": listed["result"]["nextCursor"] });
    }
    assert_eq!(params, json!({ "cursor": null }));
    assert!(seen.is_sorted(), "{seen:?}");
    let answer = client.ask(request(9, "resources/list", json!({ "cursor": "x" })));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn mcp_template_arguments_are_completed_within_the_grants() {
    let env = project();
    let mut client = Client::start(&env, &["--config", "served.toml"], json!({}));
    let listed = client.ask(request(1, "resources/templates/list", json!({})));
    let templates = listed["result"]["resourceTemplates"]
        .as_array()
        .unwrap()
        .iter();
    let templates: Vec<&Value> = templates.map(|template| &template["uriTemplate"]).collect();
    assert_eq!(templates, ["file:///{+path}", "artifact:///{+name}"]);
    for (id, (typed, expected)) in (2..).zip([
        ("", json!(["workspace/"])),
        ("work", json!(["workspace/"])),
        ("workspace/su", json!(["workspace/sub/"])),
        ("workspace/sub/", json!(["workspace/sub/c.txt"])),
        ("workspace/masked/", json!([])),
        ("workspace/../", json!([])),
        ("etc/", json!([])),
        ("../", json!([])),
    ]) {
        let answer = client.ask(request(
            id,
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": "file:///{+path}" },
                "argument": { "name": "path", "value": typed },
            }),
        ));
        assert_eq!(
            answer["result"]["completion"]["values"], expected,
            "{typed}: {answer}"
        );
    }
    let unknown = json!({
        "ref": { "type": "ref/resource", "uri": "other:///{a}" },
        "argument": { "name": "a", "value": "" },
    });
    let answer = client.ask(request(20, "completion/complete", unknown));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn mcp_artifact_is_a_resource_of_its_own_connection() {
    let env = project();
    let list = |client: &mut Client, id: u64| {
        let listed = client.ask(request(id, "resources/list", json!({})));
        let mut uris: Vec<String> = names(&listed).iter().map(|uri| (*uri).to_owned()).collect();
        uris.retain(|uri| uri.starts_with("artifact:"));
        uris
    };
    let mut client = Client::start(&env, &["--config", "served.toml"], json!({}));
    assert_eq!(list(&mut client, 1), Vec::<String>::new());
    client.ask(call(2, "read_file", json!({ "path": "dot.gif" })));
    assert_eq!(list(&mut client, 3), ["artifact:///dot.gif"]);
    let artifact = client.ask(read(4, "artifact:///dot.gif"));
    let expected = client.ask(read(5, "file:///workspace/dot.gif"));
    let [artifact, expected] =
        [artifact, expected].map(|answer| answer["result"]["contents"][0].clone());
    assert_eq!(artifact["blob"], expected["blob"]);
    assert_eq!(artifact["mimeType"], "image/gif");
    assert_eq!(client.close().code, Some(0));
    // A later connection has a session of its own.
    let mut client = Client::start(&env, &["--config", "served.toml"], json!({}));
    assert_eq!(list(&mut client, 1), Vec::<String>::new());
    assert_eq!(
        client.ask(read(2, "artifact:///dot.gif"))["error"]["code"],
        -32002
    );
    assert_eq!(client.close().code, Some(0));
}

/// Without the built-in component there are no files, whatever the other tools may reach.
#[test]
fn mcp_files_need_the_built_in_component() {
    let env = project();
    let component = here("guests/dist/conformance.wasm");
    let args = [
        "--tool",
        component.to_str().unwrap(),
        "--grant",
        "dir:data",
        "--config",
        "other.toml",
    ];
    env.write("other.toml", "tool = []\n");
    let mut client = Client::start(&env, &args, json!({}));
    let listed = client.ask(request(1, "resources/list", json!({})));
    assert_eq!(names(&listed), Vec::<&str>::new());
    let answer = client.ask(read(2, "file:///workspace/a%20b.txt"));
    assert_eq!(
        answer["error"]["message"], "this server has no files",
        "{answer}"
    );
    assert_eq!(client.close().code, Some(0));
}
