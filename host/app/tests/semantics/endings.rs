//! Every end of a turn, each in a session of its own.

use super::{
    components::{look, order, outside, send},
    script::{calls, says},
    world::*,
};
use agent_host_test_support::chat::{Answer, ChatServer};
use agent_host_types::{
    model::{ModelReply, StopReason},
    turn::TurnReport,
};
use serde_json::json;

/// The sessions and the end of their first turn, in the order of the outcomes in the specification.
pub(super) async fn endings() -> Vec<(World, TurnReport)> {
    let declined = ModelReply {
        stop_reason: Some(StopReason::Refusal),
        ..says("I will not.")
    };
    let call = |tool| vec![calls(&[("a", tool, "")])];
    // The model's reply, the number of model calls allowed, and whether the turn is cancelled
    // before it begins.
    let table = [
        (call("look"), 50, false),
        (vec![says("hello")], 50, false),
        (vec![says("never")], 0, false),
        (call("send"), 50, false),
        (call("order"), 50, false),
        (call("outside"), 50, false),
        (vec![declined], 50, false),
        (vec![says("never")], 50, true),
        (Vec::new(), 50, false),
    ];
    let components = [look(), send(), order(), outside("outside")];
    let mut endings = Vec::new();
    for (replies, turns, cancelled) in table {
        let mut world = World::new(&components, replies).await;
        world.agent.settings.budgets.turns = turns;
        if cancelled {
            world.cancel.cancel();
        }
        let outcome = world.say("go").await;
        endings.push((world, outcome));
    }
    endings
}

/// The end that needs a model of the configuration: an agent of the run waits for approval.
pub(super) async fn agent_waits() -> (World, TurnReport) {
    let server = ChatServer::start(vec![
        Answer::calls(&[("agent_clerk", json!({"instructions": "send it"}))]),
        Answer::calls(&[("send", json!({}))]),
    ]);
    let settings = format!(
        "agents = [\"clerk\"]\nmodel = \"openai-compat:m\"\n[openai-compat]\nbase-url = \"{}\"\n\
         [[agent]]\nname = \"clerk\"\ndescription = \"Sends.\"\n",
        server.base_url
    );
    let mut world = World::wired(&settings, &[send()]).await;
    let outcome = world.say("go").await;
    (world, outcome)
}

pub(super) const KINDS: [&str; 9] = [
    "needs-more-turns",
    "done",
    "budget-exceeded",
    "awaiting-confirmation",
    "awaiting-answer",
    "pending-tool-calls",
    "refusal",
    "cancelled",
    "error",
];
