//! Roles of elements by their names, and the elements that are not shown.

use crate::tree::{Id, Tree};

/// A role of an element in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A part of a line.
    Inline,
    /// A part with lines of its own.
    Block,
    /// A block with an empty line before and after.
    Paragraph,
    /// A part that is not shown.
    Hidden,
}

/// The role of an element by its name alone.
fn role_of_name(name: &str) -> Role {
    match name {
        "script" | "style" | "noscript" | "template" | "head" | "title" | "iframe" | "object"
        | "embed" | "svg" | "math" | "canvas" | "audio" | "video" | "select" | "datalist"
        | "textarea" | "noframes" | "noembed" | "map" => Role::Hidden,
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "pre" | "blockquote" | "table" | "hr"
        | "figure" | "ul" | "ol" | "menu" | "dl" | "section" | "article" | "header" | "footer"
        | "main" | "nav" | "aside" | "form" | "fieldset" | "details" | "div" | "address"
        | "caption" | "search" | "hgroup" | "dir" | "center" => Role::Paragraph,
        "li" | "dt" | "dd" | "tr" | "td" | "th" | "figcaption" | "summary" | "legend"
        | "option" | "body" | "html" | "tbody" | "thead" | "tfoot" | "dialog" => Role::Block,
        _ => Role::Inline,
    }
}

/// The role of an element.
pub(crate) fn role(tree: &Tree, id: Id) -> Role {
    let name = tree.name(id);
    let role = role_of_name(name);
    if is_hidden(tree, id, name) {
        Role::Hidden
    } else {
        role
    }
}

fn is_hidden(tree: &Tree, id: Id, name: &str) -> bool {
    let has = |name: &str| tree.attribute(id, name).is_some();
    let style = tree.attribute(id, "style").map(|style| {
        let letters = style.chars().filter(|letter| !letter.is_whitespace());
        letters.collect::<String>().to_ascii_lowercase()
    });
    has("hidden")
        || tree.attribute(id, "aria-hidden") == Some("true")
        || (name == "dialog" && !has("open"))
        || style.is_some_and(|style| {
            style.split(';').any(|rule| {
                rule.starts_with("display:none") || rule.starts_with("visibility:hidden")
            })
        })
}
