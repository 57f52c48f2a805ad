//! Streams of events whose connections end at random: each reader ends with the events of the
//! journal, each once. `AGENT_HOST_TEST_KILLS` sets the number of connections that end.

use super::records;
use agent_host_test_support::{
    TestEnv,
    api::ApiServer,
    chat::{Answer, ChatServer},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// The variable that sets the number of connections that end, and its default.
const KILLS: &str = "AGENT_HOST_TEST_KILLS";
const DEFAULT_KILLS: usize = 200;

/// The readers of a session, and its replies that call a tool.
const READERS: u64 = 4;
const REPLIES: usize = 30;

/// A reader of a session's events.
struct Reader {
    events: Vec<Value>,
    last: Option<u64>,
    is_done: bool,
    /// The state of its random numbers.
    random: u64,
}

impl Reader {
    fn new(seed: u64) -> Self {
        Self {
            events: Vec::new(),
            last: None,
            is_done: false,
            random: seed,
        }
    }

    /// Reads at most a few events over one connection, which ends with what is not read yet.
    fn read(&mut self, server: &ApiServer, session: &str) {
        // The constants of Knuth's MMIX generator.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let count = usize::try_from(self.random >> 61).unwrap();
        let mut seen = Vec::new();
        for event in server.events(session, self.last).take(count) {
            self.is_done = event.data["event"]["outcome"]["type"] == "done";
            self.last = event.id.or(self.last);
            seen.push(event);
            if self.is_done {
                break;
            }
        }
        self.events.extend(records(&seen));
    }
}

#[test]
fn readers_of_ended_connections_have_each_event_once() {
    let wanted = std::env::var(KILLS)
        .ok()
        .and_then(|kills| kills.parse().ok());
    let wanted = wanted.unwrap_or(DEFAULT_KILLS);
    let mut ended = 0;
    while ended < wanted {
        let env = TestEnv::new();
        let calls = || Answer::calls(&[("list_directory", json!({ "path": "." }))]);
        let replies = std::iter::repeat_with(calls).take(REPLIES);
        let model = ChatServer::start(replies.chain([Answer::text("Done.")]).collect());
        let server = ApiServer::start(&env, &model, &[]);
        let session = server.create("go");
        let mut readers: Vec<Reader> = (0..READERS).map(Reader::new).collect();
        while let Some(reader) = readers
            .iter_mut()
            .filter(|reader| !reader.is_done)
            .min_by_key(|reader| reader.events.len())
        {
            reader.read(&server, &session);
            ended += 1;
        }
        let events = env.events();
        for reader in readers {
            assert_eq!(reader.events, events);
        }
        assert_eq!(server.end().code, Some(0));
    }
    println!("{ended} connections ended, and no event was lost or came twice");
}
