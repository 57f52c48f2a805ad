package agenthttp

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"agenttool/internal/abi"
)

// notFields are what net/http has in a header, and sends in its own way.
var notFields = []string{"Content-Length", "Host", "Trailer", "Transfer-Encoding"}

func roundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		defer request.Body.Close()
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	outgoing, err := outgoingRequest(request)
	if err != nil {
		return nil, err
	}
	result := newResults()
	var body uint32
	if hasBody(request) {
		outgoingRequestBody(outgoing, result.at())
		body = result.payload()
	}
	some, options := requestOptions(request.Context())
	handle(outgoing, some, options, result.at())
	if result.failed() {
		return nil, result.code()
	}
	pending := result.words[2]
	if hasBody(request) {
		if err := send(body, request.Body); err != nil {
			dropFutureIncomingResponse(pending)
			return nil, err
		}
	}
	response, err := wait(pending)
	if err != nil {
		return nil, err
	}
	return received(request, response), nil
}

func hasBody(request *http.Request) bool {
	return request.Body != nil && request.Body != http.NoBody
}

// outgoingRequest is the request without its body.
func outgoingRequest(request *http.Request) (uint32, error) {
	if request.Host != "" && request.Host != request.URL.Host {
		return 0, &Error{InvalidRequest, "the field Host is the server's of the URL"}
	}
	fields, err := outgoingFields(request)
	if err != nil {
		return 0, err
	}
	outgoing := newOutgoingRequest(fields)
	path, pathLength := abi.Give(request.URL.RequestURI())
	authority, authorityLength := abi.Give(request.URL.Host)
	scheme, schemeAt, schemeLength := variant(schemes, request.URL.Scheme)
	method, methodAt, methodLength := variant(methods, request.Method)
	refused := setMethod(outgoing, method, methodAt, methodLength) |
		setScheme(outgoing, 1, scheme, schemeAt, schemeLength) |
		setAuthority(outgoing, 1, authority, authorityLength) |
		setPathWithQuery(outgoing, 1, path, pathLength)
	if refused != 0 {
		dropOutgoingRequest(outgoing)
		return 0, &Error{InvalidRequest, "the method or the URL"}
	}
	return outgoing, nil
}

// variant is the case of a name: its index in the known ones, or that of `other` with the name.
func variant(known []string, name string) (which, at, length uint32) {
	if index := slices.Index(known, name); index >= 0 {
		return uint32(index), 0, 0
	}
	at, length = abi.Give(name)
	return uint32(len(known)), at, length
}

func outgoingFields(request *http.Request) (uint32, error) {
	fields, result := newFields(), newResults()
	add := func(name, value string) error {
		at, length := abi.Give(name)
		valueAt, valueLength := abi.GiveBytes(value)
		fieldsAppend(fields, at, length, valueAt, valueLength, result.at())
		if !result.failed() {
			return nil
		}
		dropFields(fields)
		return &Error{InvalidRequest, fmt.Sprintf("the header field %q cannot be sent", name)}
	}
	for _, name := range slices.Sorted(maps.Keys(request.Header)) {
		if slices.Contains(notFields, name) {
			continue
		}
		for _, value := range request.Header[name] {
			if err := add(name, value); err != nil {
				return 0, err
			}
		}
	}
	if length := contentLength(request); length != "" {
		return fields, add("content-length", length)
	}
	return fields, nil
}

// contentLength is the length of the body, or nothing where it is unknown or needs none (RFC 9110,
// section 8.6).
func contentLength(request *http.Request) string {
	switch {
	case request.ContentLength > 0:
		return strconv.FormatInt(request.ContentLength, 10)
	case hasBody(request):
		return ""
	case slices.Contains([]string{"POST", "PUT", "PATCH"}, request.Method):
		return "0"
	default:
		return ""
	}
}

// requestOptions are the limits that follow from a deadline.
func requestOptions(ctx context.Context) (some, options uint32) {
	deadline, has := ctx.Deadline()
	if !has {
		return 0, 0
	}
	left := uint64(max(time.Until(deadline), 1))
	options = newRequestOptions()
	setConnectTimeout(options, 1, left)
	setFirstByteTimeout(options, 1, left)
	setBetweenBytesTimeout(options, 1, left)
	return 1, options
}

// send writes the body and ends it. Its errors are those of the body's reader, and the host's refusal
// of what is sent. Where the other end reads no more, it may answer all the same, and that answer
// counts.
func send(body uint32, from io.Reader) error {
	result := newResults()
	outgoingBodyWrite(body, result.at())
	stream := result.payload()
	whole, err := copyTo(stream, from, result)
	dropOutputStream(stream)
	if !whole {
		// Dropped, the body is incomplete, and the server learns it.
		dropOutgoingBody(body)
		return err
	}
	outgoingBodyFinish(body, 0, 0, result.at())
	if result.failed() {
		return refusal(result.code())
	}
	return nil
}

// copyTo writes to a stream, and says whether it took the whole.
func copyTo(stream uint32, from io.Reader, result *results) (whole bool, err error) {
	chunk := make([]byte, writeBytes)
	for {
		length, err := from.Read(chunk)
		if length > 0 {
			writeAndFlush(stream, abi.Address(&chunk[0]), uint32(length), result.at())
			if result.failed() {
				return false, refusal(result.streamError())
			}
		}
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// refusal is an error if the host refused what the tool sent.
func refusal(code *Error) error {
	if code != nil && code.Kind == RequestTooLarge {
		return code
	}
	return nil
}

// wait returns the response once its head is there.
func wait(pending uint32) (uint32, error) {
	event := subscribe(pending)
	block(event)
	dropPollable(event)
	result := newResults()
	futureGet(pending, result.at())
	dropFutureIncomingResponse(pending)
	// An option of a result of a result: the first two are there once the event is.
	if result.words[4]&0xff != 0 {
		return 0, failure(result.words[6])
	}
	return result.words[6], nil
}

func received(request *http.Request, response uint32) *http.Response {
	result := newResults()
	header := headerOf(response)
	status := int(statusOf(response))
	consume(response, result.at())
	body := result.payload()
	dropIncomingResponse(response)
	incomingBodyStream(body, result.at())
	length, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil {
		length = -1
	}
	return &http.Response{
		Status:        fmt.Sprintf("%03d %s", status, http.StatusText(status)),
		StatusCode:    status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          &incoming{body: body, stream: result.payload(), result: result},
		ContentLength: length,
		Request:       request,
	}
}

func headerOf(response uint32) http.Header {
	fields, result := headersOf(response), newResults()
	entries(fields, result.at())
	dropFields(fields)
	header := make(http.Header)
	records := []byte(abi.Take(result.words[0], entrySize*result.words[1]))
	for ; len(records) >= entrySize; records = records[entrySize:] {
		word := func(at int) uint32 { return binary.LittleEndian.Uint32(records[at:]) }
		header.Add(abi.Take(word(0), word(4)), abi.Take(word(8), word(12)))
	}
	return header
}

// incoming is the body of a response.
type incoming struct {
	body, stream uint32
	result       *results
	// piece is where the host writes.
	piece []byte
	// end is the error of further reads; the stream is dropped then.
	end error
}

// Read waits for bytes.
func (in *incoming) Read(into []byte) (int, error) {
	if in.end != nil || len(into) == 0 {
		return 0, in.end
	}
	if in.piece == nil {
		in.piece = make([]byte, readBytes)
	}
	for {
		abi.Lend(in.piece, func() {
			blockingRead(in.stream, uint64(min(len(into), readBytes)), in.result.at())
		})
		if in.result.failed() {
			break
		}
		if length := in.result.words[2]; length > 0 {
			return copy(into, in.piece[:length]), nil
		}
	}
	if err := in.result.streamError(); err != nil {
		return 0, in.drop(err)
	}
	return 0, in.drop(io.EOF)
}

// Close gives up the rest.
func (in *incoming) Close() error {
	if in.end == nil {
		_ = in.drop(http.ErrBodyReadAfterClose)
	}
	return nil
}

// drop drops the stream before its body, as the host wants it.
func (in *incoming) drop(end error) error {
	in.end = end
	dropInputStream(in.stream)
	dropIncomingBody(in.body)
	return end
}
