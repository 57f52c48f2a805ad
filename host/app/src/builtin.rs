//! Built-in components: prebuilt and part of the binary, so that neither building nor running
//! agent-host needs a WebAssembly toolchain. `guest-tools/README.md` says how they are built.

use agent_host_sandbox::NamedRequest;
use agent_host_types::tool::SummaryTemplate;
use serde_json::{Map, Value};

/// A built-in component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name after `builtin:`.
    pub name: &'static str,
    /// The bytes of the component.
    pub bytes: &'static [u8],
    /// The templates of the summaries of its calls, by the names of its tools
    /// ([`agent_host_engine::call_summary`]). They are here and not in the components, so that they
    /// are the host's words.
    pub summaries: &'static [(&'static str, &'static str)],
}

/// The built-in components. All but `code` are the tools of a configuration that names none.
pub const BUILTINS: [Builtin; 4] = [
    Builtin {
        name: "files",
        bytes: include_bytes!("../builtins/files.wasm"),
        summaries: &[
            ("read_file", "Read {path}  {result|bytes}"),
            (
                "list_directory",
                "Listed {path|or:.}  {result.entries|count:entry:entries}",
            ),
            (
                "search_files",
                "Searched[ {pattern|quoted}][ for {glob}][ in {path}]  {result.matches|count:match:matches}  \
                 {result.files|count:file:files}",
            ),
            ("write_file", "Wrote {path}  {result.size_bytes|bytes}"),
            (
                "edit_file",
                "Edited {path}  +{result.lines_added} -{result.lines_removed}",
            ),
        ],
    },
    Builtin {
        name: "fetch",
        bytes: include_bytes!("../builtins/fetch.wasm"),
        summaries: &[
            (
                "fetch",
                "{method|or:GET} {url|address}  {result|status}  {result|bytes}",
            ),
            (
                "http_post",
                "POST {url|address}  {result|status}  {result|bytes}",
            ),
        ],
    },
    Builtin {
        name: "image",
        bytes: include_bytes!("../builtins/image.wasm"),
        summaries: &[
            (
                "image_info",
                "Measured {path}  {result.width} × {result.height} {result.format}",
            ),
            ("image_thumbnail", "Looked at {path}  {result|bytes}"),
        ],
    },
    Builtin {
        name: "code",
        bytes: include_bytes!("../builtins/code.wasm"),
        summaries: &[
            (
                "run_javascript",
                "Ran JavaScript  {code|lines|count:line:lines}",
            ),
            (
                "run_javascript_with_effects",
                "Ran JavaScript with effects  {code|lines|count:line:lines}",
            ),
        ],
    },
];

/// Returns the built-in component of this name.
#[must_use]
pub fn builtin(name: &str) -> Option<Builtin> {
    BUILTINS.into_iter().find(|builtin| builtin.name == name)
}

/// Returns the request that a call of a built-in tool is about.
pub(crate) fn builtin_request<'a>(
    tool: &str,
    input: &'a Map<String, Value>,
) -> Option<NamedRequest<'a>> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let file = |changes| {
        let path = text("path")?;
        Some(NamedRequest::File { path, changes })
    };
    let request = |method| {
        let url = text("url")?;
        Some(NamedRequest::Http { method, url })
    };
    match tool {
        "read_file" | "list_directory" | "search_files" | "image_info" | "image_thumbnail" => {
            file(false)
        }
        "write_file" | "edit_file" => file(true),
        "fetch" => request(text("method").unwrap_or("GET")),
        "http_post" => request("POST"),
        _ => None,
    }
}

impl Builtin {
    /// Returns the template of the summary of a call of one of its tools.
    pub(crate) fn summary(&self, tool: &str) -> Option<SummaryTemplate> {
        let mut summaries = self.summaries.iter();
        let (_, template) = summaries.find(|(name, _)| *name == tool)?;
        Some(SummaryTemplate::own(template))
    }
}

#[cfg(test)]
mod tests {
    use super::BUILTINS;
    use agent_host_engine::call_summary::Template;

    #[test]
    fn builtin_summary_templates_are_valid() {
        for (tool, template) in BUILTINS.iter().flat_map(|builtin| builtin.summaries) {
            let parsed = Template::parse(template);
            assert!(parsed.is_ok(), "{tool}: {parsed:?}");
        }
    }
}
