package agenttool

import (
	"bytes"
	"encoding/json"
)

// Question is a question to the user.
type Question struct {
	// Prompt is the text that the user reads.
	Prompt string
	// Choices are what they can choose from; they may be empty when FreeText is set.
	Choices []string
	// FreeText says whether they may answer in their own words.
	FreeText bool
}

// AnswerKind says what kind of answer a user gave.
type AnswerKind int

const (
	// AnswerText is an answer in the user's own words.
	AnswerText AnswerKind = iota
	// AnswerChoice is one of the choices.
	AnswerChoice
	// AnswerCancelled says that the user declined to answer.
	AnswerCancelled
	// AnswerUnavailable says that no user can be asked here, or that the call has already changed something.
	AnswerUnavailable
)

// Answer is what a user answered.
type Answer struct {
	// Kind says which of the fields below counts.
	Kind AnswerKind
	// Text is the answer in the user's own words.
	Text string
	// Choice is an index into the question's choices.
	Choice int
}

// Progress shows the user who waits how far the call has come.
func Progress(message string) {
	report(message, nil)
}

// ProgressFraction is Progress with the part that is done, between 0 and 1.
func ProgressFraction(message string, fraction float64) {
	report(message, &fraction)
}

// Ask asks the user, and waits, for days if need be. The call is then run again from its start with the earlier answers, so ask
// before the first effect, and the same questions in the same order.
func Ask(question Question) Answer {
	return ask(question)
}

// State reads the state that the tools of a session share, as it was when the call began: a JSON object. Into is what encoding/json reads
// into: a pointer to a struct, to a map, or to a json.RawMessage.
func State(into any) error {
	decoder := json.NewDecoder(bytes.NewReader(state()))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// Merge asks for a change of the state: objects merge deeply, other values replace. It is applied when the call settles. The error
// says that the change has no JSON form or is not an object.
func Merge(delta any) error {
	result := JSON(delta)
	if result.variant != jsonValue || result.text[0] != '{' {
		return &ToolError{Errorf("the change of the state is not a JSON object")}
	}
	merge(result.text)
	return nil
}
