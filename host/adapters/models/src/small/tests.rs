//! Tests who answers for a small model.

use super::*;
use agent_host_types::model::ModelErrorKind;
use pretty_assertions::assert_eq;

struct Answers(&'static str, Option<ModelErrorKind>);

impl Model for Answers {
    fn provenance(&self) -> Provenance {
        Provenance {
            provider: "p".to_owned(),
            model: self.0.to_owned(),
        }
    }

    fn respond<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let reply = ModelReply {
            text: self.0.to_owned(),
            ..ModelReply::default()
        };
        let answer = match self.1 {
            Some(kind) => Err(ModelError::new(kind, "No.")),
            None => Ok(reply),
        };
        Box::pin(std::future::ready(answer))
    }
}

#[tokio::test]
async fn model_answers_whatever_the_small_one_refuses() {
    use ModelErrorKind::{ContextWindow, InvalidRequest, Server, Unauthorized};
    let request = ModelRequest {
        system: None,
        messages: Vec::new(),
        tools: Vec::new(),
        answer_schema: None,
    };
    for (refusal, expected) in [
        (None, ("small", None)),
        (Some(Server), ("large", Some("large"))),
        (Some(Unauthorized), ("large", Some("large"))),
        (Some(InvalidRequest), ("large", Some("large"))),
        (Some(ContextWindow), ("large", Some("large"))),
    ] {
        let large = Arc::new(Answers("large", None));
        let both = WithSmall::new(large, Arc::new(Answers("small", refusal)));
        let small = both.small().unwrap();
        let reply = small.respond(&request, &|_| {}).await.unwrap();
        let by = reply.provenance.as_ref().map(|by| by.model.as_str());
        assert_eq!((reply.text.as_str(), by), expected, "{refusal:?}");
    }
}
