//! Calls of the API at random by two tokens that see their own sessions.

use super::{KnownSession, fork, listed, seen, send};
use crate::roles::create_seeing;
use agent_host_test_support::{
    TestEnv,
    api::ApiServer,
    chat::{Answer, ChatServer},
};
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;

/// The number of calls.
const CALLS: usize = 1_000;

/// The routes about a session, those that change one among them.
const CALLED: [&str; 21] = [
    "GET /api/v1/sessions/{session}",
    "GET /api/v1/sessions/{session}/artifacts",
    "GET /api/v1/sessions/{session}/artifacts/{*name}",
    "GET /api/v1/sessions/{session}/blobs/{digest}",
    "GET /api/v1/sessions/{session}/changes",
    "GET /api/v1/sessions/{session}/explain",
    "GET /api/v1/sessions/{session}/export",
    "GET /api/v1/sessions/{session}/graph",
    "GET /api/v1/sessions/{session}/requests",
    "GET /v1/responses/{id}",
    "PATCH /api/v1/sessions/{session}",
    "DELETE /api/v1/sessions/{session}",
    "POST /api/v1/sessions/{session}/cancel",
    "POST /api/v1/sessions/{session}/drain",
    "POST /api/v1/sessions/{session}/fork",
    "POST /api/v1/sessions/{session}/messages",
    "POST /api/v1/sessions/{session}/requests/{request}/answer",
    "POST /api/v1/sessions/{session}/resume",
    "POST /api/v1/sessions/{session}/undo",
    "POST /v1/chat/completions",
    "POST /v1/responses",
];

/// Numbers at random: SplitMix64, with one beginning.
struct Numbers(u64);

impl Numbers {
    /// Returns a number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((number ^ (number >> 31)) % end as u64).unwrap()
    }
}

/// A token with the sessions that it has, and those that it had.
struct Client {
    token: String,
    first: KnownSession,
    has: BTreeSet<String>,
    had: Vec<String>,
}

impl Client {
    fn new(env: &TestEnv, server: &ApiServer, name: &str) -> Self {
        let token = create_seeing(env, name, "user", &[]);
        let first = KnownSession::begin(server, &token);
        Self {
            token,
            has: BTreeSet::from([first.session.clone()]),
            had: vec![first.session.clone()],
            first,
        }
    }

    fn add(&mut self, session: String) {
        self.has.insert(session.clone());
        self.had.push(session);
    }
}

/// No call of one token reaches a session of the other: each answer is that to an unknown session.
#[test]
fn calls_at_random_reach_own_sessions_alone() {
    let env = TestEnv::new();
    env.configure(super::CLERK);
    let model = ChatServer::start(vec![Answer::text("Found."), Answer::text("Found.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let mut clients = ["ann", "bob"].map(|name| Client::new(&env, &server, name));
    let unknown: Vec<_> = CALLED
        .iter()
        .map(|route| {
            seen(send(
                &server,
                &clients[0].token,
                route,
                &KnownSession::none(),
            ))
        })
        .collect();
    let mut numbers = Numbers(47);
    for call in 0..CALLS {
        let caller = numbers.below(2);
        let target = numbers.below(2);
        let number = numbers.below(CALLED.len());
        let route = CALLED[number];
        let (had, first) = (&clients[target].had, &clients[target].first);
        let session = had[numbers.below(had.len())].clone();
        let is_first = route.contains("/v1/responses");
        let about = KnownSession {
            session: if is_first {
                first.session.clone()
            } else {
                session
            },
            response: first.response.clone(),
        };
        let is_own = clients[caller].has.contains(&about.session);
        let (token, has) = (clients[caller].token.clone(), clients[caller].has.len());
        let place = format!("call {call}: {route} of {caller} to {about:?}");
        // One session of each stays, to be copied.
        let is_kept = about.session == clients[target].first.session;
        if is_own && (route.starts_with("DELETE") && is_kept || route.ends_with("/fork")) {
            // At most a page of them.
            if has < 100 {
                let copy = fork(&server, &token, &about.session);
                clients[caller].add(copy);
            }
            continue;
        }
        let answer = send(&server, &token, route, &about);
        if is_own && route.starts_with("DELETE") {
            assert_eq!(answer.status, 204, "{place}: {answer:?}");
            clients[caller].has.remove(&about.session);
        } else {
            let said = format!("{place}: {answer:?}");
            assert_eq!(seen(answer) != unknown[number], is_own, "{said}");
        }
        if call % 50 == 0 {
            for client in &clients {
                assert_eq!(listed(&server, &client.token), client.has, "{place}");
            }
        }
    }
    assert_eq!(model.requests().len(), 2);
}
