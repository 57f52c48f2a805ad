package agenttool

import (
	"bytes"
	"encoding/json"
)

// Progress shows the progress of the call to the waiting user.
func Progress(message string) {
	report(message, nil)
}

// ProgressFraction is Progress with the part that is done, between 0 and 1.
func ProgressFraction(message string, fraction float64) {
	report(message, &fraction)
}

// PartialText adds text to the result of the call while it runs. Users see it at once. When the tool
// returns text or content, the pieces come first in the result, and text continues the text before
// it; an empty text adds nothing. Any other variant is the whole result. False says that the result
// is full: what is left out is not part of it, and a note at its end says so.
func PartialText(text string) bool {
	return partialText(text)
}

// PartialFile begins a file under the rules of PartialText; PartialBytes adds its content. A file
// may have an empty name, which is none.
func PartialFile(mediaType, filename string) bool {
	return partialFile(mediaType, filename)
}

// PartialBytes adds bytes to the file that the call has just begun or continued.
func PartialBytes(data []byte) bool {
	return partialBytes(data)
}

// Context reads what the operator's program says of the request that the session serves, such as a
// user or a tenant, as it was when the call began: a JSON object, {} where none was given. The model
// neither sees nor sets it. Into is a destination of encoding/json.
func Context(into any) error {
	return readDocument(context(), into)
}

// Halt asks to end the whole run with a message for the user once this call has succeeded: the
// model is not asked again. A call that fails or is denied ends nothing. The last message counts.
func Halt(message string) {
	halt(message)
}

// State reads the state that the tools of a session share, as it was when the call began: a JSON
// object. Into is a destination of encoding/json: a pointer to a struct, to a map, or to a
// json.RawMessage.
func State(into any) error {
	return readDocument(state(), into)
}

// readDocument decodes a document of the host, with every digit of a number.
func readDocument(document []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// Merge asks for a change of the state: objects merge deeply, other values replace. It is applied
// when the call settles. The error says that the change has no JSON form or is not an object.
func Merge(delta any) error {
	result := JSON(delta)
	if result.variant != jsonValue || result.text[0] != '{' {
		return &ToolError{Errorf("the change of the state is not a JSON object")}
	}
	merge(result.text)
	return nil
}
