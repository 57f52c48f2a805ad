use std::collections::BTreeMap;

use agent_tool::Call;
use agent_tool::http::HttpError;
use pretty_assertions::assert_eq;

use crate::{Fetch, HttpPost, ReadMethod, fetch, http_post};

fn fetch_url(url: &str) -> Result<agent_tool::Output, HttpError> {
    fetch(Fetch {
        url: url.to_owned(),
        method: ReadMethod::Get,
        headers: BTreeMap::new(),
        max_bytes: 10,
    })
}

#[test]
fn request_is_checked_before_it_is_sent() {
    assert_eq!(
        fetch_url("ftp://example.com/"),
        Err(HttpError::Scheme("ftp".to_owned()))
    );
    assert_eq!(fetch_url("https://example.com/"), Err(HttpError::NoHost));
    let call = Call {
        id: "c".to_owned(),
        name: "http_post".to_owned(),
        idempotency_key: "k".to_owned(),
    };
    let headers = BTreeMap::from([("bad name".to_owned(), "x".to_owned())]);
    let post = HttpPost {
        url: "https://example.com/".to_owned(),
        body: String::new(),
        headers,
        max_bytes: 10,
    };
    assert_eq!(
        http_post(post, &call),
        Err(HttpError::HeaderField("bad name".to_owned()))
    );
}
