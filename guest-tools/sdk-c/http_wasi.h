/* The imports of WASI for HTTP, by the canonical ABI, and what they write. */
#ifndef AGENT_HTTP_WASI_H
#define AGENT_HTTP_WASI_H

#include "agent_http.h"

/* The most bytes that one `blocking-write-and-flush` takes. */
#define WASI_WRITE_BYTES ((size_t)4096)
/* The most bytes that are asked for at once. */
#define WASI_READ_BYTES ((size_t)64 << 10)

/* A result of a handle. */
typedef struct {
    uint8_t is_error;
    uint32_t handle;
} wire_handle_result;

/* The case of `stream-error` without an error. */
enum { STREAM_CLOSED = 1 };

/* The result of `blocking-read`, and, without bytes, of `blocking-write-and-flush`. */
typedef struct {
    uint8_t is_error;
    union {
        at_str bytes;
        struct {
            uint8_t error_kind;
            uint32_t error;
        };
    };
} wire_stream_result;

/* `error-code`: its case, and room for the largest value, which is not read. */
typedef struct {
    uint8_t kind;
    uint64_t value[3];
} wire_code;

/* A result of a handle or nothing, and an `error-code`. */
typedef struct {
    uint8_t is_error;
    union {
        uint32_t handle;
        wire_code code;
    } value;
} wire_code_result;

/* The result of `future-incoming-response.get`: an option of a result of a result. */
typedef struct {
    uint8_t some;
    uint64_t is_taken;
    wire_code_result result;
} wire_future_result;

/* The result of `http-error-code`. */
typedef struct {
    uint8_t some;
    wire_code code;
} wire_code_option;

/* The result of `fields.entries`. */
typedef struct {
    at_http_field *data;
    size_t len;
} wire_fields;

#ifdef __wasm__
_Static_assert(sizeof(wire_handle_result) == 8, "the size of the result of outgoing-request.body in sdk-wit/http.wit");
_Static_assert(sizeof(wire_stream_result) == 12, "the size of the result of input-stream.blocking-read in sdk-wit/io.wit");
_Static_assert(sizeof(wire_code_result) == 40, "the size of the result of outgoing-body.finish in sdk-wit/http.wit");
_Static_assert(sizeof(wire_future_result) == 56, "the size of the result of future-incoming-response.get in sdk-wit/http.wit");
_Static_assert(sizeof(wire_code_option) == 40, "the size of the result of http-error-code in sdk-wit/http.wit");
_Static_assert(sizeof(at_http_field) == 16, "the size of a field in the result of fields.entries in sdk-wit/http.wit");

#define IMPORT(interface, function) __attribute__((import_module("wasi:" interface "@0.2.1"), import_name(function)))
#else
/* The tests of http.c are the host. */
#define IMPORT(interface, function)
#endif

IMPORT("http/types", "[constructor]fields")
uint32_t wasi_fields_new(void);

IMPORT("http/types", "[method]fields.append")
void wasi_fields_append(uint32_t fields, const char *name, size_t name_len, const char *value, size_t value_len,
                        uint8_t result[2]);

IMPORT("http/types", "[method]fields.entries")
void wasi_fields_entries(uint32_t fields, wire_fields *result);

IMPORT("http/types", "[resource-drop]fields")
void wasi_fields_drop(uint32_t fields);

IMPORT("http/types", "[constructor]outgoing-request")
uint32_t wasi_outgoing_request_new(uint32_t headers);

IMPORT("http/types", "[method]outgoing-request.body")
void wasi_outgoing_request_body(uint32_t request, wire_handle_result *result);

IMPORT("http/types", "[method]outgoing-request.set-method")
int32_t wasi_set_method(uint32_t request, int32_t method, const char *other, size_t other_len);

IMPORT("http/types", "[method]outgoing-request.set-scheme")
int32_t wasi_set_scheme(uint32_t request, int32_t some, int32_t scheme, const char *other, size_t other_len);

IMPORT("http/types", "[method]outgoing-request.set-authority")
int32_t wasi_set_authority(uint32_t request, int32_t some, const char *authority, size_t authority_len);

IMPORT("http/types", "[method]outgoing-request.set-path-with-query")
int32_t wasi_set_path_with_query(uint32_t request, int32_t some, const char *path, size_t path_len);

IMPORT("http/types", "[resource-drop]outgoing-request")
void wasi_outgoing_request_drop(uint32_t request);

IMPORT("http/types", "[constructor]request-options")
uint32_t wasi_request_options_new(void);

IMPORT("http/types", "[method]request-options.set-connect-timeout")
int32_t wasi_set_connect_timeout(uint32_t options, int32_t some, uint64_t nanoseconds);

IMPORT("http/types", "[method]request-options.set-first-byte-timeout")
int32_t wasi_set_first_byte_timeout(uint32_t options, int32_t some, uint64_t nanoseconds);

IMPORT("http/types", "[method]request-options.set-between-bytes-timeout")
int32_t wasi_set_between_bytes_timeout(uint32_t options, int32_t some, uint64_t nanoseconds);

IMPORT("http/types", "[method]outgoing-body.write")
void wasi_outgoing_body_write(uint32_t body, wire_handle_result *result);

IMPORT("http/types", "[static]outgoing-body.finish")
void wasi_outgoing_body_finish(uint32_t body, int32_t some, uint32_t trailers, wire_code_result *result);

IMPORT("http/types", "[resource-drop]outgoing-body")
void wasi_outgoing_body_drop(uint32_t body);

IMPORT("http/types", "[method]future-incoming-response.subscribe")
uint32_t wasi_future_subscribe(uint32_t pending);

IMPORT("http/types", "[method]future-incoming-response.get")
void wasi_future_get(uint32_t pending, wire_future_result *result);

IMPORT("http/types", "[resource-drop]future-incoming-response")
void wasi_future_drop(uint32_t pending);

IMPORT("http/types", "[method]incoming-response.status")
int32_t wasi_incoming_response_status(uint32_t response);

IMPORT("http/types", "[method]incoming-response.headers")
uint32_t wasi_incoming_response_headers(uint32_t response);

IMPORT("http/types", "[method]incoming-response.consume")
void wasi_incoming_response_consume(uint32_t response, wire_handle_result *result);

IMPORT("http/types", "[resource-drop]incoming-response")
void wasi_incoming_response_drop(uint32_t response);

IMPORT("http/types", "[method]incoming-body.stream")
void wasi_incoming_body_stream(uint32_t body, wire_handle_result *result);

IMPORT("http/types", "[resource-drop]incoming-body")
void wasi_incoming_body_drop(uint32_t body);

IMPORT("http/types", "http-error-code")
void wasi_http_error_code(uint32_t error, wire_code_option *result);

IMPORT("http/outgoing-handler", "handle")
void wasi_handle(uint32_t request, int32_t some, uint32_t options, wire_code_result *result);

IMPORT("io/streams", "[method]input-stream.blocking-read")
void wasi_blocking_read(uint32_t stream, uint64_t len, wire_stream_result *result);

IMPORT("io/streams", "[resource-drop]input-stream")
void wasi_input_stream_drop(uint32_t stream);

IMPORT("io/streams", "[method]output-stream.blocking-write-and-flush")
void wasi_write_and_flush(uint32_t stream, const char *contents, size_t len, wire_stream_result *result);

IMPORT("io/streams", "[resource-drop]output-stream")
void wasi_output_stream_drop(uint32_t stream);

IMPORT("io/poll", "[method]pollable.block")
void wasi_pollable_block(uint32_t pollable);

IMPORT("io/poll", "[resource-drop]pollable")
void wasi_pollable_drop(uint32_t pollable);

IMPORT("io/error", "[resource-drop]error")
void wasi_error_drop(uint32_t error);

#undef IMPORT

#endif
