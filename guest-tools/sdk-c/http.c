/* HTTP requests, over wasi:http by the canonical ABI, as in host.c. */
#include <stdlib.h>
#include <string.h>

#include "agent_http.h"
#include "http_wasi.h"
#include "internal.h"

/* ---- URLs ---- */

/* The parts of a URL that a request has. */
typedef struct {
    bool secure;
    at_str authority;
    at_str path;
} target;

static at_str after(at_str text, size_t count) {
    return (at_str){text.data + count, text.len - count};
}

static bool starts_with(at_str text, const char *prefix) {
    size_t len = strlen(prefix);
    if (text.len < len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        char letter = text.data[i];
        if ((letter >= 'A' && letter <= 'Z' ? letter + 32 : letter) != prefix[i]) {
            return false;
        }
    }
    return true;
}

/* The length of a text up to the first of these characters. */
static size_t until(at_str text, const char *characters) {
    size_t len = 0;
    while (len < text.len && strchr(characters, text.data[len]) == NULL) {
        len++;
    }
    return len;
}

/* A path and a query with the characters encoded that they cannot have. */
static at_str encoded(at_str text) {
    static const char digits[] = "0123456789ABCDEF";
    char *made = at_alloc(text.len, 3);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte > ' ' && byte < 0x7f && strchr("\"<>\\^`{|}", byte) == NULL) {
            made[len++] = (char)byte;
            continue;
        }
        made[len++] = '%';
        made[len++] = digits[byte >> 4];
        made[len++] = digits[byte & 15];
    }
    return (at_str){made, len};
}

static bool parse(at_str url, target *into) {
    into->secure = starts_with(url, "https://");
    if (!into->secure && !starts_with(url, "http://")) {
        return false;
    }
    at_str rest = after(url, into->secure ? strlen("https://") : strlen("http://"));
    into->authority = (at_str){rest.data, until(rest, "/?#")};
    rest = after(rest, into->authority.len);
    at_str path = encoded((at_str){rest.data, until(rest, "#")});
    bool has_path = path.len > 0 && path.data[0] == '/';
    into->path = has_path ? path : at_format("/%.*s", (int)path.len, path.data);
    return into->authority.len > 0;
}

/* ---- Sending ---- */

/* The index of a method among the cases of `method`; the last one is `other`. */
static int32_t method_case(at_str method) {
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
    int32_t count = sizeof names / sizeof *names;
    for (int32_t i = 0; i < count; i++) {
        if (at_equal(method, at_cstr(names[i]))) {
            return i;
        }
    }
    return count;
}

static bool append(uint32_t fields, at_str name, at_str value) {
    uint8_t result[2];
    name = at_utf8(name);
    wasi_fields_append(fields, name.data, name.len, value.data, value.len, result);
    return result[0] == 0;
}

/* The length of a body is told where it is known, and where its absence means something (RFC 9110, 8.6). */
static bool append_length(uint32_t fields, const at_http_request *request, at_str method) {
    bool expected = at_equal(method, AT_STR("POST")) || at_equal(method, AT_STR("PUT")) || at_equal(method, AT_STR("PATCH"));
    if (request->source != NULL || (request->body.data == NULL && !expected)) {
        return true;
    }
    return append(fields, AT_STR("content-length"), at_format("%zu", request->body.len));
}

/* The request without its body; 0 if it is malformed, since no handle is 0. */
static uint32_t outgoing(const at_http_request *request) {
    at_str method = at_cstr(request->method == NULL ? "GET" : request->method);
    target to;
    if (!parse(request->url, &to)) {
        return 0;
    }
    uint32_t fields = wasi_fields_new();
    bool taken = append_length(fields, request, method);
    for (size_t i = 0; taken && i < request->header_count; i++) {
        taken = append(fields, request->headers[i].name, request->headers[i].value);
    }
    if (!taken) {
        wasi_fields_drop(fields);
        return 0;
    }
    uint32_t made = wasi_outgoing_request_new(fields);
    at_str name = at_utf8(method), authority = at_utf8(to.authority);
    int32_t refused = wasi_set_method(made, method_case(method), name.data, name.len) |
                      wasi_set_scheme(made, 1, to.secure, NULL, 0) |
                      wasi_set_authority(made, 1, authority.data, authority.len) |
                      wasi_set_path_with_query(made, 1, to.path.data, to.path.len);
    if (refused) {
        wasi_outgoing_request_drop(made);
        return 0;
    }
    return made;
}

static uint32_t timeouts(uint64_t milliseconds) {
    uint64_t nanoseconds = milliseconds > UINT64_MAX / 1000000 ? UINT64_MAX : milliseconds * 1000000;
    uint32_t options = wasi_request_options_new();
    wasi_set_connect_timeout(options, 1, nanoseconds);
    wasi_set_first_byte_timeout(options, 1, nanoseconds);
    wasi_set_between_bytes_timeout(options, 1, nanoseconds);
    return options;
}

/* The outcomes of the cases of `error-code`. */
static at_http_outcome outcome_of(uint8_t code) {
    static const uint8_t outcomes[] = {
        AT_HTTP_TIMEOUT,
        AT_HTTP_UNKNOWN_HOST,
        AT_HTTP_UNKNOWN_HOST,
        AT_HTTP_UNREACHABLE,
        AT_HTTP_DENIED,
        AT_HTTP_UNREACHABLE,
        AT_HTTP_UNREACHABLE,
        AT_HTTP_INTERRUPTED,
        AT_HTTP_TIMEOUT,
        AT_HTTP_TIMEOUT,
        AT_HTTP_TIMEOUT,
        AT_HTTP_TOO_MANY_CONNECTIONS,
        AT_HTTP_TLS,
        AT_HTTP_TLS,
        AT_HTTP_TLS,
        AT_HTTP_DENIED,
        AT_HTTP_INVALID_REQUEST,
        AT_HTTP_REQUEST_TOO_LARGE,
        AT_HTTP_INVALID_REQUEST,
        AT_HTTP_INVALID_REQUEST,
        AT_HTTP_REQUEST_TOO_LARGE,
        AT_HTTP_REQUEST_TOO_LARGE,
        AT_HTTP_REQUEST_TOO_LARGE,
        AT_HTTP_REQUEST_TOO_LARGE,
        AT_HTTP_REQUEST_TOO_LARGE,
        AT_HTTP_INTERRUPTED,
        AT_HTTP_RESPONSE_TOO_LARGE,
        AT_HTTP_RESPONSE_TOO_LARGE,
        AT_HTTP_RESPONSE_TOO_LARGE,
        AT_HTTP_RESPONSE_TOO_LARGE,
        AT_HTTP_RESPONSE_TOO_LARGE,
        AT_HTTP_PROTOCOL,
        AT_HTTP_PROTOCOL,
        AT_HTTP_TIMEOUT,
    };
    return code < sizeof outcomes ? (at_http_outcome)outcomes[code] : AT_HTTP_PROTOCOL;
}

/* The outcome of a failed operation on a stream; AT_HTTP_OK where the stream is only closed. */
static at_http_outcome stream_outcome(const wire_stream_result *result) {
    if (result->error_kind == STREAM_CLOSED) {
        return AT_HTTP_OK;
    }
    wire_code_option code;
    wasi_http_error_code(result->error, &code);
    wasi_error_drop(result->error);
    /* The interface has no code for a body that fails in its middle. */
    return code.some ? outcome_of(code.code.kind) : AT_HTTP_INTERRUPTED;
}

/* The outcome, if the host refused what the tool sent. Any other failed write may have an answer. */
static at_http_outcome refusal(at_http_outcome outcome) {
    return outcome == AT_HTTP_REQUEST_TOO_LARGE ? outcome : AT_HTTP_OK;
}

/* Writes to a stream. False if it took less; then `outcome` may be a refusal. */
static bool write_all(uint32_t stream, at_str bytes, at_http_outcome *outcome) {
    while (bytes.len > 0) {
        size_t len = bytes.len < WASI_WRITE_BYTES ? bytes.len : WASI_WRITE_BYTES;
        wire_stream_result result;
        wasi_write_and_flush(stream, bytes.data, len, &result);
        if (result.is_error) {
            *outcome = refusal(stream_outcome(&result));
            return false;
        }
        bytes = after(bytes, len);
    }
    return true;
}

/* Writes the body and ends it. */
static at_http_outcome send_body(const at_http_request *request, uint32_t body) {
    wire_handle_result made;
    wasi_outgoing_body_write(body, &made);
    at_http_outcome outcome = AT_HTTP_OK;
    bool whole = request->source != NULL || write_all(made.handle, request->body, &outcome);
    char chunk[WASI_WRITE_BYTES];
    size_t len;
    while (whole && request->source != NULL && (len = request->source(request->state, chunk, sizeof chunk)) > 0) {
        whole = write_all(made.handle, (at_str){chunk, len}, &outcome);
    }
    wasi_output_stream_drop(made.handle);
    if (!whole) {
        /* Dropped, the body is incomplete, and the server learns it. */
        wasi_outgoing_body_drop(body);
        return outcome;
    }
    wire_code_result finished;
    wasi_outgoing_body_finish(body, 0, 0, &finished);
    return finished.is_error ? refusal(outcome_of(finished.value.code.kind)) : AT_HTTP_OK;
}

/* ---- Responses ---- */

static void receive(uint32_t incoming, at_http_response *response) {
    uint32_t fields = wasi_incoming_response_headers(incoming);
    wire_fields entries;
    wasi_fields_entries(fields, &entries);
    wasi_fields_drop(fields);
    for (size_t i = 0; i < entries.len; i++) {
        at_http_field *field = &entries.data[i];
        field->name = at_lift(field->name.data, field->name.len);
        field->value = at_lift(field->value.data, field->value.len);
    }
    wire_handle_result body, stream;
    wasi_incoming_response_consume(incoming, &body);
    wasi_incoming_body_stream(body.handle, &stream);
    *response = (at_http_response){
        .status = (unsigned)wasi_incoming_response_status(incoming),
        .headers = entries.data,
        .header_count = entries.len,
        .body = body.handle,
        .stream = stream.handle,
        .open = true,
    };
    wasi_incoming_response_drop(incoming);
}

at_http_outcome at_http_send(const at_http_request *request, at_http_response *response) {
    *response = (at_http_response){.status = 0};
    uint32_t made = outgoing(request);
    if (made == 0) {
        return AT_HTTP_INVALID_REQUEST;
    }
    bool has_body = request->body.data != NULL || request->source != NULL;
    wire_handle_result body = {0};
    if (has_body) {
        wasi_outgoing_request_body(made, &body);
    }
    uint32_t options = request->timeout_ms == 0 ? 0 : timeouts(request->timeout_ms);
    wire_code_result handled;
    wasi_handle(made, request->timeout_ms != 0, options, &handled);
    if (handled.is_error) {
        return outcome_of(handled.value.code.kind);
    }
    uint32_t pending = handled.value.handle;
    at_http_outcome sent = has_body ? send_body(request, body.handle) : AT_HTTP_OK;
    if (sent != AT_HTTP_OK) {
        wasi_future_drop(pending);
        return sent;
    }
    uint32_t event = wasi_future_subscribe(pending);
    wasi_pollable_block(event);
    wasi_pollable_drop(event);
    wire_future_result got;
    wasi_future_get(pending, &got);
    wasi_future_drop(pending);
    if (got.result.is_error) {
        return outcome_of(got.result.value.code.kind);
    }
    receive(got.result.value.handle, response);
    return AT_HTTP_OK;
}

at_str at_http_header(const at_http_response *response, const char *name) {
    at_str joined = AT_NONE;
    at_str lower = at_format("%s", name);
    for (size_t i = 0; i < lower.len; i++) {
        char *letter = (char *)lower.data + i;
        *letter = (char)(*letter >= 'A' && *letter <= 'Z' ? *letter + 32 : *letter);
    }
    for (size_t i = 0; i < response->header_count; i++) {
        const at_http_field *field = &response->headers[i];
        if (field->name.len != lower.len || !starts_with(field->name, lower.data)) {
            continue;
        }
        joined = joined.data == NULL ? field->value : at_format("%s, %s", joined.data, field->value.data);
    }
    return joined;
}

at_http_outcome at_http_read(at_http_response *response, void *buffer, size_t size, size_t *len) {
    *len = 0;
    while (response->open && size > 0) {
        wire_stream_result result;
        wasi_blocking_read(response->stream, size < WASI_READ_BYTES ? size : WASI_READ_BYTES, &result);
        if (result.is_error) {
            at_http_outcome outcome = stream_outcome(&result);
            at_http_close(response);
            return outcome;
        }
        *len = result.bytes.len;
        if (*len > 0) {
            memcpy(buffer, result.bytes.data, *len);
            /* A body may be larger than the memory, so its pieces are freed. */
            free((void *)result.bytes.data);
            break;
        }
    }
    return AT_HTTP_OK;
}

at_http_outcome at_http_read_all(at_http_response *response, size_t max, at_str *content) {
    size_t len = 0, size = 0;
    char *bytes = NULL;
    for (;;) {
        if (size - len < WASI_READ_BYTES + 1) {
            size = 2 * size + WASI_READ_BYTES + 1;
            bytes = realloc(bytes, size);
        }
        if (bytes == NULL) {
            at_panic("no memory is left for a response of %zu bytes", len);
        }
        size_t piece;
        at_http_outcome outcome = at_http_read(response, bytes + len, WASI_READ_BYTES, &piece);
        len += piece;
        if (outcome == AT_HTTP_OK && len > max) {
            outcome = AT_HTTP_RESPONSE_TOO_LARGE;
        }
        if (outcome != AT_HTTP_OK) {
            at_http_close(response);
            free(bytes);
            return outcome;
        }
        if (piece == 0) {
            bytes[len] = '\0';
            *content = (at_str){bytes, len};
            return AT_HTTP_OK;
        }
    }
}

void at_http_close(at_http_response *response) {
    if (response->open) {
        response->open = false;
        /* The host wants a stream to be dropped before its body. */
        wasi_input_stream_drop(response->stream);
        wasi_incoming_body_drop(response->body);
    }
}
