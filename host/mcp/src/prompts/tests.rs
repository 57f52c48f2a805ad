use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;
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
    let given = serde_json::to_value(get(&skills, "pdf").unwrap()).unwrap();
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
    let error = get(&skills, "csv").unwrap_err();
    assert_eq!(error.code.0, -32_602);
}
