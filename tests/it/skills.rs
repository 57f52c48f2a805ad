//! Skills: offered to the model, read by it, pinned in `agent.lock`, shown by `inspect` and
//! `doctor`; and the hint to instructions that are not read.

use agent_host_app::Skill;
use agent_host_test_guests::{Body, Definition, Guest};
use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
};
use pretty_assertions::assert_eq;
use serde_json::json;

const SKILL: &str = "---\nname: greet\ndescription: Says how to greet.\nlicense: MIT\ncompatibility: Needs a guest.\n\
    allowed-tools: Bash\n---\nSay hello as in words.md.";

fn project() -> TestEnv {
    let env = TestEnv::new();
    env.write("skills/greet/SKILL.md", SKILL);
    env.write("skills/greet/words.md", "Good day.");
    env.write("agent.toml", "skills = [\"skills\"]\n");
    env
}

#[test]
fn model_is_told_of_a_skill_and_reads_it() {
    let env = project();
    let read = |input| Answer::calls(&[("read_skill", input)]);
    let server = ChatServer::start(vec![
        read(json!({ "skill": "greet" })),
        read(json!({ "skill": "greet", "path": "words.md" })),
        // No grant comes with a skill, and no guest sees its directory.
        Answer::calls(&[("read_file", json!({ "path": "skills/greet/SKILL.md" }))]),
        Answer::text("Good day."),
    ]);
    let ran = ask(&env, &server, &["--config", "agent.toml", "greet them"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Good day.\n"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("skills   greet\n"), "{}", ran.stderr);
    let requests = server.requests();
    let tool = &requests[0]["tools"][0]["function"];
    assert_eq!(tool["name"], "read_skill");
    let description = tool["description"].as_str().unwrap();
    assert!(
        description.ends_with("The skills:\n- greet: Says how to greet."),
        "{description}"
    );
    let told = |index: usize| {
        let messages = requests[index]["messages"].as_array().unwrap();
        messages.last().unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        told(1),
        "[What this needs: Needs a guest.]\n\nSay hello as in words.md.\n\n[Files of this skill, which `read_skill` \
         returns by `path`: words.md (9 bytes)]"
    );
    assert_eq!(told(2), "Good day.");
    assert!(!told(3).contains("Say hello"), "{}", told(3));
}

#[test]
fn changed_skill_is_refused_until_it_is_accepted() {
    let env = project();
    let config = ["--config", "agent.toml"];
    let run = |args: &[&str]| env.run(&[args, &config].concat());
    // The first run pins it.
    let first = run(&[
        "call",
        "builtin:files",
        "list_directory",
        "{\"path\":\".\"}",
    ]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let locked = run(&["lock", "--accept"]);
    assert_eq!(locked.code, Some(0), "{locked:?}");
    env.write("skills/greet/words.md", "Bad day.");
    let server = ChatServer::start(vec![Answer::text("Hi.")]);
    let refused = ask(&env, &server, &["--config", "agent.toml", "greet them"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    for says in [
        "the skill `greet` has changed since it was accepted",
        "words.md, sha256:",
        "Run `agent-host lock --accept greet` to accept it",
    ] {
        assert!(refused.stderr.contains(says), "{says}: {}", refused.stderr);
    }
    assert_eq!(server.requests().len(), 0);
    let accepted = run(&["lock", "--accept", "greet"]);
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    let again = ask(&env, &server, &["--config", "agent.toml", "greet them"]);
    assert_eq!(
        (again.code, again.stdout.as_str()),
        (Some(0), "Hi.\n"),
        "{}",
        again.stderr
    );
}

#[test]
fn skill_is_shown_before_it_is_used() {
    let env = project();
    let config = ["--config", "agent.toml"];
    let shown = env.run(&[&["inspect", "greet", "--json"][..], &config].concat());
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let shown = shown.json();
    assert_eq!(shown["description"], "Says how to greet.");
    assert_eq!(shown["allowed_tools"], json!(["Bash"]));
    assert_eq!(shown["files"][1]["path"], "words.md");
    assert_eq!(shown["files"][1]["size_bytes"], 9);
    let text = env
        .run(&[&["inspect", "greet"][..], &config].concat())
        .stdout;
    assert!(
        text.contains("tools       Bash (listed by its author; this allows nothing)\n"),
        "{text}"
    );
    assert!(
        text.contains("  license     MIT\n  needs       Needs a guest.\n"),
        "{text}"
    );
    assert!(text.contains("  Say hello as in words.md."), "{text}");
    let doctor = env.run(&[&["doctor"][..], &config].concat()).stdout;
    let size = SKILL.len() + 9;
    let digest = shown["digest"].as_str().unwrap();
    let line =
        format!("✓ skill          greet: Says how to greet. (2 files, {size} B, {digest})\n");
    assert!(doctor.contains(&line), "{doctor}");
    let locked = env.run(&[&["lock"][..], &config].concat());
    assert!(
        locked.stdout.contains(&format!("2 files, {digest}\n")),
        "{locked:?}"
    );
}

/// Returns a component whose project has the skill `greet`.
fn greeter(env: &TestEnv) -> Vec<u8> {
    env.write("project/SKILL.md", SKILL);
    env.write("project/references/words.md", "Good day.");
    let archive = Skill::pack(&env.work().join("project")).unwrap().unwrap();
    let mut bytes = Guest::returning(Body::Text(0, b"fine")).bytes();
    // A custom section: 0, its size in LEB128, its name and its data.
    let body = [b"\x09act:skill", archive.as_slice()].concat();
    let size = |shift: u32| u8::try_from(body.len() >> shift & 0x7f).unwrap();
    bytes.extend([0, size(0) | 0x80, size(7) | 0x80, size(14)]);
    [bytes, body].concat()
}

/// A component carries its skill, which is offered under the component's name.
#[test]
fn skill_of_a_component_is_offered_with_it() {
    let env = TestEnv::new();
    env.write("greeter.wasm", greeter(&env));
    env.write(
        "agent.toml",
        "[[tool]]\nname = \"g\"\ncomponent = \"greeter.wasm\"\n",
    );
    // The second run finds the component in the cache.
    for _ in 0..2 {
        let input = json!({ "skill": "g/greet", "path": "references/words.md" });
        let read = Answer::calls(&[("read_skill", input)]);
        let server = ChatServer::start(vec![read, Answer::text("Done.")]);
        let ran = ask(&env, &server, &["--config", "agent.toml", "greet"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains("skills   g/greet\n"), "{}", ran.stderr);
        assert_eq!(server.tool_results(), ["Good day."]);
    }
    let shown = env.run(&["inspect", "g", "--json", "--config", "agent.toml"]);
    let shown = &shown.json()["skill"];
    assert_eq!(shown["skill"], "g/greet", "{shown:?}");
    let doctor = env.run(&["doctor", "--config", "agent.toml"]).stdout;
    let (size, digest) = (SKILL.len() + 9, shown["digest"].as_str().unwrap());
    let line = format!("g/greet: Says how to greet. (2 files, {size} B, {digest})\n");
    assert!(doctor.contains(&line), "{line}{doctor}");
}

/// The component is used without it.
#[test]
fn unusable_skill_of_a_component_is_left_out() {
    let env = TestEnv::new();
    let mut bytes = greeter(&env);
    let at = bytes
        .windows(8)
        .position(|bytes| bytes == b"SKILL.md")
        .unwrap();
    bytes[at] = b'/';
    env.write("greeter.wasm", bytes);
    env.write(
        "agent.toml",
        "[[tool]]\nname = \"g\"\ncomponent = \"greeter.wasm\"\n",
    );
    let ran = env.run(&["call", "g", "echo", "{}", "--config", "agent.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let why = "the skill of the component `g` is left out: it is not a tar archive: ";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
}

/// A session resumes with the accepted skills of now, as with tools; the model keeps what it read.
#[test]
fn resumed_session_has_the_accepted_skill() {
    let env = project();
    let read = || {
        Answer::calls(&[(
            "read_skill",
            json!({ "skill": "greet", "path": "words.md" }),
        )])
    };
    let server = ChatServer::start(vec![read(), Answer::text("Good day.")]);
    let ran = ask(&env, &server, &["--config", "agent.toml", "greet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    env.write("skills/greet/words.md", "Good evening.");
    let resume = ["--config", "agent.toml", "--resume", "latest", "again"];
    let server = ChatServer::start(vec![read(), Answer::text("Good evening.")]);
    let refused = ask(&env, &server, &resume);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let why = "the skill `greet` has changed since it was accepted";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    assert_eq!(server.requests().len(), 0);
    let accepted = env.run(&["lock", "--accept", "greet", "--config", "agent.toml"]);
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    let resumed = ask(&env, &server, &resume);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(server.tool_results(), ["Good evening."]);
    let told = server.requests()[1].to_string();
    assert!(told.contains("Good day."), "{told}");
}

/// It is not read unless the user says so, and the user is told how.
#[test]
fn agents_file_is_not_read_unless_it_is_named() {
    let env = TestEnv::new();
    env.write("AGENTS.md", "Use tabs.");
    let hint = "the model does not see the AGENTS.md here; to include it, set `instructions = [\"AGENTS.md\"]` in \
        agent.toml";
    for (toml, is_told) in [("", false), ("instructions = [\"AGENTS.md\"]\n", true)] {
        env.write("agent.toml", toml);
        let server = ChatServer::start(vec![Answer::text("Hi.")]);
        let ran = ask(&env, &server, &["--config", "agent.toml", "hi"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains(hint), !is_told, "{}", ran.stderr);
        let request = server.requests()[0].to_string();
        assert_eq!(request.contains("Use tabs."), is_told, "{request}");
        let doctor = env.run(&["doctor", "--config", "agent.toml"]).stdout;
        assert_eq!(doctor.contains(hint), !is_told, "{doctor}");
    }
}

/// The model could not tell the two apart.
#[test]
fn tool_with_the_name_of_the_reader_is_refused() {
    let env = project();
    let guest = Guest {
        definitions: vec![Definition {
            name: "read_skill".to_owned(),
            ..Definition::default()
        }],
        ..Guest::returning(Body::Text(0, b"fine"))
    };
    env.write("other.wasm", guest.bytes());
    env.write(
        "agent.toml",
        "skills = [\"skills\"]\n[[tool]]\nname = \"other\"\ncomponent = \"other.wasm\"\n",
    );
    let server = ChatServer::start(vec![Answer::text("Hi.")]);
    let ran = ask(&env, &server, &["--config", "agent.toml", "hi"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let why = "the component `other` has a tool named `read_skill`, which is the name of a built-in tool of agent-host";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
}
