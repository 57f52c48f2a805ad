use super::index::Index;
use agent_host_types::tool::{Effect, ToolDefinition};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn tool(name: &str, description: &str, properties: &Value) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        title: None,
        description: description.to_owned(),
        input_schema: json!({ "type": "object", "properties": properties }),
        output_schema: None,
        effect: Effect::ReadOnly,
    }
}

#[test]
fn query_finds_tools_by_words_of_names_and_texts() {
    let tools = [
        tool(
            "github_create_issue",
            "Opens an issue in a repository.",
            &json!({}),
        ),
        tool(
            "github_list_issues",
            "Lists the issues of a repository.",
            &json!({}),
        ),
        tool("sendEmail", "Sends a message to an address.", &json!({})),
        tool(
            "convert",
            "Converts an amount.",
            &json!({ "currency": { "description": "Such as EUR." } }),
        ),
        tool(
            "weather",
            "Says how the weather will be in a city.",
            &json!({}),
        ),
    ];
    let index = Index::new(tools.iter());
    let cases: [(&str, &[&str]); 10] = [
        ("weather", &["weather"]),
        (
            "create an ISSUE",
            &["github_create_issue", "github_list_issues"],
        ),
        ("email", &["sendEmail"]),
        ("which currencies, eur?", &["convert"]),
        ("amounts", &["convert"]),
        // A name finds its tool first, whatever its words find.
        (
            "issue github_list_issues",
            &["github_list_issues", "github_create_issue"],
        ),
        ("weather, convert", &["convert", "weather"]),
        ("nothing like that", &[]),
        ("", &[]),
        ("\u{202e}\0", &[]),
    ];
    for (query, expected) in cases {
        let found = index.search(query, 2);
        let names: Vec<&str> = found.iter().map(|at| tools[*at].name.as_str()).collect();
        assert_eq!(names, expected, "{query}");
    }
    assert_eq!(
        Index::new(std::iter::empty()).search("a", 1),
        Vec::<usize>::new()
    );
}
