package agenttool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
)

type input struct {
	Text   string          `json:"text" default:"nothing"`
	Number int64           `json:"number,omitempty"`
	Raw    json.RawMessage `json:"raw,omitempty"`
	Any    any             `json:"any,omitempty"`
}

func TestInputs(t *testing.T) {
	for _, test := range []struct {
		text string
		want input
	}{
		{`{}`, input{Text: "nothing"}},
		{`{"text":""}`, input{}},
		{`{"number":-9223372036854775808}`, input{Text: "nothing", Number: -1 << 63}},
		{`{"raw":[18446744073709551615, 1e300]}`, input{Text: "nothing", Raw: json.RawMessage("[18446744073709551615, 1e300]")}},
		{`{"any":[9007199254740993]}`, input{Text: "nothing", Any: []any{json.Number("9007199254740993")}}},
	} {
		got, err := decode[input]([]byte(test.text))
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("decode(%s) = %+v, %v, want %+v", test.text, got, err, test.want)
		}
	}
	for _, wrong := range []string{``, `{`, `[]`, `{} {}`, `{"unknown":1}`, `{"number":9223372036854775808}`, `{"number":"1"}`} {
		if got, err := decode[input]([]byte(wrong)); err == nil {
			t.Errorf("decode(%s) = %+v, want an error", wrong, got)
		}
	}
}

func TestResults(t *testing.T) {
	name := "dot.png"
	for _, test := range []struct {
		given any
		want  Result
	}{
		{"text", Result{variant: text, text: "text"}},
		{map[string]any{"type": "text", "<": json.Number("18446744073709551615")}, Result{variant: jsonValue, text: `{"<":18446744073709551615,"type":"text"}`}},
		{nil, Result{variant: jsonValue, text: "null"}},
		{TextPart("one"), Result{variant: content, parts: []Part{{content: "one"}}}},
		{[]Part{TextPart("one").Named("no"), URLPart("text/html", "https://example.com/")}, Result{variant: content, parts: []Part{
			{content: "one"},
			{file: true, data: dataURL, content: "https://example.com/", mediaType: "text/html"},
		}}},
		{Image("image/png", []byte("\x89PNG")), Result{variant: content, parts: []Part{{file: true, content: "\x89PNG", mediaType: "image/png"}}}},
		{File("image/png", []byte("\x89PNG"), name), Result{variant: content, parts: []Part{{file: true, content: "\x89PNG", mediaType: "image/png", filename: &name}}}},
		{ErrorJSON([]int{1}), Result{variant: errorJSON, text: "[1]"}},
		{Denied(""), Result{variant: denied, reason: true}},
		{DeniedWithoutReason(), Result{variant: denied}},
		{make(chan int), Error("the tool made a result that has no JSON form: json: unsupported type: chan int")},
	} {
		if got := toResult(test.given); !reflect.DeepEqual(got, test.want) {
			t.Errorf("toResult(%v) = %+v, want %+v", test.given, got, test.want)
		}
	}
}

func TestAnswers(t *testing.T) {
	tools = nil
	defer func() { tools = nil }()
	Register(Tool{Name: "fail", Description: "Fails.", Effect: ReadOnly}, func(_ *Call, in input) (string, error) {
		switch in.Text {
		case "denied":
			return "", fmt.Errorf("wrapped: %w", &ToolError{Denied("no")})
		case "error":
			return "", errors.New("the file is gone")
		default:
			return in.Text, nil
		}
	})
	for _, test := range []struct {
		name, input string
		want        Result
	}{
		{"fail", `{}`, Text("nothing")},
		{"fail", `{"text":"error"}`, Error("the file is gone")},
		{"fail", `{"text":"denied"}`, Denied("no")},
		{"fail", `{"unknown":1}`, Error("the input of `fail` does not fit: json: unknown field \"unknown\"; correct it and call again")},
		{"other", `{}`, Error("this component has no tool `other`")},
	} {
		got := answer(&Call{Name: test.name}, []byte(test.input))
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s %s = %+v, want %+v", test.name, test.input, got, test.want)
		}
	}
}
