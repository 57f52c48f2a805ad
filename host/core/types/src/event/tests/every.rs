//! Every kind of event, with every field set.

use super::super::*;
use super::values::*;
use crate::{
    approval::{Remember, RememberWhat},
    facts::WindowTally,
    flow::LabelledFile,
    hook::{HookPoint, ReviewEnd, VerdictKind},
    message::Role,
    model::StopReason,
    tool::ToolCall,
};
use serde_json::json;

pub(crate) fn workflow_events() -> Vec<Event> {
    vec![
        Event::WorkflowStarted {
            workflow: "report".into(),
            run: 1,
            definition: blob(),
        },
        Event::NodeIntended {
            call_id: id(),
            node: "write".into(),
            iteration: Some(1),
            attempt: 2,
            tool: "write_file".into(),
            input: Some(map().into()),
            input_digest: Digest::of(b"{}"),
            effect: Effect::Idempotent,
            rule: Some("effect.idempotent".into()),
        },
        Event::NodeSettled {
            call_id: id(),
            node: "write".into(),
            iteration: Some(1),
            tool: "write_file".into(),
            output: NodeOutput {
                error: Some(node_failure()),
                metadata: map(),
                ..NodeOutput::of_result(
                    "write",
                    Some("writer"),
                    ToolResultOutput::Text("no".into()),
                )
            },
            whole: Some(blob()),
            child: Some(child()),
            accounting: accounting(),
            audit: audit(),
            rule: Some("rule.no".into()),
            labels: vec!["http:example.com".into()],
        },
        Event::NodeRetried {
            call_id: id(),
            node: "write".into(),
            iteration: Some(1),
            attempt: 1,
            failure: node_failure(),
            child: Some(child()),
            accounting: accounting(),
            audit: audit(),
        },
        Event::NodeSkipped {
            node: "send".into(),
        },
        Event::WorkflowEnded {
            summary: workflow_summary(),
        },
    ]
}

pub(crate) fn conversation_events() -> Vec<Event> {
    let reply = ModelReply {
        text: "I look.".into(),
        reasoning: String::new(),
        tool_calls: vec![ToolCall::parse(id(), "look".into(), "{}".into())],
        stop_reason: Some(StopReason::ToolUse),
        usage: usage(),
        response_id: Some("resp_1".into()),
        metadata: map(),
        provenance: Some(provenance()),
        raw: Some(json!({"id": "resp_1"})),
    };
    vec![
        Event::SessionStarted {
            program: "0.1.0".into(),
            system: Some("Be brief.".into()),
            directory: Some("/home/ann".into()),
            client: Some("notes 2.1".into()),
            parent: Some(ParentCall {
                session: session(),
                call_id: id(),
            }),
            labels: vec!["history".into()],
        },
        Event::SessionForked {
            from: session(),
            at: 7,
            by: Some("ann".into()),
        },
        Event::RunConfigured {
            arguments: RunArguments {
                directory: Some("/home/ann".into()),
                config: Some("/home/ann/other.toml".into()),
                model: Some("openai:gpt-5".into()),
                effort: Some("high".into()),
                agent: Some("writer".into()),
                tools: vec!["mine.wasm".into()],
                grants: vec!["dir:/data".into(), "env:TOKEN=".into()],
                write: true,
                trust: true,
                allow: vec!["write_file(src/**)".into()],
                deny: vec!["delete_*".into()],
                runs_tools_outside: true,
            },
        },
        Event::RunPlaced {
            machine: "build-7".into(),
            configuration: BTreeMap::from([("rules".into(), Digest::of(b"rules"))]),
        },
        Event::LoopConfigured {
            setup: blob(),
            approvals: vec![rule()],
        },
        Event::InputReceived {
            message: Message::text(Role::User, "hi"),
            labels: vec!["webhook:issues".into()],
            by: Some("ann".into()),
        },
        Event::SenderNamed {
            input: SentInput::Results,
            by: "ann".into(),
        },
        Event::KeyTaken {
            key: "k".into(),
            input: Digest::of(b"input"),
        },
        Event::ModelRequested {
            turn: 1,
            provenance: provenance(),
            messages: 1,
            tools: 3,
            request_digest: Digest::of(b"request"),
            system: Some(blob()),
            estimated_tokens: 9,
        },
        Event::TurnInterrupted { lost_tokens: 9 },
        Event::ResultsReferenced {
            results: vec![ReferencedResult {
                call_id: id(),
                tool: "look".into(),
                output: ToolResultOutput::Text("[a reference]".into()),
                blob: blob(),
            }],
            size: CompactionStats {
                before_tokens: 2,
                after_tokens: 1,
            },
        },
        Event::HistorySummarised {
            messages: 1,
            message: Message::text(Role::User, "In short: nothing."),
            provenance: provenance(),
            usage: usage(),
            duration_ms: 4,
            size: CompactionStats::default(),
        },
        Event::ModelReplied {
            turn: 1,
            reply,
            discarded: usage(),
            duration_ms: 12,
            tape: Some("tape.jsonl#3".into()),
        },
        Event::RepairRequested {
            message: "again".into(),
        },
        Event::ProgramCalled {
            calls: vec![ToolCall::parse(
                id(),
                "write_file".into(),
                r#"{"path":"a"}"#.into(),
            )],
        },
        Event::ProgramEnded {
            output: ToolResultOutput::Text("done".into()),
            whole: Some(blob()),
            accounting: accounting(),
            audit: audit(),
        },
    ]
}

pub(super) fn verdict(point: HookPoint, verdict: VerdictKind) -> HookVerdict {
    HookVerdict {
        hook: "guard".into(),
        point,
        verdict,
        reason: Some("no".into()),
    }
}

pub(crate) fn call_events() -> Vec<Event> {
    vec![
        Event::CallReceived {
            call_id: id(),
            tool: "write_file".into(),
            input: map().into(),
        },
        Event::CallReviewed {
            call_id: id(),
            tool: "write_file".into(),
            input_digest: Digest::of(b"{}"),
            review: CallReview {
                verdicts: vec![verdict(HookPoint::BeforeTool, VerdictKind::Fallback)],
                input: Some(map().into()),
                end: ReviewEnd::Fallback {
                    hook: "guard".into(),
                    output: ToolResultOutput::Text("none".into()),
                },
            },
        },
        Event::FactsRead {
            call_id: id(),
            facts: CallFacts {
                at_ms: 1_000,
                caller: "ann".into(),
                windows: vec![WindowTally {
                    window_ms: 60_000,
                    count: 2,
                    sums: BTreeMap::from([
                        ("/amount".into(), Some(serde_json::Number::from(3))),
                        ("/fee".into(), None),
                    ]),
                }],
            },
        },
        Event::HookDecided {
            call_id: Some(id()),
            verdict: verdict(HookPoint::AfterTool, VerdictKind::Block),
        },
        Event::CallIntended {
            call_id: id(),
            tool: "write_file".into(),
            input: map().into(),
            input_digest: Digest::of(b"{}"),
            effect: Effect::Effectful,
            idempotency_key: "key".into(),
            rule: Some("effect.effectful".into()),
            path: vec![CallId("call_0".into())],
        },
        Event::CallsDispatched {
            request: "r".into(),
            turn: 1,
            calls: vec![pending()],
        },
        Event::AgentSpawned {
            call_id: id(),
            session: session(),
            agent: "researcher".into(),
            definition: Digest::of(b"definition"),
        },
        Event::ChildrenWaiting {
            request: "r".into(),
            turn: 1,
            children: vec![waiting_child()],
        },
        Event::CallSettled {
            call_id: id(),
            tool: "write_file".into(),
            output: ToolResultOutput::ExecutionDenied(Some("no".into())),
            accounting: accounting(),
            audit: audit(),
            rule: Some("effect.effectful".into()),
            path: vec![CallId("call_0".into())],
            child: Some(child()),
            labels: vec!["http:example.com".into()],
            reference: Some("@r1".into()),
            tape: Some("tape.jsonl#4".into()),
            whole: Some(blob()),
        },
        Event::FilesLabelled {
            call_id: id(),
            files: vec![LabelledFile {
                path: "/workspace/notes.txt".into(),
                sources: vec!["http:example.com".into()],
            }],
        },
        Event::StateMerged {
            call_id: id(),
            delta: map(),
            labels: vec!["http:example.com".into()],
        },
        Event::ArtifactStored {
            call_id: Some(id()),
            tool: Some("plot".into()),
            name: "plots/one.png".parse().unwrap(),
            media_type: "image/png".into(),
            blob: blob(),
        },
        Event::ArtifactDeleted {
            call_id: Some(id()),
            name: "plots/one.png".parse().unwrap(),
        },
        Event::FilesRestored {
            paths: vec!["/workspace/a.md".into()],
            by: Some("ann".into()),
        },
        Event::RunHalted {
            call_id: id(),
            message: "enough".into(),
        },
        Event::ContextSet {
            context: map().try_into().unwrap(),
        },
    ]
}

pub(crate) fn user_events() -> Vec<Event> {
    let remember = Remember {
        what: RememberWhat::Arguments,
        scope: RememberScope::Session,
    };
    let decisions = vec![
        Decision::Approve {
            call_id: id(),
            remember: Some(remember),
        },
        Decision::Edit {
            call_id: id(),
            input: map().into(),
        },
        Decision::Reject {
            call_id: id(),
            reason: Some("no".into()),
        },
        Decision::Respond {
            call_id: id(),
            text: "42".into(),
        },
    ];
    vec![
        Event::ApprovalRequested {
            request: "r".into(),
            turn: 1,
            index: 0,
            calls: vec![pending()],
            expires_at_ms: Some(7),
        },
        Event::DecisionRecorded {
            request: "r".into(),
            decisions,
            by: Some(EXPIRY.into()),
        },
        Event::ApprovalRemembered {
            rule: rule(),
            scope: RememberScope::Project,
        },
        Event::ApprovalRevoked { rule: rule() },
        Event::QuestionAsked {
            request: "r".into(),
            turn: 1,
            call_id: id(),
            tool: "ask".into(),
            question: question(),
            answered_by: AnsweredBy::Rerun,
            accounting: accounting(),
            audit: audit(),
        },
        Event::AnswerReceived {
            request: "r".into(),
            call_id: id(),
            answer: Answer::Choice { index: 0 },
            by: Some("ann".into()),
        },
        Event::QuestionAsked {
            request: "s".into(),
            turn: 1,
            call_id: id(),
            tool: "ask".into(),
            question: form_question(),
            answered_by: AnsweredBy::Rerun,
            accounting: accounting(),
            audit: audit(),
        },
        Event::AnswerReceived {
            request: "s".into(),
            call_id: id(),
            answer: Answer::Fields {
                fields: serde_json::from_str(r#"{"name": "ann", "count": 3}"#).unwrap(),
            },
            by: None,
        },
    ]
}
