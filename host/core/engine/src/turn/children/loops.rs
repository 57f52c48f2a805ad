//! The loops of agents as they run: with the rules of the one that starts them, and no more than is
//! left to it.

use crate::{
    agents::{AgentLoop, MadeLoop, SubAgent},
    turn::{Agent, Prompts, budget::Share, job::Caller},
};
use agent_host_types::{id::SessionId, output::Blob, turn::TurnError};

impl Agent {
    /// Returns the loop of an agent for one of its sessions. It signs with the same key, and the
    /// rules about the calls of the one that starts it hold for its calls, as does the lifetime of
    /// requests if it has none.
    pub(in crate::turn) fn loop_of(
        &self,
        child: &SubAgent,
        session: SessionId,
    ) -> Result<MadeLoop, TurnError> {
        let mut made = child.agent.make(session)?;
        let settings = &mut made.agent.settings;
        settings.rules = self.settings.rules.clone();
        settings.approved = self.settings.approved.clone();
        if settings.flow.mode < self.settings.flow.mode {
            settings.flow = self.settings.flow.clone();
        }
        settings.takes_some_decisions = self.settings.takes_some_decisions;
        let expiry = settings.approval_expiry_ms;
        settings.approval_expiry_ms = expiry.or(self.settings.approval_expiry_ms);
        made.agent.key = self.key.clone();
        Ok(made)
    }

    /// Returns the loop of an agent for the turns of its session, which has no more than is left to
    /// the one that starts it, and the setup that the session records; absent for a loop whose setup
    /// is a part of this one's.
    pub(super) fn bounded(
        &self,
        child: &SubAgent,
        session: SessionId,
        share: &Share,
        caller: &Caller,
    ) -> Result<(Agent, Option<Blob>), TurnError> {
        let MadeLoop { mut agent, setup } = self.loop_of(child, session)?;
        let setup = match &child.agent {
            AgentLoop::Built(_) => None,
            AgentLoop::Deferred(_) => Some(setup.unwrap_or_else(|| agent.setup())),
        };
        agent.settings.budgets = share.within(&agent.settings.budgets, child.price);
        agent.settings.durability = agent.settings.durability.max(self.settings.durability);
        if agent.program.is_some() {
            // The number of its calls is bounded; it may make the same one again, and its batches
            // are no requests to a model.
            agent.settings.budgets.turns = u64::MAX;
            agent.settings.budgets.repeats = None;
            agent.settings.agent_depth = caller.agent_depth;
        } else {
            agent.settings.agent_depth = caller.agent_depth.saturating_add(1);
        }
        if !child.is_interactive || self.settings.prompts == Prompts::Deny {
            agent.settings.prompts = Prompts::Deny;
        }
        Ok((agent, setup))
    }
}
