//! The body of a response.

use super::{
    MAX_BODY_BYTES, Server, failure::AttemptError, record::ResponseRecorder,
    replay::RecordedResponse,
};
use crate::{retry::Retry, wire::response::BodyEnd};
use bytes::Bytes;
use reqwest::{
    Response, Version,
    header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, TRANSFER_ENCODING},
};
use tokio::time::Instant;

/// A response body, read piece by piece within timeouts and a size limit.
pub(crate) struct Body<'a> {
    server: &'a Server,
    pub(super) headers: HeaderMap,
    source: BodySource,
    recorder: Option<ResponseRecorder<'a>>,
    read_bytes: usize,
    /// Its last piece was received.
    has_ended: bool,
}

pub(super) enum BodySource {
    Network {
        response: Response,
        /// The deadline of the first piece; taken when that arrives.
        deadline: Option<Instant>,
    },
    Recording(RecordedResponse),
}

impl<'a> Body<'a> {
    pub(super) fn new(
        server: &'a Server,
        headers: HeaderMap,
        source: BodySource,
        recorder: Option<ResponseRecorder<'a>>,
    ) -> Self {
        Self {
            server,
            headers,
            source,
            recorder,
            read_bytes: 0,
            has_ended: false,
        }
    }

    /// Returns the media type without parameters, in lower case; empty if there is none.
    pub(crate) fn media_type(&self) -> String {
        let header = self.headers.get(CONTENT_TYPE);
        let text = header.and_then(|value| value.to_str().ok()).unwrap_or("");
        let media_type = text.split(';').next().unwrap_or("");
        media_type.trim().to_ascii_lowercase()
    }

    /// Returns the content encoding other than `identity`. None was requested, and none is decoded.
    pub(crate) fn content_encoding(&self) -> Option<String> {
        let header = self.headers.get(CONTENT_ENCODING)?;
        let encoding = String::from_utf8_lossy(header.as_bytes());
        let encoding = encoding.trim();
        (!encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity"))
            .then(|| encoding.to_owned())
    }

    /// Returns how the body ended. Only a length or a last chunk tells a whole body from one whose
    /// server closed the connection early.
    pub(crate) fn end(&self) -> BodyEnd {
        let is_whole = match &self.source {
            BodySource::Network { response, .. } => {
                response.version() >= Version::HTTP_2
                    || self.headers.contains_key(CONTENT_LENGTH)
                    || self.headers.contains_key(TRANSFER_ENCODING)
            }
            BodySource::Recording(response) => response.is_whole,
        };
        if is_whole && self.has_ended {
            BodyEnd::Complete
        } else {
            BodyEnd::Cut
        }
    }

    /// Returns the next piece; none at the end.
    ///
    /// # Errors
    /// A timeout, a broken connection, or more than [`MAX_BODY_BYTES`].
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, AttemptError> {
        let server = self.server;
        let piece = match &mut self.source {
            BodySource::Network { response, deadline } => server.receive(response, deadline).await,
            BodySource::Recording(response) => response.next(),
        };
        self.has_ended |= matches!(piece, Ok(None));
        let end = self.end();
        if let Some(recorder) = &mut self.recorder {
            match &piece {
                Ok(Some(bytes)) => recorder.piece(bytes),
                Ok(None) => recorder.end(end),
                Err(error) => recorder.error(error),
            }
        }
        let piece = piece?;
        self.read_bytes += piece.as_ref().map_or(0, Bytes::len);
        if self.read_bytes > MAX_BODY_BYTES {
            let why = format!("it is longer than {MAX_BODY_BYTES} bytes");
            return Err(server.invalid_response(&why, Retry::Never));
        }
        Ok(piece)
    }

    /// Returns the rest of the body, truncated at `limit` bytes.
    ///
    /// # Errors
    /// Those of [`Body::next`].
    pub(crate) async fn whole(&mut self, limit: usize) -> Result<Vec<u8>, AttemptError> {
        let mut whole = Vec::new();
        while whole.len() < limit {
            let Some(piece) = self.next().await? else {
                break;
            };
            whole.extend_from_slice(&piece);
        }
        whole.truncate(limit);
        Ok(whole)
    }
}
