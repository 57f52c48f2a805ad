use super::*;
use agent_host_types::accounting::AuditVerdict;
use agent_host_types::tool::{Approval, DecisionKind, Effect, ToolRuntime};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// Calls with the lines that tell them.
const CASES: &str = include_str!("cases.json");

#[derive(Deserialize)]
struct Case {
    tool: String,
    template: Option<String>,
    #[serde(default)]
    own: bool,
    schema: Option<Value>,
    input: Map<String, Value>,
    output: ToolResultOutput,
    whole: Option<BlobRef>,
    /// HTTP requests with their statuses.
    #[serde(default)]
    requests: Vec<(String, Option<u16>)>,
    line: String,
}

fn registered(name: &str, schema: Value, summary: Option<SummaryTemplate>) -> RegisteredTool {
    let definition = ToolDefinition {
        name: name.to_owned(),
        title: None,
        description: String::new(),
        input_schema: schema,
        output_schema: None,
        effect: Effect::ReadOnly,
    };
    RegisteredTool {
        definition: Arc::new(definition),
        effect: Effect::ReadOnly,
        approval: Approval::Never,
        decisions: DecisionKind::ALL.to_vec(),
        runtime: ToolRuntime::Host,
        component: None,
        destination: None,
        summary,
    }
}

fn entry((request, status): &(String, Option<u16>)) -> AuditEntry {
    AuditEntry {
        request: AuditRequest::from_text(request),
        verdict: AuditVerdict::Allowed,
        rule: "grants.http[0]".to_owned(),
        count: 1,
        grant: None,
        status: *status,
    }
}

#[test]
fn call_summary_of_each_case_is_its_line() {
    let cases: Vec<Case> = serde_json::from_str(CASES).unwrap();
    for case in cases {
        let summary = case.template.map(|text| SummaryTemplate {
            text,
            own: case.own,
        });
        let is_known = case.schema.is_some() || summary.is_some();
        let schema = case.schema.unwrap_or_else(|| json!({"type": "object"}));
        let tool = registered(&case.tool, schema, summary);
        let tool = is_known.then_some(&tool);
        let audit: Vec<AuditEntry> = case.requests.iter().map(entry).collect();
        let summary = CallSummary::new(
            &case.tool,
            tool,
            Some(&case.input),
            &case.output,
            case.whole.as_ref(),
            &audit,
        );
        assert_eq!(summary.to_string(), case.line);
    }
}

#[test]
fn pending_call_is_its_name_and_main_argument() {
    let input = json!({"text": "a b", "path": "notes.txt\n"});
    let input = input.as_object().unwrap();
    let schema = json!({
        "properties": {"text": {"type": "string"}}, "required": ["text"],
    });
    let summary = SummaryTemplate::own("Read {path}");
    let tool = registered("read_file", schema, Some(summary));
    assert_eq!(
        CallSummary::pending("read_file", Some(&tool), Some(input)),
        "read_file \"a b\""
    );
    assert_eq!(
        CallSummary::pending("read_file", None, Some(input)),
        "read_file notes.txt"
    );
    assert_eq!(CallSummary::pending("a\u{1b}", None, None), "a\\u{1b}");
}

#[test]
fn template_with_a_defect_is_refused() {
    let long = "a".repeat(MAX_TEMPLATE + 1);
    let many = "{a}".repeat(13);
    for (text, expected) in [
        ("", "it is empty"),
        (" ", "it is empty"),
        ("a\nb", "it has line breaks or control characters"),
        (&long, "it has more than 200 characters"),
        (&many, "it has more than 12 values"),
        ("a {b", "a `{` is not closed by `}`"),
        ("a } b", "a `}` closes nothing"),
        ("a ] b", "a `]` closes nothing"),
        ("[a [b]]", "a `[` stands within `[...]`"),
        ("[a", "a `[` is not closed by `]` in its part"),
        ("[a  b]", "a `[` is not closed by `]` in its part"),
        ("{}", "`{}` does not name a value"),
        ("{a..b}", "`{a..b}` does not name a value"),
        ("{a b}", "`{a b}` does not name a value"),
        ("{a|loop}", "unknown filter `loop`"),
        ("{a|count:x}", "unknown filter `count:x`"),
        (
            "{a|bytes|bytes|bytes|bytes}",
            "a value has more than 3 filters",
        ),
    ] {
        let error = Template::parse(text).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn large_json_is_shown_by_its_size() {
    let output = ToolResultOutput::from_value(json!(vec!["0123456789"; 30_000]));
    let summary = CallSummary::new("list", None, None, &output, None, &[]);
    assert_eq!(summary.to_string(), "List  380.8 KiB  (list)");
}

proptest! {
    /// Whatever the template and the texts are, the line is one line that ends with the name.
    #[test]
    fn hostile_line_is_bounded_and_ends_with_its_name(
        template in "[^\\p{Cc}]{0,80}|[a-z {}\\[\\]|:.✓]{0,60}",
        value in "\\PC{0,300}|[ \n\r\t✓\u{202e}]{0,200}",
        fails in any::<bool>(),
    ) {
        let input = json!({"a": value, "path": value});
        let output = match fails {
            true => ToolResultOutput::ErrorText(value),
            false => ToolResultOutput::Text(value),
        };
        let summary = SummaryTemplate::of_author(template);
        let tool = registered("weather", json!({"type": "object"}), Some(summary));
        let told = CallSummary::new("weather", Some(&tool), input.as_object(), &output, None, &[]);
        let line = told.to_string();
        prop_assert!(line.ends_with("  (weather)"), "{line}");
        prop_assert!(line.chars().count() <= 2 * MAX_WORDS + 30, "{line}");
        prop_assert!(!line.contains(['✓', '\n', '\t', '\r', '\u{1b}', '\u{202e}']), "{line:?}");
        prop_assert!(!line.contains("   "), "{line:?}");
        if !fails {
            prop_assert!(told.words.chars().count() <= MAX_WORDS + 1, "{line}");
        }
    }
}
