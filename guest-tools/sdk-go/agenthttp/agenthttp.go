// Package agenthttp sends HTTP requests to the servers that the host grants.
//
// [Do] sends one request and returns its response, a redirect as any other. [Transport] is for an
// [http.Client], which follows redirects, and for packages that take one; it makes a component some
// 5 MB larger:
//
//	client := &http.Client{Transport: agenthttp.Transport{}}
//
// Every request passes the host's policy, those that a client makes for a redirect among them. A
// secret that the tool was granted is written as secret://NAME in the value of a header field: the
// host puts the value in, and the tool never has it.
//
// Bodies are streams in both directions, and none is held in memory as a whole. A request's body is
// sent before its response is read.
//
// Only tools that import this package import wasi:http.
package agenthttp

import (
	"net/http"
	"net/url"
)

// Kind is the kind of a failure.
type Kind string

const (
	// Denied says that the host refused the request or the server's address.
	Denied Kind = "denied"
	// InvalidRequest says that the method, the URL or a header field is malformed, or the host's
	// alone.
	InvalidRequest Kind = "invalid-request"
	// RequestTooLarge says that the request is larger than a limit of the host.
	RequestTooLarge Kind = "request-too-large"
	// ResponseTooLarge says that the response is larger than a limit of the host.
	ResponseTooLarge Kind = "response-too-large"
	// TooManyConnections says that more responses are open than the host allows; close some.
	TooManyConnections Kind = "too-many-connections"
	// UnknownHost says that there is no server of this name.
	UnknownHost Kind = "unknown-host"
	// Unreachable says that the server cannot be connected to.
	Unreachable Kind = "unreachable"
	// TLS says that there is no secure connection to the server.
	TLS Kind = "tls"
	// Timeout says that the server took too long.
	Timeout Kind = "timeout"
	// Interrupted says that the connection broke off.
	Interrupted Kind = "interrupted"
	// Protocol says that the server's answer is not understood.
	Protocol Kind = "protocol"
)

// texts are for the model.
var texts = map[Kind]string{
	Denied:             "the host does not allow this request",
	InvalidRequest:     "the request is malformed",
	RequestTooLarge:    "the request is larger than the host allows",
	ResponseTooLarge:   "the response is larger than allowed",
	TooManyConnections: "too many responses are open; close one first",
	UnknownHost:        "there is no server of this name; check the address",
	Unreachable:        "the server cannot be reached; try again later",
	TLS:                "no secure connection to the server can be made",
	Timeout:            "the server did not answer in time; try again later",
	Interrupted:        "the connection broke off; try again",
	Protocol:           "the server's answer is not understood",
}

// Error is the reason why there is no whole response; use [errors.As] to get it. Returned by a tool,
// its text is for the model, which reads the host's own reason for a request that was refused.
type Error struct {
	// Kind is the kind of the failure.
	Kind Kind
	// Detail says more, or is empty.
	Detail string
}

// Error makes an Error an error.
func (e *Error) Error() string {
	if e.Detail == "" {
		return texts[e.Kind]
	}
	return texts[e.Kind] + " (" + e.Detail + ")"
}

// Timeout says whether the server took too long, as net.Error does.
func (e *Error) Timeout() bool {
	return e.Kind == Timeout
}

// Transport is an [http.RoundTripper] over the host's HTTP. The deadline of a request's context
// bounds the waiting for the connection, the head and each piece of the body. Outside of
// WebAssembly, it is [http.DefaultTransport].
type Transport struct{}

// RoundTrip sends one request.
func (Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	return roundTrip(request)
}

// Do sends one request and returns its response, whatever its status is. Close the response's body,
// unless it was read to its end: the host bounds the number of open ones.
func Do(request *http.Request) (*http.Response, error) {
	response, err := roundTrip(request)
	if err != nil {
		shown := *request.URL
		shown.User, shown.RawQuery, shown.Fragment = nil, "", ""
		return nil, &url.Error{Op: request.Method, URL: shown.String(), Err: err}
	}
	return response, nil
}
