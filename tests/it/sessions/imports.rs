//! Tests what is imported: exports, and conversations of other programs.

use super::{answered, export, listed, printed, sessions};
use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;

#[test]
fn invalid_export_is_not_imported() {
    let env = TestEnv::new();
    let id = answered(&env);
    let content = fs::read_to_string(export(&env, &id)).unwrap();
    let elsewhere = TestEnv::new();
    let changed = content.replace("Four.", "Five.");
    let half = &content[..content.len() / 2];
    let newer = content.replacen("\"version\":1", "\"version\":9", 1);
    let table = [
        (changed.as_str(), 1, "they were changed"),
        (half, 1, "the file was cut off there"),
        (&newer, 1, "says that the file is `agent-host-session` 9"),
        ("", 1, "line 1 is missing"),
        ("{\"format\":7}\n", 1, "line 1 is not what is expected here"),
    ];
    for (text, code, why) in table {
        let file = elsewhere.write("session.jsonl", text);
        let ran = sessions(&elsewhere, &["import", file.to_str().unwrap()]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
        assert_eq!(listed(&elsewhere), [""; 0], "{why}");
    }
    for (file, why) in [
        ("gone.jsonl", "No such file"),
        (".", "it is not a regular file"),
        ("/dev/stdin", "it is not a regular file"),
    ] {
        let ran = sessions(&elsewhere, &["import", file]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
    }
    let again = sessions(&env, &["import", "session.jsonl"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(
        again.stderr.contains("a session with this id exists"),
        "{}",
        again.stderr
    );
    assert_eq!(listed(&env), [id]);
}

/// A conversation of each form becomes a session, and the model is shown all of it when the session
/// is resumed.
#[test]
fn conversation_of_other_programs_is_imported() {
    let question = "What is the weather in Kiel, and what is in the picture?";
    let asked = |content: Value| json!({"role": "user", "content": content});
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgr/++//"}});
    let call = |id: &str, name: &str, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        json!({"id": id, "type": "function", "function": function})
    };
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let said = |text: &str| json!({"role": "assistant", "content": text});
    let openai = json!([
        {"role": "system", "content": "Be brief."},
        asked(json!([{"type": "text", "text": question}, picture])),
        {"role": "assistant", "content": null, "tool_calls": [
            call("call_7Qx", "get_weather", "{\"city\": \"Kiel\"}"),
            call("call_9Ab", "look", "{}"),
        ]},
        result("call_7Qx", "{\"error\":\"no such city\"}"),
        result("call_9Ab", "a cat"),
        said("I do not know the weather. There is a cat."),
        asked(json!("and now?")),
    ]);
    let see =
        "a cat\n[file 1: image/png, 12 bytes; it is in the user message after the tool results]";
    let named = "[file 1, from the result of `look`, call toolu_01B]";
    let anthropic = json!([
        {"role": "system", "content": "Be brief."},
        asked(json!(question)),
        {"role": "assistant", "content": "I look.", "tool_calls": [
            call("toolu_01A", "get_weather", "{\"city\":\"Kiel\"}"),
            call("toolu_01B", "look", "{}"),
        ]},
        result("toolu_01A", "{\"error\":\"no such city\"}"),
        result("toolu_01B", see),
        asked(json!([{"type": "text", "text": named}, picture])),
        asked(json!("Go on.")),
        said("There is a cat."),
        asked(json!("and now?")),
    ]);
    let ai_sdk = json!([
        {"role": "system", "content": "Be brief."},
        asked(json!([{"type": "text", "text": "What is the weather in Kiel?"}, picture])),
        {"role": "assistant", "content": "I look.", "tool_calls": [
            call("call_1", "get_weather", "{\"city\":\"Kiel\"}"),
            call("call_2", "look", "{}"),
        ]},
        result("call_1", "{\"error\":\"no such city\"}"),
        result("call_2", "{\"seen\":\"a cat\"}"),
        said("There is a cat."),
        asked(json!("and now?")),
    ]);
    let reasoning = "warning: the model's reasoning is omitted\n";
    for (form, warning, expected) in [
        ("openai", "", openai),
        ("anthropic", reasoning, anthropic),
        ("ai_sdk_4", reasoning, ai_sdk),
    ] {
        let env = TestEnv::new();
        env.configure("tool = []\n[openai-compat]\nvision = true\n");
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../adapters/journal/src/transcript/tests"
        );
        let ran = sessions(&env, &["import", &format!("{file}/{form}.json")]);
        let id = printed(&ran);
        let next = format!("To resume it: agent-host sessions resume {id}\n");
        assert_eq!(ran.stderr, format!("{warning}{next}"), "{form}");
        let server = ChatServer::start(vec![Answer::text("It purrs.")]);
        let ran = ask(&env, &server, &["--resume", &id, "and now?"]);
        assert_eq!(printed(&ran), "It purrs.", "{form}");
        assert_eq!(server.requests()[0]["messages"], expected, "{form}");
        assert_eq!(listed(&env), [id], "{form}");
    }
}

#[test]
fn file_that_is_no_conversation_is_not_imported() {
    let env = TestEnv::new();
    for (text, why) in [
        (
            "{}\n",
            "it is neither a session from `sessions export` nor a conversation (it has no `messages`)",
        ),
        ("not JSON", "(expected ident at line 1 column 2)"),
        (
            "[{\"role\": \"\u{1b}[2J\", \"content\": \"x\"}]",
            "(control character (\\u0000-\\u001F) found while parsing a string at line 1 column 12)",
        ),
        (
            "[{\"role\": \"\\u001b[2J\", \"content\": \"x\"}]",
            "message 0 of the conversation cannot be read (unknown variant `\\u{1b}[2J`",
        ),
    ] {
        let file = env.write("chat.json", text);
        let ran = sessions(&env, &["import", "chat.json"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(
            ran.stderr.contains("cannot import chat.json: "),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains(why), "no {why:?} in {}", ran.stderr);
        assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
        assert_eq!(listed(&env), [""; 0], "{}", file.display());
    }
}
