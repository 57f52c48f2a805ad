//! Completes the argument of a template of resources: paths in the granted directories, listed by
//! the tool, and names of artifacts.

#[cfg(test)]
mod tests;

use crate::{
    call::CallRunner,
    connection::Connection,
    resources::{ARTIFACT_TEMPLATE, DirEntry, FILE_TEMPLATE, directories},
};
use rmcp::{
    ErrorData, RoleServer,
    model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference},
    service::RequestContext,
};
use std::collections::BTreeSet;

impl CallRunner {
    /// Completes an argument. Arguments of prompts have no known values.
    ///
    /// # Errors
    /// Returns `-32602` for an unknown template or argument.
    pub(crate) async fn complete(
        &self,
        connection: &Connection,
        request: CompleteRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let (typed, argument) = (&request.argument.value, request.argument.name.as_str());
        let values = match &request.r#ref {
            Reference::Resource(template) => match (template.uri.as_str(), argument) {
                (FILE_TEMPLATE, "path") => self.paths(connection, typed, context).await?,
                (ARTIFACT_TEMPLATE, "name") => {
                    let names = self.artifacts(connection).await?.kept.into_keys();
                    let names = names.map(|name| name.to_string());
                    names.filter(|name| name.starts_with(typed)).collect()
                }
                _ => {
                    let why = "there is no such template with this argument; `resources/templates/list` lists the \
                        templates";
                    return Err(ErrorData::invalid_params(why, None));
                }
            },
            _ => BTreeSet::new(),
        };
        Ok(CompleteResult::new(bounded(values)?))
    }

    /// Returns the paths that begin with what was typed, which has no slash at its beginning.
    async fn paths(
        &self,
        connection: &Connection,
        typed: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<BTreeSet<String>, ErrorData> {
        let roots = directories(&self.catalog.get().registry);
        let is_in_root = |directory: &str| {
            let directory = format!("/{directory}/");
            roots
                .iter()
                .any(|root| directory.starts_with(&format!("{}/", root.trim_end_matches('/'))))
        };
        let mut paths = root_paths(&roots, typed);
        if let Some((directory, _)) = typed.rsplit_once('/')
            && is_in_root(directory)
        {
            let path = format!("/{directory}");
            // A directory that is not there has no paths.
            let entries = self.entries(connection, &path, 1, context).await?;
            paths.extend(entry_paths(directory, &entries.unwrap_or_default(), typed));
        }
        Ok(paths)
    }
}

/// Returns the granted directories that begin with what was typed.
fn root_paths(roots: &[String], typed: &str) -> BTreeSet<String> {
    let roots = roots
        .iter()
        .map(|root| format!("{}/", root.trim_matches('/')));
    roots
        .filter(|root| root.starts_with(typed) && root != typed)
        .collect()
}

/// Returns the entries of a directory that begin with what was typed; directories end with a slash.
fn entry_paths(directory: &str, entries: &[DirEntry], typed: &str) -> Vec<String> {
    let paths = entries.iter().map(|entry| {
        let end = if entry.kind == "directory" { "/" } else { "" };
        format!("{directory}/{}{end}", entry.name)
    });
    paths.filter(|path| path.starts_with(typed)).collect()
}

/// Returns as many values as the protocol allows.
fn bounded(values: BTreeSet<String>) -> Result<CompletionInfo, ErrorData> {
    let total = u32::try_from(values.len()).ok();
    let has_more = values.len() > CompletionInfo::MAX_VALUES;
    let shown = values.into_iter().take(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(shown.collect(), total, has_more)
        .map_err(|why| ErrorData::internal_error(why, None))
}
