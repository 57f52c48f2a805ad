//! Hostile texts, names and files, and large ones: nothing runs, deceives or holds up the page.

use super::*;
use pretty_assertions::assert_eq;

/// Files that would run in a browser are saved, whatever their names and types say.
#[test]
fn hostile_files() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    add_suite(
        &env,
        "approval = \"never\"\n[grants]\nartifacts = \"read-write\"\n",
    );
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' onload='window.harmed=1'><script>window.harmed=1</script></svg>";
    let html = "<!doctype html><script>window.harmed=1</script><b>bold</b>";
    let put = |name: &str, media_type: &str, text: &str| {
        let input = json!({"action": "put", "name": name, "media_type": media_type, "text": text});
        ("artifact", input)
    };
    let model = ChatServer::start(vec![
        Answer::calls(&[
            put("drawing.svg", "image/svg+xml", svg),
            put("page.html", "text/html", html),
            put("photo.png", "image/png", svg),
            ("give_text", json!({"text": html})),
        ]),
        Answer::text("Stored."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    // The third is no picture, so that the host does not store it.
    let rows = json!([
        "drawing.svg: image/svg+xml, by artifact",
        "page.html: text/html, by artifact",
    ]);
    browser.run(&server, "hostile-files", &rows.to_string());
}

/// A picture of a billion pixels is not decoded.
#[test]
fn image_bomb() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let answers = (0..6).map(|_| Answer::text("Large."));
    let model = ChatServer::start(answers.collect());
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "image-bomb", env.work().to_str().unwrap());
}

/// A result of 10 MB does not hold up the page.
#[test]
fn large_result() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let line = "<b>0123456789abcdef</b> 0123456789abcdef\n";
    add_suite(
        &env,
        "[tool.limits]\noutput-bytes = 20000000\nmax-transfer-bytes = 40000000\n",
    );
    let times = 10_000_000 / line.len();
    let model = ChatServer::start(vec![
        Answer::calls(&[("repeat", json!({"text": line, "times": times}))]),
        Answer::text("Long."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("Repeat.");
    server.events(&session, None).until("turn-ended");
    browser.run(&server, "large-result", &session);
}

/// Texts that take the parser long, or nest deeper than it can.
#[test]
fn hostile_markdown() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let texts = [
        "_a".repeat(50_000),
        ">".repeat(50_000),
        "[".repeat(50_000),
        "### a\n\n```\nb\n```\n\n".repeat(300),
        "- item\n".repeat(200),
        "|".repeat(30_000),
        "- ".repeat(20_000),
        "![".repeat(20_000),
        "```\n".to_owned() + &"x".repeat(200_000),
        format!(
            "```cpp\n{}```\n",
            format!("{}\n", "class A".repeat(40)).repeat(10)
        ),
        format!("```json\n{}\n```\n", "[{\"a\":".repeat(250)),
        "The end.".to_owned(),
    ];
    let long = "A message of the user. ".repeat(200_000);
    let mut messages = vec![json!({"role": "user", "content": long})];
    for text in texts {
        messages.push(json!({"role": "assistant", "content": text}));
        messages.push(json!({"role": "user", "content": "Go on."}));
    }
    messages.pop();
    let session = import(&env, &json!(messages));
    let model = ChatServer::start(Vec::new());
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "hostile-markdown", &session);
}

/// The names of sessions and tools are text.
#[test]
fn hostile_names() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let hostile = "<img src=x onerror='window.harmed=1'>\u{202e}";
    let text = json!(hostile);
    env.configure(format!(
        "[[agent]]\nname = \"clerk\"\ndescription = {text}\n\
         [[external-tool]]\nname = \"outside\"\ntitle = {text}\ndescription = {text}\n\
         input-schema = {{ type = \"object\" }}\n"
    ));
    let mut messages = vec![json!({"role": "user", "content": hostile})];
    messages.extend(call_messages(
        0,
        "read_file",
        &json!({hostile: hostile}),
        hostile,
    ));
    messages.push(json!({"role": "assistant", "content": hostile}));
    let session = import(&env, &json!(messages));
    let model = ChatServer::start(Vec::new());
    let server = ApiServer::start(&env, &model, &[]);
    // A name that hides characters is refused.
    let name = hostile.trim_end_matches('\u{202e}');
    let body = json!({ "name": name }).to_string();
    let named = server.request(TOKEN, &format!("PATCH /sessions/{session}"), Some(&body));
    assert_eq!(named.status, 204, "{named:?}");
    browser.run(&server, "hostile-names", &session);
}

/// A session of 10,000 calls shows its end first, and no task of the main thread is long.
#[test]
fn long_session() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let mut messages = vec![json!({"role": "user", "content": "Count."})];
    for number in 0..10_000 {
        let result = number.to_string();
        messages.extend(call_messages(
            number,
            "count",
            &json!({"n": number}),
            &result,
        ));
    }
    messages.push(json!({"role": "assistant", "content": "The end."}));
    let session = import(&env, &json!(messages));
    let model = ChatServer::start(Vec::new());
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "long-session", &session);
}
