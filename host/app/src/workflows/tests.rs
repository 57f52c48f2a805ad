use crate::test_host;
use pretty_assertions::assert_eq;

/// Tools of each effect, and agents that start each other.
const AGENTS: &str = r#"
[[external-tool]]
name = "look"
description = "Looks."
effect = "read-only"
input-schema = { type = "object", required = ["n"], properties = { n = { type = "integer" } } }
[[external-tool]]
name = "set"
description = "Sets."
effect = "idempotent"
input-schema = { type = "object" }
[[external-tool]]
name = "pay"
description = "Pays."
effect = "effectful"
input-schema = { type = "object" }
[[agent]]
name = "none"
description = "Has no tools."
tools = []
[[agent]]
name = "looks"
description = "Looks."
tools = ["l*"]
[[agent]]
name = "sets"
description = "Sets, and starts itself."
tools = ["set", "look"]
agents = ["sets", "looks"]
[[agent]]
name = "starts"
description = "Starts one that starts one that pays."
tools = []
agents = ["between", "looks"]
[[agent]]
name = "between"
description = "Starts one that pays."
tools = ["look"]
agents = ["starts", "pays"]
[[agent]]
name = "pays"
description = "Pays."
tools = ["pay"]
"#;

/// Creating a loop on each way to them would take 2^15 steps.
#[tokio::test]
async fn agents_that_start_each_other_are_checked_at_any_depth() {
    let agent = |name: &str| {
        format!("[[agent]]\nname = \"{name}\"\ndescription = \"x\"\nagents = [\"a\", \"b\"]\n")
    };
    let workflow = "[[workflow]]\nname = \"w\"\n[[workflow.node]]\nid = \"n\"\nagent = \"a\"\n";
    let toml = format!("agent-depth = 16\n{}{}{workflow}", agent("a"), agent("b"));
    let directory = tempfile::tempdir().unwrap();
    let host = test_host::open(directory.path(), &toml).await;
    let agents = host.agents();
    assert_eq!(agents.workflow("w").unwrap().nodes().len(), 1);
}

#[tokio::test]
async fn workflow_is_returned_checked_or_with_all_faults() {
    let workflows = "[[workflow]]\nname = \"good\"\n\
        [[workflow.node]]\nid = \"a\"\ntool = \"look\"\ninput = { n = 1 }\n\
        [[workflow]]\nname = \"bad\"\n\
        [[workflow.node]]\nid = \"a\"\ntool = \"look\"\ninput = { n = \"'1'\" }\nnext = \"c\"\n\
        [[workflow.node]]\nid = \"b\"\nagent = \"pays\"\nretry = { times = 1 }\n";
    let directory = tempfile::tempdir().unwrap();
    let host = test_host::open(directory.path(), &format!("{AGENTS}{workflows}")).await;
    let agents = host.agents();
    let good = agents.workflow("good").unwrap();
    assert_eq!(good.name(), "good");
    let error = |name: &str| agents.workflow(name).unwrap_err().to_string();
    assert_eq!(
        error("bad"),
        "cannot use the workflow `bad`; correct it in agent.toml:\n  node `a`: invalid input for the tool `look`: \
         `/n`: \"1\" is not of type \"integer\"; change `input`\n  node `a`: `next` names `c`, which is not a node; \
         add the node, or remove it from `next`\n  node `b`: `retry` would repeat a node that is effectful, but only \
         read-only and idempotent nodes can be repeated; remove `retry`"
    );
    assert_eq!(
        error("other"),
        "unknown workflow `other`; the workflows are good, bad"
    );
    let faults = agents.workflows().into_iter().map(|workflow| {
        let faults = workflow.checked.err().map(|faults| faults.len());
        (workflow.definition.name.clone(), faults)
    });
    let expected = [("good".to_owned(), None), ("bad".to_owned(), Some(3))];
    assert_eq!(faults.collect::<Vec<_>>(), expected);
}
