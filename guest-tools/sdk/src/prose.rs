//! Doc comments as prose: a comment is wrapped for an editor, and models and users read it as
//! paragraphs.

/// Joins the lines of each paragraph. Blank lines and list items stay.
pub(crate) fn reflow(text: &str) -> String {
    let mut out = String::new();
    let mut after_blank = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            after_blank = true;
            continue;
        }
        let item = line.starts_with("- ") || line.starts_with("* ");
        if !out.is_empty() {
            out.push_str(match (after_blank, item) {
                (true, _) => "\n\n",
                (false, true) => "\n",
                (false, false) => " ",
            });
        }
        out.push_str(line);
        after_blank = false;
    }
    out
}

#[cfg(test)]
mod tests;
