//! Search in the texts of the sessions that the caller sees.

use crate::{Service, access::Caller, problem::Problem, sessions::SessionRow};
use agent_host_app::{ExtractPart, MAX_SEARCH_CHARS, SearchPosition, search_texts};
use agent_host_types::id::SessionId;
use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The query of a search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchQuery {
    /// Words, each of which begins one of a message or an answer; at most 200 characters.
    text: String,
    /// The `next` of the search that this one continues.
    from: Option<String>,
}

/// The sessions that a search found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchPage {
    /// The matches, the session that was used last first; one for each session.
    matches: Vec<SearchMatch>,
    /// The `from` with which the search continues, also if nothing was found here: each search reads
    /// a bounded part of the sessions. Absent at their end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A session with a text that has all words.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchMatch {
    #[serde(flatten)]
    row: SessionRow,
    /// The number of the event with the text.
    seq: u64,
    /// The part of the text around the first word.
    extract: Vec<ExtractPart>,
}

/// Searches the texts of sessions.
pub(crate) async fn search(
    State(service): State<Service>,
    caller: Caller,
    query: Result<Query<SearchQuery>, QueryRejection>,
) -> Result<Json<SearchPage>, Problem> {
    let Query(SearchQuery { text, from }) = query?;
    if text.chars().nth(MAX_SEARCH_CHARS).is_some() {
        return Err(Problem::invalid(format!(
            "`text` must have at most {MAX_SEARCH_CHARS} characters"
        )));
    }
    let from = match from {
        Some(from) => from.parse().map_err(Problem::invalid)?,
        None => SearchPosition::default(),
    };
    let scope = service.scope(&caller);
    let found = search_texts(service.store(), scope, &text, from).await?;
    let mut extracts: HashMap<SessionId, (u64, Vec<ExtractPart>)> = HashMap::new();
    let mut infos = Vec::new();
    for found in found.matches {
        extracts.insert(found.info.id, (found.seq, found.extract));
        infos.push(found.info);
    }
    let rows = service.rows(infos).await?.into_iter();
    let matches = rows.filter_map(|row| {
        let (seq, extract) = extracts.remove(&row.info.id)?;
        Some(SearchMatch { row, seq, extract })
    });
    Ok(Json(SearchPage {
        matches: matches.collect(),
        next: found.next.map(|next| next.to_string()),
    }))
}
