//! Searched tools: what the model is offered, and what a search changes.

use super::harness::*;
use crate::tool_search::{SEARCH_TOOL, searched};
use agent_host_types::{
    output::ToolResultOutput,
    tool::{Approval, Effect},
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

/// Puts the search before the tools of a bench.
fn search(bench: &mut Bench, from: usize) {
    bench.agent.tools = Arc::new(searched(bench.agent.tools.as_ref().clone(), from));
}

/// Returns the names of the tools in each request.
fn offered(bench: &Bench) -> Vec<Vec<String>> {
    let names = |tools: &[agent_host_types::tool::ToolDefinition]| {
        tools.iter().map(|tool| tool.name.clone()).collect()
    };
    let requests = bench.requests();
    requests
        .iter()
        .map(|request| names(&request.tools))
        .collect()
}

fn three() -> Vec<Tool> {
    ["read_mail", "send_mail", "weather"]
        .map(|name| tool(name, Effect::ReadOnly, Approval::ByEffect))
        .into()
}

#[tokio::test]
async fn found_tools_are_offered_from_the_next_request_on() {
    let query = r#"{"query":"weather"}"#;
    let replies = vec![
        calls(&[("a", SEARCH_TOOL, query)]),
        calls(&[("b", "weather", "{}")]),
        says("ok"),
    ];
    let mut bench = Bench::with(replies, three());
    search(&mut bench, 3);
    bench.say("go").await;
    let found = json!({ "tools": [{ "name": "weather", "description": "Does weather." }] });
    assert_eq!(
        bench.results(),
        pairs([("a", ToolResultOutput::json(found))])
    );
    bench
        .turn(agent_host_types::turn::AgentInput::Continue)
        .await;
    bench
        .turn(agent_host_types::turn::AgentInput::Continue)
        .await;
    let found = [SEARCH_TOOL.to_owned(), "weather".to_owned()];
    assert_eq!(
        offered(&bench),
        [vec![SEARCH_TOOL.to_owned()], found.to_vec(), found.to_vec()]
    );
    let description = bench.requests()[0].tools[0].description.clone();
    assert!(
        description.ends_with("There are 3 tools: read_mail, send_mail, weather."),
        "{description}"
    );
    // A resumed session offers them again, and a tool that was only named may be called.
    let replies = vec![
        calls(&[
            ("c", "send_mail", "{}"),
            ("d", SEARCH_TOOL, r#"{"query":"zzz"}"#),
            ("e", SEARCH_TOOL, "{}"),
        ]),
        says("ok"),
    ];
    let mut resumed = Bench::resume(&bench.journal, replies, three()).await;
    search(&mut resumed, 3);
    resumed.say("on").await;
    assert_eq!(offered(&resumed), [found.to_vec()]);
    let results: Vec<&str> = resumed
        .results()
        .iter()
        .map(|(_, output)| output.tag())
        .collect();
    assert_eq!(results, ["text", "json", "error-json"]);
}

#[tokio::test]
async fn few_tools_are_all_offered() {
    for from in [4, 0] {
        let names = ["read_mail", "send_mail", "weather"];
        let tools = names.map(|name| tool(name, Effect::ReadOnly, Approval::ByEffect));
        let mut bench = Bench::with(vec![says("ok")], tools.into());
        search(&mut bench, from);
        bench.say("go").await;
        assert_eq!(offered(&bench), [names]);
    }
}

/// No tool stands in the place of the program's.
#[tokio::test]
async fn search_goes_before_a_tool_of_its_name() {
    let tools = [SEARCH_TOOL, "send_mail", "weather"];
    let tools = tools.map(|name| tool(name, Effect::ReadOnly, Approval::ByEffect));
    let mut bench = Bench::with(vec![says("ok")], tools.into());
    search(&mut bench, 3);
    bench.say("go").await;
    assert_eq!(offered(&bench), [[SEARCH_TOOL]]);
}
