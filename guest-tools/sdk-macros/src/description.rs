//! Doc comments to descriptions: the text that a model reads. It never reads anything but `#[doc = "..."]`.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The doc comment as a description: the lines of a paragraph are joined, blank lines and list items stay.
pub(crate) fn of(attributes: &[Attribute]) -> String {
    reflow(&doc_lines(attributes))
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

fn reflow(lines: &[String]) -> String {
    let mut out = String::new();
    let mut after_blank = false;
    for line in lines {
        if line.is_empty() {
            after_blank = true;
            continue;
        }
        let item = line.starts_with("- ") || line.starts_with("* ");
        if !out.is_empty() {
            out.push_str(if after_blank {
                "\n\n"
            } else if item {
                "\n"
            } else {
                " "
            });
        }
        out.push_str(line);
        after_blank = false;
    }
    out
}

#[cfg(test)]
mod tests;
