//! Tests `init` on a terminal: when it is offered, its questions, and their order.

use super::{KEY, answer, on_a_terminal, server, user_config};
use agent_host_test_support::{
    TestEnv,
    chat::ChatServer,
    program,
    running::Running,
    terminal::{MARKER, plain},
};
use pretty_assertions::assert_eq;
use std::{fs, process::Command};

/// Answers each question of `init` about a server at an address of its own.
fn set_up(running: &mut Running, chat: &ChatServer) {
    answer(running, "Its number or name:", "openai-compat\n");
    let address = format!("{}\n", chat.base_url);
    answer(running, "The address of the server", &address);
    running.stdout.until("Which model?");
    assert!(running.stdout.says("Its number or name:", 2));
    // The first of the list, by name.
    running.types("1\n");
    answer(running, "Write it?", "y\n");
}

/// The first five minutes: a first run plays the tour and ends with the offer of `init`, which asks
/// for everything; then the next run answers and offers nothing.
#[test]
fn first_run_on_a_terminal_offers_init() {
    let env = TestEnv::new();
    let chat = server(&["list", "OK", "You have one file."]);
    env.write("notes.txt", "hello");
    let mut running = on_a_terminal(&env, "run \"What is here?\"");
    answer(
        &mut running,
        "Set up a language model now, in place of this script?",
        "y\n",
    );
    set_up(&mut running, &chat);
    let ran = running.end();
    let shown = plain(&ran.stdout);
    assert_eq!(ran.code, Some(0), "{shown}");
    let mut rest = shown.as_str();
    for part in [
        "the built-in tour plays",
        "No language model was involved",
        "Set up a language model now",
        "Which provider has your model?",
        "   1  large",
        "   2  small",
        "It answers.",
        "model = \"openai-compat:large\"",
        "Written. Try ",
    ] {
        let at = rest.find(part);
        let at = at.unwrap_or_else(|| panic!("no {part:?} in its place in {shown}"));
        rest = &rest[at + part.len()..];
    }
    let written = fs::read_to_string(user_config(&env)).unwrap();
    assert_eq!(
        written,
        format!(
            "# Written by `agent-host init`.\nmodel = \"openai-compat:large\"\n\n[openai-compat]\nbase-url = \"{}\"\n",
            chat.base_url
        )
    );
    let again = on_a_terminal(&env, "run \"And now?\"").end();
    let shown = plain(&again.stdout);
    assert!(
        shown.contains("You have one file.") && !shown.contains("Set up"),
        "{shown}"
    );
}

/// A no ends the run as it ended, and the question is not asked again.
#[test]
fn init_offer_is_made_once() {
    let env = TestEnv::new();
    let question = "Set up a language model now";
    let mut running = on_a_terminal(&env, "run \"What is here?\"");
    answer(&mut running, question, "n\n");
    let ran = running.end();
    let shown = plain(&ran.stdout);
    assert_eq!(ran.code, Some(0), "{shown}");
    assert!(shown.contains("the built-in tour plays"), "{shown}");
    assert!(!user_config(&env).exists());
    let again = plain(&on_a_terminal(&env, "run \"What is here?\"").end().stdout);
    assert!(!again.contains(question), "{again}");
}

/// The program alone starts a conversation on a terminal, which begins with the offer of `init`;
/// without a terminal it prints its help.
#[test]
fn program_alone_starts_a_conversation_on_a_terminal() {
    let env = TestEnv::new();
    let chat = server(&["list", "OK", "Hello."]);
    let mut running = on_a_terminal(&env, "");
    answer(
        &mut running,
        "No model is configured. Set one up now?",
        "y\n",
    );
    set_up(&mut running, &chat);
    answer(&mut running, "What should the agent do?", "Hi\n");
    running.stdout.until("Hello.");
    // After the offer, four questions of `init` and one of the conversation.
    assert!(running.stdout.says(MARKER, 7));
    running.types("\u{4}");
    let ran = running.end();
    assert_eq!(ran.code, Some(0), "{}", plain(&ran.stdout));
    let piped = env.run::<&str>(&[]);
    assert_eq!(piped.code, Some(2), "{piped:?}");
    assert!(piped.stderr.contains("Usage: agent-host"), "{piped:?}");
}

/// Whatever can be used at once comes first: a server that answers, then a key in the environment. Enter
/// takes it, and its address.
#[test]
fn init_offers_first_what_it_finds() {
    let env = TestEnv::new();
    let chat = server(&["list", "list"]);
    let variables = format!(
        "GROQ_API_KEY=x OPENAI_COMPAT_BASE_URL={} {}",
        chat.base_url,
        program()
    );
    let mut script = Command::new("script");
    env.prepare(script.args(["-qec", &format!("{variables} init --no-test"), "/dev/null"]));
    let mut running = Running::start(&mut script);
    let enter = format!("The address of the server (Enter for {}):", chat.base_url);
    answer(
        &mut running,
        "Its number or name (Enter for openai-compat):",
        "\n",
    );
    answer(&mut running, &enter, "\n");
    running.stdout.until("Which model?");
    answer(&mut running, "   2  small", "2\n");
    answer(&mut running, "Write it?", "y\n");
    let ran = running.end();
    let shown = plain(&ran.stdout);
    assert_eq!(ran.code, Some(0), "{shown}");
    let rows = "   1  openai-compat  is running, with 2 models\r\n   2  groq           GROQ_API_KEY is set\r\n   3  anthropic";
    assert!(shown.contains(rows), "{shown}");
    let written = fs::read_to_string(user_config(&env)).unwrap();
    assert_eq!(
        written,
        format!(
            "# Written by `agent-host init`.\nmodel = \"openai-compat:small\"\n\n[openai-compat]\nbase-url = \"{}\"\n",
            chat.base_url
        )
    );
}

/// A key that is typed is not echoed.
#[test]
fn init_does_not_show_a_typed_key() {
    let env = TestEnv::new();
    let mut running = on_a_terminal(&env, "init --provider groq --model m --no-test");
    answer(&mut running, "Where is the key?", "2\n");
    answer(
        &mut running,
        "The key (it is not shown):",
        &format!("{KEY}x\u{7f}\n"),
    );
    let ran = running.end();
    let shown = plain(&ran.stdout);
    assert_eq!(ran.code, Some(0), "{shown}");
    assert!(!shown.contains("sk-") && !shown.contains("cdef"), "{shown}");
    let key = user_config(&env).with_file_name("groq.key");
    assert_eq!(fs::read_to_string(key).unwrap(), format!("{KEY}\n"));
    let written = fs::read_to_string(user_config(&env)).unwrap();
    assert_eq!(
        written,
        "# Written by `agent-host init`.\nmodel = \"groq:m\"\n\n[[provider]]\nname = \"groq\"\nkind = \"groq\"\napi-key = \"file:groq.key\"\n"
    );
}
