//! Requests to the granted hosts, for `fetch`.

use agent_tool::http::{Address, HttpError, Method, Request, fields, send};
use rquickjs::function::Opt;
use rquickjs::{Ctx, Error, Exception, Function, Object, TypedArray};

use crate::run::bytes_of;

/// The largest body of a response, in bytes.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Adds the function to those of the host.
pub(crate) fn add<'js>(ctx: &Ctx<'js>, host: &Object<'js>) -> Result<(), Error> {
    let fetch = |ctx: Ctx<'js>,
                 url: String,
                 method: String,
                 headers: Vec<Vec<String>>,
                 body: Opt<Option<TypedArray<'js, u8>>>| {
        let body = body.0.flatten();
        let body = body.as_ref().map(|body| bytes_of(&ctx, body)).transpose()?;
        let request = request(&url, &method, headers, body);
        let followed = request.and_then(|request| {
            let followed = send(request, MAX_BODY_BYTES).map_err(|error| error.to_string())?;
            if followed.response.whole {
                Ok(followed)
            } else {
                Err(format!("the body has more than {MAX_BODY_BYTES} bytes"))
            }
        });
        let followed =
            followed.map_err(|error| Exception::throw_type(&ctx, &format!("fetch: {error}")))?;
        let response = Object::new(ctx.clone())?;
        response.set("status", followed.response.status)?;
        response.set("url", followed.address.as_str())?;
        response.set("redirected", followed.hops > 0)?;
        let headers = followed.response.headers.into_iter();
        let headers: Vec<_> = headers.map(|(name, value)| vec![name, value]).collect();
        response.set("headers", headers)?;
        response.set("body", TypedArray::new(ctx, followed.response.body)?)?;
        Ok::<_, Error>(response)
    };
    host.set("fetch", Function::new(ctx.clone(), fetch)?)
}

fn request(
    url: &str,
    method: &str,
    headers: Vec<Vec<String>>,
    body: Option<Vec<u8>>,
) -> Result<Request, String> {
    let method = match method {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        other => return Err(format!("the method `{other}` cannot be sent")),
    };
    let headers = headers.into_iter().filter_map(|field| {
        let [name, value] = <[String; 2]>::try_from(field).ok()?;
        Some((name, value))
    });
    let sentence = |error: HttpError| error.to_string();
    let mut request = Request::new(method, Address::parse(url).map_err(sentence)?);
    request.headers = fields(headers.collect()).map_err(sentence)?;
    request.body = body;
    Ok(request)
}
