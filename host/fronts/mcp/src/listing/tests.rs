use super::ServedTools;
use crate::result::Structured;
use agent_host_types::tool::{
    Approval, DecisionKind, Effect, RegisteredTool, ToolDefinition, ToolRuntime,
};
use pretty_assertions::assert_eq;
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use std::sync::Arc;

fn tool(name: &str, effect: Effect) -> RegisteredTool {
    RegisteredTool {
        definition: Arc::new(ToolDefinition {
            name: name.to_owned(),
            title: None,
            description: format!("Does {name}."),
            input_schema: json!({ "type": "object" }),
            output_schema: None,
            // The policy's effect counts, not the definition's.
            effect: Effect::ReadOnly,
        }),
        effect,
        approval: Approval::default(),
        decisions: DecisionKind::ALL.to_vec(),
        runtime: ToolRuntime::Host,
        component: None,
        destination: None,
        summary: None,
    }
}

fn with_output(name: &str, schema: Value) -> RegisteredTool {
    let mut tool = tool(name, Effect::ReadOnly);
    Arc::make_mut(&mut tool.definition).output_schema = Some(schema);
    tool
}

#[test]
fn annotations_follow_the_policy() {
    let mut read = tool("read", Effect::ReadOnly);
    Arc::make_mut(&mut read.definition).title = Some("Read a file".to_owned());
    let mut outside = tool("outside", Effect::ReadOnly);
    outside.runtime = ToolRuntime::External;
    let tools = [
        read,
        outside,
        tool("put", Effect::Idempotent),
        tool("send", Effect::Effectful),
        with_output("rows", json!({ "type": "array" })),
        with_output("row", json!({ "type": "object" })),
    ];
    let listing = ServedTools::new(tools.iter(), |name| name == "send");
    let listed = |name: &str, annotations: Value| {
        json!({
            "name": name,
            "description": format!("Does {name}."),
            "inputSchema": { "type": "object" },
            "annotations": annotations,
        })
    };
    let reads = json!({ "readOnlyHint": true, "openWorldHint": false });
    let mut read = listed("read", reads.clone());
    read["title"] = json!("Read a file");
    let mut row = listed("row", reads.clone());
    row["outputSchema"] = json!({ "type": "object" });
    let mut rows = listed("rows", reads);
    let puts = json!({ "readOnlyHint": false, "idempotentHint": true, "openWorldHint": false });
    let sends = json!({ "readOnlyHint": false, "idempotentHint": false, "openWorldHint": true });
    let list = |rows: &Value| {
        json!({
            "resultType": "complete",
            "tools": [read, listed("put", puts.clone()), listed("send", sends.clone()), rows, row],
        })
    };
    let page = |structured| {
        let page = listing.page(None, structured).unwrap();
        serde_json::to_value(page).unwrap()
    };
    assert_eq!(page(Structured::Objects), list(&rows));
    rows["outputSchema"] = json!({ "type": "array" });
    assert_eq!(page(Structured::Any), list(&rows));
    assert_eq!(listing.find("outside"), None);
    assert_eq!(listing.find("put").unwrap().name, "put");
}

#[test]
fn pages_cover_the_list_once() {
    for count in [0, 1, 99, 100, 101, 200, 250] {
        let names: Vec<String> = (0..count).map(|n| format!("tool-{n}")).collect();
        let tools: Vec<RegisteredTool> = names
            .iter()
            .map(|name| tool(name, Effect::ReadOnly))
            .collect();
        let listing = ServedTools::new(tools.iter(), |_| false);
        let (mut seen, mut sizes, mut cursor) = (Vec::new(), Vec::new(), None::<String>);
        loop {
            let page = listing.page(cursor.as_deref(), Structured::Any).unwrap();
            sizes.push(page.tools.len());
            seen.extend(page.tools.into_iter().map(|tool| tool.name.into_owned()));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        let expected: Vec<usize> = match count {
            0 => vec![0],
            count => (0..count)
                .step_by(100)
                .map(|at| (count - at).min(100))
                .collect(),
        };
        assert_eq!((seen, sizes), (names, expected));
    }
}

#[test]
fn unknown_cursor_is_refused() {
    let listing = ServedTools::new([tool("read", Effect::ReadOnly)].iter(), |_| false);
    for cursor in ["", "1", "Read", "gone"] {
        let error = listing.page(Some(cursor), Structured::Any).unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{cursor}");
        assert_eq!(error.data, None, "{cursor}");
    }
}
