//! The model step: one request, one reply, validated for the session.

use super::{
    Agent, Step, StepOutput, StepResult, Transition, TurnContext,
    compaction::Compaction,
    hooks::{Judged, decided},
};
use crate::{
    flow::reference::PROMPT,
    model::{ModelDelta, traced as traced_request},
    observer::{Live, Traced},
    session::{Session, SessionState},
};
use agent_host_types::{
    event::Event,
    id::CallId,
    json,
    message::{Message, Role},
    model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, StopReason, Usage},
    output::{Blob, ContentPart},
    tool::ToolDefinition,
    turn::{Durability, TurnEnd, TurnError},
};
use std::{collections::HashSet, sync::Arc, time::Instant};

/// The messages from which on the input is made durable, and its sender told so, before the request
/// is made: a request of that many takes longer than the write.
const LONG_CONVERSATION: usize = 1_024;

impl Agent {
    pub(super) async fn call_model(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<StepResult, TurnError> {
        if cx.cancel.is_cancelled() {
            return Ok(StepResult::end(TurnEnd::Cancelled));
        }
        match self.compact_if_needed(session, cx).await? {
            Compaction::Unchanged => {}
            // A summary counts towards the budgets.
            Compaction::Changed => return Ok(StepResult::go(Step::CheckBudgets)),
            Compaction::Cancelled => return Ok(StepResult::end(TurnEnd::Cancelled)),
        }
        let replied = match self.ask_fitting(session, cx).await? {
            AskedModel::Replied(replied) => replied,
            AskedModel::TooLong(error) => return Err(self.too_long(session, Some(error))?),
            AskedModel::Cancelled => return Ok(StepResult::end(TurnEnd::Cancelled)),
        };
        let Replied {
            judged,
            duration_ms,
        } = *replied;
        let Judged {
            reply,
            discarded,
            verdicts,
        } = judged;
        let mut reply = normalized(reply, session.state())?;
        for call in &mut reply.tool_calls {
            let input = call.input.take();
            call.input = input.map(|input| {
                let input = Arc::unwrap_or_clone(input);
                Arc::new(self.with_integers(&call.name, input))
            });
        }
        let event = Event::ModelReplied {
            turn: session.state().turns(),
            reply: reply.clone(),
            discarded,
            duration_ms,
            tape: None,
        };
        let events = decided(verdicts, None).chain([event]).collect();
        session.record_all(events, Vec::new());
        if self.settings.durability == Durability::Strict {
            session.barrier(cx.observer).await?;
        }
        let transition = if reply.tool_calls.is_empty() {
            Transition::end(self.replied(session)?)
        } else {
            Transition::to(self.before_approval())
        };
        Ok(StepResult {
            output: StepOutput::Llm(reply),
            transition,
        })
    }

    /// Calls the model. If the request is too long, or leaves no space for the reply, compacts the
    /// conversation and calls it once more.
    async fn ask_fitting(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<AskedModel, TurnError> {
        let first = self.ask(session, cx).await?;
        let mut spent = Usage::default();
        let mut was_shown = false;
        match &first {
            AskedModel::TooLong(_) => {}
            AskedModel::Replied(replied)
                if replied.judged.reply.stop_reason == Some(StopReason::ContextWindow) =>
            {
                spent += replied.judged.reply.usage;
                spent += replied.judged.discarded;
                was_shown = true;
            }
            AskedModel::Replied(_) | AskedModel::Cancelled => return Ok(first),
        }
        match self.compact_after_refusal(session, cx).await? {
            Compaction::Unchanged => return Ok(first),
            Compaction::Changed => {}
            Compaction::Cancelled => return Ok(AskedModel::Cancelled),
        }
        if was_shown {
            cx.observer.live(Live::Delta(ModelDelta::Restarted));
        }
        let mut again = self.ask(session, cx).await?;
        if let AskedModel::Replied(replied) = &mut again {
            replied.judged.discarded += spent;
        }
        Ok(again)
    }

    /// Returns the definitions that the model is offered.
    pub(in crate::turn) fn offered<'a>(
        &'a self,
        session: &'a Session,
    ) -> impl Iterator<Item = &'a ToolDefinition> {
        let found = session.state().found_tools();
        let ends = self.settings.until_tool.iter().flat_map(|it| &it.tools);
        let tools = self.tools.tools().map(|tool| tool.definition.as_ref());
        tools.filter(move |tool| {
            self.tools.is_offered(&tool.name, found) || ends.clone().any(|name| *name == tool.name)
        })
    }

    /// Sends one request.
    async fn ask(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<AskedModel, TurnError> {
        if session.state().message_count() > LONG_CONVERSATION && session.undurable() > 0 {
            session.barrier(cx.observer).await?;
            // The task that was told waits for this thread.
            tokio::task::yield_now().await;
        }
        let mut request = ModelRequest {
            system: self.system(session),
            messages: without_empty_replies(session.conversation()?),
            tools: self.offered_definitions(session),
            answer_schema: self
                .settings
                .output_schema
                .as_ref()
                .map(|schema| schema.schema().clone()),
        };
        for hook in &self.hooks {
            hook.prepare_request(session, &mut request);
        }
        let system = request
            .system
            .as_deref()
            .map(|text| Blob::new(text.as_bytes().to_vec()));
        let request_digest = request.digest().map_err(|error| TurnError::Journal {
            message: format!("cannot encode the request to the model as JSON: {error}"),
        })?;
        session.hydrate_all(&mut request.messages).await?;
        let event = Event::ModelRequested {
            turn: session.state().turns() + 1,
            provenance: self.model.provenance(),
            messages: request.messages.len(),
            tools: request.tools.len(),
            request_digest,
            system: system.as_ref().map(Blob::reference),
            estimated_tokens: self.request_tokens(session),
        };
        let traced = Traced::Request(session.next_seq());
        // Stores each distinct prompt once.
        let blobs = system.filter(|blob| session.state().system_blob != Some(blob.digest));
        session.record(event, blobs.into_iter().collect());
        session.barrier(cx.observer).await?;
        cx.observer.live(Live::ModelAsked);
        let traceparent = cx.observer.traceparent(session.id(), traced);
        let began = Instant::now();
        let deltas = |delta: ModelDelta<'_>| cx.observer.live(Live::Delta(delta));
        let asked = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Ok(AskedModel::Cancelled),
            asked = traced_request(traceparent, self.ask_model(self.model.as_ref(), &request, &deltas)) => asked,
        };
        match asked {
            Ok(judged) => Ok(AskedModel::Replied(Box::new(Replied {
                judged,
                duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            }))),
            Err(TurnError::Model { error }) if self.may_be_too_long(session, error.kind) => {
                Ok(AskedModel::TooLong(error))
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns a conversation without the empty replies in it, which providers refuse; a last one is
/// what the model continues from.
fn without_empty_replies(mut messages: Vec<Message>) -> Vec<Message> {
    let last = messages.len().saturating_sub(1);
    let mut position = 0..;
    messages.retain(|message| {
        let is_last = position.next() == Some(last);
        let is_blank = |part: &ContentPart| part.text().is_some_and(|text| text.trim().is_empty());
        let is_empty = message.role == Role::Assistant
            && message.tool_calls.is_empty()
            && message.content.iter().all(is_blank);
        is_last || !is_empty
    });
    messages
}

/// The outcome of a request.
enum AskedModel {
    Replied(Box<Replied>),
    /// The request exceeds the model's window, or may do so.
    TooLong(ModelError),
    /// The turn was cancelled.
    Cancelled,
}

/// A reply with its cost.
struct Replied {
    judged: Judged,
    duration_ms: u64,
}

/// Normalises a reply, so that the journal can be parsed again.
///
/// Calls run only if the model stopped for them: a reply that was cut off may contain half a call.
/// Ids are made unique in the session, since some servers count from zero in every reply.
fn normalized(mut reply: ModelReply, state: &SessionState) -> Result<ModelReply, TurnError> {
    if json::is_object_too_deep(&reply.metadata) {
        let message = format!(
            "the model's reply nests more than {} levels deep; try again, or use another model",
            json::MAX_DEPTH
        );
        return Err(ModelError::new(ModelErrorKind::Protocol, message).into());
    }
    // Nothing depends on it, so it is dropped rather than the reply.
    reply.raw = reply.raw.filter(|raw| !json::is_too_deep(raw));
    if !matches!(
        reply.stop_reason,
        None | Some(StopReason::ToolUse | StopReason::Unknown)
    ) {
        reply.tool_calls.clear();
    }
    if reply.is_empty() && reply.stop_reason == Some(StopReason::MaxTokens) {
        return Err(ModelError::new(ModelErrorKind::Protocol, NO_SPACE_FOR_TEXT).into());
    }
    let mut seen = HashSet::new();
    for call in &mut reply.tool_calls {
        call.input = call
            .input
            .take()
            .filter(|input| !json::is_object_too_deep(input));
        let taken = |id: &CallId| id.0.is_empty() || state.knows_call(id) || seen.contains(id);
        if taken(&call.id) {
            let stem = if call.id.0.is_empty() {
                "call".to_owned()
            } else {
                call.id.0.clone()
            };
            call.id = (2_u64..)
                .map(|n| CallId(format!("{stem}-{n}")))
                .find(|id| !taken(id))
                .unwrap_or_else(|| call.id.clone());
        }
        seen.insert(call.id.clone());
    }
    Ok(reply)
}

/// The error of a reply that reached its limit of tokens without any text.
const NO_SPACE_FOR_TEXT: &str = "the model reached its token limit for one reply before writing any text; raise the \
    limit, or ask for less";

/// The message to a model whose reply is empty. Models end a turn so after the results of tools;
/// the same request would get the same reply.
/// (<https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons>)
const EMPTY_REPLY: &str = "Your last reply was empty. If the task is done, tell the user the outcome; otherwise continue with it.";

impl Agent {
    /// Returns how the turn ends after a recorded reply without calls.
    pub(super) fn replied(&self, session: &mut Session) -> Result<TurnEnd, TurnError> {
        let text = session.state().last_assistant_text().to_owned();
        let may_nudge = text.trim().is_empty() && session.state().spent().repairs == 0;
        match (
            session.state().turn_stats.stop_reason,
            &self.settings.until_tool,
        ) {
            (Some(StopReason::Refusal), _) => Ok(TurnEnd::Refusal { text }),
            (Some(StopReason::PauseTurn), _) => Ok(TurnEnd::NeedsMoreTurns),
            _ if may_nudge && self.settings.output_schema.is_none() => {
                let message = EMPTY_REPLY.to_owned();
                session.record(Event::RepairRequested { message }, Vec::new());
                Ok(TurnEnd::NeedsMoreTurns)
            }
            (_, Some(until)) => Err(TurnError::UntilToolNotCalled {
                tools: until.tools.clone(),
            }),
            (_, None) => self.fitting_answer(session, text),
        }
    }

    /// Checks the answer against the schema; the first that does not fit is sent back to the model
    /// with the reason.
    fn fitting_answer(&self, session: &mut Session, text: String) -> Result<TurnEnd, TurnError> {
        let output = match &self.settings.output_schema {
            None => None,
            Some(schema) => match schema.parse(&text) {
                Ok(value) => Some(value),
                Err(message) if session.state().spent().repairs == 0 => {
                    let message = format!(
                        "Your answer does not fit the JSON Schema that was asked for: {message}. Answer again with the JSON value alone."
                    );
                    session.record(Event::RepairRequested { message }, Vec::new());
                    return Ok(TurnEnd::NeedsMoreTurns);
                }
                Err(error) => {
                    let message = error.into();
                    return Err(TurnError::InvalidAnswer { message });
                }
            },
        };
        Ok(TurnEnd::Done {
            text,
            output,
            result: None,
        })
    }

    /// Returns the system prompt, with the schema of the answer if there is one.
    pub(super) fn system(&self, session: &Session) -> Option<String> {
        let schema = self.settings.output_schema.as_ref().map(|schema| {
            format!(
                "Your final answer must be one JSON value that fits this JSON Schema, and nothing else:\n{}",
                schema.schema()
            )
        });
        let own = session.state().system().map(str::to_owned);
        let added = self.hooks.iter().filter_map(|hook| hook.prompt(session));
        let flow = self.quarantines().then(|| PROMPT.to_owned());
        let parts = own.into_iter().chain(flow).chain(added).chain(schema);
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }
}
