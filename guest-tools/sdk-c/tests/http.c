/* Tests of HTTP requests, over a host that this file plays. `run` compiles them for this machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_wasi.h"
#include "internal.h"

static int failures = 0;

/* The request that the host got, as text. */
static at_str sent;
/* The handles that are still in use. */
static int open_handles;
/* The code with which `handle` or the response fails; -1 is none. */
static int handle_code, response_code;
/* The body of the response in pieces, and how it ends: 0 closed, 1 with an error. */
static const char *const *pieces;
static int ends_badly;

static uint32_t handle(void) {
    open_handles++;
    return 7;
}

static void dropped(void) {
    open_handles--;
}

static void note(const char *format, int len, const char *text) {
    at_str more = at_format(format, len, text);
    sent = at_format("%s%s", sent.data == NULL ? "" : sent.data, more.data);
}

/* ---- The host's side of the imports ---- */

uint32_t wasi_fields_new(void) {
    return handle();
}

void wasi_fields_append(uint32_t fields, const char *name, size_t name_len, const char *value, size_t value_len,
                        uint8_t result[2]) {
    (void)fields;
    note("%.*s: ", (int)name_len, name);
    note("%.*s\n", (int)value_len, value);
    result[0] = name_len == 4 && memcmp(name, "host", 4) == 0;
}

void wasi_fields_entries(uint32_t fields, wire_fields *result) {
    (void)fields;
    static at_http_field all[] = {
        {{"set-cookie", 10}, {"a=1", 3}},
        {{"X-Empty", 7}, {NULL, 0}},
        {{"Set-Cookie", 10}, {"b=2", 3}},
        {{"set-cookies", 11}, {"no", 2}},
    };
    *result = (wire_fields){all, sizeof all / sizeof *all};
}

void wasi_fields_drop(uint32_t fields) {
    (void)fields;
    dropped();
}

uint32_t wasi_outgoing_request_new(uint32_t headers) {
    return headers;
}

void wasi_outgoing_request_body(uint32_t request, wire_handle_result *result) {
    (void)request;
    *result = (wire_handle_result){0, handle()};
}

int32_t wasi_set_method(uint32_t request, int32_t method, const char *other, size_t other_len) {
    (void)request;
    note(method == 9 ? "%.*s" : "%.*s*", (int)other_len, other);
    return other_len == 3 && memcmp(other, "B D", 3) == 0;
}

int32_t wasi_set_scheme(uint32_t request, int32_t some, int32_t scheme, const char *other, size_t other_len) {
    (void)request, (void)some, (void)other, (void)other_len;
    note("%.*s", 8, scheme ? " https" : " http");
    return 0;
}

int32_t wasi_set_authority(uint32_t request, int32_t some, const char *authority, size_t authority_len) {
    (void)request, (void)some;
    note(" %.*s", (int)authority_len, authority);
    return 0;
}

int32_t wasi_set_path_with_query(uint32_t request, int32_t some, const char *path, size_t path_len) {
    (void)request, (void)some;
    note(" %.*s\n", (int)path_len, path);
    return 0;
}

void wasi_outgoing_request_drop(uint32_t request) {
    (void)request;
    dropped();
}

uint32_t wasi_request_options_new(void) {
    return handle();
}

int32_t wasi_set_connect_timeout(uint32_t options, int32_t some, uint64_t nanoseconds) {
    (void)options, (void)some;
    at_str told = at_format("%llu ns\n", (unsigned long long)nanoseconds);
    note("%.*s", (int)told.len, told.data);
    return 0;
}

int32_t wasi_set_first_byte_timeout(uint32_t options, int32_t some, uint64_t nanoseconds) {
    (void)options, (void)some, (void)nanoseconds;
    return 0;
}

int32_t wasi_set_between_bytes_timeout(uint32_t options, int32_t some, uint64_t nanoseconds) {
    (void)options, (void)some, (void)nanoseconds;
    return 0;
}

void wasi_outgoing_body_write(uint32_t body, wire_handle_result *result) {
    (void)body;
    *result = (wire_handle_result){0, handle()};
}

void wasi_write_and_flush(uint32_t stream, const char *contents, size_t len, wire_stream_result *result) {
    (void)stream;
    note("[%.*s]", (int)(len < 12 ? len : 12), contents);
    *result = (wire_stream_result){.is_error = len > WASI_WRITE_BYTES, .error_kind = STREAM_CLOSED};
}

void wasi_output_stream_drop(uint32_t stream) {
    (void)stream;
    dropped();
}

void wasi_outgoing_body_finish(uint32_t body, int32_t some, uint32_t trailers, wire_code_result *result) {
    (void)body, (void)some, (void)trailers;
    dropped();
    *result = (wire_code_result){.is_error = 0};
}

void wasi_outgoing_body_drop(uint32_t body) {
    (void)body;
    dropped();
}

void wasi_handle(uint32_t request, int32_t some, uint32_t options, wire_code_result *result) {
    (void)request, (void)options;
    dropped();
    if (some) {
        dropped();
    }
    *result = (wire_code_result){.is_error = handle_code >= 0};
    if (handle_code >= 0) {
        result->value.code.kind = (uint8_t)handle_code;
    } else {
        result->value.handle = handle();
    }
}

uint32_t wasi_future_subscribe(uint32_t pending) {
    (void)pending;
    return handle();
}

void wasi_pollable_block(uint32_t pollable) {
    (void)pollable;
}

void wasi_pollable_drop(uint32_t pollable) {
    (void)pollable;
    dropped();
}

void wasi_future_get(uint32_t pending, wire_future_result *result) {
    (void)pending;
    *result = (wire_future_result){.some = 1, .result = {.is_error = response_code >= 0}};
    if (response_code >= 0) {
        result->result.value.code.kind = (uint8_t)response_code;
    } else {
        result->result.value.handle = handle();
    }
}

void wasi_future_drop(uint32_t pending) {
    (void)pending;
    dropped();
}

int32_t wasi_incoming_response_status(uint32_t response) {
    (void)response;
    return 404;
}

uint32_t wasi_incoming_response_headers(uint32_t response) {
    (void)response;
    return handle();
}

void wasi_incoming_response_consume(uint32_t response, wire_handle_result *result) {
    (void)response;
    *result = (wire_handle_result){0, handle()};
}

void wasi_incoming_response_drop(uint32_t response) {
    (void)response;
    dropped();
}

void wasi_incoming_body_stream(uint32_t body, wire_handle_result *result) {
    (void)body;
    *result = (wire_handle_result){0, handle()};
}

void wasi_incoming_body_drop(uint32_t body) {
    (void)body;
    dropped();
}

void wasi_blocking_read(uint32_t stream, uint64_t len, wire_stream_result *result) {
    (void)stream;
    if (*pieces == NULL) {
        *result = (wire_stream_result){.is_error = 1, .error_kind = ends_badly ? 0 : STREAM_CLOSED};
        return;
    }
    size_t size = strlen(*pieces) < len ? strlen(*pieces) : (size_t)len;
    char *bytes = malloc(size + 1);
    memcpy(bytes, *pieces++, size);
    *result = (wire_stream_result){.bytes = {bytes, size}};
}

void wasi_input_stream_drop(uint32_t stream) {
    (void)stream;
    dropped();
}

void wasi_http_error_code(uint32_t error, wire_code_option *result) {
    (void)error;
    *result = (wire_code_option){.some = 0};
}

void wasi_error_drop(uint32_t error) {
    (void)error;
}

/* ---- The tests ---- */

static void check(const char *what, at_str got, const char *want) {
    if (!at_equal(got, at_cstr(want))) {
        printf("%s\n   got %s\n  want %s\n", what, got.data == NULL ? "nothing" : got.data, want);
        failures++;
    }
}

static void check_number(const char *what, long got, long want) {
    if (got != want) {
        printf("%s\n   got %ld\n  want %ld\n", what, got, want);
        failures++;
    }
}

static void reset(const char *const *body) {
    sent = AT_STR("");
    open_handles = 0;
    handle_code = response_code = -1;
    pieces = body;
    ends_badly = 0;
}

static const char *const nothing[] = {NULL};

static at_http_outcome send(const at_http_request *request, at_http_response *response) {
    at_http_outcome outcome = at_http_send(request, response);
    if (outcome == AT_HTTP_OK) {
        at_http_close(response);
        at_http_close(response);
    }
    check_number("all handles are dropped", open_handles, 0);
    return outcome;
}

static size_t twice(void *state, void *buffer, size_t size) {
    int *times = state;
    if (*times == 0 || size < 3) {
        return 0;
    }
    --*times;
    memcpy(buffer, "abc", 3);
    return 3;
}

static void test_requests(void) {
    int times = 2;
    const at_http_field fields[] = {{AT_STR("a"), AT_STR("1")}, {AT_STR("a"), AT_STR("2")}};
    const struct {
        at_http_request request;
        const char *sent;
    } cases[] = {
        {{.url = AT_STR("http://a.example")}, "GET* http a.example /\n"},
        {{.url = AT_STR("HTTPS://a.example:8/x y/\xc3\xbc?q=\"%20#part"), .method = "PURGE"},
         "PURGE https a.example:8 /x%20y/%C3%BC?q=%22%20\n"},
        {{.url = AT_STR("http://a.example?q"), .headers = fields, .header_count = 2, .timeout_ms = 2},
         "a: 1\na: 2\nGET* http a.example /?q\n2000000 ns\n"},
        {{.url = AT_STR("http://a.example/"), .method = "POST"}, "content-length: 0\nPOST* http a.example /\n"},
        {{.url = AT_STR("http://a.example/"), .method = "POST", .body = AT_STR("hello")},
         "content-length: 5\nPOST* http a.example /\n[hello]"},
        {{.url = AT_STR("http://a.example/"), .method = "PUT", .source = twice, .state = &times},
         "PUT* http a.example /\n[abc][abc]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reset(nothing);
        at_http_response response;
        check_number(cases[i].sent, send(&cases[i].request, &response), AT_HTTP_OK);
        check("the request", sent, cases[i].sent);
        check_number("the status", (long)response.status, 404);
    }
}

static void test_malformed_requests(void) {
    const at_http_field host[] = {{AT_STR("host"), AT_STR("b.example")}};
    const at_http_request cases[] = {
        {.url = AT_STR("")},
        {.url = AT_STR("a.example")},
        {.url = AT_STR("ftp://a.example")},
        {.url = AT_STR("http:///path")},
        {.url = AT_STR("http://a.example"), .method = "B D"},
        {.url = AT_STR("http://a.example"), .headers = host, .header_count = 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reset(nothing);
        at_http_response response;
        check_number("a malformed request", send(&cases[i], &response), AT_HTTP_INVALID_REQUEST);
    }
}

static void test_failures(void) {
    /* The cases of `error-code` as sdk-wit/http.wit has them. */
    const struct {
        int code;
        const char *name;
    } cases[] = {
        {0, "timeout"},           {1, "unknown-host"},       {2, "unknown-host"},      {3, "unreachable"},
        {4, "denied"},            {5, "unreachable"},        {6, "unreachable"},       {7, "interrupted"},
        {8, "timeout"},           {9, "timeout"},            {10, "timeout"},          {11, "too-many-connections"},
        {12, "tls"},              {13, "tls"},               {14, "tls"},              {15, "denied"},
        {16, "invalid-request"},  {17, "request-too-large"}, {18, "invalid-request"},  {19, "invalid-request"},
        {25, "interrupted"},      {26, "response-too-large"}, {30, "response-too-large"}, {31, "protocol"},
        {32, "protocol"},         {33, "timeout"},           {34, "protocol"},         {38, "protocol"},
    };
    at_http_request request = {.url = AT_STR("http://a.example/p?q=1")};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        at_http_response response;
        reset(nothing);
        handle_code = cases[i].code;
        check("a refused request", at_cstr(at_http_outcome_name(send(&request, &response))), cases[i].name);
        reset(nothing);
        response_code = cases[i].code;
        check("a failed response", at_cstr(at_http_outcome_name(send(&request, &response))), cases[i].name);
    }
    check("the text", at_http_error(AT_HTTP_TLS, request.url).text,
          "http://a.example/p: no secure connection to the server can be made");
}

static void test_responses(void) {
    static const char *const body[] = {"abc", "", "defgh", NULL};
    at_http_request request = {.url = AT_STR("http://a.example/")};
    at_http_response response;
    at_str content = AT_NONE;
    char buffer[4];
    size_t len;
    reset(body);
    at_http_send(&request, &response);
    check("several fields", at_http_header(&response, "SET-cookie"), "a=1, b=2");
    check("an empty field", at_http_header(&response, "x-empty"), "");
    check_number("no field", at_http_header(&response, "set").data == NULL, 1);
    check_number("a piece", at_http_read(&response, buffer, 4, &len), AT_HTTP_OK);
    check("the piece", (at_str){buffer, len}, "abc");
    check_number("the rest", at_http_read_all(&response, 4, &content), AT_HTTP_RESPONSE_TOO_LARGE);
    check_number("all handles are dropped", open_handles, 0);
    check_number("a read afterwards", at_http_read(&response, buffer, 4, &len) + (long)len, AT_HTTP_OK);

    reset(body);
    at_http_send(&request, &response);
    check_number("the whole", at_http_read_all(&response, 8, &content), AT_HTTP_OK);
    check("the content", content, "abcdefgh");
    check_number("all handles are dropped", open_handles, 0);

    reset(body);
    ends_badly = 1;
    at_http_send(&request, &response);
    check_number("a body that breaks off", at_http_read_all(&response, 8, &content), AT_HTTP_INTERRUPTED);
    check_number("all handles are dropped", open_handles, 0);
}

int main(void) {
    test_requests();
    test_malformed_requests();
    test_failures();
    test_responses();
    printf("http: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
