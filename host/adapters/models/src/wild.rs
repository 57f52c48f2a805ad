//! Runs the cases of `tests/wild/replies`: responses as servers send them, one file each.

use crate::mutations::mutated;
use crate::{
    Endpoint, HttpModel, ModelSettings, Provider, ReasoningTags, RequestExtras, RetryPolicy,
    Timeouts,
    testing::server::{Answer, TestServer},
    wire::{
        Framing,
        response::{BodyEnd, ResponseDecoder},
    },
};
use agent_host_engine::model::{Model as _, ModelDelta};
use agent_host_types::{
    message::{Message, Role},
    model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, StopReason},
};
use pretty_assertions::assert_eq;
use proptest::{collection::vec, prelude::*, sample::Index, test_runner::RngSeed};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{LazyLock, Mutex},
    time::Duration,
};

/// The directory of the cases.
const REPLIES: &str = "replies";

/// The least number of cases of each wire.
const LEAST_CASES: usize = 12;

/// The cases with a stream.
static CASES: LazyLock<Vec<(String, Case)>> = LazyLock::new(|| {
    let is_stream = |case: &Case| case.status == 200 && case.media_type() != "application/json";
    let cases = cases(REPLIES)
        .into_iter()
        .filter(|(_, case)| is_stream(case));
    cases.collect()
});

/// A case file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Case {
    name: String,
    /// The name of the wire format, as in `--model`.
    wire: String,
    /// The project or service, and the year of the report.
    source: String,
    #[serde(default = "success")]
    status: u16,
    /// Absent for a stream of the wire.
    media_type: Option<String>,
    reasoning_tags: Option<ReasoningTags>,
    /// The body of the response.
    body: String,
    expected: Expected,
}

fn success() -> u16 {
    200
}

/// The outcome; what is absent is empty.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Expected {
    text: String,
    reasoning: String,
    calls: Vec<Call>,
    stop_reason: Option<StopReason>,
    /// Input and output tokens; not compared if absent.
    tokens: Option<[u64; 2]>,
    error: Option<ModelErrorKind>,
    /// A part of the error's message.
    says: Option<String>,
    /// How often the server is asked; once if absent.
    requests: Option<usize>,
}

/// A call; arguments that are not an object are the text itself.
#[derive(Debug, PartialEq, Deserialize)]
struct Call {
    id: String,
    name: String,
    #[serde(default)]
    input: Value,
}

impl Expected {
    /// Returns the outcome of a request in the form of the case.
    fn of(answered: Result<ModelReply, ModelError>, requests: usize, case: &Self) -> Self {
        let requests = case
            .requests
            .map(|_| requests)
            .or((requests != 1).then_some(requests));
        let reply = match answered {
            Ok(reply) => reply,
            Err(error) => {
                let is_said = |says: &&String| error.message.contains(*says);
                let says = case.says.as_ref().filter(is_said);
                return Self {
                    error: Some(error.kind),
                    says: says
                        .cloned()
                        .or_else(|| case.says.as_ref().map(|_| error.message)),
                    requests,
                    ..Self::default()
                };
            }
        };
        let calls = reply.tool_calls.into_iter().map(|call| Call {
            id: call.id.0,
            name: call.name,
            input: call
                .input
                .map_or_else(|| call.raw_arguments.into(), |input| json!(input)),
        });
        let tokens = [reply.usage.input_tokens, reply.usage.output_tokens];
        Self {
            text: reply.text,
            reasoning: reply.reasoning,
            calls: calls.collect(),
            stop_reason: reply.stop_reason,
            tokens: case.tokens.map(|_| tokens),
            error: None,
            says: None,
            requests,
        }
    }
}

impl Case {
    fn provider(&self) -> Provider {
        Provider::from_name(&self.wire).unwrap()
    }

    fn media_type(&self) -> &str {
        let of_wire = match self.provider().wire().framing {
            Framing::Events => "text/event-stream",
            Framing::Lines => "application/x-ndjson",
        };
        self.media_type.as_deref().unwrap_or(of_wire)
    }

    /// Asks a server that answers so.
    async fn ask(&self) -> (Result<ModelReply, ModelError>, usize) {
        let answer = Answer::new(self.status).body(self.body.clone(), self.media_type());
        let server = TestServer::sequence(vec![answer]).await;
        let endpoint = Endpoint {
            base_url: server.url.clone(),
            key: Some("sesame".into()),
            key_source: "THE_KEY".to_owned(),
            extras: RequestExtras::default(),
            timeouts: Timeouts::default(),
        };
        let provider = self.provider();
        let model = HttpModel::new(provider, "m", endpoint, provider.capabilities());
        let model = model.unwrap().with_settings(ModelSettings {
            reasoning_tags: self.reasoning_tags,
            ..ModelSettings::default()
        });
        let model = model.with_retry(RetryPolicy {
            retries: 3,
            first_wait: Duration::ZERO,
            longest_wait: Duration::ZERO,
            total_wait: Duration::from_secs(60),
        });
        let request = ModelRequest {
            system: None,
            messages: vec![Message::text(Role::User, "go")],
            tools: Vec::new(),
            answer_schema: None,
        };
        let answered = model.respond(&request, &|_| {}).await;
        (answered, server.received().len())
    }

    /// Decodes the stream from these pieces. Returns the reply, and what was shown in the end.
    fn decode<'p>(&self, pieces: impl IntoIterator<Item = &'p [u8]>) -> (String, [String; 2]) {
        let shown = Mutex::new([String::new(), String::new()]);
        let sink = |delta: ModelDelta<'_>| {
            let mut shown = shown.lock().unwrap();
            match delta {
                ModelDelta::Text(text) => shown[0].push_str(text),
                ModelDelta::Reasoning(text) => shown[1].push_str(text),
                ModelDelta::Restarted => *shown = Default::default(),
                ModelDelta::Note(_) | ModelDelta::Waiting { .. } => {}
            }
        };
        let tags = self.reasoning_tags.unwrap_or(ReasoningTags::Auto);
        let mut decoder = ResponseDecoder::new(self.provider().wire(), "m", &[], tags);
        let reply = pieces
            .into_iter()
            .try_for_each(|piece| decoder.push(piece, &sink))
            .and_then(|()| decoder.end(&sink))
            .and_then(|()| decoder.finish(BodyEnd::Complete, &sink));
        let reply = reply.map_err(|error| error.to_string());
        (format!("{reply:?}"), shown.into_inner().unwrap())
    }
}

/// Returns the cases in a directory of `tests/wild`, by the name of their file.
pub(crate) fn cases<C: DeserializeOwned>(directory: &str) -> BTreeMap<String, C> {
    let wild = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/wild");
    let directory = wild.join(directory);
    let files = fs::read_dir(directory).unwrap();
    let cases = files.map(|file| {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let case = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, case)
    });
    cases.collect()
}

#[tokio::test]
async fn wild_replies_have_their_outcome() {
    for (file, case) in cases::<Case>(REPLIES) {
        let (answered, requests) = case.ask().await;
        let outcome = Expected::of(answered, requests, &case.expected);
        assert_eq!(outcome, case.expected, "{file}: {}", case.name);
    }
}

#[test]
fn wild_streams_decode_alike_however_cut() {
    for (file, case) in CASES.iter() {
        let bytes = case.body.as_bytes();
        let whole = case.decode([bytes]);
        assert_eq!(case.decode(bytes.chunks(1)), whole, "{file} byte by byte");
        for cut in 0..=bytes.len() {
            let (left, right) = bytes.split_at(cut);
            assert_eq!(case.decode([left, right]), whole, "{file} cut at {cut}");
        }
    }
}

/// Checks that a stream with other bytes or frames ends in a reply or in one sentence.
fn ends_well(case: &Case, bytes: &[u8]) -> Result<(), TestCaseError> {
    let whole = case.decode([bytes]);
    prop_assert!(!whole.0.contains('\n'), "{}: {}", case.name, whole.0);
    prop_assert_eq!(&case.decode(bytes.chunks(7)), &whole, "{}", case.name);
    Ok(())
}

/// The runs of each of the two campaigns, and their seed, so that a failure comes again.
fn campaign() -> ProptestConfig {
    ProptestConfig {
        cases: 5_000,
        rng_seed: RngSeed::Fixed(48),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(campaign())]

    /// The frames of a stream twice, in another order, or not at all.
    #[test]
    fn wild_streams_in_another_order_end_well(
        at in any::<Index>(),
        moves in vec((any::<Index>(), any::<Index>(), 0..3_u8), 1..4),
    ) {
        let case = &CASES[at.index(CASES.len())].1;
        let mut frames: Vec<&str> = case.body.split_inclusive('\n').collect();
        for (from, to, what) in moves {
            if frames.len() < 2 {
                break;
            }
            let (from, to) = (from.index(frames.len()), to.index(frames.len()));
            match what {
                0 => frames.swap(from, to),
                1 => frames.insert(to, frames[from]),
                _ => drop(frames.remove(from)),
            }
        }
        ends_well(case, frames.concat().as_bytes())?;
    }

    #[test]
    fn wild_streams_with_other_bytes_end_well(
        (at, bytes) in any::<Index>().prop_flat_map(|at| {
            let at = at.index(CASES.len());
            mutated(CASES[at].1.body.clone().into_bytes()).prop_map(move |bytes| (at, bytes))
        }),
    ) {
        ends_well(&CASES[at].1, &bytes)?;
    }
}

#[test]
fn wild_replies_cover_every_wire() {
    let mut counts: Map<String, Value> = Map::new();
    for (file, case) in cases::<Case>(REPLIES) {
        assert!(!case.source.is_empty() && !case.name.is_empty(), "{file}");
        let wire = case.wire.clone();
        assert!(
            file.starts_with(&format!("{wire}-")),
            "{file}: the name begins with `{wire}-`"
        );
        let count = counts.get(&wire).and_then(Value::as_u64).unwrap_or(0);
        counts.insert(wire, (count + 1).into());
    }
    for provider in Provider::ALL {
        let count = counts
            .get(provider.name())
            .and_then(Value::as_u64)
            .unwrap_or(0);
        assert!(count >= LEAST_CASES as u64, "{}: {count}", provider.name());
    }
}
