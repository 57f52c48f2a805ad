use std::cell::RefCell;

use pretty_assertions::assert_eq;

use super::{Transport, follow};
use crate::http::address::Address;
use crate::http::error::HttpError;
use crate::http::request::{Fields, Method, Request};
use crate::http::response::{Followed, Response};

/// Answers by a table of addresses and keeps what was asked.
struct Script {
    answers: Vec<(&'static str, Result<Response, HttpError>)>,
    asked: RefCell<Vec<String>>,
}

impl Transport for Script {
    fn send(&self, request: &Request, _max_bytes: usize) -> Result<Response, HttpError> {
        let url = request.address.as_str();
        self.asked
            .borrow_mut()
            .push(format!("{:?} {url}", request.method));
        let (_, answer) = self
            .answers
            .iter()
            .find(|(known, _)| *known == url)
            .expect("an address in the script");
        answer.clone()
    }
}

fn answer(status: u16, location: Option<&str>) -> Response {
    let headers = location
        .map(|to| ("location".to_owned(), to.to_owned()))
        .into_iter()
        .collect();
    Response {
        status,
        headers,
        body: Vec::new(),
        whole: true,
    }
}

fn run(
    answers: Vec<(&'static str, Result<Response, HttpError>)>,
) -> (Result<Followed, HttpError>, Vec<String>) {
    let script = Script {
        answers,
        asked: RefCell::default(),
    };
    let address = Address::parse("https://a.example/1").expect("an address");
    let request = Request {
        method: Method::Post,
        address,
        headers: Fields::new(),
        body: Some(Vec::new()),
    };
    let result = follow(&script, request, 10);
    (result, script.asked.into_inner())
}

#[test]
fn redirects_are_followed_hop_by_hop() {
    let (result, asked) = run(vec![
        ("https://a.example/1", Ok(answer(307, Some("/2")))),
        (
            "https://a.example/2",
            Ok(answer(302, Some("https://b.example/3"))),
        ),
        ("https://b.example/3", Ok(answer(200, None))),
    ]);
    let address = Address::parse("https://b.example/3").expect("an address");
    assert_eq!(
        result,
        Ok(Followed {
            response: answer(200, None),
            method: Method::Get,
            address,
            hops: 2
        })
    );
    assert_eq!(
        asked,
        [
            "Post https://a.example/1",
            "Post https://a.example/2",
            "Get https://b.example/3"
        ]
    );
}

#[test]
fn failed_hop_ends_the_redirects() {
    let denied = HttpError::Denied("b.example".to_owned());
    let cases = [
        (
            vec![(
                "https://a.example/1",
                Ok(answer(301, Some("http://a.example/2"))),
            )],
            Err(HttpError::Downgrade("http://a.example/2".to_owned())),
            1,
        ),
        (
            vec![(
                "https://a.example/1",
                Ok(answer(307, Some("https://a.example/1"))),
            )],
            Err(HttpError::Redirects {
                hops: 5,
                last: "https://a.example/1".to_owned(),
            }),
            6,
        ),
        (
            vec![
                (
                    "https://a.example/1",
                    Ok(answer(302, Some("https://b.example/"))),
                ),
                ("https://b.example/", Err(denied.clone())),
            ],
            Err(denied),
            2,
        ),
    ];
    for (script, expected, asked) in cases {
        let (result, requests) = run(script);
        assert_eq!((result, requests.len()), (expected, asked));
    }
}

#[test]
fn redirect_without_a_location_is_a_result() {
    for status in [300, 302, 304] {
        let (result, _) = run(vec![("https://a.example/1", Ok(answer(status, None)))]);
        assert_eq!(result.map(|followed| followed.response.status), Ok(status));
    }
}
