//! Agents: their resolved form, and every definition that is refused.

use super::Tree;
use crate::config::{GENERAL_PURPOSE, Overrides};
use agent_host_engine::policy::NameGlob;
use agent_host_types::tool::{Approval, DecisionKind};
use pretty_assertions::assert_eq;

#[test]
fn agents_are_resolved_with_models_and_prompts() {
    let toml = r#"
        model = "script:tour"
        system = "Be brief."
        agents = ["reader", "general-purpose"]
        agent-depth = 3

        [[agent]]
        name = "reader"
        description = "Reads."
        model = "openai:gpt-5-mini"
        system = "You read."
        tools = ["read_*", "list_directory"]
        agents = ["reader"]
        until-tool = ["read_file"]
        max-turns = 7
        budgets = { tokens = 1000, tool-calls = 3 }
        approval = ["approve", "reject"]
        interactive = false

        [openai]
        api-key = "env:KEY"
    "#;
    let tree = Tree::new();
    let config = tree.load(toml, &Overrides::default()).unwrap();
    assert_eq!(config.agents, ["reader", GENERAL_PURPOSE]);
    assert_eq!(config.agent_depth, 3);
    let [reader, general] = config.agent_definitions.as_slice() else {
        panic!("{:?}", config.agent_definitions);
    };
    assert_eq!(reader.name, "reader");
    assert_eq!(reader.system.as_deref(), Some("You read."));
    let globs = reader.tools.as_ref().unwrap().iter();
    let globs: Vec<&str> = globs.map(NameGlob::as_str).collect();
    assert_eq!(globs, ["read_*", "list_directory"]);
    assert_eq!(reader.agents, ["reader"]);
    assert_eq!(reader.until_tool.as_ref().unwrap().tools, ["read_file"]);
    let budgets = &reader.budgets;
    assert_eq!(
        (budgets.turns, budgets.tokens, budgets.tool_calls),
        (7, Some(1000), Some(3))
    );
    let decisions = [DecisionKind::Approve, DecisionKind::Reject];
    assert_eq!(reader.confirmation.approval, Approval::Always);
    assert_eq!(reader.confirmation.decisions, decisions);
    assert!(!reader.is_interactive && reader.models.is_some());
    assert_eq!(general.name, GENERAL_PURPOSE);
    assert_eq!(general.system.as_deref(), Some("Be brief."));
    assert!(general.is_interactive && general.models.is_none() && general.tools.is_none());
    assert_eq!(general.confirmation.approval, Approval::Never);
}

#[test]
fn agents_that_cannot_be_used_are_refused() {
    let agent =
        |lines: &str| format!("[[agent]]\nname = \"reader\"\ndescription = \"Reads.\"\n{lines}\n");
    let table = [
        (
            "agents = [\"raeder\"]\n".to_owned() + &agent(""),
            "unknown agent `raeder`; did you mean `reader`?",
        ),
        (
            agent("agents = [\"writer\"]"),
            "unknown agent `writer`; the agents are `general-purpose`, `reader`",
        ),
        (
            agent("") + &agent(""),
            "two agents are named `reader` (`general-purpose` is built in); rename one of them",
        ),
        (
            agent("").replace("\"reader\"", "\"read er\""),
            "invalid agent name `read er`: names have 1 to 48 letters (A to Z), digits, `_` and `-`; set `name` \
             under [[agent]]",
        ),
        (
            agent("").replace("\"Reads.\"", "\" \""),
            "the description, by which a model decides when to start the agent, is empty or longer than 2000 bytes; \
             say in a few sentences what the agent does and returns",
        ),
        (
            agent("tools = [\"read_{\"]"),
            "the glob `read_{` unclosed alternate group",
        ),
        (
            agent("max-turns = 0"),
            "`max-turns` is 0, so the model would never be called; set it to at least 1, or leave it out",
        ),
        (
            agent("model = \"nowhere:m\""),
            "unknown model provider `nowhere`; the providers are `anthropic`",
        ),
    ];
    let tree = Tree::new();
    for (toml, expected) in table {
        let problem = tree.problem(&toml, &Overrides::default());
        assert!(problem.starts_with(expected), "{toml}\n{problem}");
    }
}
