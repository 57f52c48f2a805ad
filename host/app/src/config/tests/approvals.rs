//! When calls need approval, which decisions are offered, and tools that run outside.

use super::Tree;
use crate::config::{Confirmation, Overrides};
use agent_host_engine::turn::Timing;
use agent_host_types::tool::{
    Approval,
    DecisionKind::{self, Approve, Edit, Reject},
    Effect, ToolDefinition,
};
use pretty_assertions::assert_eq;
use serde_json::json;

const FILES: &str = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n";

fn confirmation(approval: Approval, decisions: &[DecisionKind]) -> Confirmation {
    Confirmation {
        approval,
        decisions: decisions.into(),
    }
}

#[test]
fn approval_of_tool_is_resolved() {
    let tree = Tree::new();
    for (toml, expected) in [
        ("", confirmation(Approval::ByEffect, &DecisionKind::ALL)),
        (
            "approval = \"always\"",
            confirmation(Approval::Always, &DecisionKind::ALL),
        ),
        (
            "approval = \"never\"",
            confirmation(Approval::Never, &DecisionKind::ALL),
        ),
        (
            "approval = [\"reject\", \"approve\", \"reject\"]",
            confirmation(Approval::Always, &[Approve, Reject]),
        ),
        (
            "approval = \"never\"\napprovals = { write_file = [\"edit\"] }",
            confirmation(Approval::Never, &DecisionKind::ALL),
        ),
    ] {
        let config = tree
            .load(&format!("{FILES}{toml}"), &Overrides::default())
            .unwrap();
        assert_eq!(
            *config.tools[0].confirmations.of("read_file"),
            expected,
            "{toml}"
        );
    }
    let toml =
        format!("{FILES}[tool.approvals]\nwrite_file = [\"edit\"]\nread_file = \"always\"\n");
    let config = tree.load(&toml, &Overrides::default()).unwrap();
    let of = |tool| config.tools[0].confirmations.of(tool);
    assert_eq!(*of("write_file"), confirmation(Approval::Always, &[Edit]));
    assert_eq!(
        *of("read_file"),
        confirmation(Approval::Always, &DecisionKind::ALL)
    );
    assert_eq!(*of("list_directory"), Confirmation::default());
}

#[test]
fn approval_timing_and_expiry_are_resolved() {
    let tree = Tree::new();
    for (toml, expected) in [
        ("", (Timing::Batch, None)),
        ("approval-timing = \"batch\"", (Timing::Batch, None)),
        (
            "approval-timing = \"in-order\"\napproval-expires-seconds = 86400",
            (Timing::InOrder, Some(86_400_000)),
        ),
    ] {
        let config = tree.load(toml, &Overrides::default()).unwrap();
        assert_eq!(
            (config.timing, config.approval_expiry_ms),
            expected,
            "{toml}"
        );
    }
}

#[test]
fn external_tools_are_resolved() {
    let tree = Tree::new();
    let schema = json!({"type": "object", "properties": {"amount": {"type": "integer"}}});
    std::fs::write(tree.cwd().join("data/pay.json"), schema.to_string()).unwrap();
    let toml = r#"
        [[external-tool]]
        name = "pay"
        title = "Pay a bill"
        description = "Pays."
        input-schema = "data/pay.json"
        effect = "idempotent"
        approval = ["approve", "reject"]
        [[external-tool]]
        name = "ask_sales"
        description = "Asks a colleague."
        [external-tool.input-schema]
        type = "object"
        properties = { amount = { type = "integer" } }
    "#;
    let config = tree.load(toml, &Overrides::default()).unwrap();
    let found: Vec<_> = config
        .external_tools
        .iter()
        .map(|tool| (tool.definition.clone(), tool.confirmation.clone()))
        .collect();
    let definition = |name: &str, title: Option<&str>, description: &str, effect| ToolDefinition {
        name: name.to_owned(),
        title: title.map(str::to_owned),
        description: description.to_owned(),
        input_schema: schema.clone(),
        output_schema: None,
        effect,
    };
    assert_eq!(
        found,
        [
            (
                definition("pay", Some("Pay a bill"), "Pays.", Effect::Idempotent),
                confirmation(Approval::Always, &[Approve, Reject]),
            ),
            (
                definition("ask_sales", None, "Asks a colleague.", Effect::Effectful),
                Confirmation::default(),
            ),
        ]
    );
    // What a guest could write there, the model would be told at the next start.
    assert!(
        config
            .protected_paths()
            .contains(&tree.cwd().join("data/pay.json"))
    );
}

#[test]
fn external_tool_with_bad_value_is_refused() {
    let tree = Tree::new();
    std::fs::write(tree.cwd().join("broken.json"), "{").unwrap();
    let external = |rest: &str| format!("[[external-tool]]\ndescription = \"Pays.\"\n{rest}");
    let object = "input-schema = { type = \"object\" }\n";
    for (toml, expected) in [
        (
            format!("{FILES}approval = \"alway\""),
            "invalid value `alway`; did you mean `always`?",
        ),
        (
            format!("{FILES}approval = [\"aprove\"]"),
            "invalid value `aprove`; did you mean `approve`?",
        ),
        (
            format!("{FILES}approval = 1"),
            "invalid value `1`; the values are `by-effect`, `always`, `never`, or a list of `approve`, `edit`, \
             `reject`, `respond`",
        ),
        (
            format!("{FILES}[tool.approvals]\nread_file = false"),
            "invalid value `false`; the values are `by-effect`, `always`, `never`, or a list of `approve`, `edit`, \
             `reject`, `respond`",
        ),
        (
            format!("{FILES}approvals = \"never\""),
            "invalid value `never`; the values are a table with values of `by-effect`, `always`, `never`, or a list \
             of `approve`, `edit`, `reject`, `respond`",
        ),
        (
            "[tool.approvals]\nread_file = false".to_owned(),
            "`tool` takes a list of tables, and this is one table; write `[[tool]]`",
        ),
        (
            "[[mcp]]\nname = \"m\"\n[[mcp.approvals]]\nx = \"never\"".to_owned(),
            "`approvals` takes one table, and this is a list of tables; write `[mcp.approvals]`",
        ),
        (
            "approval-timing = \"in_order\"".to_owned(),
            "invalid value `in_order`; did you mean `in-order`?",
        ),
        (
            external(&format!("name = \"p y\"\n{object}")),
            "the tool name `p y` is invalid: names have 1 to 64 letters (A to Z), digits, `_` and `-`; change `name` \
             under [[external-tool]]",
        ),
        (
            external("name = \"pay\"\ninput-schema = { type = \"string\" }"),
            "invalid `input-schema` of the external tool `pay`: the root of an input schema must have `\"type\": \
             \"object\"`; correct it",
        ),
        (
            external("name = \"pay\"\ninput-schema = \"gone.json\""),
            "cannot read `input-schema` of the external tool `pay` from ROOT/home/ann/project/gone.json: No \
             such file or directory (os error 2); check the path and its permissions",
        ),
        (
            external("name = \"pay\"\ninput-schema = \"broken.json\""),
            "cannot read `input-schema` of the external tool `pay` from ROOT/home/ann/project/broken.json: it \
             is not JSON (EOF while parsing an object at line 1 column 1); correct it",
        ),
        (
            external(&format!("name = \"pay\"\n{object}approval = []")),
            "`approval` of `pay` is an empty list, which allows no decision; list decisions of `approve`, `edit`, \
             `reject` and `respond`, or write `\"always\"` for all of them",
        ),
        (
            format!("[[external-tool]]\ndescription = \" \"\nname = \"pay\"\n{object}"),
            "`description` of the external tool `pay` is empty, and the model needs it; describe what the tool does",
        ),
        (
            [
                external(&format!("name = \"pay\"\n{object}")),
                external(&format!("name = \"pay\"\n{object}")),
            ]
            .concat(),
            "two external tools are named `pay`, and the model could not tell them apart; rename one of them",
        ),
    ] {
        assert_eq!(
            tree.problem(&toml, &Overrides::default()),
            expected,
            "{toml}"
        );
    }
    assert_eq!(
        tree.problem("approval-expires-seconds = 0", &Overrides::default()),
        "`approval-expires-seconds` is 0; set it to at least 1, or leave it out"
    );
}
