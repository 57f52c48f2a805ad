//! Doc comments: the text that a model reads. This only collects the lines; `agent-tool` joins them
//! to paragraphs.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The doc comment, line by line.
pub(crate) fn of(attributes: &[Attribute]) -> String {
    doc_lines(attributes).join("\n").trim().to_owned()
}

fn doc_lines(attributes: &[Attribute]) -> Vec<String> {
    let mut lines = Vec::new();
    for attribute in attributes {
        let Meta::NameValue(pair) = &attribute.meta else {
            continue;
        };
        let Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) = &pair.value
        else {
            continue;
        };
        if pair.path.is_ident("doc") {
            // A block comment is one attribute with several lines.
            lines.extend(text.value().split('\n').map(|line| line.trim().to_owned()));
        }
    }
    lines
}
