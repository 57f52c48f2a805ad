//! The tools that a program calls: `tools.NAME(input)` in `prelude.js` collects calls, and what is
//! collected when nothing else can run is one batch.

use agent_tool::tools::{self, NestedCall, NestedOutput};
use agent_tool::{Data, Part};
use rquickjs::{Ctx, Error, Exception, Function, Object};

use crate::report::Report;
use crate::run::{Shared, well_formed};

/// Adds the names of the tools and the functions about them to those of the host.
pub(crate) fn add<'js>(ctx: &Ctx<'js>, host: &Object<'js>, report: &Shared) -> Result<(), Error> {
    host.set("tools", tools::list())?;
    host.set(
        "call",
        Function::new(
            ctx.clone(),
            |ctx: Ctx<'js>, names: Vec<String>, inputs: Vec<String>| call(&ctx, names, inputs),
        )?,
    )?;
    let report = report.clone();
    let file = move |ctx: Ctx<'js>, handle: String, media_type: String, name: Option<String>| {
        let part = Part::url(media_type, handle);
        let part = match name {
            Some(name) => part.named(name),
            None => part,
        };
        put_out(&mut report.borrow_mut(), part)
            .map_err(|error| Exception::throw_range(&ctx, &error))
    };
    host.set("file", Function::new(ctx.clone(), file)?)
}

/// Puts out a file of a result, once.
fn put_out(report: &mut Report, part: Part) -> Result<(), String> {
    match report.has(&part) {
        true => Ok(()),
        // Its bytes stay with the host.
        false => report.add(part, 0),
    }
}

/// Runs a batch, and returns the results as objects with a `kind`.
fn call<'js>(
    ctx: &Ctx<'js>,
    names: Vec<String>,
    inputs: Vec<String>,
) -> Result<Vec<Object<'js>>, Error> {
    let calls = names.into_iter().zip(inputs);
    let calls = calls.map(|(name, input)| NestedCall {
        name,
        input: well_formed(&input),
    });
    let results = tools::call_many(calls.collect()).into_iter();
    results.map(|result| object(ctx, result)).collect()
}

fn object<'js>(ctx: &Ctx<'js>, output: NestedOutput) -> Result<Object<'js>, Error> {
    let object = Object::new(ctx.clone())?;
    let (kind, text) = match output {
        NestedOutput::Text(text) => ("text", Some(text)),
        NestedOutput::Json(text) => ("json", Some(text)),
        NestedOutput::ErrorText(text) => ("error-text", Some(text)),
        NestedOutput::ErrorJson(text) => ("error-json", Some(text)),
        NestedOutput::Denied(reason) => ("execution-denied", reason),
        NestedOutput::Content(parts) => {
            let parts = parts.into_iter().map(|part| part_object(ctx, part));
            object.set("parts", parts.collect::<Result<Vec<_>, _>>()?)?;
            ("content", None)
        }
    };
    object.set("kind", kind)?;
    object.set("text", text)?;
    Ok(object)
}

fn part_object<'js>(ctx: &Ctx<'js>, part: Part) -> Result<Object<'js>, Error> {
    let object = Object::new(ctx.clone())?;
    match part {
        Part::Text(text) => object.set("text", text)?,
        Part::File {
            media_type,
            data,
            filename,
        } => {
            object.set("mediaType", media_type)?;
            object.set("filename", filename)?;
            match data {
                Data::Url(url) => object.set("handle", url)?,
                Data::Text(text) => object.set("content", text)?,
                // The host sends handles.
                Data::Bytes(bytes) => {
                    object.set("content", String::from_utf8_lossy(&bytes).into_owned())?
                }
            }
        }
    }
    Ok(object)
}
