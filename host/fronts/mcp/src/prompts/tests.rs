use super::*;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn skill() -> Arc<Skill> {
    let file = |path: &str, bytes: &[u8]| (path.to_owned(), bytes.to_vec());
    Arc::new(Skill {
        name: "pdf".to_owned(),
        description: "Fills forms.".to_owned(),
        instructions: "Read forms.md.".to_owned(),
        files: BTreeMap::from([
            file(SKILL_FILE, b"---"),
            file("data.bin", &[0xff]),
            file("a form.md", b"Fill them."),
            file("large.txt", &vec![b'a'; FILES_BYTES]),
        ]),
        ..Skill::default()
    })
}

#[test]
fn skills_are_listed_and_given_with_their_files() {
    let skills = [skill()];
    let listed = serde_json::to_value(list(&skills)).unwrap();
    assert_eq!(
        listed["prompts"],
        json!([{"name": "pdf", "description": "Fills forms."}])
    );
    let given = serde_json::to_value(get(&skills, "pdf", None).unwrap()).unwrap();
    let text = "Read forms.md.\n\n[Not here: data.bin (1 bytes), large.txt (262144 bytes)]";
    assert_eq!(given["description"], "Fills forms.");
    assert_eq!(
        given["messages"],
        json!([
            {"role": "user", "content": {"type": "text", "text": text}},
            {"role": "user", "content": {"type": "resource", "resource": {
                "uri": "skill://pdf/a%20form.md", "mimeType": "text/plain", "text": "Fill them.",
            }}},
        ])
    );
    let error = get(&skills, "csv", None).unwrap_err();
    assert_eq!(error.code.0, -32_602);
}

/// The skill is asked for with these arguments.
fn told(instructions: &str, arguments: &Value) -> Result<Value, String> {
    let skill = Skill {
        instructions: instructions.to_owned(),
        ..skill().as_ref().clone()
    };
    let skills = [Arc::new(Skill {
        files: BTreeMap::new(),
        ..skill
    })];
    let arguments = arguments.as_object().cloned();
    match get(&skills, "pdf", arguments.as_ref()) {
        Ok(given) => Ok(json!(given)["messages"][0]["content"]["text"].clone()),
        Err(error) => Err(error.message.into_owned()),
    }
}

#[test]
fn argument_stands_for_the_placeholders() {
    let cases = [
        (
            "Fix $ARGUMENTS.",
            json!({"arguments": "7 now"}),
            "Fix 7 now.",
        ),
        ("Fix $ARGUMENTS.", json!({}), "Fix ."),
        ("Fix $ARGUMENTS.", json!(null), "Fix ."),
        ("No placeholder, $1.", json!({}), "No placeholder, $1."),
        (
            "$ARGUMENTS[1] of $ARGUMENTS[0]; $ARGUMENTS",
            json!({"arguments": "one 'two words'"}),
            "two words of one; one 'two words'",
        ),
        (
            "$ARGUMENTS[2] $ARGUMENTS[x] $ARGUMENTS[",
            json!({"arguments": "a"}),
            "$ARGUMENTS[2] a[x] a[",
        ),
        // What comes in is not looked at again.
        (
            "$ARGUMENTS",
            json!({"arguments": "$ARGUMENTS $ARGUMENTS[0]"}),
            "$ARGUMENTS $ARGUMENTS[0]",
        ),
    ];
    for (instructions, arguments, expected) in cases {
        let told = told(instructions, &arguments);
        assert_eq!(told, Ok(json!(expected)), "{instructions}");
    }
}

#[test]
fn arguments_that_a_prompt_does_not_take_are_refused() {
    let long = "a".repeat(40_000);
    let many = "$ARGUMENTS ".repeat(1_000);
    let cases = [
        (
            "Fix it.",
            json!({"arguments": "7"}),
            "no argument `arguments`",
        ),
        (
            "Fix $ARGUMENTS.",
            json!({"a\u{1b}": "7"}),
            "no argument `a\\u{1b}`",
        ),
        (
            "Fix $ARGUMENTS.",
            json!({"arguments": 7}),
            "is not a string",
        ),
        (
            "Fix $ARGUMENTS.",
            json!({"arguments": long}),
            "more than 32768 bytes",
        ),
        (
            &many,
            json!({"arguments": "b".repeat(30_000)}),
            "more than 1048576 bytes",
        ),
    ];
    for (instructions, arguments, why) in cases {
        let error = told(instructions, &arguments).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
