//go:build !wasip1

package agenttool

import "encoding/json"

// Native is the host outside of WebAssembly, where tools are tested as functions: the answers of
// Ask and State, and the calls of Progress and Merge. Tests that run beside each other must not
// share it.
var Native struct {
	// Answers are given in order; afterwards no user can be asked.
	Answers []Answer
	// State is an object, or nil for an empty one.
	State json.RawMessage
	// Progress are the messages that were reported.
	Progress []string
	// Merged are the requested changes of the state.
	Merged []json.RawMessage
}

func report(message string, _ *float64) {
	Native.Progress = append(Native.Progress, message)
}

func ask(Question) Answer {
	if len(Native.Answers) == 0 {
		return Answer{Kind: AnswerUnavailable}
	}
	answer := Native.Answers[0]
	Native.Answers = Native.Answers[1:]
	return answer
}

func state() []byte {
	if Native.State == nil {
		return []byte("{}")
	}
	return Native.State
}

func merge(delta string) {
	Native.Merged = append(Native.Merged, json.RawMessage(delta))
}
