//! Tests `receipts`: the receipts of a session with an approval and a denial, verified by the
//! program and by a verifier in Python, which is written from the description of the format.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    has_python, of_kind, repository,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, process::Command};

const TOOLS: &str = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n\
                     [[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n";

fn openssl(env: &TestEnv, args: &[&str]) {
    let mut command = Command::new("openssl");
    let made = command.args(args).current_dir(env.work()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// A session in which one write was approved and one was rejected, and the keys `key` and `public`.
fn decided() -> TestEnv {
    let env = TestEnv::new();
    env.configure(TOOLS);
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "hello" }));
    let server = ChatServer::start(vec![
        Answer::calls(&[write("a.txt"), write("b.txt")]),
        Answer::text("Done."),
    ]);
    let ran = ask(&env, &server, &["--permission-prompts", "later", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let decisions = ["--decide", "call_0=approve", "--decide", "call_1=reject:no"];
    let ran = ask(
        &env,
        &server,
        &[&["--resume", "latest"], &decisions[..]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    openssl(&env, &["genpkey", "-algorithm", "ed25519", "-out", "key"]);
    openssl(&env, &["pkey", "-in", "key", "-pubout", "-out", "public"]);
    env
}

fn export(env: &TestEnv, more: &[&str]) -> Ran {
    let args = ["receipts", "export", "latest", "--key", "key"];
    let ran = env.run(&[&args[..], more].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

/// Verifies a file from another home, without a session or a configuration.
fn verify(env: &TestEnv, file: &str, more: &[&str]) -> Ran {
    let elsewhere = TestEnv::new();
    let path = |name: &str| env.work().join(name).display().to_string();
    let (file, public) = (path(file), path("public"));
    let args = ["receipts", "verify", &file, "--key", &public];
    elsewhere.run(&[&args[..], more].concat())
}

#[test]
fn approval_and_denial_have_receipts_that_verify() {
    let env = decided();
    let events = env.events();
    let id = events[0]["session"].as_str().unwrap();
    let setup = &of_kind(&events, "loop-configured")[0]["setup"]["digest"];
    let ran = export(&env, &["-o", "whole"]);
    let signer = ran
        .stderr
        .trim_end()
        .strip_prefix("4 receipts, signed by the key ");
    let signer = signer.unwrap().to_owned();
    let text = fs::read_to_string(env.work().join("whole")).unwrap();
    let receipts: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["receipt"].take())
        .collect();
    let told = |receipt: &Value| {
        let fields = [
            "kind", "call_id", "tool", "who", "ruling", "rule", "outcome",
        ];
        fields.map(|name| receipt[name].as_str().unwrap_or_default().to_owned())
    };
    let (rule, model) = ("effect.effectful", "model:openai-compat:m");
    let expected = [
        [
            "decision",
            "call_0",
            "write_file",
            "user",
            "approve",
            rule,
            "",
        ],
        [
            "decision",
            "call_1",
            "write_file",
            "user",
            "reject",
            rule,
            "",
        ],
        ["call", "call_0", "write_file", model, "ask", rule, "json"],
        [
            "call",
            "call_1",
            "write_file",
            model,
            "ask",
            rule,
            "execution-denied",
        ],
        ["end", "", "", "", "", "", ""],
    ];
    let found: Vec<[String; 7]> = receipts.iter().map(told).collect();
    assert_eq!(found, expected.map(|row| row.map(str::to_owned)));
    for receipt in &receipts[..4] {
        assert_eq!(&receipt["setup"], setup);
        assert!(receipt["component"].is_string(), "{receipt}");
    }
    assert!(text.contains(r#"\"path\":\"a.txt\""#));

    export(&env, &["--redact", "-o", "redacted"]);
    let redacted = fs::read_to_string(env.work().join("redacted")).unwrap();
    assert!(!redacted.contains("a.txt") && !redacted.contains("salt"));
    for (file, contents) in [
        ("whole", "9 contents in the file, 0 removed"),
        ("redacted", "0 contents in the file, 9 removed"),
    ] {
        let ran = verify(&env, file, &[]);
        let expected = format!(
            "session {id}: valid and complete\n  2 calls, 2 decisions\n  {contents}\n  signed by {signer}\n"
        );
        assert_eq!(
            (ran.code, ran.stdout),
            (Some(0), expected),
            "{}",
            ran.stderr
        );
    }
    // A second export has other salts, and is written to stdout.
    let again = export(&env, &[]).stdout;
    assert_eq!((again.lines().count(), again == text), (5, false));
    let ran = env.run(&[
        "receipts", "export", "latest", "--key", "key", "-o", "whole",
    ]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

/// A changed file, and its fault; `None` if it is valid.
type Case = (&'static str, Vec<String>, Option<(&'static str, u64)>);

fn cases(lines: &[String], other: &[String], foreign: &[String]) -> Vec<Case> {
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut file = lines.to_vec();
        change(&mut file);
        file
    };
    let line = |text: &str| text.to_owned();
    vec![
        ("good", lines.to_vec(), None),
        (
            "redacted",
            with(&|file| file[1] = without_contents(&file[1])),
            None,
        ),
        (
            "rule",
            with(&|file| file[1] = file[1].replace("effect.eff", "effect.def")),
            Some(("changed", 2)),
        ),
        (
            "signature",
            with(&|file| file[1] = file[1].replace("\"signature\":\"", "\"signature\":\"A")),
            Some(("changed", 2)),
        ),
        (
            "spaces",
            with(&|file| file[1] = file[1].replace("\":", "\": ")),
            Some(("changed", 2)),
        ),
        (
            "twice",
            with(&|file| file[1] = file[1].replacen('{', "{\"contents\":{},", 1)),
            Some(("changed", 2)),
        ),
        (
            "field",
            with(&|file| file[1] = file[1].replacen('{', "{\"a\":1,", 1)),
            Some(("changed", 2)),
        ),
        (
            "version",
            with(&|file| file[1] = file[1].replace("\"version\":1", "\"version\":2")),
            Some(("unknown-version", 2)),
        ),
        (
            "replaced",
            with(&|file| file[1].clone_from(&other[1])),
            Some(("changed", 2)),
        ),
        (
            "dropped first",
            with(&|file| drop(file.remove(0))),
            Some(("dropped", 1)),
        ),
        (
            "dropped two",
            with(&|file| drop(file.drain(1..3))),
            Some(("dropped", 2)),
        ),
        (
            "dropped last",
            with(&|file| drop(file.remove(3))),
            Some(("dropped", 4)),
        ),
        (
            "swapped",
            with(&|file| file.swap(1, 2)),
            Some(("reordered", 2)),
        ),
        (
            "end first",
            with(&|file| file.swap(0, 4)),
            Some(("reordered", 1)),
        ),
        (
            "copied",
            with(&|file| file.insert(1, lines[2].clone())),
            Some(("inserted", 2)),
        ),
        (
            "repeated",
            with(&|file| file.insert(3, lines[0].clone())),
            Some(("inserted", 4)),
        ),
        (
            "other export",
            with(&|file| file.insert(1, other[1].clone())),
            Some(("inserted", 2)),
        ),
        (
            "other key",
            with(&|file| file.insert(1, foreign[1].clone())),
            Some(("inserted", 2)),
        ),
        (
            "forged",
            with(&|file| file.insert(0, line("{}"))),
            Some(("inserted", 1)),
        ),
        (
            "blank",
            with(&|file| file.insert(4, line(""))),
            Some(("inserted", 5)),
        ),
        (
            "deep",
            with(&|file| file[0] = "[".repeat(100_000)),
            Some(("changed", 1)),
        ),
        ("wrong key", foreign.to_vec(), Some(("wrong-key", 1))),
        (
            "no end",
            with(&|file| file.truncate(4)),
            Some(("no-end", 5)),
        ),
        ("empty", Vec::new(), Some(("no-end", 1))),
        (
            "after the end",
            with(&|file| file.push(lines[0].clone())),
            Some(("inserted", 6)),
        ),
        (
            "content",
            with(&|file| file[2] = file[2].replace("a.txt", "c.txt")),
            Some(("contents", 3)),
        ),
        (
            "boundary",
            with(&|file| {
                let mut line: Value = serde_json::from_str(&file[2]).unwrap();
                let content = &mut line["contents"]["result"];
                let [salt, text] = ["salt", "text"].map(|part| content[part].as_str().unwrap());
                *content = json!({"salt": format!("{salt}{text}"), "text": ""});
                file[2] = line.to_string();
            }),
            Some(("contents", 3)),
        ),
        (
            "salt",
            with(&|file| file[2] = file[2].replace("\"salt\":\"", "\"salt\":\"0")),
            Some(("contents", 3)),
        ),
    ]
}

fn without_contents(line: &str) -> String {
    let mut value: Value = serde_json::from_str(line).unwrap();
    value.as_object_mut().unwrap().remove("contents").unwrap();
    value.to_string()
}

#[test]
fn python_verifier_judges_files_alike() {
    if !has_python() {
        return;
    }
    let env = decided();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (whole, other) = (export(&env, &[]).stdout, export(&env, &[]).stdout);
    openssl(
        &env,
        &["genpkey", "-algorithm", "ed25519", "-out", "foreign"],
    );
    let foreign = env
        .run(&["receipts", "export", "latest", "--key", "foreign"])
        .stdout;
    let script = repository().join("tests/it/receipts/verify.py");
    for (name, file, fault) in cases(&lines(&whole), &lines(&other), &lines(&foreign)) {
        let text: String = file.iter().map(|line| format!("{line}\n")).collect();
        env.write("file", text);
        let mut python = Command::new("python3");
        python.arg(&script).args(["file", "public"]);
        let judged: Ran = python.current_dir(env.work()).output().unwrap().into();
        let expected = fault.map_or_else(
            || "ok 4".to_owned(),
            |(kind, line)| format!("{kind} {line}"),
        );
        assert_eq!(
            judged.stdout.trim_end(),
            expected,
            "{name}: {}",
            judged.stderr
        );
        let ran = verify(&env, "file", &["--json"]);
        let found = ran.json();
        let own = match &found["fault"] {
            Value::Null => format!(
                "ok {}",
                found["calls"].as_u64().unwrap() + found["decisions"].as_u64().unwrap()
            ),
            fault => format!("{} {}", fault["kind"].as_str().unwrap(), fault["line"]),
        };
        assert_eq!(
            (ran.code, own),
            (Some(i32::from(fault.is_some())), expected),
            "{name}"
        );
    }
}

#[test]
fn unusable_key_or_file_is_refused() {
    let env = decided();
    export(&env, &["-o", "whole"]);
    openssl(
        &env,
        &[
            "ecparam",
            "-name",
            "prime256v1",
            "-genkey",
            "-noout",
            "-out",
            "sec1",
        ],
    );
    openssl(
        &env,
        &["pkcs8", "-topk8", "-nocrypt", "-in", "sec1", "-out", "p256"],
    );
    openssl(
        &env,
        &["pkey", "-in", "p256", "-pubout", "-out", "p256.pub"],
    );
    let of_p256 = "error: cannot use the key: receipts are signed with Ed25519, and this is a P-256 key; make one \
                   with `openssl genpkey -algorithm ed25519`\n";
    let table: [(&[&str], i32, &str); 5] = [
        (&["export", "latest", "--key", "p256"], 2, of_p256),
        (&["verify", "whole", "--key", "p256.pub"], 2, of_p256),
        (
            &["verify", "whole", "--key", "key"],
            2,
            "error: cannot use the key key: it is a PEM block `PRIVATE KEY`, and `PUBLIC KEY` is needed; write it with \
             `openssl pkey -in KEY -pubout`\n",
        ),
        (
            &["verify", "none", "--key", "public"],
            2,
            "error: cannot read none: No such file or directory (os error 2)\n",
        ),
        (
            &["verify", "key", "--key", "public"],
            1,
            "error: key is not valid: line 1 was changed: it is not a receipt in its canonical form\n",
        ),
    ];
    for (args, code, stderr) in table {
        let ran = env.run(&[&["receipts"], args].concat());
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(code), "", stderr),
            "{args:?}"
        );
    }
    // The session of another directory is not `latest` here.
    let work = env.outside().join("elsewhere");
    fs::create_dir(&work).unwrap();
    let key = env.work().join("key").display().to_string();
    let mut command = env.command(&["receipts", "export", "latest", "--key", &key]);
    let ran: Ran = command.current_dir(&work).output().unwrap().into();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
}
