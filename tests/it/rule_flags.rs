//! Tests `--allow`, `--allow-tool` and `--deny`: the calls that they decide on, their place
//! among other rules, the records, and the end of a run that lacked an approval.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const FILES: &str = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n\
                     [[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n";

fn write(path: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": "x" }))
}

/// A run whose model makes these calls in one reply.
fn run(toml: &str, calls: &[(&str, Value)], args: &[&str]) -> (TestEnv, ChatServer, Ran) {
    let env = TestEnv::new();
    for directory in ["src", "secrets"] {
        std::fs::create_dir(env.work().join(directory)).unwrap();
    }
    env.configure(toml);
    let server = ChatServer::start(vec![Answer::calls(calls), Answer::text("That is all.")]);
    let ran = ask(&env, &server, &[args, &["go"]].concat());
    (env, server, ran)
}

/// The rules of the calls that ran, and of those that were denied.
fn rules(env: &TestEnv) -> (Vec<Value>, Vec<Value>) {
    let events = env.events();
    let of = |kind| {
        of_kind(&events, kind)
            .into_iter()
            .filter_map(|event| event.get("rule").cloned())
    };
    (of("call-intended").collect(), of("call-settled").collect())
}

/// Each row: configuration, flags, path, whether it ran, and the deciding rule.
#[test]
fn flag_answers_where_approval_is_needed() {
    let asking = format!(
        "{FILES}[[rule]]\nname = \"each\"\ndecision = \"ask\"\ntool = \"write_file\"\narguments = {{ \"/path\" = \"src/a\" }}\n"
    );
    let denying =
        format!("{FILES}[[rule]]\nname = \"never\"\ndecision = \"deny\"\ntool = \"write_*\"\n");
    let editing = FILES.replacen(
        "\n[[grants",
        "approval = [\"edit\", \"reject\"]\n[[grants",
        1,
    );
    let editing = editing.replace("builtin:files\"approval", "builtin:files\"\napproval");
    let read_only = FILES.replace("read-write", "read-only");
    let table: [(&str, &[&str], &str, bool, &str); 14] = [
        (
            FILES,
            &["--allow", "write_file(src/**)"],
            "src/a",
            true,
            "--allow write_file(src/**)",
        ),
        (
            FILES,
            &["--allow", "write_file(src/**)"],
            "src/../b",
            false,
            "effect.effectful",
        ),
        (
            FILES,
            &["--allow", "write_file(src/**)"],
            "/workspace/src/a",
            false,
            "effect.effectful",
        ),
        (
            FILES,
            &["--allow", "write_file(/path=src/*)"],
            "src/a",
            true,
            "--allow write_file(/path=src/*)",
        ),
        (
            FILES,
            &["--allow", "write_file(/content=x)"],
            "b",
            true,
            "--allow write_file(/content=x)",
        ),
        (
            FILES,
            &["--allow", "write_file(/content=y)"],
            "b",
            false,
            "effect.effectful",
        ),
        (
            FILES,
            &["--allow", "*_file(src/**)"],
            "src/a",
            true,
            "--allow *_file(src/**)",
        ),
        (
            FILES,
            &["--allow-tool", "write_file"],
            "b",
            true,
            "--allow write_file",
        ),
        // Above the most specific rule of a file, and below each denial.
        (
            &asking,
            &["--allow", "write_*"],
            "src/a",
            true,
            "--allow write_*",
        ),
        (
            &denying,
            &["--allow", "write_file(b)"],
            "b",
            false,
            "rule.never",
        ),
        (
            FILES,
            &[
                "--allow",
                "write_file(secrets/a)",
                "--deny",
                "*(secrets/**)",
            ],
            "/workspace/SECRETS/a",
            false,
            "--deny *(secrets/**)",
        ),
        (
            &asking,
            &["--deny", "write_file"],
            "b",
            false,
            "--deny write_file",
        ),
        // Where no one may approve, no flag does.
        (
            &editing,
            &["--allow-tool", "write_file"],
            "b",
            false,
            "approval.always",
        ),
        (
            &read_only,
            &["--allow-tool", "write_file"],
            "b",
            true,
            "--allow write_file",
        ),
    ];
    for (toml, flags, path, runs, rule) in table {
        let (env, server, ran) = run(toml, &[write(path)], flags);
        let rules = rules(&env);
        let expected = match runs {
            true => (vec![json!(rule)], vec![]),
            false => (vec![], vec![json!(rule)]),
        };
        assert_eq!(rules, expected, "{flags:?} {path}: {ran:?}");
        let written = runs && toml != read_only;
        let told = server.tool_results().concat();
        assert_eq!(
            told.contains("\"created\":true"),
            written,
            "{flags:?} {path}: {told}"
        );
    }
}

/// A run that lacked an approval ends with its own exit code and the flag of the call; a denial of
/// a rule does not.
#[test]
fn run_that_lacked_an_approval_names_the_flag() {
    let denying = format!("{FILES}[[rule]]\ndecision = \"deny\"\ntool = \"write_file\"\n");
    let table: [(&str, &[&str], &str, i32, &str); 5] = [
        (FILES, &[], "src/a", 6, "--allow 'write_file(src/a)'"),
        (FILES, &[], "it's", 6, "--allow 'write_file(it'\\''s)'"),
        // No glob without special meaning, so the whole tool.
        (FILES, &[], "a*", 6, "--allow write_file"),
        (
            FILES,
            &["--permission-prompts", "none"],
            "b",
            6,
            "--allow 'write_file(b)'",
        ),
        (&denying, &[], "b", 0, ""),
    ];
    for (toml, args, path, code, flag) in table {
        let (_env, _server, ran) = run(toml, &[write(path)], args);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(code), "That is all.\n"),
            "{path}: {ran:?}"
        );
        let last = ran.stderr.lines().last().unwrap_or_default();
        let named =
            match flag {
                "" => !ran.stderr.contains("no one could approve"),
                flag => last.starts_with(
                    "1 call was denied, because no one could give approval in this run. To allow \
                such calls: agent-host run ",
                ) && last.ends_with(&format!(" {flag}")),
            };
        assert!(named, "{path}: {}", ran.stderr);
    }
}

/// A flag that cannot be used is a usage error before anything runs.
#[test]
fn unusable_flag_is_refused() {
    let env = TestEnv::new();
    env.configure(FILES);
    for (flags, why) in [
        (["--allow", "write_flie"], "did you mean `write_file`?"),
        (["--deny", "write_flie(a)"], "did you mean `write_file`?"),
        (["--allow", "write_file("], "which does not exist"),
        (
            ["--allow", "write_file(/path=../a)"],
            "leaves the directory",
        ),
        (["--allow", "write_file()"], "is empty"),
        (["--allow", ""], "is empty"),
        (["--allow", "write_file(/~2=a)"], "is not a JSON pointer"),
        (
            ["--allow-tool", "write_file(a)"],
            "use --allow to match arguments",
        ),
    ] {
        let ran = env.run(&[&["run", "--model", "script:tour", "go"][..], &flags].concat());
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{flags:?}: {ran:?}"
        );
        assert!(ran.stderr.contains(why), "{flags:?}: {}", ran.stderr);
    }
}

/// `call` asks nothing, and takes denials.
#[test]
fn single_call_is_denied_by_a_flag() {
    let env = TestEnv::new();
    env.configure(FILES);
    let (tool, input) = write("secrets");
    let input = input.to_string();
    let args = ["call", "files", tool, &input, "--json"];
    let ran = env.run(&[&args[..], &["--deny", "write_file(secrets)"]].concat());
    let denied = "The command line denies this call (--deny write_file(secrets))";
    assert_eq!(
        (ran.code, ran.json()["reason"].clone()),
        (Some(5), json!(denied)),
        "{ran:?}"
    );
    let ran = env.run(&[&args[..], &["--deny", "write_file(other)"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
