//! Demands of the tools, agents, rules and secrets of an untrusted file.

use super::{Danger, Review, quoted};
use crate::config::{
    LimitsSection, SecretSection,
    agents::RawAgent,
    approval::RawApproval,
    model::is_file,
    publishers::{RawAccept, RawPublisher},
    raw::{RawExternalTool, RawPrice, RawTool},
    rules::{RawDecision, RawRule, tool_globs},
};
use agent_host_registry::Remote;
use agent_host_sandbox::SandboxConfig;
use agent_host_types::{
    budget::Budgets,
    tool::{Approval, DecisionKind, Effect},
};
use agent_host_workflow::definition::{
    DEFAULT_AT_ONCE, ForeachDefinition, NodeDefinition, WorkflowDefinition,
};
use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroUsize},
};

impl Review<'_> {
    /// Demands a script or a recording in a file, which would answer in place of a model.
    pub(super) fn model(&mut self, model: &str) {
        if !is_file(model) {
            return;
        }
        if let Some((_, path)) = model.split_once(':') {
            self.reach(path);
        }
        self.demand(
            Danger::Other,
            format!("answers as a model from {}", quoted(model)),
        );
    }

    pub(super) fn instructions(&mut self, file: &str) {
        if self.reach(file).is_some() {
            let file = quoted(file);
            self.demand(
                Danger::Private,
                format!("tells the model what is in {file}, outside of its directory"),
            );
        }
    }

    pub(super) fn price(&mut self, (model, raw): (&String, &RawPrice)) {
        let long = raw.long_context.map_or(String::new(), |long| {
            let (tokens, above) = (token_prices(&long.tokens()), long.above_tokens);
            format!(", of requests above {above} tokens at {tokens}")
        });
        self.demand(
            Danger::Other,
            format!(
                "has budgets of money count {} at {} US dollars for a million tokens{long}",
                quoted(model),
                token_prices(raw)
            ),
        );
    }

    pub(super) fn tool(&mut self, raw: &RawTool) {
        let RawTool {
            name,
            component,
            approval,
            approvals,
            accept_idempotent,
            // Fewer tools ask for less.
            exports: _,
            concurrent_calls,
            limits,
            dir,
            http,
            env,
            secrets,
            artifacts,
        } = raw;
        let who = quoted(name);
        if !component.starts_with("builtin:") {
            if !Remote::is_meant(component) {
                self.reach(component);
            }
            self.demand(
                Danger::Component,
                format!("runs the component {} as {who}", quoted(component)),
            );
        }
        self.approvals(&who, approval, approvals);
        if *accept_idempotent {
            self.demand(Danger::Unchecked, format!(
                "repeats interrupted calls of {who} where the component calls that harmless (accept-idempotent)"
            ));
        }
        self.calls_at_once(&who, *concurrent_calls);
        self.limits(&format!(" for {who}"), limits);
        dir.iter().flatten().for_each(|dir| self.dir(&who, dir));
        self.hosts(&who, http.iter().flatten());
        self.variables(&who, env.iter().flatten());
        self.secret_names(&who, secrets.iter().flatten());
        self.artifacts(&who, *artifacts);
    }

    pub(super) fn external_tool(&mut self, raw: &RawExternalTool) {
        let RawExternalTool {
            name,
            // Read by the model and the user.
            title: _,
            description: _,
            input_schema,
            effect,
            approval,
        } = raw;
        let who = quoted(name);
        self.demand(
            Danger::Other,
            format!("hands calls of {who} to the program that runs agent-host (external-tool)"),
        );
        if let Some(effect) = effect.filter(|effect| *effect != Effect::Effectful) {
            self.demand(
                Danger::Unchecked,
                format!("declares calls of {who} to be {}", effect.as_str()),
            );
        }
        self.approvals(&who, approval, &BTreeMap::new());
        if let Some(file) = input_schema.as_str()
            && self.reach(file).is_some()
        {
            let file = quoted(file);
            self.demand(
                Danger::Private,
                format!("takes the schema of {who} from {file}, outside of its directory"),
            );
        }
    }

    /// Demands what an agent asks for besides the file. Its tools are some of those of the file,
    /// and its calls are decided about like others.
    pub(super) fn agent(&mut self, raw: &RawAgent) {
        let RawAgent {
            // Read by models and the user.
            name: _,
            description: _,
            model,
            system: _,
            instructions,
            tools: _,
            // Less than those of its tools, or nothing else.
            grants: _,
            agents: _,
            until_tool: _,
            output_schema: _,
            max_turns,
            budgets: _,
            // Without it, starting an agent needs no approval.
            approval: _,
            interactive: _,
            // As of the file's top level.
            code: _,
        } = raw;
        model.iter().for_each(|model| self.model(model));
        instructions.iter().for_each(|file| self.instructions(file));
        self.at_most("max-turns", *max_turns, Budgets::default().turns);
    }

    /// Demands what a workflow asks for besides the file. It runs when the user names it, within
    /// the budgets of a run. Its agents and tools are those of the file, and their calls are
    /// decided about like others.
    pub(super) fn workflow(&mut self, raw: &WorkflowDefinition) {
        let WorkflowDefinition {
            name,
            // Read by the user.
            description: _,
            reduce: _,
            node,
        } = raw;
        for node in node {
            let NodeDefinition {
                id,
                agent: _,
                tool: _,
                handler: _,
                next: _,
                mode: _,
                message: _,
                inputs: _,
                input: _,
                foreach,
                on_error: _,
                needs: _,
                // A bound where there was none.
                timeout_ms: _,
                // Of read-only and idempotent nodes alone; each attempt is spent of the budgets.
                retry: _,
            } = node;
            if let Some(foreach) = foreach {
                let ForeachDefinition {
                    over: _,
                    mode: _,
                    at_once,
                } = foreach;
                let (id, name) = (quoted(id), quoted(name));
                let key = format!("at-once of the node {id} of the workflow {name}");
                self.at_most(&key, at_once.map(NonZeroU32::get), DEFAULT_AT_ONCE);
            }
        }
    }

    /// Demands every publisher: it decides which components count as signed.
    pub(super) fn publisher(&mut self, raw: &RawPublisher) {
        let RawPublisher {
            name,
            components,
            keys,
            accept,
        } = raw;
        let (who, which) = (quoted(name), all_quoted(components, ", "));
        for key in keys {
            self.reach(key);
        }
        self.demand(
            Danger::Unchecked,
            match accept {
                RawAccept::Signed => {
                    let keys = all_quoted(keys, ", ");
                    format!("accepts {which} as signed by {who} with the keys in {keys}")
                }
                RawAccept::Digest => format!("accepts {which} of {who} without a signature"),
                RawAccept::None => format!("refuses {which} of {who}"),
            },
        );
    }

    /// Demands the calls that a rule runs without asking. Rules that ask or deny only make a
    /// configuration stricter.
    pub(super) fn rule(&mut self, raw: &RawRule) {
        let RawRule {
            decision,
            tool,
            arguments,
            agent,
            // Read by the model and the user.
            name: _,
            reason: _,
        } = raw;
        match decision {
            RawDecision::Allow => {}
            RawDecision::Ask | RawDecision::Deny => return,
        }
        let tools = tool_globs(tool).unwrap_or_default();
        let tools: Vec<String> = tools.into_iter().map(quoted).collect();
        let only = arguments.iter().map(|(pointer, test)| {
            let test = test.as_str().map_or(test.to_string(), str::to_owned);
            format!(" with {} as {}", quoted(pointer), quoted(&test))
        });
        let of = agent.as_deref().map(quoted);
        let of = of.map_or(String::new(), |agent| format!(" by the agent {agent}"));
        self.demand(
            Danger::Unchecked,
            format!(
                "runs calls of {}{}{of} without asking (decision = \"allow\")",
                tools.join(", "),
                only.collect::<String>()
            ),
        );
    }

    pub(super) fn secret(&mut self, raw: &SecretSection) {
        let SecretSection {
            name,
            from,
            audience,
            in_query,
        } = raw;
        if self.is_offline() {
            return;
        }
        let query = if *in_query { ", in queries too" } else { "" };
        let danger = Danger::reading(from, Danger::Private);
        let (name, from, audience) = (quoted(name), quoted(from), quoted(audience));
        self.demand(
            danger,
            format!("reads the secret {name} from {from} and sends it to {audience}{query}"),
        );
    }

    /// Demands raised limits. `place` follows the name of a limit.
    pub(super) fn limits(&mut self, place: &str, raw: &LimitsSection) {
        for (name, value, default) in raw.beside_defaults() {
            let key = format!("{}{place}", name.replace('_', "-"));
            self.at_most(&key, value, default);
        }
    }

    pub(super) fn approvals(
        &mut self,
        who: &str,
        all: &RawApproval,
        of: &BTreeMap<String, RawApproval>,
    ) {
        let own = of.iter().map(|(tool, approval)| (Some(tool), approval));
        for (tool, approval) in std::iter::once((None, all)).chain(own) {
            match approval {
                RawApproval::When(Approval::Never) => {
                    let tool = tool.map(|tool| format!("{} of ", quoted(tool)));
                    self.demand(
                        Danger::Unchecked,
                        format!(
                            "runs calls of {}{who} without asking (approval = \"never\")",
                            tool.unwrap_or_default()
                        ),
                    );
                }
                RawApproval::Decisions(allowed) if !allowed.contains(&DecisionKind::Reject) => {
                    self.demand(
                        Danger::Unchecked,
                        format!("leaves out rejecting from what you may decide about {who}"),
                    );
                }
                RawApproval::When(Approval::ByEffect | Approval::Always)
                | RawApproval::Decisions(_) => {}
            }
        }
    }

    pub(super) fn calls_at_once(&mut self, who: &str, calls: Option<NonZeroUsize>) {
        let default = SandboxConfig::default().concurrent_calls / 2;
        let key = format!("concurrent-calls of {who}");
        self.at_most(&key, calls.map(NonZeroUsize::get), default);
    }
}

/// Quotes each of some texts.
pub(super) fn all_quoted<'t>(
    texts: impl IntoIterator<Item = &'t String>,
    separator: &str,
) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text)).collect();
    texts.join(separator)
}

fn token_prices(raw: &RawPrice) -> String {
    let RawPrice {
        input,
        cached_input,
        cache_write,
        output,
        long_context: _,
    } = raw;
    let cached = cached_input.unwrap_or(*input);
    let stored = cache_write.map_or(String::new(), |price| format!(", cache write {price}"));
    format!("{input} (cached {cached}{stored}, output {output})")
}
