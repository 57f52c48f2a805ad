//! Runs a script.

use std::collections::BTreeMap;

use agent_tool::{Output, Part, Question, artifacts, ask, context, control, progress, state};
use serde_json::{Map, Value, json};
use wasip2::filesystem::types::Descriptor;
use wasip2::http::types::IncomingResponse;

use crate::script::{Op, Returned, parse};
use crate::{files, http, location, memory, services, sockets};

/// The outcome of an attempt: a value, or the name of the host's error.
pub(crate) type Outcome = Result<Value, String>;

/// The resources that the script keeps until the call ends.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) descriptors: Vec<Descriptor>,
    pub(crate) responses: Vec<IncomingResponse>,
}

/// Makes every attempt, and returns the outcome of each. A script that cannot be read is a failure
/// as a whole, so that no misspelt attempt passes for a refused one.
pub(crate) fn run(script: Vec<Value>) -> Output {
    let script: Result<Vec<Op>, String> = script.into_iter().map(parse).collect();
    let script = match script {
        Ok(script) => script,
        Err(why) => return Output::error(format!("not a script: {why}")),
    };
    let mut kept = Kept::default();
    let mut outcomes = Vec::new();
    for op in script {
        match op {
            Op::Return { output } => return returned(output),
            op => outcomes.push(match attempt(op, &mut kept) {
                Ok(value) => json!({ "ok": value }),
                Err(kind) => json!({ "error": kind }),
            }),
        }
    }
    Output::Json(Value::Array(outcomes))
}

fn attempt(op: Op, kept: &mut Kept) -> Outcome {
    match op {
        Op::Repeat { count, each } => repeat(count, &each, kept),
        Op::Return { .. } => Err("a return in a repeat".to_owned()),
        op => files_or(op, kept),
    }
}

fn files_or(op: Op, kept: &mut Kept) -> Outcome {
    match op {
        Op::Roots {} => Ok(json!(location::roots())),
        Op::Open { path, how, follow } => files::open(path, &how, follow, kept),
        Op::Read {
            path,
            follow,
            max_bytes,
        } => files::read(path, follow, max_bytes),
        Op::Write {
            path,
            text,
            times,
            how,
            follow,
            stream,
        } => {
            let file = location::resolve(path)?.open(&how, follow)?;
            if stream {
                files::write_stream(&file, &text, times)
            } else {
                files::write(&file, &text, times)
            }
        }
        Op::Append { path, text } => files::append(path, &text),
        Op::Zeroes { path, bytes } => files::zeroes(path, bytes),
        Op::Splice { from, to, bytes } => files::splice(from, to, bytes),
        Op::List { path } => files::list(path),
        Op::Stat { path, follow } => files::stat(path, follow),
        Op::Hash { path } => files::hash(path),
        Op::Rename { from, to } => files::rename(from, to),
        Op::Link { from, to, follow } => files::link(from, to, follow),
        Op::Symlink { target, path } => files::symlink(&target, path),
        Op::Readlink { path } => files::readlink(path),
        Op::Unlink { path } => files::unlink(path),
        Op::Mkdir { path } => files::mkdir(path),
        Op::Rmdir { path } => files::rmdir(path),
        Op::Truncate { path, size, how } => files::truncate(path, size, &how),
        Op::Touch { path, follow } => files::touch(path, follow),
        op => services_or(op, kept),
    }
}

fn services_or(op: Op, kept: &mut Kept) -> Outcome {
    match op {
        Op::Http {
            method,
            url,
            target,
            headers,
            body,
            times,
            max_bytes,
            keep,
        } => {
            let request = http::Request {
                method,
                url,
                target,
                headers,
                body,
                times,
            };
            let response = http::send(&request)?;
            if keep {
                kept.responses.push(response);
                return Ok(json!(kept.responses.len()));
            }
            http::read(&response, max_bytes)
        }
        Op::Connect { address } => sockets::connect(&address),
        Op::Bind { address } => sockets::bind(&address),
        Op::BindUdp { address } => sockets::bind_udp(&address),
        Op::Lookup { name } => sockets::lookup(&name),
        Op::Env {} => Ok(services::env()),
        Op::Args {} => Ok(services::args()),
        Op::Cwd {} => Ok(services::cwd()),
        Op::Stdin {} => services::stdin(),
        Op::Stdout { text, times } => services::stdout(&text, times),
        Op::Stderr { text, times } => services::stderr(&text, times),
        Op::Terminal {} => Ok(services::terminal()),
        Op::Random { bytes } => Ok(services::random(bytes)),
        Op::Sleep { ms } => Ok(services::sleep(ms)),
        Op::Poll { count, ms } => Ok(services::poll(count, ms)),
        op => own(op),
    }
}

/// Attempts on the session.
fn own(op: Op) -> Outcome {
    match op {
        Op::Progress { message } => {
            progress::report(&message);
            Ok(Value::Null)
        }
        Op::StateGet {} => Ok(Value::Object(state::get())),
        Op::StateMerge { delta } => {
            state::merge(delta);
            Ok(Value::Null)
        }
        Op::Ask { prompt } => Ok(json!(format!("{:?}", ask(&Question::open(prompt))))),
        Op::ContextGet {} => Ok(Value::Object(context::get())),
        Op::Halt { message } => {
            control::halt(message);
            Ok(Value::Null)
        }
        op => on_artifacts(op),
    }
}

/// Attempts on the artifacts of the session.
fn on_artifacts(op: Op) -> Outcome {
    let failed = |error: artifacts::ArtifactError| format!("{error:?}");
    match op {
        Op::ArtifactList {} => {
            let names = artifacts::list().map_err(failed)?.into_iter();
            Ok(names.map(|artifact| artifact.name).collect())
        }
        Op::ArtifactGet { name } => {
            let bytes = artifacts::get(&name).map_err(failed)?;
            Ok(json!(String::from_utf8_lossy(&bytes)))
        }
        Op::ArtifactPut {
            name,
            media_type,
            text,
            times,
        } => {
            let text = text.repeat(usize::try_from(times).unwrap_or(usize::MAX));
            let put = artifacts::put(&name, &media_type, text.as_bytes());
            put.map_err(failed)?;
            Ok(Value::Null)
        }
        Op::ArtifactDelete { name } => {
            artifacts::delete(&name).map_err(failed)?;
            Ok(Value::Null)
        }
        op => on_itself(op),
    }
}

/// Attempts on the guest's own memory and end.
fn on_itself(op: Op) -> Outcome {
    match op {
        Op::Alloc { bytes } => Ok(memory::alloc(bytes)),
        Op::Recurse {} => Ok(json!(memory::recurse(0))),
        Op::Spin {} => memory::spin(),
        Op::Panic { message } => memory::panic(&message),
        Op::Exit { ok } => services::exit(ok),
        Op::Scan { inverted } => memory::scan(&inverted),
        _ => Err("not an attempt of its own".to_owned()),
    }
}

fn repeat(count: u64, each: &Value, kept: &mut Kept) -> Outcome {
    let mut outcomes = BTreeMap::<String, u64>::new();
    for n in 0..count {
        let op = parse(numbered(each, n))?;
        let kind = attempt(op, kept).map_or_else(|kind| kind, |_| "ok".to_owned());
        *outcomes.entry(kind).or_default() += 1;
    }
    Ok(json!(outcomes))
}

/// The value with `{n}` replaced by the number in every string.
fn numbered(value: &Value, n: u64) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("{n}", &n.to_string())),
        Value::Array(items) => items.iter().map(|item| numbered(item, n)).collect(),
        Value::Object(fields) => {
            let fields: Map<_, _> = fields
                .iter()
                .map(|(key, value)| (key.clone(), numbered(value, n)))
                .collect();
            Value::Object(fields)
        }
        other => other.clone(),
    }
}

fn returned(output: Returned) -> Output {
    match output {
        Returned::Text { text, times } => {
            Output::text(text.repeat(usize::try_from(times).unwrap_or(usize::MAX)))
        }
        Returned::Json { value } => Output::Json(value),
        Returned::Error { text } => Output::error(text),
        Returned::Denied { reason } => Output::denied(reason),
        Returned::File { media_type, hex } => match memory::bytes(&hex) {
            Ok(bytes) => Output::content([Part::bytes(media_type, bytes)]),
            Err(kind) => Output::error(kind),
        },
    }
}
