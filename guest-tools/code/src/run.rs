//! Runs a script in a fresh engine: evaluates it, runs its jobs and timers, and converts its value.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use agent_tool::{Output, Part};
use rquickjs::context::EvalOptions;
use rquickjs::function::Opt;
use rquickjs::promise::PromiseState;
use rquickjs::runtime::RejectionTracker;
use rquickjs::{
    CatchResultExt as _, CaughtError, Coerced, Context, Ctx, Error, Exception, FromJs, Function,
    Object, Persistent, Promise, Runtime, TypedArray, Value,
};

use crate::report::Report;
use crate::{files, tools, web};

/// The globals of a script, in JavaScript.
const PRELUDE: &str = include_str!("prelude.js");

/// The name of the script in the lines of an exception; `prelude.js` looks for it.
const SCRIPT: &str = "code.js";

/// The most timers that run, since none of them waits.
const MAX_TIMERS: usize = 100_000;

/// The report of a script, which its functions write to while it runs.
pub(crate) type Shared = Rc<RefCell<Report>>;

/// The most rejections that are noted each.
const MAX_REJECTIONS: usize = 8;

/// A promise that was rejected. Kept here, where no script can change what is kept.
struct Rejection {
    promise: Persistent<Value<'static>>,
    reason: Persistent<Value<'static>>,
}

/// The rejections that nothing has handled.
type Unhandled = Rc<RefCell<VecDeque<Rejection>>>;

/// The functions of `prelude.js` that the host calls.
struct Prelude<'js> {
    value_of: Function<'js>,
    describe: Function<'js>,
    run_timer: Function<'js>,
    run_calls: Function<'js>,
}

/// Runs a script with its input, and returns its result.
pub(crate) fn run(code: &str, input: &serde_json::Value) -> Output {
    if let Some(at) = code.find('\0') {
        let error = format!("the code has a zero byte, at byte {at}; write it as \\0 in a text");
        return Output::error(error);
    }
    let shared = Shared::default();
    note_literals(code, &mut shared.borrow_mut());
    let ended = evaluate(code, input, &shared);
    let report = shared.take();
    match ended {
        Ok(value) => report.succeed(value),
        Err(error) => report.fail(&error),
    }
}

/// Returns the value, or the sentences about the exception.
fn evaluate(
    code: &str,
    input: &serde_json::Value,
    shared: &Shared,
) -> Result<Option<serde_json::Value>, String> {
    let outside = |error: Error| format!("the engine cannot start: {error}");
    let runtime = Runtime::new().map_err(outside)?;
    let unhandled = Unhandled::default();
    runtime.set_host_promise_rejection_tracker(Some(tracker(&unhandled)));
    let context = Context::full(&runtime).map_err(outside)?;
    context.with(|ctx| {
        let prelude = prelude(&ctx, input, shared)
            .catch(&ctx)
            .map_err(|error| format!("the engine cannot start: {error}"))?;
        let value = script(&ctx, code, &prelude);
        // They must not outlive the engine.
        let unhandled = unhandled.take();
        let value = value
            .catch(&ctx)
            .map_err(|error| prelude.describe(&error))?;
        for note in prelude.notes_of(&ctx, unhandled) {
            shared.borrow_mut().note(note);
        }
        let json: Option<String> = prelude
            .value_of
            .call((value,))
            .catch(&ctx)
            .map_err(|error| format!("the value is no JSON: {}", prelude.describe(&error)))?;
        let parsed = json.map(|json| serde_json::from_str(&well_formed(&json)));
        parsed
            .transpose()
            .map_err(|_| "the value is nested too deeply; return less of it".to_owned())
    })
}

/// Returns what keeps the rejections that nothing has handled so far; the script may still do so.
fn tracker(unhandled: &Unhandled) -> RejectionTracker {
    let unhandled = Rc::clone(unhandled);
    Box::new(move |ctx, promise, reason, is_handled| {
        let mut unhandled = unhandled.borrow_mut();
        let saved = |value| Persistent::save(&ctx, value);
        if is_handled {
            // They are mostly handled in their order, so the search ends early.
            let at = unhandled.iter().position(|known| {
                let known = known.promise.clone().restore(&ctx);
                known.is_ok_and(|known| known == promise)
            });
            if let Some(at) = at {
                unhandled.remove(at);
            }
        } else {
            unhandled.push_back(Rejection {
                promise: saved(promise),
                reason: saved(reason),
            });
        }
    })
}

/// Puts U+FFFD in place of halves of surrogate pairs, which are escaped in the JSON of the engine and
/// are no text. Whole pairs are not escaped.
pub(crate) fn well_formed(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, escaped)) = rest.split_once('\\') {
        text.push_str(before);
        let is_half = escaped.starts_with("ud") && escaped.get(2..3) >= Some("8");
        // An escape is ASCII: `\uXXXX`, or one letter.
        let length = if is_half { "uXXXX".len() } else { 1 };
        let (kept, after) = escaped.split_at_checked(length).unwrap_or((escaped, ""));
        if is_half {
            text.push('\u{fffd}');
        } else {
            text.push('\\');
            text.push_str(kept);
        }
        rest = after;
    }
    text + rest
}

/// Evaluates the script and returns the value of its last expression, once its promises and timers
/// have run.
fn script<'js>(ctx: &Ctx<'js>, code: &str, prelude: &Prelude<'js>) -> Result<Value<'js>, Error> {
    let options = || {
        let mut options = EvalOptions::default();
        options.strict = false;
        options.promise = true;
        options.filename = Some(SCRIPT.to_owned());
        options
    };
    let promise: Promise<'js> = match ctx.eval_with_options(code, options()) {
        Err(Error::Exception) => {
            let exception = ctx.catch();
            if !returns_at_top(&exception) {
                return Err(ctx.throw(exception));
            }
            // Nothing has run so far: the script did not compile.
            let wrapped = format!("await (async () => {{{code}\n}})()");
            ctx.eval_with_options(wrapped, options())?
        }
        evaluated => evaluated?,
    };
    let mut timers = 0;
    // A script with `await` settles to an object that holds its value.
    let settled: Object<'js> = settle(ctx, &promise, prelude, &mut timers)?;
    let value: Value<'js> = settled.get("value")?;
    match value.as_promise() {
        // The call of an async function as the last expression.
        Some(promise) => settle(ctx, promise, prelude, &mut timers),
        None => Ok(value),
    }
}

/// Runs jobs and timers until there are none, and returns the value of a promise.
fn settle<'js, T: FromJs<'js>>(
    ctx: &Ctx<'js>,
    promise: &Promise<'js>,
    prelude: &Prelude<'js>,
    timers: &mut usize,
) -> Result<T, Error> {
    loop {
        while ctx.execute_pending_job() {}
        // Calls come before timers, which nothing in the code waits longer for.
        if prelude.run_calls.call::<_, bool>(())? {
            continue;
        }
        let ran: bool = prelude.run_timer.call(())?;
        if !ran {
            break;
        }
        *timers += 1;
        if *timers > MAX_TIMERS {
            return Err(Exception::throw_message(
                ctx,
                "more than 100000 timers ran; clear an interval that never ends",
            ));
        }
    }
    if promise.state() == PromiseState::Pending {
        return Err(Exception::throw_message(
            ctx,
            "the code awaits a promise that nothing settles",
        ));
    }
    promise.finish()
}

/// True if a script did not compile because of a `return` outside of functions.
fn returns_at_top(exception: &Value<'_>) -> bool {
    let exception = exception.as_object().cloned();
    let message = exception
        .and_then(Exception::from_object)
        .and_then(|exception| exception.message());
    message.is_some_and(|message| message.contains("return not in a function"))
}

impl<'js> Prelude<'js> {
    /// An exception as the model reads it.
    fn describe(&self, error: &CaughtError<'js>) -> String {
        let value = match error {
            CaughtError::Exception(exception) => exception.clone().into_value(),
            CaughtError::Value(value) => value.clone(),
            CaughtError::Error(error) => return error.to_string(),
        };
        // Without memory there is none for a description, too.
        self.describe_value(value)
    }

    fn describe_value(&self, value: Value<'js>) -> String {
        let described: Result<String, Error> = self.describe.call((value,));
        described.unwrap_or_else(|_| "the code failed, and its exception cannot be shown".into())
    }

    /// Returns the notes about rejections, of which nothing else tells.
    fn notes_of(&self, ctx: &Ctx<'js>, unhandled: VecDeque<Rejection>) -> Vec<String> {
        let more = unhandled.len().saturating_sub(MAX_REJECTIONS);
        let mut notes = Vec::new();
        for rejection in unhandled.into_iter().take(MAX_REJECTIONS) {
            let reason = rejection.reason.restore(ctx);
            let reason = reason.map(|reason| self.describe_value(reason));
            let reason = reason.unwrap_or_default();
            notes.push(format!(
                "a promise was rejected, and nothing awaited it: {reason}"
            ));
        }
        if more > 0 {
            notes.push(format!("{more} more promises were rejected"));
        }
        notes
    }
}

fn prelude<'js>(
    ctx: &Ctx<'js>,
    input: &serde_json::Value,
    shared: &Shared,
) -> Result<Prelude<'js>, Error> {
    let host = Object::new(ctx.clone())?;
    let report = Rc::clone(shared);
    host.set(
        "print",
        Function::new(ctx.clone(), move |line: Coerced<String>| {
            report.borrow_mut().print(&line.0);
        })?,
    )?;
    let report = Rc::clone(shared);
    host.set(
        "note",
        Function::new(ctx.clone(), move |note: String| {
            report.borrow_mut().note(note);
        })?,
    )?;
    host.set("encode", Function::new(ctx.clone(), encode)?)?;
    let decode = |ctx: Ctx<'js>, bytes, is_fatal| decode(&ctx, &bytes, is_fatal);
    host.set("decode", Function::new(ctx.clone(), decode)?)?;
    let report = Rc::clone(shared);
    let part = move |ctx: Ctx<'js>, bytes, name, media_type, is_image| {
        part(&ctx, &report, &bytes, (name, media_type), is_image)
    };
    host.set("part", Function::new(ctx.clone(), part)?)?;
    files::add(ctx, &host)?;
    web::add(ctx, &host)?;
    tools::add(ctx, &host, shared)?;
    let mut options = EvalOptions::default();
    options.filename = Some("prelude.js".to_owned());
    let set_up: Function<'js> = ctx.eval_with_options(PRELUDE, options)?;
    let prelude: Object<'js> = set_up.call((host,))?;
    let parse: Function<'js> = ctx.globals().get::<_, Object<'js>>("JSON")?.get("parse")?;
    let input: Value<'js> = parse.call((input.to_string(),))?;
    ctx.globals().set("input", input)?;
    Ok(Prelude {
        value_of: prelude.get("valueOf")?,
        describe: prelude.get("describe")?,
        run_timer: prelude.get("runTimer")?,
        run_calls: prelude.get("runCalls")?,
    })
}

fn encode<'js>(ctx: Ctx<'js>, text: String) -> Result<TypedArray<'js, u8>, Error> {
    TypedArray::new(ctx, text.into_bytes())
}

fn decode(ctx: &Ctx<'_>, bytes: &TypedArray<'_, u8>, is_fatal: bool) -> Result<String, Error> {
    let error = match String::from_utf8(bytes_of(ctx, bytes)?) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    if is_fatal {
        let valid = error.utf8_error().valid_up_to();
        let message = format!("the bytes are no UTF-8 text from byte {valid} on");
        return Err(Exception::throw_type(ctx, &message));
    }
    Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Copies the bytes of an array.
///
/// # Errors
/// A `TypeError` if its buffer is detached.
#[expect(unsafe_code, reason = "the library has no safe way to read an array")]
pub(crate) fn bytes_of(ctx: &Ctx<'_>, bytes: &TypedArray<'_, u8>) -> Result<Vec<u8>, Error> {
    // SAFETY: no script runs before the bytes are copied.
    let copied = unsafe { bytes.as_bytes() }.map(<[u8]>::to_vec);
    copied.ok_or_else(|| Exception::throw_type(ctx, "the buffer of the bytes is detached"))
}

/// Puts out an image or a file. Its bytes decide its media type, where they can.
fn part(
    ctx: &Ctx<'_>,
    report: &Shared,
    bytes: &TypedArray<'_, u8>,
    (name, media_type): (Opt<Option<String>>, Opt<Option<String>>),
    is_image: bool,
) -> Result<(), Error> {
    let bytes = bytes_of(ctx, bytes)?;
    let sniffed = infer::get(&bytes).map(|kind| kind.mime_type());
    let is_known_image = sniffed.is_some_and(|sniffed| sniffed.starts_with("image/"));
    if is_image && !is_known_image {
        return Err(Exception::throw_type(
            ctx,
            "the bytes are no image, such as PNG or JPEG; put them out with output.file(bytes, name)",
        ));
    }
    let given = media_type.0.flatten();
    let media_type = sniffed.or(given.as_deref());
    let size = bytes.len();
    let part = Part::bytes(media_type.unwrap_or("application/octet-stream"), bytes);
    let part = match name.0.flatten() {
        Some(name) => part.named(name),
        None => part,
    };
    let added = report.borrow_mut().add(part, size);
    added.map_err(|error| Exception::throw_range(ctx, &error))
}

/// Notes integers in the code that a number cannot hold. Digits in texts and comments are noted,
/// too: it is no more than a note.
fn note_literals(code: &str, report: &mut Report) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    for word in code.split(|c| !is_word(c)) {
        let rounds = word
            .parse::<u64>()
            .is_ok_and(|exact| word.len() >= 16 && exact as f64 as u64 != exact);
        if rounds {
            report.note(format!(
                "the code has the number {word}, which JavaScript rounds; write {word}n"
            ));
        }
    }
}
