package agenttool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// variant is the case of a result, in the order of the contract.
type variant uint32

const (
	text variant = iota
	jsonValue
	content
	errorText
	errorJSON
	denied
)

// Result is the result of a call. It is made by the functions below.
type Result struct {
	variant variant
	// text is the text, the JSON document, or the reason of a refusal.
	text string
	// reason says whether a refusal has a reason.
	reason bool
	parts  []Part
}

// Text is a success, as text.
func Text(s string) Result {
	return Result{variant: text, text: s}
}

// Textf is Text with a format.
func Textf(format string, arguments ...any) Result {
	return Text(fmt.Sprintf(format, arguments...))
}

// JSON is a success, as JSON. A value that has no JSON form, such as a channel, becomes an error
// that says so.
func JSON(value any) Result {
	return document(jsonValue, value)
}

// Content is a success, as several parts.
func Content(parts ...Part) Result {
	return Result{variant: content, parts: parts}
}

// Image is a success, as one image. The media type must agree with the bytes: the host sniffs them.
func Image(mediaType string, data []byte) Result {
	return Content(BytesPart(mediaType, data))
}

// File is a success, as one file.
func File(mediaType string, data []byte, filename string) Result {
	return Content(BytesPart(mediaType, data).Named(filename))
}

// Error is a failure. Write it for the model: what went wrong, and what to do next.
func Error(message string) Result {
	return Result{variant: errorText, text: message}
}

// Errorf is Error with a format.
func Errorf(format string, arguments ...any) Result {
	return Error(fmt.Sprintf(format, arguments...))
}

// ErrorJSON is a failure, as JSON.
func ErrorJSON(value any) Result {
	return document(errorJSON, value)
}

// Denied says that the call did not run, because a user or a rule did not allow it.
func Denied(reason string) Result {
	return Result{variant: denied, text: reason, reason: true}
}

// DeniedWithoutReason is Denied where no reason is to be given.
func DeniedWithoutReason() Result {
	return Result{variant: denied}
}

// data is the kind of a file's content, in the order of the contract.
type data uint32

const (
	dataBytes data = iota
	dataURL
	dataText
)

// Part is one part of a result with several: text, or a file. It is made by the functions below.
type Part struct {
	file      bool
	data      data
	content   string
	mediaType string
	filename  *string
}

// TextPart is text for the model to read.
func TextPart(s string) Part {
	return Part{content: s}
}

// BytesPart is a file by its content. The media type must agree with the bytes: the host sniffs
// them.
func BytesPart(mediaType string, bytes []byte) Part {
	return Part{file: true, data: dataBytes, content: string(bytes), mediaType: mediaType}
}

// TextFilePart is a file whose content is text.
func TextFilePart(mediaType, s string) Part {
	return Part{file: true, data: dataText, content: s, mediaType: mediaType}
}

// URLPart is a file by its absolute URL, from which the host fetches it if the tool may reach it.
func URLPart(mediaType, url string) Part {
	return Part{file: true, data: dataURL, content: url, mediaType: mediaType}
}

// Named is the same file with a name to show and to save under. Text has none and stays as it is.
func (p Part) Named(filename string) Part {
	if p.file {
		p.filename = &filename
	}
	return p
}

// ToolError is a failure that is more than a text: a tool returns it as its error.
type ToolError struct {
	// Result is the result of the call: one of Error, ErrorJSON or Denied.
	Result Result
}

// Error makes a ToolError an error.
func (e *ToolError) Error() string {
	return e.Result.text
}

// failure is the result of a tool that returned an error.
func failure(err error) Result {
	var deliberate *ToolError
	if errors.As(err, &deliberate) {
		return deliberate.Result
	}
	return Error(err.Error())
}

// toResult makes what a tool returned a result. The variant is chosen by type, never by inspecting
// a value.
func toResult(value any) Result {
	switch value := value.(type) {
	case Result:
		return value
	case string:
		return Text(value)
	case Part:
		return Content(value)
	case []Part:
		return Content(value...)
	default:
		return JSON(value)
	}
}

// document is a result that is a JSON document.
func document(variant variant, value any) Result {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return Errorf("the tool made a result that has no JSON form: %v", err)
	}
	return Result{variant: variant, text: string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))}
}
