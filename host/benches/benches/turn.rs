//! Measures the cost of the loop per turn: a journal in memory, a model and a tool that return at
//! once. Prints the median and the 99th percentile of each kind of turn, with a new session and
//! with long ones, and fails if a median exceeds the bound. The figures are in host/BENCHMARKS.md.
//!
//! With a mode of `[flow]` and a number, runs as many turns of one call, whose tool is untrusted:
//! `valgrind --tool=callgrind BENCH observe 200` and `... 400` count their instructions.

use agent_host_benches::doubles;
use agent_host_engine::{
    BoxFuture,
    agents::{Agents, SubAgent},
    flow::FlowPolicy,
    journal::{Journal as _, MemoryJournal},
    model::{DeltaSink, Model},
    observer::Unobserved,
    policy::NameGlob,
    session::{Session, SessionStart},
    tool_set::ToolSet,
    turn::{Actors, Agent, ContinuationKey, Settings, StandardMode, TurnContext},
};
use agent_host_types::{
    budget::Budgets,
    context::ContextLimits,
    flow::FlowMode,
    id::{CallId, Digest, SessionId},
    message::Message,
    model::{ModelError, ModelReply, ModelRequest, Provenance, StopReason},
    tool::{Approval, DecisionKind, Effect, ToolCall},
    turn::{AgentInput, TurnEnd, TurnReport},
};
use serde_json::json;
use std::{
    future::ready,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// The bound on the median of a turn, with up to 1,000 messages of history.
const BOUND: Duration = Duration::from_millis(1);

/// The number of measured turns of each kind.
const TURNS: usize = 200;

/// A paragraph of the length of a typical message.
const WORDS: &str = "The quick brown fox jumps over the lazy dog, and no one knows why. ";

/// Calls the tool if the last message is `call`, starts the agent if it is `delegate`, and
/// otherwise replies with a paragraph.
struct Prompt;

impl Model for Prompt {
    fn provenance(&self) -> Provenance {
        Provenance {
            provider: "bench".into(),
            model: "m".into(),
        }
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let last = request.messages.last();
        let said = |text: &str| {
            last.is_some_and(|last| last.content == Message::text(last.role, text).content)
        };
        let mut reply = ModelReply {
            text: WORDS.repeat(4),
            stop_reason: Some(StopReason::EndTurn),
            ..ModelReply::default()
        };
        let call = match (said("call"), said("delegate")) {
            (true, _) => Some(("read", json!({"path": "notes.txt"}))),
            (_, true) => Some(("agent_helper", json!({"instructions": WORDS}))),
            _ => None,
        };
        if let Some((tool, arguments)) = call {
            reply.stop_reason = Some(StopReason::ToolUse);
            reply.tool_calls = vec![ToolCall::parse(
                CallId("c".into()),
                tool.into(),
                arguments.to_string(),
            )];
        }
        Box::pin(ready(Ok(reply)))
    }
}

/// A loop over one session.
struct Loop {
    agent: Agent,
    journal: Arc<MemoryJournal>,
    session: Session,
    cancel: CancellationToken,
}

impl Loop {
    fn new(context: Option<ContextLimits>) -> Self {
        let mut agent = Agent {
            model: Arc::new(Prompt),
            tools: Arc::new(ToolSet::from_iter([doubles::instant_tool(
                "read",
                WORDS,
                Effect::Effectful,
                json!({"type": "object", "properties": {"path": {"type": "string"}}}),
                &WORDS.repeat(4),
            )])),
            agents: None,
            hooks: Vec::new(),
            mode: Arc::new(StandardMode),
            workflow: None,
            program: None,
            key: ContinuationKey::new([0; 32]),
            settings: Settings {
                budgets: Budgets {
                    turns: u64::MAX,
                    ..Budgets::default()
                },
                context,
                ..Settings::default()
            },
        };
        let helper = SubAgent {
            name: "helper".into(),
            description: WORDS.into(),
            system: None,
            agent: agent.clone().into(),
            approval: Approval::Never,
            decisions: DecisionKind::ALL.into(),
            is_interactive: true,
            price: None,
            definition: Digest::of(b"helper"),
        };
        let agents = Agents::new(vec![helper], Arc::new(doubles::InMemory));
        agent.tools = Arc::new(ToolSet::clone(&agent.tools).behind(agents.tools()));
        agent.agents = Some(Arc::new(agents));
        let journal = Arc::new(MemoryJournal::new(SessionId::new()));
        Self {
            agent,
            session: Session::start(journal.clone(), SessionStart::default()),
            journal,
            cancel: CancellationToken::new(),
        }
    }

    async fn turn(&mut self, input: AgentInput) -> (Duration, TurnReport) {
        let cx = TurnContext {
            observer: &Unobserved,
            approvals: &[],
            cancel: &self.cancel,
            drain: &CancellationToken::new(),
            actors: Actors::default(),
        };
        let began = Instant::now();
        let outcome = self.agent.run_turn(&mut self.session, input, &cx).await;
        (began.elapsed(), outcome)
    }

    async fn say(&mut self, text: &str) -> (Duration, TurnReport) {
        self.turn(AgentInput::Text(text.into())).await
    }

    /// Adds `messages` messages, two at a time.
    async fn lengthen(&mut self, messages: usize) {
        for _ in 0..messages.div_ceil(2) {
            self.say(WORDS).await;
        }
    }
}

/// Returns the median and the 99th percentile.
fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    let at = |part: usize| times.get(times.len() * part / 100).copied();
    (at(50).unwrap(), at(99).unwrap())
}

/// Measures turns of text alone, with one effectful call, and with one agent, after `history`
/// messages, of which the model is shown all or the part that fits its window.
async fn measure(
    history: usize,
    context: Option<ContextLimits>,
) -> [(&'static str, Duration, Duration); 3] {
    let mut text_only = Loop::new(context);
    text_only.lengthen(history).await;
    let mut calling = Loop::new(context);
    calling.lengthen(history).await;
    let mut delegating = Loop::new(context);
    delegating.lengthen(history).await;
    let (mut texts, mut calls, mut agents) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let (took, outcome) = text_only.say("and then?").await;
        assert!(matches!(outcome.end, TurnEnd::Done { .. }));
        texts.push(took);
        let (took, outcome) = calling.say("call").await;
        assert!(matches!(outcome.end, TurnEnd::NeedsMoreTurns));
        calls.push(took);
        let (took, outcome) = delegating.say("delegate").await;
        assert!(matches!(outcome.end, TurnEnd::NeedsMoreTurns));
        agents.push(took);
    }
    let row = |name, times| {
        let (median, high) = percentiles(times);
        (name, median, high)
    };
    [
        row("text alone", texts),
        row("one call", calls),
        row("one agent", agents),
    ]
}

/// Runs turns of one call in a mode, and prints the size of their events.
async fn count(mode: FlowMode, turns: usize) {
    let mut calling = Loop::new(None);
    calling.agent.settings.flow = Arc::new(FlowPolicy {
        mode,
        untrusted: vec![NameGlob::new("tool:read").unwrap()],
        ..FlowPolicy::default()
    });
    for _ in 0..turns {
        calling.say("call").await;
    }
    calling.journal.barrier().await.unwrap();
    let (mut bytes, mut from) = (0, 0);
    loop {
        let records = calling.journal.records(from).await.unwrap();
        let Some(last) = records.last() else { break };
        from = last.seq + 1;
        let sizes = records
            .iter()
            .map(|it| serde_json::to_vec(&it.event).unwrap().len());
        bytes += sizes.sum::<usize>();
    }
    println!("{mode}: {turns} turns, {from} events, {bytes} bytes");
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, turns] = arguments.as_slice() {
        let mode = serde_json::from_value(json!(mode)).expect("a mode of [flow]");
        let turns = turns.parse().expect("a number of turns");
        return runtime.block_on(count(mode, turns));
    }
    println!("messages  turn                   median       99 %");
    // Warms the caches up; not counted.
    runtime.block_on(measure(0, None));
    let window = Some(ContextLimits::default());
    let runs = [(0, None), (1_000, None), (10_000, None), (10_000, window)];
    for (history, context) in runs {
        let shown = if context.is_some() { "in a window" } else { "" };
        for (name, median, high) in runtime.block_on(measure(history, context)) {
            println!("{history:>8}  {name:<10} {shown:<11}  {median:>10.1?}  {high:>10.1?}");
            let bounded = history <= 1_000 || context.is_some();
            assert!(
                !bounded || median < BOUND,
                "{name} after {history} messages: {median:?}"
            );
        }
    }
}
