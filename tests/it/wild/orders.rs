//! The cases of `tests/wild/orders`: the program and a user, with servers that keep the rules of
//! each service. Each case runs on each service.

use super::{MadeFile, cases};
use agent_host_test_support::{
    Ran, TestEnv,
    running::{PATIENCE, Running},
    vendor::{Ending, Said, SaidCall, Vendor, VendorReply},
};
use rustix::process::Signal;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    collections::VecDeque,
    fmt::Write as _,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

/// The services, by the name and the wire format of each. Those that are no wire format have rules
/// of their own.
const SERVICES: [(&str, &str); 7] = [
    ("anthropic", "anthropic"),
    ("openai", "openai"),
    ("mistral", "openai-compat"),
    ("gemini", "gemini"),
    ("openai-compat", "openai-compat"),
    ("ollama", "ollama"),
    ("azure", "openai-compat"),
];

/// The least number of cases.
const LEAST_CASES: usize = 12;

/// A case file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Case {
    name: String,
    source: String,
    /// `agent.toml`, in which `{other}` is the model of another service.
    #[serde(default)]
    config: String,
    #[serde(default)]
    files: Vec<MadeFile>,
    /// The replies of the model, in order, whichever service is asked.
    replies: Vec<Reply>,
    steps: Vec<Step>,
}

/// A reply, or an error of the service.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Reply {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<ReplyCall>,
    /// The tokens that the service counts in the request.
    #[serde(default)]
    input_tokens: u64,
    /// Of an error, whose message is `text`.
    status: Option<u16>,
    /// The connection ends after half of the frames.
    #[serde(default)]
    cut: bool,
    /// Nothing follows after half of the frames, until the step interrupts the program.
    #[serde(default)]
    held: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyCall {
    id: String,
    name: String,
    #[serde(default)]
    input: Map<String, Value>,
}

/// A run of the program.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Step {
    /// In them, `{printed}` is what the last step printed, `{pending}` the id of the call that it
    /// waits for, and `{slow}` the URL of a server whose path `/late` is held.
    args: Vec<String>,
    /// True if the next service of the table is asked.
    #[serde(default)]
    other: bool,
    /// The signal when a request is held: `interrupt` or `kill`.
    signal: Option<String>,
    /// The exit code; none if a signal ends it.
    code: Option<i32>,
    #[serde(default)]
    stdout: Option<String>,
    /// Parts of stderr.
    #[serde(default)]
    stderr: Vec<String>,
    /// The number of requests of this step.
    requests: usize,
    /// Parts of the last request.
    #[serde(default)]
    sent: Vec<String>,
}

/// The servers of all services, which share the replies.
struct Servers {
    vendors: Vec<Vendor>,
    /// A server for tools, whose path `/late` is held.
    slow: Vendor,
    /// Tells of each request that is held.
    held: Receiver<()>,
}

impl Servers {
    /// Starts them all; each gives the next of the replies, in its wire format.
    fn start(replies: &[Reply]) -> Self {
        let (sender, held) = channel();
        // The receiver is gone if the case has failed.
        let on_held = |sender: Sender<()>| move || sender.send(()).unwrap_or_default();
        let not_a_model = |_: &Value| VendorReply::error(404, "unknown model");
        let slow = Vendor::start("slow", "none", not_a_model, on_held(sender.clone()));
        let replies = replies.iter().map(|reply| reply.with_url(&slow.base_url));
        let replies = Arc::new(Mutex::new(replies.collect::<VecDeque<Reply>>()));
        let vendors = SERVICES.map(|(service, wire)| {
            let replies = Arc::clone(&replies);
            let answer = move |_: &Value| match replies.lock().unwrap().pop_front() {
                Some(reply) => reply.encode(wire),
                None => VendorReply::error(403, "the case has no further reply"),
            };
            Vendor::start(service, wire, answer, on_held(sender.clone()))
        });
        Self {
            vendors: vendors.into(),
            slow,
            held,
        }
    }

    /// The sections of `agent.toml` of all services.
    fn config(&self) -> String {
        let mut config = String::new();
        for ((service, wire), vendor) in SERVICES.iter().zip(&self.vendors) {
            let section = if service == wire {
                format!("[{service}]")
            } else {
                format!("[[provider]]\nname = \"{service}\"\nkind = \"{service}\"")
            };
            let (url, key) = (&vendor.base_url, "env:THE_KEY");
            writeln!(
                config,
                "{section}\nbase-url = \"{url}\"\napi-key = \"{key}\"\nretries = 0"
            )
            .unwrap();
        }
        config
    }
}

impl Reply {
    /// Replaces `{slow}` in the arguments of its calls.
    fn with_url(&self, url: &str) -> Self {
        let mut reply = self.clone();
        let calls = reply.calls.iter_mut();
        for value in calls.flat_map(|call| call.input.values_mut()) {
            if let Value::String(text) = value {
                *text = text.replace("{slow}", url);
            }
        }
        reply
    }

    fn encode(&self, wire: &str) -> VendorReply {
        if let Some(status) = self.status {
            return VendorReply::error(status, &self.text);
        }
        let calls = self.calls.iter().map(|call| SaidCall {
            id: call.id.clone(),
            name: call.name.clone(),
            input: json!(call.input),
        });
        let said = Said {
            text: self.text.clone(),
            calls: calls.collect(),
            input_tokens: self.input_tokens,
        };
        let reply = VendorReply::stream(wire, &said);
        if self.cut {
            return reply.half(Ending::Cut);
        }
        if self.held {
            return reply.half(Ending::Held);
        }
        reply
    }
}

impl Step {
    /// Runs the program, and returns what differs from the case.
    fn differences(&self, world: &mut World<'_>) -> Vec<String> {
        let service = (world.service + usize::from(self.other)) % SERVICES.len();
        let mut args: Vec<String> = self.args.clone();
        for arg in &mut args {
            *arg = arg
                .replace("{printed}", world.last.stdout.trim())
                .replace("{pending}", pending(&world.last.stderr))
                .replace("{slow}", &world.servers.slow.base_url);
        }
        if args[0] == "run" {
            let model = format!("{}:m", SERVICES[service].0);
            args.splice(1..1, ["--model".to_owned(), model]);
        }
        let mut command = world.env.command(&args);
        command.env("THE_KEY", "sesame");
        let ran: Ran = match &self.signal {
            None => command.output().unwrap().into(),
            Some(signal) => {
                let running = Running::start_without_input(&mut command);
                world.servers.held.recv_timeout(PATIENCE).unwrap();
                running.signal(match signal.as_str() {
                    "interrupt" => Signal::INT,
                    "kill" => Signal::KILL,
                    other => panic!("unknown signal `{other}`"),
                });
                running.end()
            }
        };
        let asked: Vec<_> = world
            .servers
            .vendors
            .iter()
            .flat_map(Vendor::take_asked)
            .collect();
        let mut differences: Vec<String> = asked
            .iter()
            .filter_map(|asked| asked.refusal.as_ref().map(|rule| (rule, &asked.body)))
            .map(|(rule, body)| format!("the service refuses a request: {rule}: {body:#}"))
            .collect();
        if asked.len() != self.requests {
            differences.push(format!("{} requests, not {}", asked.len(), self.requests));
        }
        let printed = self.stdout.as_ref().unwrap_or(&ran.stdout);
        if ran.code != self.code || ran.stdout != *printed {
            let expected = (self.code, printed);
            differences.push(format!("{ran:?}, not {expected:?}"));
        }
        for part in self
            .stderr
            .iter()
            .filter(|part| !ran.stderr.contains(*part))
        {
            differences.push(format!("no {part:?} in {:?}", ran.stderr));
        }
        let last = asked.last().map_or(Value::Null, |asked| asked.body.clone());
        for part in self
            .sent
            .iter()
            .filter(|part| !last.to_string().contains(*part))
        {
            differences.push(format!("no {part:?} in the last request, {last:#}"));
        }
        world.last = ran;
        differences
    }
}

/// The id in the command that the program prints to decide on a call.
fn pending(stderr: &str) -> &str {
    let (_, after) = stderr.split_once(" --decide ").unwrap_or_default();
    after.split('=').next().unwrap_or_default()
}

/// A case while it runs.
struct World<'a> {
    env: TestEnv,
    servers: &'a Servers,
    /// The index of the service.
    service: usize,
    /// The last step.
    last: Ran,
}

impl Case {
    /// Runs the case on a service, and returns what differs.
    fn differences(&self, service: usize) -> Vec<String> {
        let servers = Servers::start(&self.replies);
        let mut world = World {
            env: TestEnv::new(),
            servers: &servers,
            service,
            last: Ran {
                code: None,
                stdout: String::new(),
                stderr: String::new(),
            },
        };
        let other = SERVICES[(service + 1) % SERVICES.len()].0;
        let config = self.config.replace("{other}", &format!("{other}:m"));
        world
            .env
            .configure(format!("{config}\n{}", servers.config()));
        for made in &self.files {
            made.make(&world.env);
        }
        for step in &self.steps {
            let found = step.differences(&mut world);
            if !found.is_empty() {
                let (service, _) = SERVICES[service];
                let what = |found| format!("{} with {service}: {found}", step.args.join(" "));
                return found.into_iter().map(what).collect();
            }
        }
        Vec::new()
    }
}

#[test]
fn wild_orders_end_right_with_every_service() {
    let cases = cases::<Case>("orders");
    assert!(cases.len() >= LEAST_CASES, "{} cases", cases.len());
    let all = (0..SERVICES.len()).map(|service| {
        let differences = move |(file, case): (&String, &Case)| {
            assert!(!case.source.is_empty(), "{file}");
            let found = case.differences(service).into_iter();
            let what = |found| format!("{file} ({}): {found}", case.name);
            found.map(what).collect::<Vec<_>>()
        };
        let cases = &cases;
        move || cases.iter().flat_map(differences).collect::<Vec<String>>()
    });
    let differences: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = all.map(|run| scope.spawn(run)).collect();
        let ended = threads.into_iter().map(|thread| thread.join().unwrap());
        ended.flatten().collect()
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
