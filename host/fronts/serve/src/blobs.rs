//! The bytes of images, files and long results.

use crate::{Service, problem::Problem, routes::Path, scope::VisibleSession};
use agent_host_types::id::Digest;
use axum::{extract::State, response::IntoResponse};
use http::{HeaderName, header};

/// The headers of bytes that a tool made: a browser never renders them.
pub(crate) const DOWNLOAD: [(HeaderName, &str); 4] = [
    (header::CONTENT_TYPE, "application/octet-stream"),
    (header::CONTENT_DISPOSITION, "attachment"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CONTENT_SECURITY_POLICY, "sandbox"),
];

/// Returns a blob of a session by its digest. A blob that another session has is not found.
pub(crate) async fn read(
    State(service): State<Service>,
    session: VisibleSession,
    Path((_, digest)): Path<(String, String)>,
) -> Result<impl IntoResponse, Problem> {
    let session = session.id();
    let missing = || Problem::not_found("the session has no such blob");
    let digest: Digest = digest.parse().map_err(|_| missing())?;
    if !service.store().has_blob(session, digest).await? {
        return Err(missing());
    }
    let bytes = service.store().read_blob(digest).await?;
    Ok((DOWNLOAD, bytes))
}
