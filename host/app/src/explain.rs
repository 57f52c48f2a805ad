//! Explains the requests of a session's calls to the gate, from the journal, and suggests grants
//! for the denied ones. Nothing is granted here: the operator copies the suggestions.

use crate::config::argument_of;
use agent_host_types::{accounting::AuditEntry, event::Event, id::CallId};
use serde::Serialize;

/// The requests of a session's calls to the gate, and the grants that would have allowed the denied ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// Every call that settled in this session, in order; of a fork, those after it was created.
    pub calls: Vec<ExplainedCall>,
    /// The grants that would have allowed the denied requests.
    pub suggestions: Vec<Suggestion>,
}

/// A call and its requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedCall {
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: String,
    /// The tag of its result.
    pub outcome: String,
    /// Its requests to the gate, in the order of the first of each.
    pub asked: Vec<AuditEntry>,
}

/// A suggested grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// Lines of `agent.toml`.
    pub toml: String,
    /// True if the lines replace lines of an existing grant.
    pub change: bool,
    /// The equivalent `--grant` of the command line, where there is one.
    pub argument: Option<String>,
}

impl Explanation {
    /// Adds the session's next event.
    pub fn add(&mut self, event: Event) {
        match event {
            Event::CallSettled {
                call_id,
                tool,
                output,
                audit,
                ..
            } => self.calls.push(ExplainedCall {
                call_id,
                tool,
                outcome: output.tag().to_owned(),
                asked: audit,
            }),
            // The requests before were made elsewhere: an imported file could suggest any grant.
            Event::SessionForked { .. } => self.calls.clear(),
            _ => {}
        }
    }

    /// Makes the suggestions, after the last event. `implied` is [`crate::Config::implied_grant`] of the
    /// configuration that they are for.
    pub fn suggest(&mut self, implied: Option<String>) {
        let asked = self.calls.iter().flat_map(|call| &call.asked);
        self.suggestions = suggestions(asked, implied);
    }
}

/// Returns the grants that would have allowed the denied requests, each once, in the order of the
/// requests. They follow the default grant, which applies only without other grants, so that a copy
/// of all of them loses nothing.
pub fn suggestions<'a>(
    asked: impl IntoIterator<Item = &'a AuditEntry>,
    implied: Option<String>,
) -> Vec<Suggestion> {
    let mut found: Vec<Suggestion> = Vec::new();
    for toml in asked.into_iter().filter_map(|entry| entry.grant.as_ref()) {
        if !found.iter().any(|known| known.toml == *toml) {
            found.push(Suggestion {
                toml: toml.clone(),
                // A whole grant begins with its table; a change begins with a comment.
                change: !toml.starts_with("[["),
                argument: argument_of(toml),
            });
        }
    }
    if let Some(toml) = implied.filter(|_| !found.is_empty()) {
        let kept = Suggestion {
            toml,
            change: false,
            argument: None,
        };
        found.insert(0, kept);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{ExplainedCall, Explanation, Suggestion};
    use agent_host_types::{
        accounting::{Accounting, AuditEntry, AuditVerdict},
        event::{EVENT_VERSION, Event, EventRecord},
        id::{CallId, SessionId},
        message::{Message, Role},
        output::ToolResultOutput,
    };
    use pretty_assertions::assert_eq;

    fn entry(request: &str, grant: Option<&str>) -> AuditEntry {
        AuditEntry {
            request: request.to_owned(),
            verdict: AuditVerdict::Denied,
            rule: "default-deny".to_owned(),
            count: 2,
            grant: grant.map(str::to_owned),
        }
    }

    fn settled(
        seq: u64,
        tool: &str,
        output: ToolResultOutput,
        audit: Vec<AuditEntry>,
    ) -> EventRecord {
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
                labels: Vec::new(),
                tape: None,
            },
        }
    }

    #[test]
    fn suggestion_of_repeated_denial_is_given_once() {
        let web = "[[grants.http]]\nhost = \"a.example\"\nmethods = [\"GET\"]\npath = \"/x\"";
        let change = "# changed lines of the [[grants.dir]] with guest = \"/workspace\"\nmode = \"read-write\"";
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
        };
        let mut other = settled(1, "t", ToolResultOutput::Text(String::new()), Vec::new());
        other.event = Event::InputReceived {
            message: Message::text(Role::User, "hello"),
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
            call_id: CallId(format!("call-{seq}")),
            tool: tool.to_owned(),
            outcome: outcome.to_owned(),
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
        let folder = "[[grants.dir]]\nhost = \".\"";
        let kept = [suggestion(folder, false, None)];
        for (records, implied, calls, suggestions) in [
            (&records[..], None, &calls[..], asked_for.to_vec()),
            (
                &records,
                Some(folder),
                &calls,
                [&kept[..], &asked_for].concat(),
            ),
            (&[], Some(folder), &[], Vec::new()),
        ] {
            let mut explanation = Explanation::default();
            for record in records {
                explanation.add(record.event.clone());
            }
            explanation.suggest(implied.map(str::to_owned));
            let expected = Explanation {
                calls: calls.to_vec(),
                suggestions,
            };
            assert_eq!(explanation, expected);
        }
    }
}
