//! The part of `wasi:http` with which a guest sends a request without a body and reads the answer.

use crate::imports::{BLOCK, ERROR, Import, POLLABLE, READ, STREAMS};

/// The part of `wasi:http/types` that the functions below use.
const TYPES: &str = r#"(import "wasi:http/types@0.2.6" (instance $http
        (alias outer 1 $pollable (type $p))
        (export "pollable" (type $p2 (eq $p)))
        (alias outer 1 $input-stream (type $is))
        (export "input-stream" (type $is2 (eq $is)))
        (type $d1 (record (field "rcode" (option string)) (field "info-code" (option u16))))
        (export "DNS-error-payload" (type $dns (eq $d1)))
        (type $d2 (record (field "alert-id" (option u8)) (field "alert-message" (option string))))
        (export "TLS-alert-received-payload" (type $alert (eq $d2)))
        (type $d3 (record (field "field-name" (option string)) (field "field-size" (option u32))))
        (export "field-size-payload" (type $size (eq $d3)))
        (type $d4 (variant
            (case "DNS-timeout") (case "DNS-error" $dns) (case "destination-not-found") (case "destination-unavailable")
            (case "destination-IP-prohibited") (case "destination-IP-unroutable") (case "connection-refused")
            (case "connection-terminated") (case "connection-timeout") (case "connection-read-timeout")
            (case "connection-write-timeout") (case "connection-limit-reached") (case "TLS-protocol-error")
            (case "TLS-certificate-error") (case "TLS-alert-received" $alert) (case "HTTP-request-denied")
            (case "HTTP-request-length-required") (case "HTTP-request-body-size" (option u64))
            (case "HTTP-request-method-invalid") (case "HTTP-request-URI-invalid") (case "HTTP-request-URI-too-long")
            (case "HTTP-request-header-section-size" (option u32)) (case "HTTP-request-header-size" (option $size))
            (case "HTTP-request-trailer-section-size" (option u32)) (case "HTTP-request-trailer-size" $size)
            (case "HTTP-response-incomplete") (case "HTTP-response-header-section-size" (option u32))
            (case "HTTP-response-header-size" $size) (case "HTTP-response-body-size" (option u64))
            (case "HTTP-response-trailer-section-size" (option u32)) (case "HTTP-response-trailer-size" $size)
            (case "HTTP-response-transfer-coding" (option string)) (case "HTTP-response-content-coding" (option string))
            (case "HTTP-response-timeout") (case "HTTP-upgrade-failed") (case "HTTP-protocol-error") (case "loop-detected")
            (case "configuration-error") (case "internal-error" (option string))))
        (export "error-code" (type $code (eq $d4)))
        (type $d5 (variant (case "invalid-syntax") (case "forbidden") (case "immutable")))
        (export "header-error" (type $header-error (eq $d5)))
        (export "fields" (type $fields (sub resource)))
        (export "[constructor]fields" (func (result (own $fields))))
        (export "[method]fields.append" (func (param "self" (borrow $fields)) (param "name" string)
            (param "value" (list u8)) (result (result (error $header-error)))))
        (export "[method]fields.entries" (func (param "self" (borrow $fields)) (result (list (tuple string (list u8))))))
        (export "request-options" (type $request-options (sub resource)))
        (export "outgoing-request" (type $request (sub resource)))
        (export "[constructor]outgoing-request" (func (param "headers" (own $fields)) (result (own $request))))
        (type $d6 (variant (case "HTTP") (case "HTTPS") (case "other" string)))
        (export "scheme" (type $scheme (eq $d6)))
        (export "[method]outgoing-request.set-scheme"
            (func (param "self" (borrow $request)) (param "scheme" (option $scheme)) (result (result))))
        (export "[method]outgoing-request.set-authority"
            (func (param "self" (borrow $request)) (param "authority" (option string)) (result (result))))
        (export "[method]outgoing-request.set-path-with-query"
            (func (param "self" (borrow $request)) (param "path-with-query" (option string)) (result (result))))
        (export "incoming-body" (type $body (sub resource)))
        (export "[method]incoming-body.stream" (func (param "self" (borrow $body)) (result (result (own $is2)))))
        (export "incoming-response" (type $response (sub resource)))
        (export "[method]incoming-response.headers" (func (param "self" (borrow $response)) (result (own $fields))))
        (export "[method]incoming-response.consume" (func (param "self" (borrow $response)) (result (result (own $body)))))
        (export "future-incoming-response" (type $future (sub resource)))
        (export "[method]future-incoming-response.subscribe" (func (param "self" (borrow $future)) (result (own $p2))))
        (export "[method]future-incoming-response.get" (func (param "self" (borrow $future))
            (result (option (result (result (own $response) (error $code)))))))))
    (alias export $http "outgoing-request" (type $outgoing-request))
    (alias export $http "request-options" (type $options))
    (alias export $http "future-incoming-response" (type $future-response))
    (alias export $http "error-code" (type $error-code))"#;

const HANDLER: &str = r#"(import "wasi:http/outgoing-handler@0.2.6" (instance $handler
        (alias outer 1 $outgoing-request (type $r)) (export "outgoing-request" (type $r2 (eq $r)))
        (alias outer 1 $options (type $o)) (export "request-options" (type $o2 (eq $o)))
        (alias outer 1 $future-response (type $f)) (export "future-incoming-response" (type $f2 (eq $f)))
        (alias outer 1 $error-code (type $c)) (export "error-code" (type $c2 (eq $c)))
        (export "handle" (func (param "request" (own $r2)) (param "options" (option (own $o2)))
            (result (result (own $f2) (error $c2)))))))"#;

/// The functions, by the names in the code: `$fields`, `$append` and `$entries`; `$request`,
/// `$scheme`, `$authority` and `$path`; `$handle`; `$subscribe`, `$block` and `$get`; `$headers`,
/// `$consume`, `$stream` and `$read`.
pub const CLIENT: [Import; 15] = [
    BLOCK,
    READ,
    function(r#"$http "[constructor]fields""#, "fields", "(result i32)"),
    function(
        r#"$http "[method]fields.append""#,
        "append",
        "(param i32 i32 i32 i32 i32 i32)",
    ),
    function(
        r#"$http "[method]fields.entries""#,
        "entries",
        "(param i32 i32)",
    ),
    function(
        r#"$http "[constructor]outgoing-request""#,
        "request",
        "(param i32) (result i32)",
    ),
    function(
        r#"$http "[method]outgoing-request.set-scheme""#,
        "scheme",
        "(param i32 i32 i32 i32 i32) (result i32)",
    ),
    function(
        r#"$http "[method]outgoing-request.set-authority""#,
        "authority",
        "(param i32 i32 i32 i32) (result i32)",
    ),
    function(
        r#"$http "[method]outgoing-request.set-path-with-query""#,
        "path",
        "(param i32 i32 i32 i32) (result i32)",
    ),
    function(
        r#"$http "[method]incoming-body.stream""#,
        "stream",
        "(param i32 i32)",
    ),
    function(
        r#"$http "[method]incoming-response.headers""#,
        "headers",
        "(param i32) (result i32)",
    ),
    function(
        r#"$http "[method]incoming-response.consume""#,
        "consume",
        "(param i32 i32)",
    ),
    function(
        r#"$http "[method]future-incoming-response.subscribe""#,
        "subscribe",
        "(param i32) (result i32)",
    ),
    function(
        r#"$http "[method]future-incoming-response.get""#,
        "get",
        "(param i32 i32)",
    ),
    function(r#"$handler "handle""#, "handle", "(param i32 i32 i32 i32)"),
];

const fn function(function: &'static str, name: &'static str, signature: &'static str) -> Import {
    Import {
        interfaces: &[POLLABLE, ERROR, STREAMS, TYPES, HANDLER],
        function,
        name,
        signature,
    }
}
