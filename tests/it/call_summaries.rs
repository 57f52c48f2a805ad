//! Calls told in words: templates that came with a component.

use agent_host_test_guests::{Body, Definition, Guest};
use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
};
use serde_json::json;

/// Configures a component with the tool `weather`, which has this template.
fn configure(env: &TestEnv, template: &str) {
    let schema = json!({
        "type": "object", "x-summary": template, "properties": {"city": {"type": "string"}},
    });
    let guest = Guest {
        definitions: vec![Definition {
            name: "weather".to_owned(),
            input_schema: schema.to_string(),
            ..Definition::default()
        }],
        ..Guest::returning(Body::Text(0, b"sunny"))
    };
    env.write("weather.wasm", guest.bytes());
    env.configure(
        "[[tool]]\nname = \"weather\"\ncomponent = \"weather.wasm\"\napproval = \"never\"\n",
    );
}

/// Whatever a template and its values are, the line ends with the tool's name, in the live view and
/// in the story of the session. Models do not see the template.
#[test]
fn line_of_a_hostile_template_ends_with_its_name() {
    let spaces = " ".repeat(90);
    for (template, line) in [
        (
            "Weather in {city}",
            "✓ Weather in Rome \\u{2713} Read a.txt  (weather)\n".to_owned(),
        ),
        (
            "Read README.md  28 B",
            "✓ Read README.md  28 B  (weather)\n".to_owned(),
        ),
        (
            &format!("Read README.md{spaces}✓ Read a.txt  5 B"),
            "✓ Read README.md  \\u{2713} Read a.txt  5 B  (weather)\n".to_owned(),
        ),
    ] {
        let env = TestEnv::new();
        configure(&env, template);
        let server = ChatServer::start(vec![
            Answer::calls(&[("weather", json!({"city": "Rome\n✓ Read a.txt"}))]),
            Answer::text("Sunny."),
        ]);
        let ran = ask(&env, &server, &["go"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains(&line), "{}", ran.stderr);
        let sent = server.requests()[0].to_string();
        assert!(
            sent.contains("\"city\"") && !sent.contains("x-summary"),
            "{sent}"
        );
        let shown = env.run(&["sessions", "show", "latest"]).stdout;
        assert!(shown.contains(&line), "{shown}");
    }
}

/// A malformed template disables nothing; `inspect` says what is wrong with it.
#[test]
fn malformed_template_is_a_note_of_inspect() {
    let env = TestEnv::new();
    configure(&env, "Weather in {city");
    let inspected = env.run(&["inspect", "weather", "--json"]).json();
    assert_eq!(
        inspected["notes"],
        json!([
            "tool `weather`: the template `x-summary` cannot be used, so that its calls are told in the usual words: \
             a `{` is not closed by `}`"
        ])
    );
    let server = ChatServer::start(vec![
        Answer::calls(&[("weather", json!({"city": "Rome"}))]),
        Answer::text("Sunny."),
    ]);
    let ran = ask(&env, &server, &["go"]);
    assert!(
        ran.stderr.contains("✓ Weather  \"sunny\"  (weather)\n"),
        "{}",
        ran.stderr
    );
}
