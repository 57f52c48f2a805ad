//! Compaction: keeps a request within the model's window. Old results become references, then older
//! messages a summary. The events are recorded before the model is called, so that a resumed
//! session sends the same request.

use super::{Agent, TurnContext, hooks::Judged};
use crate::{
    context::{estimate, reference, summary},
    model::Model,
    observer::Live,
    session::Session,
};
use agent_host_types::{
    context::{CompactionStats, ContextLimits},
    event::Event,
    message::{Message, Role},
    model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, Provenance, StopReason, Usage},
    tool::Effect,
    turn::TurnError,
};
use std::time::Instant;

/// The outcome of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compaction {
    /// The request fits, or nothing can be made shorter.
    Unchanged,
    /// The conversation is shorter now.
    Changed,
    /// The turn was cancelled.
    Cancelled,
}

/// A summary of older messages.
struct Summary {
    text: String,
    usage: Usage,
    /// The model that made it.
    provenance: Provenance,
}

impl Agent {
    /// Returns the estimated size of the next request, in tokens.
    #[must_use]
    pub fn request_tokens(&self, session: &Session) -> u64 {
        self.tokens_without(session, 0)
    }

    /// Compacts the conversation if the next request exceeds the threshold.
    pub(super) async fn compact_if_needed(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<Compaction, TurnError> {
        let Some(limits) = self.settings.context else {
            return Ok(Compaction::Unchanged);
        };
        let size = self.request_tokens(session);
        if size <= limits.threshold() {
            return Ok(Compaction::Unchanged);
        }
        let compaction = self.compact(session, limits, cx).await?;
        if compaction == Compaction::Unchanged && limits.is_known && size > limits.window_tokens {
            return Err(self.too_long(session, None)?);
        }
        Ok(compaction)
    }

    /// Compacts the conversation after the model refused a request as too long.
    pub(super) async fn compact_after_refusal(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<Compaction, TurnError> {
        let Some(mut limits) = self.settings.context else {
            return Ok(Compaction::Unchanged);
        };
        limits.window_tokens = limits.window_tokens.min(self.request_tokens(session));
        self.compact(session, limits, cx).await
    }

    /// True if a request was refused as too long, or without a reason that is known while it was
    /// near the window: sizes are estimated, and some servers do not say why they refuse.
    pub(super) fn may_be_too_long(&self, session: &Session, kind: ModelErrorKind) -> bool {
        let is_near = |limits: ContextLimits| self.request_tokens(session) > limits.goal();
        match kind {
            ModelErrorKind::ContextWindow => true,
            ModelErrorKind::InvalidRequest => self.settings.context.is_some_and(is_near),
            _ => false,
        }
    }

    /// Returns the error of a conversation that does not fit; `refusal` is the model's error.
    pub(super) fn too_long(
        &self,
        session: &Session,
        refusal: Option<ModelError>,
    ) -> Result<TurnError, TurnError> {
        match (self.settings.context, refusal) {
            (None, Some(error)) => Ok(TurnError::Model { error }),
            (Some(_), Some(error)) if error.kind != ModelErrorKind::ContextWindow => {
                Ok(TurnError::Model { error })
            }
            (limits, refusal) => Ok(TurnError::ContextWindow {
                needed_tokens: self.request_tokens(session),
                window_tokens: limits.unwrap_or_default().window_tokens,
                largest: self.largest(session)?,
                said: refusal.map(|error| error.message),
            }),
        }
    }

    async fn compact(
        &self,
        session: &mut Session,
        limits: ContextLimits,
        cx: &TurnContext<'_>,
    ) -> Result<Compaction, TurnError> {
        let evicted = self.evict_results(session, limits, cx)?;
        if self.request_tokens(session) <= limits.goal() {
            return Ok(evicted);
        }
        match self.summarise(session, limits, cx).await? {
            Compaction::Unchanged => Ok(evicted),
            summarised => Ok(summarised),
        }
    }

    /// Replaces old results by references, if that saves enough.
    fn evict_results(
        &self,
        session: &mut Session,
        limits: ContextLimits,
        cx: &TurnContext<'_>,
    ) -> Result<Compaction, TurnError> {
        let before_tokens = self.request_tokens(session);
        let excess = before_tokens.saturating_sub(limits.goal());
        let messages = session.conversation()?;
        let found = reference::choose(&messages, limits.keep_results, excess, |tool| {
            self.tool(tool)
                .is_some_and(|tool| tool.effect == Effect::ReadOnly)
        });
        let saved: u64 = found.iter().map(|found| found.saves).sum();
        if found.is_empty() || saved < limits.allowance() {
            return Ok(Compaction::Unchanged);
        }
        let size = CompactionStats {
            before_tokens,
            after_tokens: self.tokens_without(session, saved),
        };
        let count = found.len();
        let found = found.into_iter().map(|found| (found.result, found.blob));
        let (results, blobs): (Vec<_>, Vec<_>) = found.unzip();
        let blobs = blobs.into_iter().flatten().collect();
        session.record(Event::ResultsReferenced { results, size }, blobs);
        cx.observer.live(Live::ResultsReferenced { count, size });
        Ok(Compaction::Changed)
    }

    /// Replaces the older messages by a summary of the model, if that saves enough.
    async fn summarise(
        &self,
        session: &mut Session,
        limits: ContextLimits,
        cx: &TurnContext<'_>,
    ) -> Result<Compaction, TurnError> {
        let available = limits.goal().saturating_sub(self.fixed_tokens(session));
        let messages = session.conversation()?;
        let Some(plan) = summary::plan(&messages, session.state().inputs(), available, limits)
        else {
            return Ok(Compaction::Unchanged);
        };
        let older = messages.get(..plan.messages).unwrap_or_default();
        let request = summary::request(older, limits.goal());
        session.barrier(cx.observer).await?;
        let began = Instant::now();
        let Some(summary) = self.summary(session, &request, cx).await? else {
            return Ok(Compaction::Cancelled);
        };
        let message = plan.message(&summary::bounded(&summary.text, limits));
        let saved = estimate::messages(older).saturating_sub(estimate::message(&message));
        let size = CompactionStats {
            before_tokens: self.request_tokens(session),
            after_tokens: self.tokens_without(session, saved),
        };
        session.record(
            Event::HistorySummarised {
                messages: plan.messages,
                message,
                provenance: summary.provenance,
                usage: summary.usage,
                duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
                size,
            },
            Vec::new(),
        );
        cx.observer.live(Live::HistorySummarised {
            messages: plan.messages,
            size,
        });
        Ok(Compaction::Changed)
    }

    /// Returns the summary of the small model, if there is one and the conversation fits into it, or
    /// else of the model; `None` if the turn was cancelled.
    async fn summary(
        &self,
        session: &Session,
        request: &ModelRequest,
        cx: &TurnContext<'_>,
    ) -> Result<Option<Summary>, TurnError> {
        if let Some(small) = self.model.small()
            && let Ok(summary) = self.ask_summary(small.as_ref(), session, request, cx).await
        {
            return Ok(summary);
        }
        self.ask_summary(self.model.as_ref(), session, request, cx)
            .await
    }

    async fn ask_summary(
        &self,
        model: &dyn Model,
        session: &Session,
        request: &ModelRequest,
        cx: &TurnContext<'_>,
    ) -> Result<Option<Summary>, TurnError> {
        cx.observer.live(Live::ModelAsked);
        let asked = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Ok(None),
            // The deltas of a summary are not shown: it is no answer.
            asked = self.ask_model(model, request, &|_| {}) => asked,
        };
        let Judged {
            reply,
            discarded: mut usage,
            verdicts: _,
        } = match asked {
            Err(TurnError::Model { error }) if error.kind == ModelErrorKind::ContextWindow => {
                return Err(self.too_long(session, Some(error))?);
            }
            asked => asked?,
        };
        usage += reply.usage;
        let ModelReply {
            text,
            stop_reason,
            provenance,
            ..
        } = reply;
        if text.trim().is_empty() || stop_reason == Some(StopReason::Refusal) {
            let message = "The conversation nearly fills the model's context window, and the model did not summarise \
                it. Use another model or one with a larger window, or start a new session.";
            return Err(ModelError::new(ModelErrorKind::Protocol, message).into());
        }
        Ok(Some(Summary {
            text,
            usage,
            provenance: provenance.unwrap_or_else(|| model.provenance()),
        }))
    }

    /// Returns the size of the next request without `saved` tokens of the conversation.
    fn tokens_without(&self, session: &Session, saved: u64) -> u64 {
        let fixed = || self.fixed_tokens(session);
        session.state().context_tokens(saved, fixed)
    }

    /// Returns the size of a request without the conversation.
    fn fixed_tokens(&self, session: &Session) -> u64 {
        let system = self.system(session);
        estimate::text(system.as_deref().unwrap_or_default())
            + estimate::tools(self.offered(session))
    }

    /// Describes the largest part of the next request.
    fn largest(&self, session: &Session) -> Result<String, TurnError> {
        let system = self.system(session);
        let mut largest = (
            estimate::text(system.as_deref().unwrap_or_default()),
            "the system prompt".to_owned(),
        );
        let mut see = |tokens: u64, what: &dyn Fn() -> String| {
            if tokens > largest.0 {
                largest = (tokens, what());
            }
        };
        see(estimate::tools(self.offered(session)), &|| {
            let tools = self.offered(session).count();
            format!("the definitions of the {tools} tools")
        });
        for message in &session.conversation()? {
            for result in &message.tool_results {
                see(estimate::result(result), &|| {
                    format!("the result of call {} of `{}`", result.call_id, result.name)
                });
            }
            if message.tool_results.is_empty() {
                see(estimate::message(message), &|| {
                    role_name(message).to_owned()
                });
            }
        }
        let (tokens, what) = largest;
        Ok(format!("{what} with about {tokens} tokens"))
    }
}

/// Names a message by its role.
fn role_name(message: &Message) -> &'static str {
    match message.role {
        Role::System => "a message from the operator",
        Role::User => "a message from the user",
        Role::Assistant => "a message from the model",
        Role::ToolResult => "the results of tools",
    }
}
