use super::*;
use agent_host_types::{
    message::{Message, Role},
    model::StopReason,
};
use pretty_assertions::assert_eq;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// A model that shows some text and then comes to what it was given, in order.
struct Played {
    name: &'static str,
    ends: Mutex<VecDeque<Result<&'static str, ModelErrorKind>>>,
}

fn played(name: &'static str, ends: &[Result<&'static str, ModelErrorKind>]) -> Arc<dyn Model> {
    Arc::new(Played {
        name,
        ends: Mutex::new(ends.iter().copied().collect()),
    })
}

fn provenance(name: &str) -> Provenance {
    Provenance {
        provider: "p".to_owned(),
        model: name.to_owned(),
    }
}

fn answer(text: &str, by: Option<&str>) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        provenance: by.map(provenance),
        ..ModelReply::default()
    }
}

impl Model for Played {
    fn provenance(&self) -> Provenance {
        provenance(self.name)
    }

    fn respond<'a>(
        &'a self,
        _: &'a ModelRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let end = ends.pop_front().unwrap();
        Box::pin(async move {
            match end {
                Ok(text) => {
                    deltas(ModelDelta::Text(text));
                    Ok(answer(text, None))
                }
                Err(kind) => {
                    // One that is cut off has said something before.
                    if kind == ModelErrorKind::Protocol {
                        deltas(ModelDelta::Text("half"));
                    }
                    Err(ModelError::new(kind, format!("{} failed.", self.name)))
                }
            }
        })
    }
}

/// Asks once. What it came to, and what was shown.
async fn ask(model: &Fallback) -> (Result<ModelReply, ModelError>, Vec<String>) {
    let request = ModelRequest {
        system: None,
        messages: vec![Message::text(Role::User, "hi")],
        tools: Vec::new(),
        answer_schema: None,
    };
    let shown = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| {
        let line = match delta {
            ModelDelta::Text(text) => format!("text {text}"),
            ModelDelta::Reasoning(text) => format!("reasoning {text}"),
            ModelDelta::Restarted => "restarted".to_owned(),
            ModelDelta::Note(text) => format!("note {text}"),
            ModelDelta::Waiting { error, .. } => format!("waiting after {}", error.message),
        };
        shown.lock().unwrap().push(line);
    };
    let reply = model.respond(&request, &sink).await;
    (reply, shown.into_inner().unwrap())
}

#[tokio::test]
async fn fallback_follows_only_service_errors() {
    use ModelErrorKind as Kind;
    for (kind, goes_on) in [
        (Kind::RateLimited, true),
        (Kind::Server, true),
        (Kind::Unreachable, true),
        (Kind::Timeout, true),
        (Kind::Protocol, true),
        (Kind::Unauthorized, false),
        (Kind::NotFound, false),
        (Kind::InvalidRequest, false),
        (Kind::Script, false),
    ] {
        let model = Fallback::new(played("a", &[Err(kind)]), vec![played("b", &[Ok("hello")])]);
        let expected = if goes_on {
            Ok(answer("hello", Some("b")))
        } else {
            Err(ModelError::new(kind, "a failed."))
        };
        assert_eq!(ask(&model).await.0, expected, "{kind:?}");
    }
}

#[tokio::test]
async fn model_that_answered_is_asked_first() {
    use ModelErrorKind::{RateLimited, Server};
    let model = Fallback::new(
        played("a", &[Err(Server), Ok("a again")]),
        vec![
            played("b", &[Err(RateLimited)]),
            played("c", &[Ok("one"), Ok("two"), Err(Server)]),
        ],
    );
    assert_eq!(model.provenance(), provenance("a"));
    let (reply, shown) = ask(&model).await;
    assert_eq!(reply, Ok(answer("one", Some("c"))));
    assert_eq!(
        shown,
        [
            "note p:a does not answer; using p:b instead. a failed.",
            "note p:b does not answer; using p:c instead. b failed.",
            "text one",
        ]
    );
    assert_eq!(model.provenance(), provenance("c"));
    assert_eq!(
        ask(&model).await,
        (Ok(answer("two", None)), vec!["text two".to_owned()])
    );
    // When that one fails, too, the others have their turn again.
    let (reply, shown) = ask(&model).await;
    assert_eq!(reply, Ok(answer("a again", Some("a"))));
    assert_eq!(
        shown,
        [
            "note p:c does not answer; using p:a instead. c failed.",
            "text a again"
        ]
    );
    assert_eq!(model.provenance(), provenance("a"));
}

#[tokio::test]
async fn shown_text_of_failed_reply_is_revoked() {
    let model = Fallback::new(
        played("a", &[Err(ModelErrorKind::Protocol)]),
        vec![played("b", &[Ok("whole")])],
    );
    let (reply, shown) = ask(&model).await;
    assert_eq!(reply, Ok(answer("whole", Some("b"))));
    assert_eq!(
        shown,
        [
            "text half",
            "restarted",
            "note p:a does not answer; using p:b instead. a failed.",
            "text whole",
        ]
    );
}

#[tokio::test]
async fn failure_of_all_models_quotes_each() {
    let model = Fallback::new(
        played("a", &[Err(ModelErrorKind::Server)]),
        vec![
            played("b", &[Err(ModelErrorKind::Unauthorized)]),
            played("c", &[]),
        ],
    );
    let error = ModelError::new(
        ModelErrorKind::Unauthorized,
        "No model answered.\np:a: a failed.\np:b: b failed.",
    );
    assert_eq!(ask(&model).await.0, Err(error));
}
