//! Comparison of URL paths with grants: byte for byte and by whole segments, as sent. Servers
//! differ in how often and in what order they decode a path; no grant covers a path that two
//! servers could resolve differently.

/// Returns why servers could resolve a path differently, as a predicate; `None` for an unambiguous
/// path. The URL parser has already resolved `.` and `..`, also encoded, and replaced `\` by `/`.
pub(super) fn ambiguity(path: &str) -> Option<&'static str> {
    let Some(segments) = path.strip_prefix('/') else {
        return Some("does not begin with `/`");
    };
    let mut segments = segments.split('/').peekable();
    while let Some(segment) = segments.next() {
        if segment.is_empty() && segments.peek().is_some() {
            // Some servers merge slashes before they compare.
            return Some("has an empty segment");
        }
        if let Some(why) = segment_ambiguity(segment) {
            return Some(why);
        }
    }
    None
}

fn segment_ambiguity(segment: &str) -> Option<&'static str> {
    let Some(name) = decoded(segment) else {
        return Some("has an escape that is not UTF-8 text");
    };
    if name.contains(['/', '\\']) {
        return Some("has an encoded separator");
    }
    if name.contains('%') {
        return Some("is encoded more than once");
    }
    if name.contains(char::is_control) {
        return Some("has a control character");
    }
    // Some servers cut parameters (`;x=1`) off a segment, or spaces and dots off its end, before
    // they resolve `..`.
    let (bare, parameters) = match name.split_once(';') {
        Some((bare, _)) => (bare, true),
        None => (&*name, false),
    };
    let vanishes = |c: char| c == '.' || c.is_whitespace();
    if (parameters || !bare.is_empty()) && bare.chars().all(vanishes) {
        return Some("has a segment that could be read as `.` or `..`");
    }
    None
}

/// Decodes a segment once.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            bytes.extend(hex::decode(after.get(..2)?).ok()?);
            rest = after.get(2..)?;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Whether a path is the prefix or a descendant by whole segments: `/v1` covers `/v1`, `/v1/` and
/// `/v1/a`, not `/v1a`; `/v1/` does not cover `/v1`.
pub(super) fn is_within(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'))
}
