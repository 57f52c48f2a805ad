/* The conformance tools for HTTP. */
#include "web.h"

#include <inttypes.h>
#include <string.h>

#include "agent_http.h"

/* A byte of a streamed body says in which block of this size it is. */
enum { BLOCK_BYTES = 4096 };

static const at_field string = {.type = AT_STRING};

const at_field http_input[] = {
    {.name = "method", .type = AT_STRING, .description = "The method."},
    {.name = "url", .type = AT_STRING, .description = "The URL."},
    {.name = "name", .type = AT_STRING, .description = "The name of header fields.", .optional = true},
    {.name = "values", .type = AT_ARRAY, .description = "Their values.", .items = &string, .fallback = "[]"},
    {.name = "body", .type = AT_STRING, .description = "The body.", .optional = true},
    AT_END,
};

const at_field stream_input[] = {
    {.name = "url", .type = AT_STRING, .description = "The URL."},
    {.name = "size", .type = AT_INTEGER, .description = "The size of a body to send, in bytes.", .minimum = "0", .fallback = "0"},
    {.name = "whole", .type = AT_BOOLEAN, .description = "True if the response is to be held as a whole.", .fallback = "false"},
    AT_END,
};

static at_result failed(at_http_outcome outcome) {
    return at_error(at_cstr(at_http_outcome_name(outcome)));
}

static void put_answer(at_writer *result, const at_http_response *response) {
    at_str answer = at_http_header(response, "X-Answer");
    at_key(result, "answer");
    if (answer.data == NULL) {
        at_put_value(result, at_parse(AT_STR("null")));
    } else {
        at_put_string(result, answer);
    }
}

at_result send_http(const at_call *call) {
    at_value values = at_get(call->input, "values");
    at_http_field *fields = at_alloc(at_count(values), sizeof *fields);
    size_t count = 0;
    at_iter iter = at_iterate(values);
    at_value value;
    while (at_next(&iter, &value)) {
        fields[count].name = at_get_string(call->input, "name", AT_STR(""));
        at_read_string(value, &fields[count++].value);
    }
    at_http_request request = {
        .method = at_get_string(call->input, "method", AT_NONE).data,
        .url = at_get_string(call->input, "url", AT_NONE),
        .headers = fields,
        .header_count = count,
        .body = at_get_string(call->input, "body", AT_NONE),
    };
    at_http_response response;
    at_str body;
    at_http_outcome outcome = at_http_send(&request, &response);
    if (outcome == AT_HTTP_OK) {
        outcome = at_http_read_all(&response, AT_HTTP_DEFAULT_MAX_BYTES, &body);
    }
    if (outcome != AT_HTTP_OK) {
        return failed(outcome);
    }
    at_writer result = {0};
    at_object_begin(&result);
    at_key(&result, "status");
    at_put_uint64(&result, response.status);
    put_answer(&result, &response);
    at_key(&result, "body");
    at_put_string(&result, body);
    at_object_end(&result);
    return at_json(at_written(&result));
}

/* A body that is made as it is sent. */
typedef struct {
    uint64_t at, size;
} made;

static size_t make(void *state, void *buffer, size_t size) {
    made *body = state;
    size_t len = body->size - body->at < size ? (size_t)(body->size - body->at) : size;
    for (size_t i = 0; i < len; i++) {
        ((unsigned char *)buffer)[i] = (unsigned char)(body->at++ / BLOCK_BYTES % 251);
    }
    return len;
}

/* The size of a body, and the sum of the first bytes of its blocks, each times its number. */
typedef struct {
    uint64_t bytes, sum;
} meter;

static void measure(meter *measured, const char *piece, size_t len) {
    for (uint64_t at = (BLOCK_BYTES - measured->bytes % BLOCK_BYTES) % BLOCK_BYTES; at < len; at += BLOCK_BYTES) {
        measured->sum += (unsigned char)piece[at] * ((measured->bytes + at) / BLOCK_BYTES + 1);
    }
    measured->bytes += len;
}

at_result stream_http(const at_call *call) {
    made body = {.size = at_get_uint64(call->input, "size", 0)};
    at_http_request request = {.url = at_get_string(call->input, "url", AT_NONE)};
    if (body.size > 0) {
        request.method = "POST";
        request.source = make;
        request.state = &body;
    }
    at_http_response response;
    at_http_outcome outcome = at_http_send(&request, &response);
    meter measured = {0};
    bool whole = at_get_bool(call->input, "whole", false);
    static char piece[1 << 16];
    size_t len = 1;
    while (outcome == AT_HTTP_OK && len > 0) {
        if (whole) {
            at_str held = AT_NONE;
            outcome = at_http_read_all(&response, INT32_MAX, &held);
            measure(&measured, held.data, held.len);
            break;
        }
        outcome = at_http_read(&response, piece, sizeof piece, &len);
        measure(&measured, piece, len);
    }
    if (outcome != AT_HTTP_OK) {
        return failed(outcome);
    }
    at_writer result = {0};
    at_object_begin(&result);
    at_key(&result, "bytes");
    at_put_uint64(&result, measured.bytes);
    at_key(&result, "sum");
    at_put_uint64(&result, measured.sum);
    put_answer(&result, &response);
    at_object_end(&result);
    return at_json(at_written(&result));
}
