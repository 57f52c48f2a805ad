//! Tests a conversation longer than the model's window, and instructions in files.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A window of 20,000 tokens: compaction starts at 16,000 and ends at 10,000.
const CONFIG: &str = "[context]\nwindow-tokens = 20000\nkeep-results = 1\n";

/// A file of 3,000 tokens, different for each number.
fn content(number: usize) -> String {
    format!("{number:->12000}")
}

/// A test directory with `n` files, and a model that reads one after the other. The server does not
/// count tokens.
fn reading(config: &str, files: usize) -> (TestEnv, Vec<Answer>) {
    let env = TestEnv::new();
    env.write("agent.toml", config);
    let answers = (0..files)
        .map(|number| {
            let name = format!("{number}.txt");
            env.write(&name, content(number));
            Answer::calls(&[("read_file", json!({ "path": name }))]).counting(0)
        })
        .collect();
    (env, answers)
}

/// The tool results in a request.
fn tool_results(request: &Value) -> Vec<&str> {
    let messages = request["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect()
}

/// Whether a result is a reference to an evicted one.
fn is_reference(result: &str) -> bool {
    result.starts_with("[This result of `read_file` was taken out of the conversation to make room: text, 12000 bytes.")
}

/// Results become references first, then a summary; a new process makes the same requests.
#[test]
fn long_conversation_is_compacted_and_resumed() {
    let (env, mut answers) = reading(CONFIG, 5);
    answers.extend([
        Answer::text("I read them.").counting(0),
        Answer::text("Five files were read.").counting(0),
        Answer::status("400 Bad Request", &json!({ "error": { "message": "no" } })),
        Answer::text("Here I am.").counting(0),
    ]);
    let server = ChatServer::start(answers);
    let ran = ask(&env, &server, &["read them"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "I read them.\n"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains(
            "the conversation is nearing the model's window: 3 old results are now only in the journal (about 1"
        ),
        "{}",
        ran.stderr
    );
    let requests = server.requests();
    let found: Vec<bool> = tool_results(&requests[5])
        .into_iter()
        .map(is_reference)
        .collect();
    assert_eq!(found, [true, true, true, false, false]);
    assert_eq!(references(&requests[4]), 0);

    // The user can still read what the model no longer sees.
    let events = env.events();
    let referenced = of_kind(&events, "results-referenced");
    let results = referenced[0]["results"].as_array().unwrap();
    for (number, result) in results.iter().enumerate() {
        let digest = result["blob"]["digest"].as_str().unwrap();
        let name = format!("results/{}", result["call_id"].as_str().unwrap());
        assert!(tool_results(&requests[5])[number].contains(&name));
        for command in [&["artifacts", "latest", &name][..], &["blob", digest]] {
            let read = env.run(&[&["sessions"], command].concat());
            assert_eq!(read.stdout, content(number), "{}", read.stderr);
        }
    }

    // 9,000 tokens more exceed the window.
    let words = "and now? ".repeat(4_000);
    let ran = ask(&env, &server, &["--resume", "latest", &words]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("its first 13 messages are now summarised (about 1"),
        "{}",
        ran.stderr
    );
    let requests = server.requests();
    let [asked, last] = &requests[6..] else {
        panic!("{} requests", requests.len());
    };
    assert_eq!(asked.get("tools"), None);
    let instruction = asked["messages"][0]["content"].as_str().unwrap();
    assert!(
        instruction.starts_with("You write the summary"),
        "{instruction}"
    );
    assert_eq!(asked["messages"].as_array().unwrap().len(), 2);
    let shown = last["messages"].to_string();
    assert!(shown.contains("Five files were read."), "{shown}");
    assert!(
        shown.contains("read them") && shown.contains("and now? and now?"),
        "{shown}"
    );
    assert_eq!(tool_results(last), [""; 0]);

    let ran = ask(&env, &server, &["--resume", "latest"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Here I am.\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(&server.requests()[8], last);
    let shown = env.run(&["sessions", "show", "--events", "latest"]).stdout;
    assert!(
        shown.contains("summary in place of the first 13 messages"),
        "{shown}"
    );
    assert!(
        shown.contains("references in place of 3 old results"),
        "{shown}"
    );
}

/// The number of references among a request's results.
fn references(request: &Value) -> usize {
    let told = tool_results(request).into_iter();
    told.filter(|result| is_reference(result)).count()
}

/// A fork and an imported copy start with the conversation that the original had.
#[test]
fn copies_keep_the_compacted_conversation() {
    let (env, mut answers) = reading(CONFIG, 5);
    answers.extend(["Read.", "Fork.", "Import."].map(|text| Answer::text(text).counting(0)));
    let server = ChatServer::start(answers);
    assert_eq!(ask(&env, &server, &["read them"]).code, Some(0));
    let exported = env.run(&["sessions", "export", "latest"]).stdout;
    let elsewhere = TestEnv::new();
    elsewhere.write("agent.toml", CONFIG);
    elsewhere.write("session.jsonl", exported);
    let copies = [
        (&env, vec!["sessions", "fork", "latest"]),
        (&elsewhere, vec!["sessions", "import", "session.jsonl"]),
    ];
    let asked = copies.map(|(env, copy)| {
        let copied = env.run(&copy);
        assert_eq!(copied.code, Some(0), "{}", copied.stderr);
        // `latest` is the one of this directory, and the copy is of the original's.
        let ran = ask(env, &server, &["--resume", copied.stdout.trim(), "go on"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        server.requests().pop().unwrap()
    });
    assert_eq!(references(&asked[0]), 3);
    assert_eq!(asked[0], asked[1]);
}

/// When the server finds the request too long, it gets one more, shorter request.
#[test]
fn context_overflow_reply_triggers_compaction() {
    let (env, mut answers) = reading(CONFIG, 4);
    let refusal = json!({ "error": {
        "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 13000 tokens.",
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
    } });
    answers.push(Answer::status("400 Bad Request", &refusal));
    answers.push(Answer::text("Read.").counting(0));
    let server = ChatServer::start(answers);
    let ran = ask(&env, &server, &["read them"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Read.\n"),
        "{}",
        ran.stderr
    );
    let requests = server.requests();
    let counts: Vec<usize> = requests[4..].iter().map(references).collect();
    assert_eq!(counts, [0, 3]);
}

/// A message that does not fit alone fails with a named error, and the session resumes with a
/// larger window.
#[test]
fn request_beyond_window_is_reported() {
    let (env, mut answers) = reading("[context]\nwindow-tokens = 4000\n", 1);
    answers.push(Answer::text("Read.").counting(0));
    let server = ChatServer::start(answers);
    let ran = ask(&env, &server, &["--output-format", "json", "read them"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let error = &ran.json_lines()[0]["outcome"]["error"];
    assert_eq!(error["cause"], "context-window");
    assert_eq!(error["window_tokens"], 4_000);
    assert_eq!(
        error["largest"],
        "the result of call call_0 of `read_file` with about 3007 tokens"
    );
    assert!(
        ran.stderr
            .contains("context-window: the request needs about"),
        "{}",
        ran.stderr
    );
    assert_eq!(server.requests().len(), 1);
    env.write("agent.toml", "[context]\nwindow-tokens = 40000\n");
    let ran = ask(&env, &server, &["--resume", "latest"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Read.\n"),
        "{}",
        ran.stderr
    );
}

/// The journal has every request's tokens: the server's count and the estimate.
#[test]
fn tokens_are_estimated_for_each_request() {
    let (env, mut answers) = reading("", 1);
    answers.push(Answer::text("Read.").counting(5_000));
    let server = ChatServer::start(answers);
    let ran = ask(&env, &server, &["--output-format", "json", "read it"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let summary = &ran.json_lines()[0]["outcome"]["summary"];
    let counted = json!({ "input_tokens": 5_000, "output_tokens": 7, "cached_input_tokens": 0 });
    assert_eq!(summary["turn_usage"], counted);
    assert_eq!(summary["total_usage"]["output_tokens"], 14);
    let events = env.events();
    let usage: Vec<&Value> = of_kind(&events, "model-replied")
        .iter()
        .map(|event| &event["reply"]["usage"]["input_tokens"])
        .collect();
    assert_eq!(usage, [0, 5_000]);
    let estimated: Vec<u64> = of_kind(&events, "model-requested")
        .iter()
        .map(|event| event["estimated_tokens"].as_u64().unwrap())
        .collect();
    // Between them are a call and a result of 12,000 bytes.
    assert_eq!(estimated[1] - estimated[0], 3_026, "{estimated:?}");
}

/// A session keeps the instructions that it began with, even if the files change later.
#[test]
fn instruction_files_are_read_at_session_start() {
    let env = TestEnv::new();
    env.write("AGENTS.md", "Use tabs.\n");
    env.configure(
        "system = \"Be brief.\"\ninstructions = [\"AGENTS.md\"]\n[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n",
    );
    let call = Answer::calls(&[("read_file", json!({ "path": "AGENTS.md" }))]);
    let server = ChatServer::start(vec![call, Answer::text("One."), Answer::text("Two.")]);
    let ran = ask(&env, &server, &["hi"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    env.write("AGENTS.md", "Use spaces.\n");
    let ran = ask(&env, &server, &["--resume", "latest", "and now?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let system = json!({ "role": "system", "content": "Be brief.\n\n# AGENTS.md\n\nUse tabs." });
    for request in server.requests() {
        assert_eq!(request["messages"][0], system);
    }
    // A guest can neither write nor see the instructions of the next session.
    let refused = tool_results(&server.requests()[1])[0].to_owned();
    let unseen = r#"{"error":"no such file or directory `AGENTS.md`; the directory `.` is empty"}"#;
    assert_eq!(refused, unseen);

    env.write("agent.toml", "\ninstructions = [\"gone.md\"]\n");
    let ran = ask(&env, &server, &["hi"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr
            .starts_with("error: cannot read the instructions `gone.md`")
            && ran.stderr.contains("agent.toml:2:17\n"),
        "{}",
        ran.stderr
    );
}
