//! The model of a session, which its user chooses among those that the operator offers.

use super::*;
use pretty_assertions::assert_eq;

const CONFIG: &str = "model-choices = [\"openai-compat:big\"]\n\
    [[agent]]\nname = \"fixed\"\ndescription = \"Has a model.\"\nmodel = \"openai-compat:own\"\n\
    [[agent]]\nname = \"free\"\ndescription = \"Has none.\"\n";

/// The names of the models that were asked.
fn asked(model: &ChatServer) -> Vec<String> {
    let requests = model.requests();
    let names = requests
        .iter()
        .map(|request| request["model"].as_str().unwrap().to_owned());
    names.collect()
}

fn send(server: &ApiServer, session: &str) {
    let next = server.get(&format!("/sessions/{session}")).json()["events"]
        .as_u64()
        .unwrap();
    let sent = server.post(
        &format!("/sessions/{session}/messages"),
        &json!({"message": "on"}),
    );
    assert_eq!(sent.status, 202, "{sent:?}");
    server.events(session, Some(next - 1)).until("turn-ended");
}

/// A session keeps its model over messages and restarts, also where an agent of it has none; it is
/// the default one once the model is not offered any more.
#[test]
fn session_keeps_the_model_that_was_chosen() {
    let env = TestEnv::new();
    env.configure(CONFIG);
    let model = ChatServer::start((0..6).map(|_| Answer::text("Done.")).collect());
    let server = ApiServer::start(&env, &model, &[]);
    let listed = server.get("/agents").json();
    assert_eq!(
        listed["models"],
        json!(["openai-compat:m", "openai-compat:big"])
    );
    assert_eq!(listed["agents"][0]["models"], json!(["openai-compat:own"]));
    assert_eq!(listed["agents"][1]["models"], listed["models"]);

    let body = json!({"message": "go", "agent": "free", "model": "openai-compat:big"});
    let created = server.post("/sessions", &body);
    assert_eq!(created.status, 201, "{created:?}");
    let session = created.json()["session"].as_str().unwrap().to_owned();
    server.events(&session, None).until("turn-ended");
    send(&server, &session);
    let row = server.get(&format!("/sessions/{session}")).json();
    assert_eq!(row["model"], "openai-compat:big");
    let plain = server.create("go");
    server.events(&plain, None).until("turn-ended");
    assert_eq!(server.end().code, Some(0));

    let server = ApiServer::start(&env, &model, &[]);
    send(&server, &session);
    assert_eq!(server.end().code, Some(0));
    env.configure(CONFIG.replace("big", "large"));
    let server = ApiServer::start(&env, &model, &[]);
    send(&server, &session);
    assert_eq!(asked(&model), ["big", "big", "m", "big", "m"]);
}

/// A model that is not offered is refused before anything exists, with the nearest name.
#[test]
fn model_that_is_not_offered_is_refused() {
    let env = TestEnv::new();
    env.configure(CONFIG);
    let model = ChatServer::start(Vec::new());
    let server = ApiServer::start(&env, &model, &[]);
    let refusals = [
        (
            json!({"model": "openai-compat:bigg"}),
            "the model `openai-compat:bigg` is not offered for this agent; did you mean `openai-compat:big`?",
        ),
        (
            json!({"model": "x", "agent": "free"}),
            "the model `x` is not offered for this agent; the models are `openai-compat:m`, `openai-compat:big`",
        ),
        (
            json!({"model": "openai-compat:big", "agent": "fixed"}),
            "the model `openai-compat:big` is not offered for this agent; did you mean `openai-compat:own`?",
        ),
    ];
    for (mut body, detail) in refusals {
        body["message"] = json!("go");
        let refused = server.post("/sessions", &body);
        assert_eq!(refused.problem(), (422, "model-not-offered".to_owned()));
        assert_eq!(refused.json()["detail"], detail);
    }
    let body = json!({"message": "go", "workflow": "w", "model": "openai-compat:big"});
    let refused = server.post("/sessions", &body);
    assert_eq!(refused.problem(), (400, "invalid-request".to_owned()));
    assert_eq!(server.get("/sessions").json()["sessions"], json!([]));
}
