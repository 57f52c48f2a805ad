//! Several hosts of one store: they continue each other's runs, and each answers for all.

use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, EventStream, ServerEvent},
    chat::{Answer, ChatServer},
    http::Received,
    postgres::database,
    running::Running,
};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    io::{BufReader, Write as _},
    net::TcpListener,
    process::Command,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

/// A directory whose hosts share a store, with more configuration.
fn directory(url: &str, more: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("database", url);
    configure(&env, more);
    env
}

fn configure(env: &TestEnv, more: &str) {
    env.configure(format!("[store]\nurl = \"file:database\"\n{more}"));
}

/// A model that waits at points of its answers, as [`ChatServer::watched`] numbers them.
fn held(answers: Vec<Answer>, points: &'static [usize]) -> (ChatServer, Receiver<()>, Sender<()>) {
    let (reached, is_reached) = mpsc::channel();
    let (release, is_released) = mpsc::channel();
    let model = ChatServer::watched(answers, move |point| {
        if points.contains(&point) {
            reached.send(()).unwrap();
            is_released.recv().unwrap();
        }
    });
    (model, is_reached, release)
}

/// A host whose model was asked by a session, and waits.
struct Asked {
    server: ApiServer,
    session: String,
    model: ChatServer,
    release: Sender<()>,
}

impl Asked {
    /// Starts a host with a session, and holds the first of these answers.
    fn of(env: &TestEnv, answers: Vec<Answer>) -> Self {
        let (model, is_asked, release) = held(answers, &[0]);
        let server = ApiServer::start(env, &model, &[]);
        let session = server.create("go");
        is_asked.recv().unwrap();
        Self {
            server,
            session,
            model,
            release,
        }
    }

    /// Kills the host, and ends its claims, as time does. Returns the session, and the model with
    /// the other answers.
    fn kill(self, url: &str) -> (String, ChatServer) {
        self.server.running.signal(Signal::KILL);
        self.release.send(()).unwrap();
        operate(
            url,
            "UPDATE leases SET until = clock_timestamp() - interval '1 second'",
        );
        (self.session, self.model)
    }
}

/// Makes it long ago that the hosts reported that were killed.
fn forget(url: &str) {
    operate(
        url,
        "UPDATE hosts SET reported = reported - interval '1 minute' WHERE host IN (SELECT host FROM leases)",
    );
}

/// Runs a statement past the hosts.
fn operate(url: &str, statement: &str) {
    let psql = Command::new("psql")
        .args(["-d", url, "-c", statement])
        .output();
    let psql = psql.unwrap();
    assert!(psql.status.success(), "{psql:?}");
}

/// Starts a host that serves nothing.
fn worker(env: &TestEnv, model: &ChatServer) -> Running {
    let mut command = env.command(&["serve", "--worker", "--model", "openai-compat:m"]);
    command.env("OPENAI_COMPAT_BASE_URL", &model.base_url);
    let mut running = Running::start(&mut command);
    running.stderr.until("for the sessions of the store");
    running
}

fn kinds(events: &[ServerEvent]) -> Vec<&str> {
    let kinds = events
        .iter()
        .map(|event| event.data["event"]["kind"].as_str());
    kinds.flatten().collect()
}

/// Reads events until the run is over: a turn that another one follows is not its end.
fn until_end(events: &mut EventStream) -> Vec<ServerEvent> {
    let mut all = Vec::new();
    loop {
        all.extend(events.until("turn-ended"));
        let last = all.last().unwrap();
        if last.data["event"]["outcome"]["type"] != "needs-more-turns" {
            return all;
        }
    }
}

fn row(server: &ApiServer, session: &str) -> Value {
    server.get(&format!("/sessions/{session}")).json()
}

/// A host is killed in a run. Another one continues it by itself, and each tells what happens.
#[test]
fn run_of_a_killed_host_is_continued() {
    let Some(url) = database() else { return };
    let env = directory(&url, "");
    let asked = Asked::of(&env, vec![Answer::text("Lost."), Answer::text("Done.")]);
    let worker = worker(&env, &asked.model);
    let listed = asked.server.get("/sessions").json();
    assert_eq!(listed["sessions"][0]["run"]["state"], "running");
    let (session, model) = asked.kill(&url);
    let third = ApiServer::start(&env, &model, &[]);
    let events = until_end(&mut third.events(&session, None));
    let expected = [
        "session-started",
        "run-placed",
        "loop-configured",
        "input-received",
        "model-requested",
        "turn-interrupted",
        "model-requested",
        "model-replied",
        "turn-ended",
    ];
    assert_eq!(kinds(&events), expected, "{:#?}", events.last());
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().code, Some(0));
    let row = row(&third, &session);
    assert_eq!((&row["running"], row.get("run")), (&json!(false), None));
}

/// A host that ends hands its runs over, and another one continues without a call lost.
#[test]
fn run_of_a_host_that_ends_is_handed_over() {
    let Some(url) = database() else { return };
    let env = directory(&url, "");
    let answers = vec![
        Answer::calls(&[("list_directory", json!({ "path": "." }))]),
        Answer::text("Done."),
    ];
    let asked = Asked::of(&env, answers);
    asked.server.running.signal(Signal::TERM);
    let second = ApiServer::start(&env, &asked.model, &[]);
    let mut events = second.events(&asked.session, None);
    asked.release.send(()).unwrap();
    assert_eq!(asked.server.running.end().code, Some(0));
    let events = until_end(&mut events);
    let expected = [
        "session-started",
        "run-placed",
        "loop-configured",
        "input-received",
        "model-requested",
        "model-replied",
        "turn-ended",
        "call-intended",
        "call-settled",
        "turn-ended",
        "model-requested",
        "model-replied",
        "turn-ended",
    ];
    assert_eq!(kinds(&events), expected);
    assert_eq!(asked.model.requests().len(), 2);
}

/// A model whose one reply has a word for each message on `further`, and ends with its sender.
fn talking(further: Receiver<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        Received::read(&mut BufReader::new(&stream)).unwrap();
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let mut say = |delta: Value, reason: Value| {
            let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
            let chunk = json!({ "choices": [choice] });
            stream
                .write_all(format!("data: {chunk}\n\n").as_bytes())
                .unwrap();
        };
        for () in further {
            say(json!({ "content": "word " }), Value::Null);
        }
        say(json!({}), json!("stop"));
        stream.write_all(b"data: [DONE]\n\n").unwrap();
    });
    base_url
}

/// The text of a reply reaches a reader at another host as it arrives.
#[test]
fn text_is_told_by_another_host() {
    let Some(url) = database() else { return };
    let env = directory(&url, "");
    let mut model = ChatServer::start(Vec::new());
    let (further, words) = mpsc::channel();
    model.base_url = talking(words);
    let first = ApiServer::start(&env, &model, &[]);
    let second = ApiServer::start(&env, &model, &[]);
    let session = first.create("go");
    let is_text = |event: &ServerEvent| event.data["live"] == "text";
    let mut events = second.events(&session, None);
    let mut own = first.events(&session, None);
    let is_told = AtomicBool::new(false);
    thread::scope(|scope| {
        // A word follows when the one before it was told here, so that no reader falls behind.
        scope.spawn(|| {
            let further = further;
            while !is_told.load(Ordering::Acquire) {
                further.send(()).unwrap();
                own.find(is_text).unwrap();
            }
        });
        let text = events.find(is_text);
        is_told.store(true, Ordering::Release);
        // A reader that comes late is told the text so far at once.
        let text = text.unwrap().data["text"].as_str().unwrap().to_owned();
        assert!(text.len() >= "word ".len(), "{text:?}");
        assert_eq!(text.replace("word ", ""), "");
        events.until("turn-ended");
    });
}

/// The reply of an agent reaches a reader of its session at another host: its text so far, and the
/// rest as it arrives.
#[test]
fn text_of_an_agent_is_told_by_another_host() {
    let Some(url) = database() else { return };
    let env = TestEnv::new();
    env.write("database", &url);
    env.configure(
        "agents = [\"clerk\"]\n[store]\nurl = \"file:database\"\n\
         [[agent]]\nname = \"clerk\"\ndescription = \"Reads.\"\n",
    );
    let halves = "The first half is here. And this: The second half is here.";
    let answers = vec![
        Answer::calls(&[("agent_clerk", json!({"instructions": "see"}))]),
        Answer::text(halves),
        Answer::text("Done."),
    ];
    // The middle of the agent's answer.
    let (model, is_half, release) = held(answers, &[3]);
    let first = ApiServer::start(&env, &model, &[]);
    let second = ApiServer::start(&env, &model, &[]);
    let session = first.create("go");
    is_half.recv().unwrap();
    let spawned = first.events(&session, None).until("agent-spawned");
    let agent = spawned.last().unwrap().data["event"]["session"].clone();
    let mut events = second.events(agent.as_str().unwrap(), None);
    let begun = events.until_live("text");
    let mut text = begun.last().unwrap().data["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        halves.starts_with(&text) && text.len() < halves.len(),
        "{text}"
    );
    release.send(()).unwrap();
    let rest = events.until("turn-ended");
    text.extend(rest.iter().filter_map(|event| event.data["text"].as_str()));
    assert_eq!(text, halves);
    until_end(&mut second.events(&session, None));
}

/// A run is cancelled and drained at a host that does not run it.
#[test]
fn run_is_cancelled_and_drained_at_another_host() {
    let Some(url) = database() else { return };
    let env = directory(&url, "");
    let answers = vec![
        Answer::text("Never."),
        Answer::calls(&[("list_directory", json!({ "path": "." }))]),
    ];
    let (model, is_asked, release) = held(answers, &[0, 2]);
    let first = ApiServer::start(&env, &model, &[]);
    let second = ApiServer::start(&env, &model, &[]);
    for (action, end, by) in [
        ("cancel", "cancelled", json!("operator")),
        ("drain", "needs-more-turns", Value::Null),
    ] {
        let session = first.create("go");
        is_asked.recv().unwrap();
        let post = || second.post(&format!("/sessions/{session}/{action}"), &json!({}));
        assert_eq!(post().status, 202, "{action}");
        let mut events = second.events(&session, None);
        if action == "drain" {
            release.send(()).unwrap();
        }
        let last = events.until("turn-ended").pop().unwrap().data;
        assert_eq!(last["event"]["outcome"]["type"], end);
        assert_eq!(last["event"]["by"], by, "{last}");
        if action == "cancel" {
            release.send(()).unwrap();
        }
        // It is over as soon as its claim is given up, and is not continued.
        let mut answer = post();
        while answer.status == 202 {
            answer = post();
        }
        let problem = answer.problem();
        assert_eq!(problem, (409, "not-running".to_owned()), "{action}");
    }
    assert_eq!(second.end().code, Some(0));
    assert_eq!(first.end().code, Some(0));
}

/// A host whose places are taken accepts a message, which a worker runs; what waits can be
/// cancelled.
#[test]
fn run_without_a_place_waits_for_a_host() {
    let Some(url) = database() else { return };
    let env = directory(&url, "[hosts]\nmax-runs = 1\n");
    let asked = Asked::of(&env, vec![Answer::text("One.")]);
    let (server, one) = (asked.server, asked.session);
    let (two, three) = (server.create("two"), server.create("three"));
    let waiting = |session: &str| row(&server, session)["run"]["state"].clone();
    let ended = |session: &str| server.events(session, None).until("turn-ended");
    for session in [&two, &three] {
        let expected = [
            "session-started",
            "run-placed",
            "loop-configured",
            "input-received",
            "turn-ended",
        ];
        assert_eq!(kinds(&ended(session)), expected);
        assert_eq!(waiting(session), "waiting");
    }
    let cancelled = server.post(&format!("/sessions/{three}/cancel"), &json!({}));
    assert_eq!(cancelled.status, 202, "{cancelled:?}");
    let mut events = server.events(&three, None);
    let last = until_end(&mut events).pop().unwrap().data;
    assert_eq!(last["event"]["outcome"]["type"], "cancelled");
    assert_eq!(last["event"]["by"], "operator");
    let _worker = worker(&env, &ChatServer::start(vec![Answer::text("Two.")]));
    until_end(&mut server.events(&two, None));
    asked.release.send(()).unwrap();
    until_end(&mut server.events(&one, None));
    // A host gives a run up after its last event.
    let is_over = |row: &Value| row.get("run").is_none();
    let sessions = || server.get("/sessions").json()["sessions"].clone();
    while !sessions().as_array().unwrap().iter().all(is_over) {}
    let hosts = server.get("/hosts").json();
    let hosts = hosts["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 2, "{hosts:?}");
    assert_eq!(hosts[0]["configuration"], hosts[1]["configuration"]);
    assert_eq!(hosts[0]["max-runs"], 1);
}

/// A server without other hosts refuses a run that it has no place for, and keeps nothing of it.
#[test]
fn run_without_a_place_is_refused_without_other_hosts() {
    let env = TestEnv::new();
    env.configure("[hosts]\nmax-runs = 1\n");
    let asked = Asked::of(&env, vec![Answer::text("One.")]);
    let (server, one) = (asked.server, asked.session);
    let refused = server.post("/sessions", &json!({ "message": "two" }));
    assert_eq!(refused.problem(), (503, "too-many-runs".to_owned()));
    let sessions = server.get("/sessions").json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    asked.release.send(()).unwrap();
    server.events(&one, None).until("turn-ended");
    let hosts = server.get("/hosts").json();
    assert_eq!(hosts, json!({ "hosts": [] }));
}

/// A host with other rules does not continue a run by itself, which says why it waits. Its user may
/// continue it there.
#[test]
fn run_of_another_configuration_waits() {
    let Some(url) = database() else { return };
    let rules = "[[rule]]\nname = \"no\"\ntool = \"http_post\"\ndecision = \"deny\"\n";
    let env = directory(&url, "");
    let asked = Asked::of(&env, vec![Answer::text("Lost."), Answer::text("Done.")]);
    let (session, model) = asked.kill(&url);
    configure(&env, rules);
    let second = ApiServer::start(&env, &model, &[]);
    forget(&url);
    let run = row(&second, &session)["run"].clone();
    assert_eq!(run["state"], "interrupted", "{run}");
    let reason = run["reason"].as_str().unwrap();
    let expected = "no host has the components, grants, rules, agents and servers of this run";
    assert!(reason.starts_with(expected), "{reason}");
    let resumed = second.post(&format!("/sessions/{session}/resume"), &json!({}));
    assert_eq!(resumed.status, 202, "{resumed:?}");
    let events = until_end(&mut second.events(&session, None));
    let placed: Vec<&Value> = events
        .iter()
        .map(|event| &event.data["event"])
        .filter(|event| event["kind"] == "run-placed")
        .collect();
    let [old, new] = placed.as_slice() else {
        panic!("{placed:?}");
    };
    let differ = |part: &str| old["configuration"][part] != new["configuration"][part];
    let parts = ["agents", "components", "grants", "rules", "servers"];
    assert_eq!(parts.map(differ), [false, false, false, true, false]);
}

/// A run that reaches a directory stays on its machine, unless each host has the directory.
#[test]
fn run_stays_on_the_machine_of_its_directories() {
    let Some(url) = database() else { return };
    for (shared, is_continued) in [("", false), ("shared-directories = [\".\"]\n", true)] {
        let hosts = |machine: &str| format!("[hosts]\nmachine = \"{machine}\"\n{shared}");
        let env = directory(&url, &hosts("one"));
        let asked = Asked::of(&env, vec![Answer::text("Lost."), Answer::text("Done.")]);
        let (session, model) = asked.kill(&url);
        configure(&env, &hosts("two"));
        let second = ApiServer::start(&env, &model, &[]);
        if is_continued {
            let events = until_end(&mut second.events(&session, None));
            let machines: Vec<&Value> = events
                .iter()
                .map(|event| &event.data["event"]["machine"])
                .filter(|machine| machine.is_string())
                .collect();
            assert_eq!(machines, ["one", "two"]);
            continue;
        }
        forget(&url);
        let run = row(&second, &session)["run"].clone();
        assert_eq!(
            (&run["state"], &run["machine"]),
            (&json!("interrupted"), &json!("one"))
        );
        let reason = run["reason"].as_str().unwrap();
        let expected = "it needs directories that only one has, and no host runs there";
        assert!(reason.starts_with(expected), "{reason}");
    }
}

/// A worker needs a store with other hosts.
#[test]
fn worker_without_other_hosts_is_refused() {
    let env = TestEnv::new();
    let ran = env.run(&["serve", "--worker"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let expected = "`--worker` runs sessions of other hosts, but this host's store is not shared; set `url` in [store]";
    assert!(ran.stderr.contains(expected), "{ran:?}");
}
