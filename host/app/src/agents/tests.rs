use crate::test_host;
use agent_host_engine::turn::Prompts;
use pretty_assertions::assert_eq;
use std::{fmt::Write as _, sync::Arc};

/// Writes a file with agents that may all start each other.
fn mutual(agents: usize, depth: u8) -> String {
    let names: Vec<String> = (0..agents).map(|at| format!("\"a{at}\"")).collect();
    let names = names.join(", ");
    let mut toml = format!("agents = [{names}]\nagent-depth = {depth}\n");
    for at in 0..agents {
        let agent = format!("[[agent]]\nname = \"a{at}\"\ndescription = \"Helps.\"\n");
        let _ = writeln!(toml, "{agent}agents = [{names}]");
    }
    toml
}

/// The loops that a session holds when it starts, by those that open the journals of agents in the
/// store, and the bytes of its recorded setup, without the digits of the depth.
async fn cost(agents: usize, depth: u8) -> (usize, usize) {
    let directory = tempfile::tempdir().unwrap();
    let host = test_host::open(directory.path(), &mutual(agents, depth)).await;
    let before = Arc::strong_count(host.sessions().store());
    let agent = host.agents().agent(Prompts::Deny);
    let holders = Arc::strong_count(host.sessions().store()) - before;
    let setup = agent.setup().bytes.len() - depth.to_string().len();
    (holders, setup)
}

#[tokio::test]
async fn session_start_costs_the_same_at_every_agent_depth() {
    let shallow = cost(12, 2).await;
    assert_eq!(shallow.0, 1, "the loop of the session alone is made");
    assert_eq!(cost(12, 6).await, shallow);
    assert_eq!(cost(12, 16).await, shallow);
}

#[tokio::test]
async fn session_start_costs_one_definition_per_agent() {
    let (few, many) = (cost(4, 16).await, cost(40, 16).await);
    assert_eq!(many.0, few.0);
    // A definition of an agent's tool and its entry have some 1.3 kB.
    let each = (many.1 - few.1) / 36;
    assert!(each < 2_000, "{each} bytes for each agent");
}
