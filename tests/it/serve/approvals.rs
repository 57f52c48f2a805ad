//! The approvals that the page shows, as the API has them.

use super::*;
use agent_host_test_support::installed::here;
use pretty_assertions::assert_eq;

/// The reach of each call, in the same words as at the terminal.
#[test]
fn waiting_calls_are_told_with_their_reach() {
    let env = TestEnv::new();
    let script = here("it/mcp_client/server.py");
    let command = json!(["python3", script, "tells"]);
    let server = here("guests/dist/mcp-server.wasm");
    env.write("server.wasm", fs::read(server).unwrap());
    env.configure(format!(
        "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n\
         [[tool.dir]]\nhost = \".\"\nmode = \"read-write\"\n\
         [[tool]]\nname = \"fetch\"\ncomponent = \"builtin:fetch\"\napproval = \"always\"\n\
         [[tool.http]]\nhost = \"a.example\"\n\
         [[mcp]]\nname = \"far\"\ncommand = {command}\n\
         [[mcp]]\nname = \"near\"\ncomponent = \"server.wasm\"\n\
         [mcp.grants]\nhttp = [{{ host = \"b.example\" }}]\n"
    ));
    fs::create_dir(env.work().join("src")).unwrap();
    let calls = [
        (
            "write_file",
            json!({"path": "src/../b.txt", "content": "x"}),
        ),
        ("fetch", json!({"url": "https://a.example/x/../y"})),
        ("far_act", json!({})),
        ("near_count", json!({})),
    ];
    let model = ChatServer::start(vec![Answer::calls(&calls)]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    server.events(&session, None).until("turn-ended");
    let shown = server.get(&format!("/sessions/{session}/changes")).json();
    let work = env.work().display().to_string();
    let mut reach = shown["reach"].as_array().unwrap().clone();
    for call in &mut reach {
        let call = call.as_object_mut().unwrap();
        call.remove("call_id");
        call.remove("origin");
    }
    assert_eq!(
        reach,
        [
            json!({
                "target": "path", "effect": "may change things", "leads_to": "b.txt", "is_outside": false,
                "beyond": format!("Sandboxed; at most it can reach: files in {work} (read-write); no network."),
            }),
            json!({
                "target": "url", "is_outside": false,
                "effect": "read-only, but sends the URL; the model sees the result",
                "beyond": format!(
                    "Sandboxed; at most it can reach: files in {work} (read-only); network: a.example (GET and HEAD)."
                ),
            }),
            json!({
                "effect": "may change things", "is_outside": true,
                "beyond": "Outside the sandbox: the MCP server `far` decides what happens, and where. It is a program \
                           with all of your permissions.",
            }),
            json!({
                "effect": "may change things", "is_outside": false,
                "beyond": format!(
                    "Sandboxed; at most it can reach: files in {work} (read-only); network: b.example (any method)."
                ),
            }),
        ]
    );
}
