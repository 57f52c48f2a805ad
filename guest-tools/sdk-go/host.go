package agenttool

import (
	"bytes"
	"encoding/json"
)

// Question is a question to the user.
type Question struct {
	// Prompt is the text that the user reads.
	Prompt string
	// Choices are the choices; they may be empty when FreeText is set.
	Choices []string
	// FreeText says whether the user may answer with free text.
	FreeText bool
}

// AnswerKind is the kind of an answer.
type AnswerKind int

const (
	// AnswerText is a free-text answer.
	AnswerText AnswerKind = iota
	// AnswerChoice is one of the choices.
	AnswerChoice
	// AnswerCancelled says that the user declined to answer.
	AnswerCancelled
	// AnswerUnavailable says that no user can be asked here, or that the call has already changed
	// something.
	AnswerUnavailable
)

// Answer is the user's answer.
type Answer struct {
	// Kind says which of the fields below counts.
	Kind AnswerKind
	// Text is the free-text answer.
	Text string
	// Choice is an index into the question's choices.
	Choice int
}

// Progress shows the progress of the call to the waiting user.
func Progress(message string) {
	report(message, nil)
}

// ProgressFraction is Progress with the part that is done, between 0 and 1.
func ProgressFraction(message string, fraction float64) {
	report(message, &fraction)
}

// Ask asks the user and waits, for days if needed. The call is then run again from its start with
// the earlier answers, so ask before the first effect, and the same questions in the same order.
func Ask(question Question) Answer {
	return ask(question)
}

// State reads the state that the tools of a session share, as it was when the call began: a JSON
// object. Into is a destination of encoding/json: a pointer to a struct, to a map, or to a
// json.RawMessage.
func State(into any) error {
	decoder := json.NewDecoder(bytes.NewReader(state()))
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
