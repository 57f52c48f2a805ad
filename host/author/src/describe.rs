//! Reads a component's producers and interface from its untrusted bytes. The result is only
//! displayed.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use wasmparser::{BinaryReaderError, KnownCustom, Parser, Payload};
use wit_component::WitPrinter;

/// The maximum of producers. Toolchains leave about 10.
const MAX_PRODUCERS: usize = 64;

/// The maximum of bytes of a producer's name and of its version.
const MAX_PRODUCER_BYTES: usize = 128;

/// The maximum of bytes of an interface. A tool that imports everything has 6 KiB.
const MAX_WIT_BYTES: usize = 256 * 1024;

/// The namespace of the standard interfaces, which are not printed.
const STANDARD: &str = "wasi";

/// The names and versions of the producers in the fields `language`, `processed-by` and `sdk`.
pub type Producers = BTreeMap<String, BTreeMap<String, String>>;

/// The description of a component. Each part is present or has the reason why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The producers of it and of the modules and components inside.
    pub producers: Result<Producers, String>,
    /// The imports and exports as WIT, with all packages except the standard ones.
    pub wit: Result<String, String>,
}

impl Description {
    /// Reads a component. It takes as long as validation, and the parsing libraries may panic on
    /// malformed bytes: call it where a panic is harmless.
    #[must_use]
    pub fn of(component: &[u8]) -> Self {
        Self {
            producers: producers(component).map_err(|error| error.to_string()),
            wit: wit(component),
        }
    }

    /// Returns a description with the reason `why` in place of each part.
    #[must_use]
    pub fn unreadable(why: &str) -> Self {
        Self {
            producers: Err(why.to_owned()),
            wit: Err(why.to_owned()),
        }
    }
}

fn producers(component: &[u8]) -> Result<Producers, BinaryReaderError> {
    let mut found = Producers::new();
    let mut count = 0;
    // Nested modules and components come first, so the outermost value wins.
    for payload in Parser::new(0).parse_all(component) {
        let Payload::CustomSection(section) = payload? else {
            continue;
        };
        let KnownCustom::Producers(fields) = section.as_known() else {
            continue;
        };
        for field in fields {
            let field = field?;
            for value in field.values {
                let value = value?;
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
