//! A filter in the language of jq: compiles it, runs it on a value, and explains its errors.

use jaq_core::load::{Arena, Error, File, Loader, lex, span};
use jaq_core::{Compiler, Ctx, Vars, compile, data, unwrap_valr};
use jaq_json::Val;

use crate::query::Failure;

/// The longest filter, in bytes.
const MAX_FILTER_BYTES: usize = 8 * 1024;

/// The most characters of a filter that an error shows.
const MAX_SHOWN_CHARS: usize = 40;

/// A compiled filter.
pub(crate) struct Filter(jaq_core::Filter<data::JustLut<Val>>);

impl Filter {
    /// Compiles a filter. It can load no other file.
    pub(crate) fn compile(code: &str) -> Result<Self, Failure> {
        if code.len() > MAX_FILTER_BYTES {
            return Err(Failure::new(format!(
                "the filter has {} bytes; at most {MAX_FILTER_BYTES} are taken",
                code.len()
            )));
        }
        let defs = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs());
        let funs = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(defs)
            .load(&arena, File { code, path: () })
            .map_err(|errors| {
                misfit(
                    code,
                    errors.into_iter().find_map(|(_, error)| loading(error)),
                )
            })?;
        Compiler::default()
            .with_funs(funs)
            .compile(modules)
            .map(Self)
            .map_err(|errors| {
                misfit(
                    code,
                    errors
                        .into_iter()
                        .flat_map(|(_, errors)| errors)
                        .map(undefined)
                        .next(),
                )
            })
    }

    /// The results for one value, or the error.
    pub(crate) fn run(&self, value: Val) -> impl Iterator<Item = Result<Val, String>> + '_ {
        let context = Ctx::<data::JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        let results = self.0.id.run((context, value));
        results.map(|result| unwrap_valr(result).map_err(|error| error.to_string()))
    }
}

/// A result on one line: as JSON, or a text as it is.
pub(crate) fn line(value: &Val, raw: bool) -> String {
    match value {
        Val::TStr(text) if raw => String::from_utf8_lossy(text).into_owned(),
        other => other.to_string(),
    }
}

/// Describes an error and its position in the code.
type LocatedError<'a> = (String, &'a str);

fn loading<'a>(error: Error<&'a str>) -> Option<LocatedError<'a>> {
    match error {
        Error::Io(files) => files
            .into_iter()
            .next()
            .map(|(path, _)| ("no other file can be loaded".to_owned(), path)),
        Error::Lex(faults) => faults.into_iter().next().map(|(expected, at)| {
            let expected = match expected {
                lex::Expect::Delim(open) => format!("`{open}` is not closed"),
                other => format!("expected {}", other.as_str()),
            };
            (expected, at)
        }),
        Error::Parse(faults) => faults
            .into_iter()
            .next()
            .map(|(expected, at)| (format!("expected {}", expected.as_str()), at)),
    }
}

fn undefined<'a>((name, kind): compile::Error<&'a str>) -> LocatedError<'a> {
    let what = match kind {
        compile::Undefined::Filter(0) => "there is no such filter without arguments".to_owned(),
        compile::Undefined::Filter(count) => {
            format!("there is no such filter with {count} arguments")
        }
        other => format!("there is no such {}", other.as_str()),
    };
    (what, name)
}

fn misfit(code: &str, error: Option<LocatedError<'_>>) -> Failure {
    let (what, at) = error.unwrap_or(("it cannot be read".to_owned(), code));
    let rest = code.get(span(code, at).start..).unwrap_or_default();
    let shown = match rest.char_indices().nth(MAX_SHOWN_CHARS) {
        None => rest,
        Some((end, _)) => rest.get(..end).unwrap_or_default(),
    };
    let place = if shown.is_empty() {
        "at its end".to_owned()
    } else {
        format!("at `{shown}`")
    };
    Failure::new(format!(
        "the filter is not in the language of jq: {what}, {place}; correct it"
    ))
}

#[cfg(test)]
mod tests;
