//! `[[schedule]]` and `[[webhook]]`: `agent-host serve` starts sessions by itself, at most once
//! each.

mod hosts;
mod notify;
mod webhooks;

use agent_host_journal::{Firing, JournalStore};
use agent_host_test_support::{
    TestEnv,
    api::ApiServer,
    chat::{Answer, ChatServer},
};
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, channel};

/// A schedule whose only time was a minute ago.
fn past(name: &str) -> String {
    let now = Timestamp::now().as_second();
    let past = Timestamp::from_second(now - 60).unwrap();
    let at = past.strftime("%Y-%m-%dT%H:%M:%S");
    format!("[[schedule]]\nname = \"{name}\"\nprompt = \"run {name}\"\nat = \"{at}\"\n")
}

/// A model with the same answer to each request, and the receiver of a message for each.
fn model(count: usize) -> (ChatServer, Receiver<()>) {
    let (asked, is_asked) = channel();
    let answers = (0..count).map(|_| Answer::text("Done.")).collect();
    let model = ChatServer::watched(answers, move |point| {
        if point % 2 == 0 {
            // The test may have ended.
            let _ = asked.send(());
        }
    });
    (model, is_asked)
}

/// The state and the session of the last firing of each schedule.
fn last(server: &ApiServer) -> Vec<(String, String)> {
    let list = server.get("/schedules").json();
    let rows = list["schedules"].as_array().unwrap().iter();
    let last = |row: &Value| {
        let last = &row["last"];
        let text = |key: &str| last[key].as_str().unwrap_or_default().to_owned();
        (text("state"), text("session"))
    };
    rows.map(last).collect()
}

/// Returns the messages of a session with their senders.
fn inputs(server: &ApiServer, session: &str) -> Vec<(String, String)> {
    let events = server.events(session, None).until("turn-ended");
    let events = events.iter().map(|event| &event.data["event"]);
    let inputs = events.filter(|event| event["kind"] == "input-received");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    inputs
        .map(|event| {
            let content = &event["message"]["content"][0]["text"];
            (text(&event["by"]), text(content))
        })
        .collect()
}

/// Changes a firing of a trigger once it is ready: as a host does, whose signature a
/// firing has.
async fn change_firing(
    store: &dyn JournalStore,
    trigger: &str,
    is_ready: impl Fn(&Firing) -> bool,
    change: impl Fn(Firing) -> Firing,
) {
    loop {
        let newest = store.firings(trigger.to_owned(), 9).await.unwrap();
        if let Some(firing) = newest.into_iter().find(&is_ready)
            && store
                .update_firing(firing.clone(), change(firing))
                .await
                .unwrap()
        {
            return;
        }
    }
}

/// A time that was missed a minute ago fires at once, and once: a server that begins later fires
/// what is new alone.
#[test]
fn missed_schedule_fires_once_over_restarts() {
    let env = TestEnv::new();
    let (model, is_asked) = model(2);
    let old = past("old");
    env.configure(&old);
    let server = ApiServer::start(&env, &model, &[]);
    is_asked.recv().unwrap();
    let [(_, session)] = last(&server).try_into().unwrap();
    let expected = [("schedule old".to_owned(), "run old".to_owned())];
    assert_eq!(inputs(&server, &session), expected);
    let state = ("started".to_owned(), session.clone());
    // It is recorded behind the start.
    while last(&server) != [state.clone()] {}
    let row = &server.get("/schedules").json()["schedules"][0];
    assert_eq!((&row["name"], &row["next_ms"]), (&json!("old"), &json!([])));
    assert_eq!(server.end().code, Some(0));

    // They are looked at in order, so the old one was when the new one fires.
    env.configure(format!("{old}{}", past("new")));
    let server = ApiServer::start(&env, &model, &[]);
    is_asked.recv().unwrap();
    let [(_, old), (_, new)] = last(&server).try_into().unwrap();
    assert_eq!(old, session);
    let expected = [("schedule new".to_owned(), "run new".to_owned())];
    assert_eq!(inputs(&server, &new), expected);
    assert_eq!(server.end().code, Some(0));
    assert_eq!(model.requests().len(), 2);
    let listed = env.run(&["sessions", "list", "--json"]);
    assert_eq!(listed.json_lines().len(), 2);
}

/// The list and `doctor` tell when a schedule fires next.
#[test]
fn next_times_are_listed() {
    let env = TestEnv::new();
    let (model, _is_asked) = model(0);
    let year = Timestamp::now().strftime("%Y").to_string();
    let next: i64 = year.parse::<i64>().unwrap() + 1;
    env.write("key", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX");
    env.configure(
        "[[schedule]]\nname = \"yearly\"\nprompt = \"go\"\ncron = \"30 9 1 1 *\"\nzone = \"Europe/Berlin\"\n\
         [[webhook]]\nname = \"w\"\nprompt = \"go\"\nsecret = \"file:key\"\n\
         [[webhook]]\nname = \"x\"\nprompt = \"go\"\nsecret = \"file:absent\"\n",
    );
    let doctor = env.run(&["doctor", "--json"]);
    let checks = doctor.json()["checks"].clone();
    let of = |name: &str| -> Vec<(String, String)> {
        let checks = checks.as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        checks
            .filter(|check| check["check"] == name)
            .map(|check| (text(&check["status"]), text(&check["text"])))
            .collect()
    };
    let times = "30 9 1 1 * (Europe/Berlin)";
    let shown = format!("yearly: {times}; next at {next}-01-01T09:30:00+01:00[Europe/Berlin]");
    assert_eq!(of("schedule"), [("ok".to_owned(), shown)]);
    let [served, absent] = of("webhook").try_into().unwrap();
    let signed = "w: POST /webhooks/w, signed in the Standard Webhooks format";
    assert_eq!(served, ("ok".to_owned(), signed.to_owned()));
    assert_eq!(absent.0, "error");
    assert!(
        absent.1.contains("cannot read the key for signatures"),
        "{absent:?}"
    );

    env.configure(
        "[[schedule]]\nname = \"yearly\"\nprompt = \"go\"\ncron = \"30 9 1 1 *\"\nzone = \"Europe/Berlin\"\n",
    );
    let server = ApiServer::start(&env, &model, &[]);
    let row = server.get("/schedules").json()["schedules"][0].clone();
    let ms = |year: i64| {
        let at: Timestamp = format!("{year}-01-01T08:30:00Z").parse().unwrap();
        at.as_millisecond()
    };
    let expected = json!({
        "name": "yearly",
        "times": times,
        "agent": null,
        "next_ms": [ms(next), ms(next + 1), ms(next + 2)],
        "last": null,
    });
    assert_eq!(row, expected);
}
