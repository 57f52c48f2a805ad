//! Tests `--until-tool` and `--output-schema`, which require a run to end with a tool call or with
//! a value that fits a schema.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn read(path: &str) -> Answer {
    Answer::calls(&[("read_file", json!({ "path": path }))])
}

/// M11, both forms: the run ends with the first successful call, or with the first call in any
/// case.
#[test]
fn until_tool_success_ends_the_run() {
    let table: [(&[&str], usize, &str); 2] = [
        (&["--until-tool", "read_file"], 2, "alpha\n"),
        (
            &["--until-tool", "read_file", "--until-any-call"],
            1,
            "no such file or directory",
        ),
    ];
    for (args, asked, end) in table {
        let env = TestEnv::new();
        env.write("a.txt", "alpha\n");
        let server = ChatServer::start(vec![read("gone.txt"), read("a.txt"), Answer::text("more")]);
        let ran = ask(
            &env,
            &server,
            &[args, &["--output-format", "json", "go"]].concat(),
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let outcome = ran.json()["outcome"].clone();
        assert_eq!(
            (&outcome["type"], &outcome["result"]["name"]),
            (&json!("done"), &json!("read_file"))
        );
        let value = outcome["result"]["output"].to_string();
        assert!(value.contains(end.trim_end()), "{args:?}: {value}");
        assert_eq!(server.requests().len(), asked, "{args:?}");
    }
}

#[test]
fn until_tool_result_is_the_answer() {
    let env = TestEnv::new();
    env.write("a.txt", "alpha");
    let server = ChatServer::start(vec![read("a.txt")]);
    let ran = ask(
        &env,
        &server,
        &[
            "--until-tool",
            "list_directory",
            "--until-tool",
            "read_file",
            "go",
        ],
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "alpha\n"),
        "{}",
        ran.stderr
    );
}

/// M17: refused before a model is asked.
#[test]
fn until_tool_unknown_is_refused() {
    let env = TestEnv::new();
    let server = ChatServer::start(Vec::new());
    let ran = ask(&env, &server, &["--until-tool", "read_fil", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr
            .contains("the run should end through `read_fil`, which does not exist"),
        "{}",
        ran.stderr
    );
    assert_eq!(server.requests(), Vec::<Value>::new());
}

/// M12.
#[test]
fn until_tool_never_called_fails_the_run() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![Answer::text("I would rather not.")]);
    let ran = ask(&env, &server, &["--until-tool", "read_file", "go"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("until-tool-not-called: the model stopped without `read_file`"),
        "{}",
        ran.stderr
    );
}

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;

/// An answer that fits, one that fits after the model retries, and one that does not fit even then.
#[test]
fn answer_must_match_output_schema() {
    let (good, bad) = (r#"{"n": 3}"#, r#"{"n": "three"}"#);
    let table: [(&[&str], Option<i32>, usize); 3] = [
        (&[good], Some(0), 0),
        (&[bad, good], Some(0), 1),
        (&[bad, bad], Some(1), 1),
    ];
    for (answers, code, repairs) in table {
        let env = TestEnv::new();
        env.write("schema.json", SCHEMA);
        let server = ChatServer::start(answers.iter().map(|text| Answer::text(text)).collect());
        let args = [
            "--output-schema",
            "schema.json",
            "--output-format",
            "json",
            "go",
        ];
        let ran = ask(&env, &server, &args);
        assert_eq!(ran.code, code, "{answers:?}: {ran:?}");
        let outcome = ran.json()["outcome"].clone();
        if code == Some(0) {
            assert_eq!(outcome["output"], json!({ "n": 3 }), "{answers:?}");
        } else {
            assert_eq!(outcome["error"]["cause"], "invalid-answer");
            assert!(
                ran.stderr
                    .contains("the model's answer does not match the output schema"),
                "{}",
                ran.stderr
            );
        }
        assert_eq!(
            of_kind(&env.events(), "repair-requested").len(),
            repairs,
            "{answers:?}"
        );
        assert_eq!(server.requests().len(), answers.len());
    }
}

#[test]
fn answer_of_output_schema_is_printed_as_bare_json() {
    for text in [r#"{"n": 3}"#, "```json\n{\"n\":3}\n```\n"] {
        let env = TestEnv::new();
        env.write("schema.json", SCHEMA);
        let server = ChatServer::start(vec![Answer::text(text)]);
        let ran = ask(&env, &server, &["--output-schema", "schema.json", "go"]);
        assert_eq!(ran.stdout, "{\"n\":3}\n", "{ran:?}");
    }
}

#[test]
fn unusable_output_schema_is_refused_first() {
    let env = TestEnv::new();
    env.write("broken.json", "{");
    env.write("wrong.json", r#"{"type": "objekt"}"#);
    env.write("large.json", " ".repeat(1024 * 1024 + 1));
    let server = ChatServer::start(Vec::new());
    for file in ["gone.json", "broken.json", "wrong.json", "large.json"] {
        let ran = ask(&env, &server, &["--output-schema", file, "go"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let named = format!("cannot use the output schema {file}: ");
        assert!(ran.stderr.contains(&named), "{}", ran.stderr);
    }
    assert_eq!(server.requests(), Vec::<Value>::new());
}

/// A value of the document, which is what a script wants.
#[test]
fn json_path_prints_one_value_of_the_outcome() {
    let cases = [
        ("/outcome/output/n", Some(0), "3\n"),
        ("/outcome/output", Some(0), "{\"n\":3}\n"),
        ("/outcome/type", Some(0), "done\n"),
        ("/outcome/output/m", Some(1), ""),
        ("outcome", Some(2), ""),
        ("/outcome/~2", Some(2), ""),
    ];
    for (path, code, stdout) in cases {
        let env = TestEnv::new();
        env.write("schema.json", SCHEMA);
        let server = ChatServer::start(vec![Answer::text(r#"{"n": 3}"#)]);
        let args = ["--output-schema", "schema.json", "--json-path", path, "go"];
        let ran = ask(&env, &server, &args);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, stdout), "{ran:?}");
    }
}

/// Its text is of the model, and can hold what a terminal acts on.
#[test]
fn json_path_leaves_out_control_sequences() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![Answer::text("a\u{1b}[2Jb")]);
    let ran = ask(&env, &server, &["--json-path", "/outcome/text", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ab\n"));
}
