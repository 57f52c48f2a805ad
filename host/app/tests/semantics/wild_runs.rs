//! A campaign over runs: the loop asks a server of each wire format over HTTP, and one reply of a run
//! is damaged by a seed. `PROPTEST_CASES=10000` makes it the long one.

use super::{components::look, world::*};
use agent_host_models::{Endpoint, HttpModel, Provider, RequestExtras, RetryPolicy, Timeouts};
use agent_host_test_support::vendor::{
    Ending, Said, SaidCall, Vendor, VendorReply, frames, media_type,
};
use agent_host_types::{
    model::StopReason,
    turn::{TurnEnd, TurnReport},
};
use pretty_assertions::assert_eq;
use proptest::{
    collection::vec,
    prelude::*,
    sample::Index,
    strategy::ValueTree as _,
    test_runner::{RngSeed, TestRunner},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

/// The answer at the end of a run.
const ANSWER: &str = "It is 42, as it always was.";

/// The requests again after one that fails.
const RETRIES: u32 = 3;

/// The model calls of one run.
const TURNS: u64 = 6;

/// The parts of a request that only one with results has.
const RESULTS: [&str; 4] = [
    "tool_result",
    "function_call_output",
    "functionResponse",
    "\"tool\"",
];

/// The damage to one reply of a run.
#[derive(Clone, Debug)]
enum Change {
    /// It comes in pieces of this length in bytes, which may hold several frames or parts of one.
    Pieces(usize),
    /// It ends early, as if it were whole or with a broken connection.
    Cut(Index, bool),
    /// Frames change their places, come twice or not at all.
    Frames(Vec<(Index, Index, u8)>),
    /// Some bytes are others.
    Bytes(Vec<(Index, u8)>),
    /// The service answers with this status.
    Status(u16),
}

/// A run of the campaign.
#[derive(Clone, Debug)]
struct Plan {
    /// The index of the wire format.
    wire: usize,
    /// True to change the reply after the results, false for the one before.
    is_second: bool,
    /// True to change the reply to each attempt, false for the first alone.
    is_lasting: bool,
    change: Change,
}

/// The plan of the present run, for its server.
type Present = Arc<Mutex<Option<Plan>>>;

impl Change {
    fn any() -> impl Strategy<Value = Self> {
        let place = any::<Index>;
        prop_oneof![
            3 => (1..4_usize).prop_map(Self::Pieces),
            1 => (4..200_usize).prop_map(Self::Pieces),
            4 => (place(), any::<bool>()).prop_map(|(at, ends)| Self::Cut(at, ends)),
            4 => vec((place(), place(), 0..3_u8), 1..4).prop_map(Self::Frames),
            4 => vec((place(), any::<u8>()), 1..5).prop_map(Self::Bytes),
            1 => prop_oneof![Just(408), Just(429), Just(500), Just(503), Just(529)]
                .prop_map(Self::Status),
        ]
    }

    /// Returns the changed answer.
    fn apply(&self, wire: &str, said: &Said) -> VendorReply {
        let mut frames = frames(wire, said);
        let mut reply = VendorReply::stream(wire, said);
        let whole = frames.concat().into_bytes();
        reply.pieces = match self {
            Self::Pieces(length) => whole.chunks(*length).map(<[u8]>::to_vec).collect(),
            Self::Cut(at, is_whole) => {
                if !is_whole {
                    reply.ending = Ending::Cut;
                }
                vec![whole[..at.index(whole.len())].to_vec()]
            }
            Self::Frames(moves) => {
                for (from, to, what) in moves {
                    if frames.is_empty() {
                        break;
                    }
                    let (from, to) = (from.index(frames.len()), to.index(frames.len()));
                    match what {
                        0 => frames.swap(from, to),
                        1 => frames.insert(to, frames[from].clone()),
                        _ => drop(frames.remove(from)),
                    }
                }
                frames.into_iter().map(String::into_bytes).collect()
            }
            Self::Bytes(changes) => {
                let mut bytes = whole;
                for (at, byte) in changes {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
                vec![bytes]
            }
            Self::Status(status) => return VendorReply::error(*status, "not now"),
        };
        assert_eq!(reply.media_type, media_type(wire));
        reply
    }
}

impl Plan {
    fn any() -> impl Strategy<Value = Self> {
        (
            0..Provider::ALL.len(),
            any::<bool>(),
            any::<bool>(),
            Change::any(),
        )
            .prop_map(|(wire, is_second, is_lasting, change)| Self {
                wire,
                is_second,
                is_lasting,
                change,
            })
    }

    /// True if the run has to end in the answer: the change is one of the transport, or a retry
    /// finds the reply whole.
    fn is_harmless(&self) -> bool {
        match self.change {
            Change::Pieces(_) => true,
            Change::Cut(..) | Change::Status(_) => !self.is_lasting,
            Change::Frames(_) | Change::Bytes(_) => false,
        }
    }

    /// Checks the end of a run and its requests. Returns the end in a word.
    fn check(&self, report: &TurnReport, requests: &[String]) -> &'static str {
        let mut counts: HashMap<&str, u32> = HashMap::new();
        for request in requests {
            *counts.entry(request).or_default() += 1;
        }
        let most = counts.values().copied().max().unwrap_or(0);
        assert!(most <= RETRIES + 1, "{most} times the same: {self:?}");
        let (word, sentence) = match &report.end {
            TurnEnd::Done { text, .. } if text == ANSWER && requests.len() == 2 => {
                ("the answer", text.clone())
            }
            TurnEnd::Done { text, .. } if text == ANSWER => ("the answer after more", text.clone()),
            TurnEnd::Done { text, .. } => ("another answer", text.clone()),
            TurnEnd::Error { error } => ("an error", error.to_string()),
            TurnEnd::BudgetExceeded { .. } => ("a budget", "a budget".to_owned()),
            other => panic!("{other:?}: {self:?}"),
        };
        // A body that ends between two frames may be whole at servers that name no reason.
        let is_unnamed = matches!(self.change, Change::Cut(_, true))
            && report.summary.stop_reason == Some(StopReason::Unknown);
        assert!(
            !self.is_harmless() || is_unnamed || word.starts_with("the answer"),
            "{sentence}: {self:?}"
        );
        let is_shown = |character: char| !character.is_control();
        if word == "an error" {
            let is_sentence = !sentence.is_empty() && sentence.chars().all(is_shown);
            assert!(is_sentence, "{sentence:?}: {self:?}");
        }
        word
    }
}

/// Answers with a call, and after its result with the answer, but for the change of the plan.
fn answer(wire: &'static str, present: &Present) -> impl FnMut(&Value) -> VendorReply + use<> {
    let present = Arc::clone(present);
    move |body| {
        let has_results = RESULTS.iter().any(|part| body.to_string().contains(part));
        let mut said = Said {
            text: ANSWER.to_owned(),
            ..Said::default()
        };
        if !has_results {
            "I look.".clone_into(&mut said.text);
            said.calls.push(SaidCall {
                id: "call_aaaa".to_owned(),
                name: "look".to_owned(),
                input: json!({ "n": 42 }),
            });
        }
        let mut plan = present.lock().unwrap();
        match plan.clone() {
            Some(found) if found.is_second == has_results => {
                if !found.is_lasting {
                    *plan = None;
                }
                found.change.apply(wire, &said)
            }
            _ => VendorReply::stream(wire, &said),
        }
    }
}

/// A model of this server that waits for nothing before it asks again.
fn model(provider: Provider, url: &str) -> HttpModel {
    let endpoint = Endpoint {
        base_url: url.to_owned(),
        key: Some("sesame".into()),
        key_source: "THE_KEY".to_owned(),
        extras: RequestExtras::default(),
        timeouts: Timeouts::default(),
    };
    let model = HttpModel::new(provider, "m", endpoint, provider.capabilities()).unwrap();
    model.with_retry(RetryPolicy {
        retries: RETRIES,
        first_wait: Duration::ZERO,
        longest_wait: Duration::ZERO,
        total_wait: Duration::from_secs(60),
    })
}

#[tokio::test]
async fn wild_runs_end_in_an_answer_or_a_sentence() {
    let present = Present::default();
    let servers = Provider::ALL.map(|provider| {
        let wire = provider.name();
        let server = Vendor::start(wire, wire, answer(wire, &present), || ());
        let model = Arc::new(model(provider, &server.base_url));
        (server, model)
    });
    let mut world = World::with(&[look()], Vec::new(), Vec::new()).await;
    world.agent.settings.budgets.turns = TURNS;
    let config = ProptestConfig {
        rng_seed: RngSeed::Fixed(48),
        ..ProptestConfig::default()
    };
    let runs = config.cases;
    let mut seeds = TestRunner::new(config);
    let mut ends: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..runs {
        let plan = Plan::any().new_tree(&mut seeds).unwrap().current();
        let (server, model) = &servers[plan.wire];
        *present.lock().unwrap() = Some(plan.clone());
        world.agent.model = model.clone();
        world.start_session().await;
        let mut report = world.say("go").await;
        while matches!(report.end, TurnEnd::NeedsMoreTurns) {
            report = world.resume().await;
        }
        let mut requests = Vec::new();
        for asked in server.take_asked() {
            assert_eq!(asked.refusal, None, "{plan:?}: {:#}", asked.body);
            requests.push(asked.body.to_string());
        }
        *ends.entry(plan.check(&report, &requests)).or_default() += 1;
    }
    println!("{runs} runs: {ends:?}");
    for end in ["the answer", "the answer after more", "an error"] {
        assert!(ends.contains_key(end), "no run ends in {end}: {ends:?}");
    }
}
