use super::{ExplainedCall, Explanation, Suggestion};
use agent_host_types::{
    accounting::{Accounting, AuditEntry, AuditVerdict},
    audit::AuditRequest,
    event::{EVENT_VERSION, Event, EventRecord},
    hook::{CallReview, HookPoint, HookVerdict, VerdictKind},
    id::{CallId, Digest, SessionId},
    message::{Message, Role},
    output::ToolResultOutput,
};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;

fn entry(request: &str, grant: Option<&str>) -> AuditEntry {
    AuditEntry {
        request: AuditRequest::from_text(request),
        verdict: AuditVerdict::Denied,
        rule: "default-deny".to_owned(),
        count: 2,
        grant: grant.map(str::to_owned),
        status: None,
    }
}

fn settled(seq: u64, tool: &str, output: ToolResultOutput, audit: Vec<AuditEntry>) -> EventRecord {
    EventRecord {
        v: EVENT_VERSION,
        session: SessionId::new(),
        seq,
        at_ms: 0,
        event: Event::CallSettled {
            call_id: CallId(format!("call-{seq}")),
            tool: tool.to_owned(),
            output,
            accounting: Accounting::default(),
            audit,
            rule: None,
            path: Vec::new(),
            child: None,
            labels: Vec::new(),
            reference: None,
            tape: None,
            whole: None,
        },
    }
}

#[test]
fn suggestion_of_repeated_denial_is_given_once() {
    let web = "[[grants.http]]\nhost = \"a.example\"\nmethods = [\"GET\"]\npath = \"/x\"";
    let change =
        "# changed lines of the [[grants.dir]] with guest = \"/workspace\"\nmode = \"read-write\"";
    let first = vec![entry("GET a", Some(web)), entry("read ../x", None)];
    let second = vec![entry("write b", Some(change)), entry("GET c", Some(web))];
    let foreign = settled(
        0,
        "t",
        ToolResultOutput::ExecutionDenied(None),
        vec![entry("read /", Some("[[grants.dir]]\nhost = \"/\""))],
    );
    let mut forked = foreign.clone();
    forked.event = Event::SessionForked {
        from: forked.session,
        at: 0,
        by: None,
    };
    let mut other = settled(1, "t", ToolResultOutput::Text(String::new()), Vec::new());
    other.event = Event::InputReceived {
        message: Message::text(Role::User, "hello"),
        labels: Vec::new(),
        by: None,
    };
    let records = [
        foreign,
        forked,
        settled(
            0,
            "t",
            ToolResultOutput::ExecutionDenied(None),
            first.clone(),
        ),
        other,
        settled(
            2,
            "u",
            ToolResultOutput::Text("done".to_owned()),
            second.clone(),
        ),
        settled(
            3,
            "v",
            ToolResultOutput::Text("done".to_owned()),
            Vec::new(),
        ),
    ];
    let call = |seq: u64, tool: &str, outcome: &str, asked| ExplainedCall {
        rule: None,
        remedy: None,
        call_id: CallId(format!("call-{seq}")),
        tool: tool.to_owned(),
        outcome: outcome.to_owned(),
        facts: Vec::new(),
        read: None,
        hooks: Vec::new(),
        decided_by: None,
        sources: Vec::new(),
        asked,
    };
    let calls = vec![
        call(0, "t", "execution-denied", first),
        call(2, "u", "text", second),
        call(3, "v", "text", Vec::new()),
    ];
    let suggestion = |toml: &str, change, argument: Option<&str>| Suggestion {
        toml: toml.to_owned(),
        change,
        argument: argument.map(str::to_owned),
    };
    let asked_for = [
        suggestion(web, false, Some("http:GET=a.example/x")),
        suggestion(change, true, None),
    ];
    let directory = "[[grants.dir]]\nhost = \".\"";
    let kept = [suggestion(directory, false, None)];
    for (records, implied, calls, suggestions) in [
        (&records[..], None, &calls[..], asked_for.to_vec()),
        (
            &records,
            Some(directory),
            &calls,
            [&kept[..], &asked_for].concat(),
        ),
        (&[], Some(directory), &[], Vec::new()),
    ] {
        let mut explanation = Explanation::default();
        for record in records {
            explanation.add(record.event.clone());
        }
        explanation.suggest(implied.map(str::to_owned), &[]);
        let expected = Explanation {
            calls: calls.to_vec(),
            suggestions,
            agents: Vec::new(),
            verdicts: BTreeMap::new(),
            deciders: BTreeMap::new(),
            facts: BTreeMap::new(),
        };
        assert_eq!(explanation, expected);
    }
}

/// A verdict belongs to the call that settles after it; of a fork, those before it are another
/// session's.
#[test]
fn verdicts_of_hooks_are_those_of_their_call() {
    let verdict = |point, verdict| HookVerdict {
        hook: "guard".to_owned(),
        point,
        verdict,
        reason: None,
    };
    let about = |call: &str, verdict| Event::HookDecided {
        call_id: (!call.is_empty()).then(|| CallId(call.to_owned())),
        verdict,
    };
    let masked = verdict(HookPoint::AfterTool, VerdictKind::Modify);
    let asked = verdict(HookPoint::BeforeTool, VerdictKind::Ask);
    let reviewed = Event::CallReviewed {
        call_id: CallId("call-1".to_owned()),
        tool: "t".to_owned(),
        input_digest: Digest::of(b"{}"),
        review: CallReview {
            verdicts: vec![
                verdict(HookPoint::BeforeTool, VerdictKind::Pass),
                asked.clone(),
            ],
            ..CallReview::none()
        },
    };
    let end = |seq| {
        let output = ToolResultOutput::Text("done".to_owned());
        settled(seq, "t", output, Vec::new()).event
    };
    let mut explanation = Explanation::default();
    for event in [
        about("call-2", masked.clone()),
        Event::SessionForked {
            from: SessionId::new(),
            at: 0,
            by: None,
        },
        about("", verdict(HookPoint::AfterModel, VerdictKind::Retry)),
        reviewed,
        about("call-1", masked.clone()),
        end(2),
        end(1),
    ] {
        explanation.add(event);
    }
    let calls = explanation.calls.into_iter();
    let hooks: Vec<Vec<HookVerdict>> = calls.map(|call| call.hooks).collect();
    assert_eq!(hooks, [Vec::new(), vec![asked, masked]]);
}
