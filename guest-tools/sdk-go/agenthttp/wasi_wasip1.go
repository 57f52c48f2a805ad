package agenthttp

import "agenttool/internal/abi"

// The imports, by the canonical ABI. Those with a parameter `result` write there.

//go:wasmimport wasi:http/types@0.2.1 [constructor]fields
func newFields() uint32

//go:wasmimport wasi:http/types@0.2.1 [method]fields.append
func fieldsAppend(fields, name, nameLength, value, valueLength, result uint32)

//go:wasmimport wasi:http/types@0.2.1 [method]fields.entries
func entries(fields, result uint32)

//go:wasmimport wasi:http/types@0.2.1 [resource-drop]fields
func dropFields(fields uint32)

//go:wasmimport wasi:http/types@0.2.1 [constructor]outgoing-request
func newOutgoingRequest(headers uint32) uint32

//go:wasmimport wasi:http/types@0.2.1 [method]outgoing-request.body
func outgoingRequestBody(request, result uint32)

//go:wasmimport wasi:http/types@0.2.1 [method]outgoing-request.set-method
func setMethod(request, method, other, otherLength uint32) uint32

//go:wasmimport wasi:http/types@0.2.1 [method]outgoing-request.set-scheme
func setScheme(request, some, scheme, other, otherLength uint32) uint32

//go:wasmimport wasi:http/types@0.2.1 [method]outgoing-request.set-authority
func setAuthority(request, some, authority, authorityLength uint32) uint32

//go:wasmimport wasi:http/types@0.2.1 [method]outgoing-request.set-path-with-query
func setPathWithQuery(request, some, path, pathLength uint32) uint32

//go:wasmimport wasi:http/types@0.2.1 [resource-drop]outgoing-request
func dropOutgoingRequest(request uint32)

//go:wasmimport wasi:http/types@0.2.1 [constructor]request-options
func newRequestOptions() uint32

//go:wasmimport wasi:http/types@0.2.1 [method]request-options.set-connect-timeout
func setConnectTimeout(options, some uint32, nanoseconds uint64) uint32

//go:wasmimport wasi:http/types@0.2.1 [method]request-options.set-first-byte-timeout
func setFirstByteTimeout(options, some uint32, nanoseconds uint64) uint32

//go:wasmimport wasi:http/types@0.2.1 [method]request-options.set-between-bytes-timeout
func setBetweenBytesTimeout(options, some uint32, nanoseconds uint64) uint32

//go:wasmimport wasi:http/types@0.2.1 [method]outgoing-body.write
func outgoingBodyWrite(body, result uint32)

//go:wasmimport wasi:http/types@0.2.1 [static]outgoing-body.finish
func outgoingBodyFinish(body, some, trailers, result uint32)

//go:wasmimport wasi:http/types@0.2.1 [resource-drop]outgoing-body
func dropOutgoingBody(body uint32)

//go:wasmimport wasi:http/types@0.2.1 [method]future-incoming-response.subscribe
func subscribe(pending uint32) uint32

//go:wasmimport wasi:http/types@0.2.1 [method]future-incoming-response.get
func futureGet(pending, result uint32)

//go:wasmimport wasi:http/types@0.2.1 [resource-drop]future-incoming-response
func dropFutureIncomingResponse(pending uint32)

//go:wasmimport wasi:http/types@0.2.1 [method]incoming-response.status
func statusOf(response uint32) uint32

//go:wasmimport wasi:http/types@0.2.1 [method]incoming-response.headers
func headersOf(response uint32) uint32

//go:wasmimport wasi:http/types@0.2.1 [method]incoming-response.consume
func consume(response, result uint32)

//go:wasmimport wasi:http/types@0.2.1 [resource-drop]incoming-response
func dropIncomingResponse(response uint32)

//go:wasmimport wasi:http/types@0.2.1 [method]incoming-body.stream
func incomingBodyStream(body, result uint32)

//go:wasmimport wasi:http/types@0.2.1 [resource-drop]incoming-body
func dropIncomingBody(body uint32)

//go:wasmimport wasi:http/types@0.2.1 http-error-code
func httpErrorCode(err, result uint32)

//go:wasmimport wasi:http/outgoing-handler@0.2.1 handle
func handle(request, some, options, result uint32)

//go:wasmimport wasi:io/streams@0.2.1 [method]input-stream.blocking-read
func blockingRead(stream uint32, length uint64, result uint32)

//go:wasmimport wasi:io/streams@0.2.1 [resource-drop]input-stream
func dropInputStream(stream uint32)

//go:wasmimport wasi:io/streams@0.2.1 [method]output-stream.blocking-write-and-flush
func writeAndFlush(stream, contents, length, result uint32)

//go:wasmimport wasi:io/streams@0.2.1 [resource-drop]output-stream
func dropOutputStream(stream uint32)

//go:wasmimport wasi:io/poll@0.2.1 [method]pollable.block
func block(pollable uint32)

//go:wasmimport wasi:io/poll@0.2.1 [resource-drop]pollable
func dropPollable(pollable uint32)

//go:wasmimport wasi:io/error@0.2.1 [resource-drop]error
func dropError(err uint32)

const (
	// writeBytes is the most that one `blocking-write-and-flush` takes.
	writeBytes = 4096
	// readBytes is the most that is asked for at once.
	readBytes = 64 << 10
	// entrySize is the size of a header field in a list: two texts.
	entrySize = 16
	// lastOperationFailed is the case of `stream-error` that has an error.
	lastOperationFailed = 0
)

// The names of the first cases of `method` and `scheme`; the last one is `other`.
var (
	methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}
	schemes = []string{"http", "https"}
)

// results is memory for the result of an import, aligned for every type. Its case is the lowest byte
// of the first word. An `error-code`, which is aligned to 8 bytes, begins in the third; everything
// else in the second.
type results struct {
	_ [0]uint64
	// words are as many as the largest result has, that of `future-incoming-response.get`.
	words [14]uint32
}

// escaped makes the compiler put results on the heap: a stack may move while the host writes.
var escaped *results

func newResults() *results {
	escaped = &results{}
	return escaped
}

// at is where the host writes.
func (r *results) at() uint32 {
	return abi.Address(&r.words[0])
}

// failed says whether the result is an error.
func (r *results) failed() bool {
	return r.words[0]&0xff != 0
}

// payload is a value in the second word.
func (r *results) payload() uint32 {
	return r.words[1]
}

// code is an `error-code`.
func (r *results) code() *Error {
	return failure(r.words[2])
}

// streamError is a `stream-error`; nil where the stream is only closed.
func (r *results) streamError() *Error {
	if r.words[1]&0xff != lastOperationFailed {
		return nil
	}
	err := r.words[2]
	httpErrorCode(err, r.at())
	dropError(err)
	if !r.failed() {
		// The interface has no code for a body that fails in its middle.
		return &Error{Kind: Interrupted}
	}
	return r.code()
}

// codes are the cases of `error-code`.
var codes = [...]Error{
	{Kind: Timeout},
	{Kind: UnknownHost},
	{Kind: UnknownHost},
	{Kind: Unreachable},
	{Kind: Denied},
	{Kind: Unreachable},
	{Kind: Unreachable},
	{Kind: Interrupted},
	{Kind: Timeout},
	{Kind: Timeout},
	{Kind: Timeout},
	{Kind: TooManyConnections},
	{Kind: TLS},
	{Kind: TLS},
	{Kind: TLS},
	{Kind: Denied},
	{Kind: InvalidRequest},
	{Kind: RequestTooLarge},
	{Kind: InvalidRequest},
	{Kind: InvalidRequest},
	{Kind: RequestTooLarge},
	{Kind: RequestTooLarge},
	{Kind: RequestTooLarge},
	{Kind: RequestTooLarge},
	{Kind: RequestTooLarge},
	{Kind: Interrupted},
	{Kind: ResponseTooLarge},
	{Kind: ResponseTooLarge},
	{Kind: ResponseTooLarge},
	{Kind: ResponseTooLarge},
	{Kind: ResponseTooLarge},
	{Protocol, "transfer coding"},
	{Protocol, "content coding"},
	{Kind: Timeout},
	{Protocol, "upgrade"},
	{Kind: Protocol},
	{Protocol, "loop"},
	{Protocol, "configuration"},
	{Protocol, "internal error"},
}

// failure is the error of the first word of an `error-code`.
func failure(word uint32) *Error {
	found := codes[word&0xff]
	return &found
}
