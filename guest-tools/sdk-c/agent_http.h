/*
 * HTTP requests, to the servers that the host grants.
 *
 *     at_http_response response;
 *     at_http_request request = {.url = AT_STR("https://api.example/items")};
 *     at_http_outcome outcome = at_http_send(&request, &response);
 *     if (outcome != AT_HTTP_OK) {
 *         return at_http_error(outcome, request.url);
 *     }
 *
 * Every request passes the host's policy. Redirects are responses as any other, and are not
 * followed. A secret that the tool was granted is written as `secret://NAME` in the value of a
 * header field: the host puts the value in, and the tool never has it.
 */
#ifndef AGENT_HTTP_H
#define AGENT_HTTP_H

#include "agent_tool.h"

/* The largest body that most tools should read at once, in bytes: the host's default for all of a call. */
#define AT_HTTP_DEFAULT_MAX_BYTES ((size_t)8 << 20)

/* A header field. */
typedef struct {
    at_str name;
    at_str value;
} at_http_field;

/* The outcome of a function below. */
typedef enum {
    AT_HTTP_OK,
    /* The host refused the request, or the server's address. */
    AT_HTTP_DENIED,
    /* The method, the URL or a header field is malformed, or the host's alone. */
    AT_HTTP_INVALID_REQUEST,
    /* The request is larger than a limit of the host. */
    AT_HTTP_REQUEST_TOO_LARGE,
    /* The response is larger than a limit of the host, or than the given bound. */
    AT_HTTP_RESPONSE_TOO_LARGE,
    /* More responses are open than the host allows; close some. */
    AT_HTTP_TOO_MANY_CONNECTIONS,
    /* There is no server of this name. */
    AT_HTTP_UNKNOWN_HOST,
    /* The server cannot be connected to. */
    AT_HTTP_UNREACHABLE,
    /* There is no secure connection to the server. */
    AT_HTTP_TLS,
    /* The server took too long. */
    AT_HTTP_TIMEOUT,
    /* The connection broke off. */
    AT_HTTP_INTERRUPTED,
    /* The server's answer is not understood. */
    AT_HTTP_PROTOCOL,
} at_http_outcome;

/* The name of an outcome, such as `unknown-host`. */
const char *at_http_outcome_name(at_http_outcome outcome);

/*
 * A source of a request's body: writes at most `size` bytes to `buffer` and returns their number, 0
 * at the end.
 */
typedef size_t (*at_http_source)(void *state, void *buffer, size_t size);

/* A request. */
typedef struct {
    /* The method; NULL is GET. */
    const char *method;
    /* The URL, which begins with http:// or https://. */
    at_str url;
    /* The header fields. */
    const at_http_field *headers;
    /* The number of header fields. */
    size_t header_count;
    /* The body; AT_NONE where there is none, or where it comes from `source`. */
    at_str body;
    /* The source of a body that is not in memory as a whole, or NULL. */
    at_http_source source;
    /* The first argument of `source`. */
    void *state;
    /* The longest wait for the connection, the head and each piece of the body; 0 is the host's. */
    uint64_t timeout_ms;
} at_http_request;

/* A response. */
typedef struct {
    /* The status, such as 200. */
    unsigned status;
    /* The header fields; those of one name are in the server's order. */
    const at_http_field *headers;
    /* The number of header fields. */
    size_t header_count;
    /* The handles of the body and its stream, for the functions below alone. */
    uint32_t body, stream;
    /* True until the body was read to its end or closed. */
    bool open;
} at_http_response;

/*
 * Sends a request, with its whole body, and waits for the head of the response. `response` is there
 * only if the outcome is AT_HTTP_OK.
 */
at_http_outcome at_http_send(const at_http_request *request, at_http_response *response);

/*
 * The value of a header field, in any case of its name, and of several joined by `, `. AT_NONE
 * without one.
 */
at_str at_http_header(const at_http_response *response, const char *name);

/*
 * Waits for bytes of the body and writes at most `size` of them to `buffer`. `len` is their number, 0
 * at the end, where the response closes itself. However large the body is, only `buffer` is needed.
 */
at_http_outcome at_http_read(at_http_response *response, void *buffer, size_t size, size_t *len);

/* The rest of the body. One of more than `max` bytes is AT_HTTP_RESPONSE_TOO_LARGE. */
at_http_outcome at_http_read_all(at_http_response *response, size_t max, at_str *content);

/* Gives up the rest of the body. The host bounds the number of open responses. */
void at_http_close(at_http_response *response);

/* The failed call for the model: what went wrong with the request to `url`. */
at_result at_http_error(at_http_outcome outcome, at_str url);

#endif
