//! The OpenAPI 3.1 document, generated from the routes and the types of their bodies.

use crate::{
    access::AccessRole,
    openai::ErrorBody,
    problem::{Problem, ProblemCode},
    routes::routes,
};
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of a type, whose parts are added to the generator.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The description of a route.
pub(crate) struct Operation {
    pub(crate) method: Method,
    summary: &'static str,
    role: AccessRole,
    query: Option<SchemaOf>,
    header: Option<&'static str>,
    body: Option<SchemaOf>,
    status: u16,
    response: Response,
    problems: Vec<ProblemCode>,
    /// Whether errors have OpenAI's form.
    is_openai: bool,
}

/// The body of a response.
enum Response {
    None,
    Json(SchemaOf),
    Bytes(&'static str),
    /// Server-sent events whose data has this type.
    Events(SchemaOf),
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

impl Operation {
    fn new(method: Method, summary: &'static str) -> Self {
        Self {
            method,
            summary,
            role: AccessRole::Operator,
            query: None,
            header: None,
            body: None,
            status: 200,
            response: Response::None,
            problems: Vec::new(),
            is_openai: false,
        }
    }

    pub(crate) fn get(summary: &'static str) -> Self {
        Self::new(Method::GET, summary)
    }

    pub(crate) fn post(summary: &'static str) -> Self {
        Self::new(Method::POST, summary)
    }

    pub(crate) fn patch(summary: &'static str) -> Self {
        Self::new(Method::PATCH, summary)
    }

    pub(crate) fn delete(summary: &'static str) -> Self {
        Self::new(Method::DELETE, summary)
    }

    /// Sets the least role of callers.
    pub(crate) fn requires(mut self, role: AccessRole) -> Self {
        self.role = role;
        self.problems.extend(role.problem_code());
        self
    }

    /// Sets the type of the query.
    pub(crate) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(T::json_schema);
        self
    }

    /// Sets the name of a header that may be sent.
    pub(crate) fn header(mut self, name: &'static str) -> Self {
        self.header = Some(name);
        self
    }

    /// Sets the type of the body.
    pub(crate) fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Some(schema_of::<T>);
        self
    }

    /// Sets the response to JSON of this type.
    pub(crate) fn returns<T: JsonSchema>(mut self, status: u16) -> Self {
        (self.status, self.response) = (status, Response::Json(schema_of::<T>));
        self
    }

    /// Sets the response to one without a body.
    pub(crate) fn empty(mut self, status: u16) -> Self {
        (self.status, self.response) = (status, Response::None);
        self
    }

    /// Sets the response to bytes of a media type.
    pub(crate) fn streams(mut self, media_type: &'static str) -> Self {
        self.response = Response::Bytes(media_type);
        self
    }

    /// Sets the response to server-sent events whose data is JSON of this type.
    pub(crate) fn sends<T: JsonSchema>(mut self) -> Self {
        self.response = Response::Events(schema_of::<T>);
        self
    }

    /// Adds problems to those of every route.
    pub(crate) fn fails(mut self, problems: &[ProblemCode]) -> Self {
        self.problems.extend(problems);
        self
    }

    /// Sets the form of errors to OpenAI's.
    pub(crate) fn openai(mut self) -> Self {
        self.is_openai = true;
        self
    }

    fn document(
        &self,
        path: &str,
        read: &mut SchemaGenerator,
        write: &mut SchemaGenerator,
    ) -> Value {
        let mut parameters = path_parameters(path);
        parameters.extend(
            self.query
                .map(|query| query_parameters(&query(read)))
                .unwrap_or_default(),
        );
        let header = |name| json!({"name": name, "in": "header", "required": false, "schema": {"type": "string"}});
        parameters.extend(self.header.map(header));
        let content = match &self.response {
            Response::None => None,
            Response::Json(schema) => Some(json!({"application/json": {"schema": schema(write)}})),
            Response::Bytes(media_type) => Some(json!({*media_type: {}})),
            // OpenAPI 3.1 has no place for the type of an event's data.
            Response::Events(data) => {
                Some(json!({"text/event-stream": {"x-event-data": data(write)}}))
            }
        };
        let mut responses = Map::new();
        let mut success = json!({"description": "Success."});
        if let (Some(content), Some(fields)) = (content, success.as_object_mut()) {
            fields.insert("content".to_owned(), content);
        }
        responses.insert(self.status.to_string(), success);
        let too_long = json!({"description": "The head of the request is too long."});
        responses.insert("431".to_owned(), too_long);
        for (status, codes) in self.problems_by_status() {
            responses.insert(status.to_string(), self.failure(&codes, write));
        }
        if self.is_openai && self.body.is_some() {
            for (status, code) in [(429, "rate_limit_exceeded"), (502, "model_*")] {
                responses.insert(status.to_string(), self.failure(code, write));
            }
        }
        let mut operation = json!({
            "summary": self.summary,
            "x-role": self.role,
            "parameters": parameters,
            "responses": responses,
        });
        if let (Some(body), Some(fields)) = (self.body, operation.as_object_mut()) {
            let content = json!({"application/json": {"schema": body(read)}});
            fields.insert(
                "requestBody".to_owned(),
                json!({"required": true, "content": content}),
            );
        }
        operation
    }

    /// Returns the description of failures with these codes.
    fn failure(&self, codes: &str, write: &mut SchemaGenerator) -> Value {
        if self.is_openai {
            let schema = schema_of::<ErrorBody>(write);
            return json!({
                "description": format!("An error: {}.", codes.replace('-', "_")),
                "content": {"application/json": {"schema": schema}},
            });
        }
        json!({
            "description": format!("A problem: {codes}."),
            "content": {"application/problem+json": {"schema": schema_of::<Problem>(write)}},
        })
    }

    /// Returns the codes of problems for each status, in words.
    fn problems_by_status(&self) -> Vec<(u16, String)> {
        let mut found: Vec<(u16, Vec<String>)> = Vec::new();
        for code in self.problems.iter().chain(&EVERY) {
            let name = json!(code).as_str().unwrap_or_default().to_owned();
            let status = code.status().as_u16();
            match found.iter_mut().find(|(other, _)| *other == status) {
                Some((_, names)) => names.push(name),
                None => found.push((status, vec![name])),
            }
        }
        found
            .into_iter()
            .map(|(status, names)| (status, names.join(", ")))
            .collect()
    }
}

/// The problems of every route: those of the front, and those of the host.
const EVERY: [ProblemCode; 6] = [
    ProblemCode::Unauthorized,
    ProblemCode::LinkRefused,
    ProblemCode::SourceRefused,
    ProblemCode::BodyTimeout,
    ProblemCode::BodyTooLong,
    ProblemCode::Internal,
];

/// Generates the document.
pub(crate) fn document() -> Value {
    let settings = || {
        SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
        })
    };
    // What is read may leave out fields that what is written always has.
    let mut read = settings().into_generator();
    let mut write = settings().for_serialize().into_generator();
    let mut paths = Map::new();
    for route in routes() {
        // A parameter of several segments is one to OpenAPI.
        let path = route.path.replace("{*", "{");
        let method = route.method.as_str().to_lowercase();
        let Some(operation) = route.operation else {
            continue;
        };
        let operation = operation.document(&route.path, &mut read, &mut write);
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        if let Some(methods) = methods.as_object_mut() {
            methods.insert(method, operation);
        }
    }
    let mut schemas = write.take_definitions(true);
    // A type that is both has the schema of what is read, which what is written fits.
    schemas.extend(read.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "agent-host",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Sessions of agents: messages, live events, and answers to pending requests.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| name.trim_start_matches('*'));
    names
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect()
}

/// Returns the parameters of a query's type.
fn query_parameters(schema: &Schema) -> Vec<Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    properties
        .map(|(name, schema)| json!({"name": name, "in": "query", "required": false, "schema": schema}))
        .collect()
}
