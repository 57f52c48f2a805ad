use super::{Questions, WitAnswer};
use crate::{caps::unwind::Unwind, gate::Gate};
use agent_host_core::{
    limits::Limits,
    policy::{DirGrant, DirMode, DirQuota, FileOp, Grants, HttpGrant, HttpRequest, PathRules},
    question::Question,
    tool::Effect,
};
use std::sync::Arc;

fn gate(effect: Effect) -> Arc<Gate> {
    let dir = DirGrant {
        host: "/srv".into(),
        guest: "/workspace".to_owned(),
        mode: DirMode::ReadWrite,
        allow: PathRules::default(),
        deny: PathRules::default(),
        mask: PathRules::default(),
        allow_run_later: PathRules::default(),
        quota: DirQuota::default(),
    };
    let http = HttpGrant {
        host: "example.com".to_owned(),
        ..HttpGrant::default()
    };
    let grants = Grants {
        dirs: vec![dir],
        http: vec![http],
        ..Grants::default()
    };
    Gate::new(Arc::new(grants), effect, &Limits::default())
}

fn request(method: &'static str) -> HttpRequest<'static> {
    HttpRequest {
        method,
        scheme: "https",
        host: "example.com",
        port: 443,
        path: "/",
    }
}

/// Whether a call may still ask: not when it is effectful and was allowed anything that changes the world.
#[test]
fn a_call_that_changed_something_is_not_ended_for_a_question() {
    type Act = fn(&Gate) -> bool;
    let table: [(Effect, Act, bool); 7] = [
        (
            Effect::Effectful,
            |gate| gate.file(0, FileOp::Read, "a").is_ok(),
            true,
        ),
        (
            Effect::Effectful,
            |gate| gate.file(0, FileOp::Write, "a").is_ok(),
            false,
        ),
        (
            Effect::Effectful,
            |gate| gate.file(0, FileOp::Move, "a").is_ok(),
            false,
        ),
        (
            Effect::Effectful,
            |gate| gate.http(&request("GET"), "u").is_ok(),
            true,
        ),
        (
            Effect::Effectful,
            |gate| gate.http(&request("POST"), "u").is_ok(),
            false,
        ),
        // Repeating it changes nothing more.
        (
            Effect::Idempotent,
            |gate| gate.file(0, FileOp::Write, "a").is_ok(),
            true,
        ),
        // What was refused changed nothing.
        (
            Effect::ReadOnly,
            |gate| gate.file(0, FileOp::Write, "a").is_err(),
            true,
        ),
    ];
    for (index, (effect, act, asks)) in table.into_iter().enumerate() {
        let gate = gate(effect);
        assert!(act(&gate), "{index}");
        let question = Question {
            prompt: "?".to_owned(),
            choices: Vec::new(),
            free_text: true,
        };
        let mut questions = Questions::new(gate, true, Vec::new());
        match questions.ask(question) {
            Err(Unwind::Asked(_)) => assert!(asks, "{index}"),
            Ok(WitAnswer::Unavailable) => assert!(!asks, "{index}"),
            other => panic!("{index}: {other:?}"),
        }
    }
}
