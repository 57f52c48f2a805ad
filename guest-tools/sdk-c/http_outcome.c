/* The names and texts of the outcomes of HTTP requests. */
#include "agent_http.h"

static const struct {
    const char *name;
    const char *text;
} outcomes[] = {
    [AT_HTTP_OK] = {"ok", "it succeeded"},
    [AT_HTTP_DENIED] = {"denied", "the host does not allow this request"},
    [AT_HTTP_INVALID_REQUEST] = {"invalid-request", "the request is malformed"},
    [AT_HTTP_REQUEST_TOO_LARGE] = {"request-too-large", "the request is larger than the host allows"},
    [AT_HTTP_RESPONSE_TOO_LARGE] = {"response-too-large", "the response is larger than allowed"},
    [AT_HTTP_TOO_MANY_CONNECTIONS] = {"too-many-connections", "too many responses are open; close one first"},
    [AT_HTTP_UNKNOWN_HOST] = {"unknown-host", "there is no server of this name; check the address"},
    [AT_HTTP_UNREACHABLE] = {"unreachable", "the server cannot be reached; try again later"},
    [AT_HTTP_TLS] = {"tls", "no secure connection to the server can be made"},
    [AT_HTTP_TIMEOUT] = {"timeout", "the server did not answer in time; try again later"},
    [AT_HTTP_INTERRUPTED] = {"interrupted", "the connection broke off; try again"},
    [AT_HTTP_PROTOCOL] = {"protocol", "the server's answer is not understood"},
};

const char *at_http_outcome_name(at_http_outcome outcome) {
    return outcomes[outcome].name;
}

at_result at_http_error(at_http_outcome outcome, at_str url) {
    size_t len = 0;
    while (len < url.len && url.data[len] != '?' && url.data[len] != '#') {
        len++;
    }
    return at_errorf("%.*s: %s", (int)len, url.data, outcomes[outcome].text);
}
