//! Every end of a turn, each in a session of its own.

use super::{
    components::{look, order, outside, send},
    script::{calls, says},
    world::*,
};
use agent_host_types::{
    model::{ModelReply, StopReason},
    turn::TurnReport,
};

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
