use super::*;
use agent_host_types::{budget::TokenPrices, model::Usage};
use pretty_assertions::assert_eq;

/// Replies with this usage.
struct Counts(Usage);

impl Model for Counts {
    fn provenance(&self) -> Provenance {
        Provenance {
            provider: "p".to_owned(),
            model: "m".to_owned(),
        }
    }

    fn respond<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let usage = self.0;
        Box::pin(async move {
            Ok(ModelReply {
                usage,
                ..ModelReply::default()
            })
        })
    }
}

#[tokio::test]
async fn reply_has_its_cost_if_tokens_were_counted() {
    let price = Price {
        tokens: TokenPrices {
            input_micros: 2_000_000,
            output_micros: 5_000_000,
            ..TokenPrices::default()
        },
        long_context: None,
    };
    let counted = Usage {
        input_tokens: 10,
        output_tokens: 3,
        ..Usage::default()
    };
    for (usage, cost_micros) in [(counted, Some(35)), (Usage::default(), None)] {
        let model = Priced::new(Arc::new(Counts(usage)), price);
        assert_eq!(model.provenance().model, "m");
        let request = ModelRequest {
            system: None,
            messages: Vec::new(),
            tools: Vec::new(),
            answer_schema: None,
        };
        let reply = model.respond(&request, &|_| {}).await.unwrap();
        let expected = Usage {
            cost_micros,
            ..usage
        };
        assert_eq!(reply.usage, expected);
    }
}
