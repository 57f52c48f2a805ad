//! What a component says of itself, read from its bytes alone: what it was made with, and its interface. Strangers wrote the bytes;
//! what is read here is shown, and nothing goes by it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use wasmparser::{KnownCustom, Parser, Payload};
use wit_component::WitPrinter;

/// What is kept of the producers, in names. Toolchains leave about ten.
const MAX_PRODUCERS: usize = 64;

/// What is kept of the name of a producer and of its version, in bytes.
const MAX_PRODUCER_BYTES: usize = 128;

/// What is kept of an interface, in bytes. That of a tool which imports all that there is has 6 KiB.
const MAX_WIT_BYTES: usize = 256 * 1024;

/// The namespace of the standard interfaces, which everybody can look up.
const STANDARD: &str = "wasi";

/// What a component was made with: `language`, `processed-by` and `sdk`, each with names and versions.
pub type Producers = BTreeMap<String, BTreeMap<String, String>>;

/// What a component says of itself. Each part is there, or the reason why it cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What it, and the modules and components in it, were made with.
    pub producers: Result<Producers, String>,
    /// Its imports and exports as WIT, with all packages that are not the standard's.
    pub wit: Result<String, String>,
}

impl Description {
    /// Reads a component. It takes as long as validating the bytes does, and the libraries that read them may panic where
    /// they are malformed: call it where that ends nothing.
    #[must_use]
    pub fn of(component: &[u8]) -> Self {
        Self {
            producers: producers(component),
            wit: wit(component),
        }
    }

    /// Nothing could be read.
    #[must_use]
    pub fn unreadable(why: &str) -> Self {
        Self {
            producers: Err(why.to_owned()),
            wit: Err(why.to_owned()),
        }
    }
}

fn producers(component: &[u8]) -> Result<Producers, String> {
    let mut found = Producers::new();
    let mut count = 0;
    // All sections, also those of the modules and components inside; what is around them comes after them, and speaks last.
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(|error| error.to_string())?;
        let Payload::CustomSection(section) = payload else {
            continue;
        };
        let KnownCustom::Producers(fields) = section.as_known() else {
            continue;
        };
        for field in fields {
            let field = field.map_err(|error| error.to_string())?;
            for value in field.values {
                let value = value.map_err(|error| error.to_string())?;
                if count == MAX_PRODUCERS {
                    return Ok(found);
                }
                count += 1;
                let versions = found.entry(bounded(field.name)).or_default();
                versions.insert(bounded(value.name), bounded(value.version));
            }
        }
    }
    Ok(found)
}

fn bounded(text: &str) -> String {
    let mut text = text.to_owned();
    text.truncate(text.floor_char_boundary(MAX_PRODUCER_BYTES));
    text
}

fn wit(component: &[u8]) -> Result<String, String> {
    let decoded = wit_component::decode(component).map_err(|error| format!("{error:#}"))?;
    let (resolve, root) = (decoded.resolve(), decoded.package());
    let others = resolve
        .packages
        .iter()
        .filter(|(id, package)| *id != root && package.name.namespace != STANDARD)
        .map(|(id, _)| id);
    let mut printer = WitPrinter::default();
    printer
        .print(resolve, root, &others.collect::<Vec<_>>())
        .map_err(|error| format!("{error:#}"))?;
    let mut text = String::from(printer.output);
    if text.len() > MAX_WIT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_WIT_BYTES));
        text.push_str("\n// The rest is cut.\n");
    }
    Ok(text)
}
