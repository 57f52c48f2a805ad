//! The routes of the API: one table, which makes the router and the OpenAPI document.

use crate::{
    Service,
    access::{
        self, AccessRole,
        AccessRole::{Operator, User, Viewer},
        LinkUse,
    },
    artifacts, blobs,
    call_words::EventLine,
    create, events, explain, health, hosts,
    input::{AnswerBody, MessageBody},
    memory, metrics, openai,
    openapi::{self, Operation},
    page,
    problem::{Problem, ProblemCode},
    requests, search, sessions, share, stats, tools, triggers, undo,
};
use agent_host_app::{Explanation, Stats};
use axum::{
    Json, Router,
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request, rejection::PathRejection},
    middleware::from_fn_with_state,
    response::IntoResponse as _,
    routing::{MethodRouter, delete, get, patch, post},
};
use http::{HeaderMap, Method, StatusCode, Uri, request::Parts};
use serde::de::DeserializeOwned;

/// The path of the API.
pub const API: &str = "/api/v1";

/// The address of the metrics, at which Prometheus reads by default.
pub(crate) const METRICS: &str = "/metrics";

/// A route: the least role of its callers, its method, path and handler, and its description, if
/// the OpenAPI document has it. No route of the server is without a role.
pub(crate) struct Route {
    pub(crate) role: AccessRole,
    pub(crate) method: Method,
    pub(crate) path: String,
    handler: MethodRouter<Service>,
    pub(crate) operation: Option<Operation>,
    /// Whether a link to a session may ask it.
    link: LinkUse,
}

impl Route {
    /// Creates a route that the OpenAPI document does not have.
    pub(crate) fn new(
        role: AccessRole,
        method: &Method,
        path: &str,
        handler: MethodRouter<Service>,
    ) -> Self {
        Self {
            role,
            method: method.clone(),
            path: path.to_owned(),
            handler,
            operation: None,
            link: LinkUse::Refused,
        }
    }

    /// Opens the route to links.
    pub(crate) fn for_links(mut self, link: LinkUse) -> Self {
        self.link = link;
        self
    }

    /// Creates a route that the OpenAPI document describes.
    pub(crate) fn described(
        role: AccessRole,
        path: &str,
        handler: MethodRouter<Service>,
        operation: Operation,
    ) -> Self {
        let method = operation.method.clone();
        Self {
            operation: Some(operation.requires(role)),
            ..Self::new(role, &method, path, handler)
        }
    }
}

/// Returns the method, the path and the least role of each route.
#[must_use]
pub fn route_roles() -> Vec<(Method, String, AccessRole)> {
    let row = |route: Route| (route.method, route.path, route.role);
    routes().into_iter().map(row).collect()
}

/// Creates all routes of the server: those of the API, of its description, and of OpenAI's API.
pub(crate) fn routes() -> Vec<Route> {
    let mut routes = api_routes();
    let document = get(async || Json(openapi::document()));
    let path = format!("{API}/openapi.json");
    routes.push(Route::new(Viewer, &Method::GET, &path, document));
    let operation = Operation::get("Reads the metrics of the server, as text for Prometheus.");
    let operation = operation.streams(metrics::MEDIA_TYPE);
    routes.push(Route::described(
        Viewer,
        METRICS,
        get(metrics::read),
        operation,
    ));
    routes.extend(memory::routes());
    routes.extend(share::routes());
    routes.extend(openai::routes());
    routes
}

/// Declares routes, each with the least role of its callers, its method, its path below [`API`], its
/// handler and its description; `=> Shown` opens it to links that show a session.
macro_rules! routes {
    ($($role:ident $method:ident $path:literal $handler:path: $summary:literal $(.$step:ident
        $(::<$type:ty>)? ($($argument:tt)*))* $(=> $link:ident)?;)*) => {
        vec![$(
            Route::described(
                $role,
                &format!("{API}{}", $path),
                $method($handler),
                Operation::$method($summary)$(.$step$(::<$type>)?($($argument)*))*,
            )$(.for_links(LinkUse::$link))?,
        )*]
    };
}

/// Creates the routes of the API.
#[expect(clippy::too_many_lines, reason = "the table of routes")]
fn api_routes() -> Vec<Route> {
    routes! {
        Viewer get "/health" health::health: "Answers while the server runs."
            .returns::<health::Health>(200);
        Viewer get "/ready" health::ready:
            "Answers if the journal can be written and runs can start."
            .returns::<health::Health>(200).fails(&[ProblemCode::ShuttingDown]);
        Viewer get "/tools" tools::tools: "Lists the tools."
            .returns::<tools::Tools>(200);
        Viewer get "/agents" tools::agents: "Lists the agents."
            .returns::<tools::Agents>(200);
        Viewer get "/workflows" tools::workflows: "Lists the workflows."
            .returns::<tools::Workflows>(200);
        Viewer get "/schedules" triggers::list:
            "Lists the schedules, with their next times and last firings."
            .returns::<triggers::ScheduleList>(200);
        Viewer get "/stats" stats::stats:
            "Sums the tokens, cost and calls of the sessions that the token can see."
            .query::<stats::StatsQuery>().returns::<Stats>(200)
            .fails(&[ProblemCode::InvalidRequest]);
        Viewer get "/hosts" hosts::hosts: "Lists the hosts that share the store."
            .returns::<hosts::Hosts>(200);
        Operator get "/grants" explain::grants:
            "Lists what the tools can access, as the policy enforces it."
            .returns::<explain::GrantList>(200);
        Viewer get "/sessions" sessions::list: "Lists sessions, the most recently used first."
            .query::<sessions::ListQuery>().returns::<sessions::SessionPage>(200)
            .fails(&[ProblemCode::InvalidRequest]);
        Viewer get "/search" search::search:
            "Searches the texts of sessions, a bounded part of them at once."
            .query::<search::SearchQuery>().returns::<search::SearchPage>(200)
            .fails(&[ProblemCode::InvalidRequest]);
        User post "/sessions" create::create:
            "Creates a session with its first message, and runs it."
            .header(create::IDEMPOTENCY_KEY).takes::<create::CreateBody>()
            .returns::<sessions::Accepted>(201).fails(&BUSY)
            .fails(&[ProblemCode::KeyReused, ProblemCode::ModelNotOffered]);
        Viewer get "/sessions/{session}" sessions::read: "Reads a session's summary."
            .returns::<sessions::SessionRow>(200).fails(&[ProblemCode::NotFound]) => Shown;
        User patch "/sessions/{session}" sessions::name: "Names a session."
            .takes::<sessions::NameBody>().empty(204)
            .fails(&[ProblemCode::InvalidRequest, ProblemCode::NotFound]);
        User delete "/sessions/{session}" sessions::delete:
            "Deletes a session with those of its agents."
            .empty(204).fails(&BUSY);
        Viewer get "/sessions/{session}/events" events::events:
            "Streams events: first those in the journal, then new ones."
            .query::<events::EventsQuery>().sends::<EventLine<'static>>()
            .fails(&[ProblemCode::InvalidRequest, ProblemCode::NotFound, ProblemCode::TooManyReaders]) => Shown;
        User post "/sessions/{session}/messages" sessions::send:
            "Sends a message to a session, and runs it."
            .header(create::IDEMPOTENCY_KEY).takes::<MessageBody>()
            .returns::<sessions::Accepted>(202).fails(&BUSY).fails(&[ProblemCode::KeyReused]);
        User post "/sessions/{session}/resume" sessions::resume:
            "Continues a session that was drained or interrupted."
            .returns::<sessions::Accepted>(202).fails(&BUSY);
        User post "/sessions/{session}/cancel" sessions::cancel: "Cancels the run of a session."
            .empty(202).fails(&[ProblemCode::NotFound, ProblemCode::NotRunning]);
        User post "/sessions/{session}/drain" sessions::drain:
            "Ends the run of a session at a safe point, to be resumed later."
            .empty(202).fails(&[ProblemCode::NotFound, ProblemCode::NotRunning]);
        User post "/sessions/{session}/fork" sessions::fork: "Copies a session into a new one."
            .takes::<sessions::ForkBody>().returns::<sessions::SessionRef>(201)
            .fails(&[ProblemCode::InvalidRequest, ProblemCode::NotFound]);
        User post "/sessions/{session}/undo" undo::undo:
            "Restores the files that the newest answer has changed."
            .takes::<undo::UndoBody>().returns::<undo::UndoResult>(200).fails(&BUSY)
            .fails(&[ProblemCode::OutsideGrants]);
        Viewer get "/sessions/{session}/graph" sessions::graph:
            "Draws workflow runs, with the states of their nodes."
            .returns::<sessions::Drawings>(200).fails(&[ProblemCode::NotFound]);
        Viewer get "/sessions/{session}/explain" explain::explain:
            "Explains what calls requested, and what would allow denied requests."
            .returns::<Explanation>(200).fails(&[ProblemCode::NotFound]);
        Viewer get "/sessions/{session}/artifacts" artifacts::list:
            "Lists the artifacts of a session."
            .returns::<artifacts::ArtifactList>(200).fails(&[ProblemCode::NotFound]);
        Viewer get "/sessions/{session}/artifacts/{*name}" artifacts::read:
            "Reads an artifact by its name."
            .streams("application/octet-stream").fails(&[ProblemCode::NotFound]);
        Viewer get "/sessions/{session}/export" artifacts::export:
            "Exports a session as JSON lines, which `sessions import` reads."
            .streams("application/jsonl").fails(&[ProblemCode::NotFound]);
        Viewer get "/sessions/{session}/requests" requests::list:
            "Lists what the session waits for."
            .returns::<requests::Requests>(200).fails(&[ProblemCode::NotFound]);
        Viewer get "/sessions/{session}/changes" requests::changes:
            "Compares the files that pending calls would write with their current content."
            .returns::<requests::RequestChanges>(200).fails(&[ProblemCode::NotFound]);
        User post "/sessions/{session}/requests/{request}/answer" requests::answer:
            "Answers a request, once, and continues the session. Decisions need the role `approver`, and those that are remembered for the project `operator`."
            .header(create::IDEMPOTENCY_KEY).takes::<AnswerBody>()
            .returns::<sessions::Accepted>(202).fails(&BUSY)
            .fails(&[ProblemCode::ApproverRequired, ProblemCode::OperatorRequired, ProblemCode::KeyReused]);
        Viewer get "/sessions/{session}/blobs/{digest}" blobs::read:
            "Reads an image, a file or a long result by its digest."
            .streams("application/octet-stream").fails(&[ProblemCode::NotFound]) => Shown;
    }
}

/// The problems of what needs a session that does not run.
const BUSY: [ProblemCode; 7] = [
    ProblemCode::InvalidRequest,
    ProblemCode::NotFound,
    ProblemCode::SessionRunning,
    ProblemCode::SessionLocked,
    ProblemCode::NotWaiting,
    ProblemCode::TooManyRuns,
    ProblemCode::ShuttingDown,
];

/// Creates the router.
pub(crate) fn router(service: Service) -> Router {
    let mut router = Router::new();
    for route in routes() {
        let check = from_fn_with_state((route.role, route.link), access::check_role);
        router = router.route(&route.path, route.handler.route_layer(check));
    }
    router
        .method_not_allowed_fallback(async |uri: Uri| {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            openai::unknown_address(&uri, status).unwrap_or_else(|| {
                let problem = Problem::not_found("this address does not support the method");
                (status, problem).into_response()
            })
        })
        .fallback(async |method: Method, uri: Uri, headers: HeaderMap| {
            let file = page::file(&method, &uri, &headers);
            let file = file.or_else(|| openai::unknown_address(&uri, StatusCode::NOT_FOUND));
            file.unwrap_or_else(|| {
                let text = "nothing was found at this address; see /api/v1/openapi.json";
                Problem::not_found(text).into_response()
            })
        })
        .with_state(service)
}

/// The parameters of a path, with a problem in place of axum's own error.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(value)| Self(value))
            .map_err(|rejection: PathRejection| rejection.into())
    }
}

/// A body that is a JSON object. Derived readers take an array of the fields' values as well, which
/// no schema allows.
pub(crate) struct JsonObject<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonObject<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = Bytes::from_request(Request::new(body), state).await;
        let bytes = bytes.map_err(|rejection| Problem::invalid(rejection.body_text()))?;
        let is_array = bytes.trim_ascii_start().starts_with(b"[");
        let request = Request::from_parts(parts, bytes.into());
        let Json(value) = Json::from_request(request, state).await?;
        match is_array {
            false => Ok(Self(value)),
            true => Err(Problem::invalid("the body is a JSON array; send an object")),
        }
    }
}
