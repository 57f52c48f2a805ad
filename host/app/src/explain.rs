//! Explains the requests of a session's calls to the gate, what hooks decided on the calls, and
//! the denied calls, from the journal, and suggests grants for the denied requests. Nothing is
//! granted here: the operator copies the suggestions.

#[cfg(test)]
mod tests;

use crate::config::argument_of;
use agent_host_engine::{
    flow::{AUDIENCE_RULE, FLOW_RULE, is_flow_rule},
    journal::JournalError,
    policy::{CallRule, RuleDecision},
};
use agent_host_journal::JournalStore;
use agent_host_types::{
    accounting::AuditEntry,
    approval::Decision,
    event::{CallEnd, Event},
    facts::CallFacts,
    hook::{HookVerdict, VerdictKind},
    id::{CallId, SessionId},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The requests of a session's calls to the gate, and the grants that would have allowed the denied
/// ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Explanation {
    /// Every call that settled in this session, in order; of a fork, those after it was created.
    pub calls: Vec<ExplainedCall>,
    /// The grants that would have allowed the denied requests.
    pub suggestions: Vec<Suggestion>,
    /// The agents' calls and sessions, which were not read yet.
    #[serde(skip)]
    agents: Vec<(CallId, SessionId)>,
    /// The verdicts about calls that did not settle yet.
    #[serde(skip)]
    verdicts: BTreeMap<CallId, Vec<HookVerdict>>,
    /// The deciders about calls that did not settle yet.
    #[serde(skip)]
    deciders: BTreeMap<CallId, String>,
    /// The facts of the last decisions about calls, and the rules that let them run.
    #[serde(skip)]
    facts: BTreeMap<CallId, (CallFacts, Option<String>)>,
}

/// A call and its requests.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExplainedCall {
    /// The call; that of an agent has the calls that started it before its own, each with a `/`.
    pub call_id: CallId,
    /// The tool.
    pub tool: String,
    /// The tag of its result.
    pub outcome: String,
    /// The rule of the policy that denied it, before it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The change that would have run it, if a rule denied it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The facts that the deciding rule names, with their values then, such as `count(1d) was 3`; if
    /// it names none, those of all rules about the tool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// The facts, and the rule that let it run.
    #[serde(skip)]
    read: Option<(CallFacts, Option<String>)>,
    /// The verdicts of hooks about it and its result that are no `pass`, in the order in which they
    /// were given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookVerdict>,
    /// The one who decided on it, as the front end names it; absent for the user of the session,
    /// and for a call that needed no decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// The untrusted sources of its result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Its requests to the gate, in the order of the first of each.
    pub asked: Vec<AuditEntry>,
}

/// A suggested grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Suggestion {
    /// Lines of `agent.toml`.
    pub toml: String,
    /// True if the lines replace lines of an existing grant.
    pub change: bool,
    /// The equivalent `--grant` of the command line, where there is one.
    pub argument: Option<String>,
}

impl Explanation {
    /// Reads a session and those of its agents.
    ///
    /// # Errors
    /// The session cannot be read.
    pub async fn read(store: &dyn JournalStore, session: SessionId) -> Result<Self, JournalError> {
        let mut whole = Self::default();
        let mut left = vec![(session, String::new())];
        while let Some((id, path)) = left.pop() {
            let mut own = Self::default();
            match store
                .for_each_record(id, |record| own.add(record.event))
                .await
            {
                // An agent that was about to start.
                Err(JournalError::NotFound(_)) if id != session => {}
                read => read?,
            }
            whole
                .calls
                .extend(own.calls.into_iter().map(|call| ExplainedCall {
                    call_id: CallId(format!("{path}{}", call.call_id)),
                    ..call
                }));
            let agents = own.agents.into_iter().rev();
            left.extend(agents.map(|(call, agent)| (agent, format!("{path}{call}/"))));
        }
        Ok(whole)
    }

    /// Adds the session's next event.
    pub fn add(&mut self, event: Event) {
        if let Some(end) = event.call_end() {
            return self.settle(&end);
        }
        if let Some(start) = event.call_start()
            && let Some((_, rule)) = self.facts.get_mut(start.call_id)
        {
            *rule = start.rule.map(str::to_owned);
        }
        match event {
            Event::FactsRead { call_id, facts } => {
                self.facts.insert(call_id, (facts, None));
            }
            Event::DecisionRecorded {
                decisions,
                by: Some(by),
                ..
            } => {
                let calls = decisions.iter().map(Decision::call_id);
                self.deciders
                    .extend(calls.map(|call| (call.clone(), by.clone())));
            }
            Event::CallReviewed {
                call_id, review, ..
            } => self.decide(call_id, review.verdicts),
            Event::HookDecided {
                call_id: Some(call_id),
                verdict,
            } => self.decide(call_id, [verdict]),
            // The requests before were made elsewhere: an imported file could suggest any grant.
            Event::SessionForked { .. } => {
                self.calls.clear();
                self.agents.clear();
                self.verdicts.clear();
                self.deciders.clear();
                self.facts.clear();
            }
            Event::AgentSpawned {
                call_id, session, ..
            } => self.agents.push((call_id, session)),
            _ => {}
        }
    }

    /// Adds a call that settled.
    fn settle(&mut self, end: &CallEnd<'_>) {
        // After an attempt that another one follows, the call continues.
        let Some(tool) = end.tool else { return };
        let hooks = self.verdicts.remove(end.call_id).unwrap_or_default();
        let decided_by = self.deciders.remove(end.call_id);
        self.calls.push(ExplainedCall {
            call_id: end.call_id.clone(),
            tool: tool.to_owned(),
            outcome: outcome(end).to_owned(),
            rule: end.rule.map(str::to_owned),
            remedy: None,
            facts: Vec::new(),
            read: self.facts.remove(end.call_id),
            hooks,
            decided_by,
            sources: end.labels.to_vec(),
            asked: end.audit.to_vec(),
        });
    }

    /// Adds verdicts of hooks about a call that will settle.
    fn decide(&mut self, call_id: CallId, verdicts: impl IntoIterator<Item = HookVerdict>) {
        let decided = verdicts.into_iter();
        let decided = decided.filter(|one| one.verdict != VerdictKind::Pass);
        self.verdicts.entry(call_id).or_default().extend(decided);
    }

    /// Makes the suggestions, after the last event, for a configuration with these rules; `implied`
    /// is its [`crate::Config::implied_grant`].
    pub fn suggest(&mut self, implied: Option<String>, rules: &[CallRule]) {
        let mut sources: BTreeSet<&str> = BTreeSet::new();
        for call in &mut self.calls {
            if let Some((facts, ran_by)) = &call.read {
                let rule = call.rule.as_ref().or(ran_by.as_ref());
                call.facts = named_facts(facts, rule, &call.tool, rules);
            }
            let rule = call.rule.as_deref();
            call.remedy = rule.map(|rule| match rule == FLOW_RULE {
                true => flow_remedy(&call.tool, &sources),
                false => remedy(rule, &call.tool, rules),
            });
            sources.extend(call.sources.iter().map(String::as_str));
        }
        let asked = self.calls.iter().flat_map(|call| &call.asked);
        self.suggestions = suggestions(asked, implied);
    }
}

/// Returns the facts that a rule names with their values, or else those that all rules about the
/// tool name.
fn named_facts(
    facts: &CallFacts,
    rule: Option<&String>,
    tool: &str,
    rules: &[CallRule],
) -> Vec<String> {
    let of_rules = |wanted: &dyn Fn(&CallRule) -> bool| {
        let conditions = rules.iter().filter(|rule| wanted(rule));
        let conditions = conditions.filter_map(|rule| rule.condition.as_ref());
        let named = conditions.flat_map(|condition| condition.facts());
        let mut texts = Vec::new();
        for fact in named {
            let value = fact.value(facts);
            let text = format!("{fact} was {}", value.as_deref().unwrap_or("not known"));
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    };
    let of_rule = of_rules(&|known| rule == Some(&known.name));
    match of_rule.is_empty() {
        true => of_rules(&|known| known.names(tool)),
        false => of_rule,
    }
}

/// Returns the tag of a result; that of text where an agent or a handler of a workflow returned it.
pub(crate) fn outcome<'a>(end: &CallEnd<'a>) -> &'a str {
    match (end.output, end.failure) {
        (Some(result), _) => result.tag(),
        (None, None) => "text",
        (None, Some(failure)) => &failure.code,
    }
}

/// Returns what would have run a call of `tool` that the policy's `rule` denied.
fn remedy(rule: &str, tool: &str, rules: &[CallRule]) -> String {
    let known = rules.iter().find(|known| known.name == rule);
    let condition = known.and_then(|known| known.condition.as_ref());
    let condition = condition.map_or_else(String::new, |condition| {
        format!(" (where {})", toml::Value::from(condition.as_str()))
    });
    match known.map(|known| known.decision) {
        Some(RuleDecision::Deny) => {
            format!("no other rule overrides a denial; change or remove this [[rule]]{condition} in agent.toml")
        }
        Some(RuleDecision::Ask | RuleDecision::Allow) => {
            format!(
                "it needed approval, but no one could be asked; change this [[rule]]{condition} in agent.toml, or add a \
                 more specific one with decision = \"allow\""
            )
        }
        None if rule.starts_with("hook.") => {
            "a hook denied it, or required an approval that no one could give; change its component or its [[hook]] \
             in agent.toml"
                .to_owned()
        }
        None if rule == AUDIENCE_RULE => {
            "text that has an audience had reached it; to let such text go there, add the destination to `to` of its \
             [[flow.audience]] in agent.toml"
                .to_owned()
        }
        None if is_flow_rule(rule) => {
            "text from an untrusted source had reached it; change this [[flow.rule]] in agent.toml".to_owned()
        }
        None if rule.starts_with("rule.") => "agent.toml no longer has this [[rule]]".to_owned(),
        None if conditional(tool, rules).is_some() => {
            let (name, condition) = conditional(tool, rules).unwrap_or_default();
            format!(
                "it needed approval, but no one could be asked: the condition of the [[rule]] {name} (where {condition}) \
                 did not hold; change it if the call should have run"
            )
        }
        None => format!(
            "it needed approval, but no one could be asked; to run it without approval, add\n[[rule]]\ndecision = \
             \"allow\"\ntool = {}",
            toml::Value::from(tool)
        ),
    }
}

/// Returns the rule that allows a tool under a condition, with the condition as TOML.
fn conditional(tool: &str, rules: &[CallRule]) -> Option<(String, String)> {
    let rule = rules.iter().find(|rule| {
        rule.decision == RuleDecision::Allow && rule.condition.is_some() && rule.names(tool)
    })?;
    let condition = toml::Value::from(rule.condition.as_ref()?.as_str());
    Some((rule.name.clone(), condition.to_string()))
}

/// Returns the change that would have run a call which text from some of these sources had reached.
fn flow_remedy(tool: &str, sources: &BTreeSet<&str>) -> String {
    let mut text = "text from an untrusted source had reached it, and no one could be asked; to run it without \
                    approval, add"
        .to_owned();
    for source in sources {
        let (from, to) = (toml::Value::from(exact(source)), toml::Value::from(tool));
        text += &format!("\n[[flow.rule]]\ndecision = \"allow\"\nfrom = {from}\nto = {to}");
    }
    text
}

/// Returns the glob that a source alone matches.
fn exact(source: &str) -> String {
    let is_special = |c: char| "*?[]{}!\\".contains(c);
    let mut glob = String::new();
    for c in source.chars() {
        if is_special(c) {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
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
