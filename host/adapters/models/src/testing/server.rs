//! An HTTP server on the loopback interface, with scripted responses and faults.

use crate::{Endpoint, HttpModel, Provider, RetryPolicy, Timeouts};
use agent_host_engine::model::Model as _;
use agent_host_types::{
    message::{Message, Role},
    model::{ModelError, ModelReply, ModelRequest},
};
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::Response,
};
use futures_util::{StreamExt as _, future, stream};
use serde_json::Value;
use std::{
    io,
    sync::{Arc, Mutex},
};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

/// A request as the server received it.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        Some(value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The end of a response, after its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    End,
    /// The connection breaks in the middle of the body.
    Break,
    /// Nothing, until the client goes.
    Stall,
    /// The same bytes again and again, until the client goes.
    Repeat,
}

/// A scripted response.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// None for a connection that closes, or stalls, before the head of a response.
    status: Option<u16>,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
    then: Then,
}

impl Answer {
    pub(crate) fn new(status: u16) -> Self {
        Self {
            status: Some(status),
            headers: Vec::new(),
            body: Bytes::new(),
            then: Then::End,
        }
    }

    pub(crate) fn stream(body: impl Into<Bytes>) -> Self {
        Self::new(200).body(body, "text/event-stream")
    }

    /// A connection that closes instead of a response.
    pub(crate) fn none() -> Self {
        Self {
            status: None,
            ..Self::new(200)
        }
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>, media_type: &str) -> Self {
        self.body = body.into();
        self.header("content-type", media_type)
    }

    pub(crate) fn text(self, body: impl Into<Bytes>) -> Self {
        self.body(body, "text/plain")
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body(body.to_string(), "application/json")
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn then_break(self) -> Self {
        Self {
            then: Then::Break,
            ..self
        }
    }

    pub(crate) fn then_stall(self) -> Self {
        Self {
            then: Then::Stall,
            ..self
        }
    }

    pub(crate) fn repeated(self) -> Self {
        Self {
            then: Then::Repeat,
            ..self
        }
    }

    /// Turns the answer into a response whose body counts as `ended` when it is dropped.
    async fn respond(self, ended: Ended) -> Response {
        let Some(status) = self.status else {
            if self.then == Then::Stall {
                future::pending::<()>().await;
            }
            // It ends the task of the connection without the panic hook.
            std::panic::resume_unwind(Box::new("no response"));
        };
        let mut response = Response::builder().status(status);
        for (name, value) in &self.headers {
            response = response.header(*name, value);
        }
        let body = self.body;
        let first = stream::iter((!body.is_empty()).then(|| Ok(body.clone())));
        let rest = match self.then {
            Then::End => return response.body(Body::from(body)).unwrap(),
            // An error discards what is not flushed; a pending body is flushed.
            Then::Break => stream::once(async {
                tokio::task::yield_now().await;
                Err(io::Error::other("broken"))
            })
            .boxed(),
            Then::Stall => stream::pending().boxed(),
            Then::Repeat => stream::repeat_with(move || Ok(body.clone())).boxed(),
        };
        let pieces = first.chain(rest).inspect(move |_| {
            let _ = &ended;
        });
        response.body(Body::from_stream(pieces)).unwrap()
    }
}

/// Counts a response as ended when dropped.
struct Ended(watch::Sender<usize>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.send_modify(|ended| *ended += 1);
    }
}

/// A server that records requests and answers by a function of the request's number, from 0, and
/// the request.
pub(crate) struct TestServer {
    pub(crate) url: String,
    /// How many responses with a fault have ended.
    pub(crate) ended: watch::Receiver<usize>,
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl TestServer {
    pub(crate) async fn start(
        answer: impl Fn(usize, &Received) -> Answer + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, ended) = watch::channel(0);
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        let router = Router::new().fallback(move |request: Request| {
            let (log, answer, sender) = (Arc::clone(&log), answer.clone(), sender.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap();
                let request = Received {
                    method: head.method,
                    uri: head.uri,
                    headers: head.headers,
                    body: String::from_utf8(body.to_vec()).unwrap(),
                };
                let number = {
                    let mut log = log.lock().unwrap();
                    log.push(request.clone());
                    log.len() - 1
                };
                answer(number, &request).respond(Ended(sender)).await
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            ended,
            received,
            task,
        }
    }

    /// Answers POST requests to this path so, and all others with 404.
    pub(crate) async fn at(path: &'static str, answer: Answer) -> Self {
        Self::start(move |_, request| {
            if request.method == Method::POST && request.uri.path() == path {
                answer.clone()
            } else {
                Answer::new(StatusCode::NOT_FOUND.as_u16())
            }
        })
        .await
    }

    /// Gives these answers in order, the last one again and again.
    pub(crate) async fn sequence(answers: impl Into<Vec<Answer>>) -> Self {
        let answers = answers.into();
        Self::start(move |number, _| answers[number.min(answers.len() - 1)].clone()).await
    }

    /// The requests so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// The bodies of the requests so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.received().iter().map(Received::json).collect()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Asks a server once. It gives this answer at `path` and nowhere else.
pub(crate) async fn ask(
    provider: Provider,
    model: &str,
    path: &'static str,
    answer: Answer,
) -> (TestServer, Result<ModelReply, ModelError>) {
    let server = TestServer::at(path, answer).await;
    let operation = (provider.wire().reply_path)(model);
    let operation = operation.split('?').next().unwrap();
    let version = path.strip_suffix(operation).unwrap();
    let endpoint = Endpoint {
        base_url: format!("{}{version}", server.url),
        key: Some("sesame".into()),
        key_source: "THE_KEY".to_owned(),
        extras: crate::RequestExtras::default(),
        timeouts: Timeouts::default(),
    };
    let model = HttpModel::new(provider, model, endpoint, provider.capabilities()).unwrap();
    let request = ModelRequest {
        system: None,
        messages: vec![Message::text(Role::User, "hi")],
        tools: vec![],
        answer_schema: None,
    };
    let model = model.with_retry(RetryPolicy::NONE);
    let reply = model.respond(&request, &|_| ()).await;
    (server, reply)
}
