//! Fetches the files that a result names by URL, as a request of the guest's own: through its gate,
//! within its limits. An address that is handed on expires, and its reader may reach what the
//! guest may not.

use super::{GatedHttp, OutgoingRequest};
use crate::bindings::types as wit;
use agent_host_types::{
    media,
    output::{FileData, FilePart},
    reason::Reason,
};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use reqwest::Url;
use wasmtime_wasi_http::{Error, RequestOptions};

/// Replaces each file at an `http` or `https` URL by the file, or by a note that says why it was
/// not fetched. `left` is the size that all of them may have, in bytes.
pub(super) async fn fetch(output: &mut wit::ToolResultOutput, http: &GatedHttp, mut left: u64) {
    let wit::ToolResultOutput::Content(parts) = output else {
        return;
    };
    for part in parts {
        let wit::ContentPart::File(file) = part else {
            continue;
        };
        let wit::FileData::Url(url) = &file.data else {
            continue;
        };
        if !is_fetched(url) {
            continue;
        }
        match http.fetch(url, left).await {
            Ok(bytes) => {
                left = left.saturating_sub(bytes.len() as u64);
                relabel(file, bytes);
            }
            Err(why) => {
                let media_type = &file.media_type;
                let text = format!("[{media_type}, at {url}; not fetched because {why}]");
                *part = wit::ContentPart::Text(text);
            }
        }
    }
}

/// Puts the bytes into a file, whose media type becomes theirs if they contradict it: a server may
/// send anything.
fn relabel(file: &mut wit::FilePart, bytes: Vec<u8>) {
    let mut fetched = FilePart {
        media_type: file.media_type.clone(),
        data: FileData::Bytes(bytes),
        filename: None,
    };
    media::correct(&mut fetched);
    file.media_type = fetched.media_type;
    if let FileData::Bytes(bytes) = fetched.data {
        file.data = wit::FileData::Bytes(bytes);
    }
}

impl GatedHttp {
    /// Fetches at most `most` bytes. A redirection is not followed: its target is another address.
    ///
    /// # Errors
    /// The reason why there is no file, as a clause.
    async fn fetch(&self, url: &str, most: u64) -> Result<Vec<u8>, Reason> {
        let request = Url::parse(url)
            .ok()
            .and_then(|url| Request::get(url.as_str()).body(()).ok())
            .ok_or("that is not an address")?;
        let mut request = request.map(|()| {
            let empty = Empty::<Bytes>::new().map_err(|never| match never {});
            empty.boxed_unsync()
        });
        let (exchange, url) = self.admit(&mut request).map_err(|error| reason(&error))?;
        let outgoing = OutgoingRequest {
            call: self.clone(),
            exchange,
            url,
            options: RequestOptions::default(),
        };
        let response = outgoing.run(request).await;
        let response = response.map_err(|error| reason(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("the server answered with status {}", status.as_u16()).into());
        }
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| reason(&error))?;
            if let Some(piece) = frame.data_ref() {
                if (bytes.len() + piece.len()) as u64 > most {
                    return Err("it is larger than the limit for a result of this tool".into());
                }
                bytes.extend_from_slice(piece);
            }
        }
        Ok(bytes)
    }
}

fn reason(error: &Error) -> String {
    match error {
        Error::HttpRequestDenied | Error::DestinationIpProhibited => {
            "this tool may not reach that address".to_owned()
        }
        error => format!("the request failed: {error}"),
    }
}

/// Returns whether the URL would be fetched. A data URL holds its bytes, and other schemes are not
/// fetched; upper case and leading blanks are accepted, as a lenient parser does.
fn is_fetched(url: &str) -> bool {
    let url = url.trim_start_matches(|character: char| character <= ' ');
    let scheme = url.split(':').next().unwrap_or_default();
    // URL parsers drop tabs and newlines anywhere.
    let scheme: String = scheme
        .chars()
        .filter(|character| !"\t\r\n".contains(*character))
        .collect();
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}
