use super::HumanCtx;
use crate::{caps::unwind::Unwind, gate::Gate};
use agent_host_engine::policy::{DirGrant, DirMode, FileOp, Grants, HttpGrant, HttpRequest};
use agent_host_types::{limits::Limits, question::Question, tool::Effect};
use std::sync::Arc;

fn gate(effect: Effect) -> Arc<Gate> {
    let dir = DirGrant::new("/srv", "/workspace", DirMode::ReadWrite);
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

/// A call may still ask unless it is effectful and was allowed anything that changes the world.
#[test]
fn question_after_effect_is_unavailable() {
    type Act = fn(&Gate) -> bool;
    let table: [(Effect, Act, bool); 7] = [
        (
            Effect::Effectful,
            |gate| gate.check_file(0, FileOp::Read, "a").is_ok(),
            true,
        ),
        (
            Effect::Effectful,
            |gate| gate.check_file(0, FileOp::Write, "a").is_ok(),
            false,
        ),
        (
            Effect::Effectful,
            |gate| gate.check_file(0, FileOp::Move, "a").is_ok(),
            false,
        ),
        (
            Effect::Effectful,
            |gate| gate.check_http(&request("GET"), "u").is_ok(),
            true,
        ),
        (
            Effect::Effectful,
            |gate| gate.check_http(&request("POST"), "u").is_ok(),
            false,
        ),
        // Repeating it changes nothing more.
        (
            Effect::Idempotent,
            |gate| gate.check_file(0, FileOp::Write, "a").is_ok(),
            true,
        ),
        // A refusal changes nothing.
        (
            Effect::ReadOnly,
            |gate| gate.check_file(0, FileOp::Write, "a").is_err(),
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
            multiple: false,
            form: None,
        };
        let mut human = HumanCtx {
            gate,
            granted: Arc::default(),
            can_ask: true,
            answers: Vec::new().into_iter(),
        };
        match human.answer(question) {
            Err(Unwind::Asked(_)) => assert!(asks, "{index}"),
            Ok(None) => assert!(!asks, "{index}"),
            other => panic!("{index}: {other:?}"),
        }
    }
}
