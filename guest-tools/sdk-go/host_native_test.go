//go:build !wasip1

package agenttool

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestHostStandIn(t *testing.T) {
	Native.Answers = []Answer{{Kind: AnswerChoice, Choice: 1}}
	Native.State = json.RawMessage(`{"n":18446744073709551615}`)
	var state map[string]any
	if err := State(&state); err != nil || state["n"] != json.Number("18446744073709551615") {
		t.Errorf("State = %v, %v", state, err)
	}
	if got := Ask(Question{Prompt: "Which?"}); got != (Answer{Kind: AnswerChoice, Choice: 1}) {
		t.Errorf("Ask = %+v", got)
	}
	if got := Ask(Question{Prompt: "Which?"}); got != (Answer{Kind: AnswerUnavailable}) {
		t.Errorf("the second Ask = %+v", got)
	}
	ProgressFraction("half", 0.5)
	if err := Merge(map[string]int{"n": 1}); err != nil {
		t.Error(err)
	}
	for _, wrong := range []any{1, nil, "text", make(chan int)} {
		if err := Merge(wrong); err == nil {
			t.Errorf("Merge(%v) is no error", wrong)
		}
	}
	if want := []json.RawMessage{[]byte(`{"n":1}`)}; !reflect.DeepEqual(Native.Merged, want) || !reflect.DeepEqual(Native.Progress, []string{"half"}) {
		t.Errorf("Native = %+v", Native)
	}
}
