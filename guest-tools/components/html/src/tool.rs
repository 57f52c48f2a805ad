//! `html_to_markdown`: the tool, from its input to a page of text.

use agent_tool::{input, tool};
use agent_tool_bounded::{Failure, page, read};

use crate::charset;
use crate::convert::convert;
use crate::link::Base;
use crate::tree::Tree;

/// The largest page, in bytes.
const MAX_HTML_BYTES: u64 = 8 * 1024 * 1024;

#[input]
pub(crate) struct HtmlToMarkdown {
    /// The HTML file, relative to the workspace or absolute. Give this or `text`.
    path: Option<String>,
    /// The HTML itself, where it is not in a file.
    text: Option<String>,
    /// The address of the page, such as `https://example.com/docs/`: relative links start there.
    base: Option<String>,
    /// The byte of the Markdown to start at, for the next part of a long page.
    #[serde(default)]
    offset: usize,
}

/// Turns an HTML file or text into Markdown: headings, lists, tables, code, and links and images
/// with absolute addresses if `base` is given. Scripts, styles and hidden elements are left out.
/// Long pages are returned in parts (use `offset` for the next one).
#[tool(effect = "read-only", title = "HTML to Markdown")]
pub(crate) fn html_to_markdown(input: HtmlToMarkdown) -> Result<String, Failure> {
    let HtmlToMarkdown {
        path,
        text,
        base,
        offset,
    } = input;
    let html = match (path, text) {
        (Some(path), None) => {
            let bytes = read(
                &path,
                MAX_HTML_BYTES,
                "split it, or take a part of it as `text`",
            )?;
            charset::decode(bytes).map_err(|charset| {
                Failure::new(format!(
                    "`{path}` is in `{charset}`, which this tool does not read; convert it to UTF-8"
                ))
            })?
        }
        (None, Some(text)) => text,
        (Some(_), Some(_)) => {
            return Err(Failure::new(
                "there are both `path` and `text`; give one of them",
            ));
        }
        (None, None) => return Err(Failure::new("there is no page; give `path` or `text`")),
    };
    let base = match base {
        None => Base::default(),
        Some(base) => Base::parse(&base).ok_or_else(|| {
            Failure::new(format!(
                "`base` is `{base}`, which is no address of http or https"
            ))
        })?,
    };
    let (mut markdown, cut) = convert(&Tree::parse(&html), base);
    if cut {
        markdown.push_str("\n[the rest is left out: the page is too large or too deep]\n");
    }
    page(&markdown, offset)
}

#[cfg(test)]
mod tests;
