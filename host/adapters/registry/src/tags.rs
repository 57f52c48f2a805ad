//! The tags of a repository, of which the newest version is found.

#[cfg(test)]
mod tests;

use crate::{Client, MAX_MANIFEST_BYTES, Reference, RegistryError, client::ApiRequest};
use reqwest::Method;
use semver::Version;
use serde::Deserialize;

/// The maximum of tags that are asked for; a registry may send fewer.
const MAX_TAGS: &str = "1000";

#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

impl Client {
    /// Returns the first 1,000 tags of a repository.
    ///
    /// # Errors
    /// The registry cannot be read, or has no such repository.
    pub async fn tags(&self, reference: &Reference) -> Result<Vec<String>, RegistryError> {
        let what = "the list of tags";
        let mut url = self.url(reference.name(), "tags/list");
        url.query_pairs_mut().append_pair("n", MAX_TAGS);
        let request = ApiRequest {
            method: Method::GET,
            url,
            repository: reference.name(),
            push: false,
            accept: "",
            body: None,
            what: what.to_owned(),
        };
        let response = self.send(&request).await?;
        let bytes = self.read(response, MAX_MANIFEST_BYTES, what).await?;
        let tags: Tags = serde_json::from_slice(&bytes)
            .map_err(|_| self.answer("its list of tags is malformed"))?;
        Ok(tags.tags.unwrap_or_default())
    }
}

/// Parses a version, which may have a `v` before it.
#[must_use]
pub fn parse_version(text: &str) -> Option<Version> {
    text.strip_prefix('v').unwrap_or(text).parse().ok()
}

/// Returns the tag of the newest version after `current`. Versions of previews count only if
/// `current` is one.
#[must_use]
pub fn newer_tag<'t>(current: &str, tags: &'t [String]) -> Option<&'t str> {
    let current = parse_version(current)?;
    let versions = tags
        .iter()
        .filter_map(|tag| Some((parse_version(tag)?, tag)));
    let newer = versions.filter(|(version, _)| {
        *version > current && (version.pre.is_empty() || !current.pre.is_empty())
    });
    let newest = newer.max_by(|(a, _), (b, _)| a.cmp(b));
    newest.map(|(_, tag)| tag.as_str())
}
