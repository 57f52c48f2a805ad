//go:build !wasip1

package agenttool

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

func TestHostStandIn(t *testing.T) {
	answers := []Answer{{Kind: AnswerChoice, Choice: 1}, {Kind: AnswerChoices, Choices: []int{0, 2}}}
	Native.Answers = answers
	Native.State = json.RawMessage(`{"n":18446744073709551615}`)
	Native.Context = nil
	var state, context map[string]any
	if err := State(&state); err != nil || state["n"] != json.Number("18446744073709551615") {
		t.Errorf("State = %v, %v", state, err)
	}
	if err := Context(&context); err != nil || context == nil || len(context) != 0 {
		t.Errorf("Context = %v, %v", context, err)
	}
	Native.Context = json.RawMessage(`{"user":"Ann"}`)
	if err := Context(&context); err != nil || !reflect.DeepEqual(context, map[string]any{"user": "Ann"}) {
		t.Errorf("Context = %v, %v", context, err)
	}
	question := Question{Prompt: "Which?", Choices: []string{"a", "b", "c"}, Multiple: true}
	for _, want := range append(answers, Answer{Kind: AnswerUnavailable}) {
		if got := Ask(question); !reflect.DeepEqual(got, want) {
			t.Errorf("Ask = %+v, want %+v", got, want)
		}
	}
	if want := []Question{question, question, question}; !reflect.DeepEqual(Native.Questions, want) {
		t.Errorf("Questions = %+v, want %+v", Native.Questions, want)
	}
	ProgressFraction("half", 0.5)
	Halt("first")
	Halt("over")
	if err := Merge(map[string]int{"n": 1}); err != nil {
		t.Error(err)
	}
	for _, wrong := range []any{1, nil, "text", make(chan int)} {
		if err := Merge(wrong); err == nil {
			t.Errorf("Merge(%v) is no error", wrong)
		}
	}
	want := []json.RawMessage{[]byte(`{"n":1}`)}
	if !reflect.DeepEqual(Native.Merged, want) || !reflect.DeepEqual(Native.Progress, []string{"half"}) || !reflect.DeepEqual(Native.Halted, []string{"first", "over"}) {
		t.Errorf("Native = %+v", Native)
	}
}

func TestPartialStandIn(t *testing.T) {
	Native.Partial = nil
	PartialText("one ")
	PartialText("two")
	PartialFile("text/plain", "a.txt")
	PartialBytes([]byte("a"))
	PartialBytes([]byte("b"))
	PartialText("three")
	PartialBytes([]byte("c"))
	want := []Part{
		TextPart("one two"), BytesPart("text/plain", []byte("ab")).Named("a.txt"), TextPart("three"),
		BytesPart("application/octet-stream", []byte("c")),
	}
	if !reflect.DeepEqual(Native.Partial, want) {
		t.Errorf("Partial = %+v, want %+v", Native.Partial, want)
	}
}

type booking struct {
	City      string  `json:"city" description:"Where to."`
	Nights    uint    `json:"nights" maximum:"30"`
	Way       *string `json:"way" enum:"train,bus"`
	Breakfast bool    `json:"breakfast" default:"true"`
}

func TestForms(t *testing.T) {
	Native.Forms = []FormAnswer[json.RawMessage]{
		{Kind: FormFields, Fields: json.RawMessage(`{"city":"Graz","nights":2}`)},
		{Kind: FormFields, Fields: json.RawMessage(`{"city":"Graz","nights":2,"way":"bus","breakfast":false}`)},
		{Kind: FormCancelled},
	}
	bus := "bus"
	for _, want := range []FormAnswer[booking]{
		{FormFields, booking{City: "Graz", Nights: 2, Breakfast: true}},
		{FormFields, booking{City: "Graz", Nights: 2, Way: &bus}},
		{Kind: FormCancelled},
		{Kind: FormUnavailable},
	} {
		got, err := AskForm[booking]("Your trip?")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("AskForm = %+v, %v, want %+v", got, err, want)
		}
	}
	const schema = `{"properties":{"breakfast":{"default":true,"type":"boolean"},"city":{"description":"Where to.","type":"string"},` +
		`"nights":{"maximum":30,"minimum":0,"type":"integer"},"way":{"enum":["train","bus"],"type":"string"}},` +
		`"required":["city","nights"],"type":"object"}`
	if got := string(Native.Schemas[0]); got != schema {
		t.Errorf("the schema is %s, want %s", got, schema)
	}
	given := FormAnswer[json.RawMessage]{Kind: FormFields, Fields: json.RawMessage(`{"city":1}`)}
	Native.Forms = []FormAnswer[json.RawMessage]{given, {Kind: FormCancelled}}
	for _, want := range []FormAnswer[json.RawMessage]{given, {Kind: FormCancelled}, {Kind: FormUnavailable}} {
		if got := AskFormSchema("Where?", json.RawMessage(`{"type":"object"}`)); !reflect.DeepEqual(got, want) {
			t.Errorf("AskFormSchema = %+v, want %+v", got, want)
		}
	}
	if got := string(Native.Schemas[len(Native.Schemas)-1]); got != `{"type":"object"}` {
		t.Errorf("the schema is %s", got)
	}
	Native.Forms = []FormAnswer[json.RawMessage]{given}
	if got, err := AskForm[booking]("Your trip?"); err == nil {
		t.Errorf("AskForm = %+v, want an error", got)
	}
}

func TestFormsAreFlat(t *testing.T) {
	for _, test := range []struct {
		form any
		want string
	}{
		{"", "it is not a struct"},
		{struct{ Names []string }{}, `the field "Names" is not a string, a number or a boolean`},
		{struct{ Trip booking }{}, `the field "Trip" is not a string, a number or a boolean`},
		{struct{ Any any }{}, `the field "Any" is not a string, a number or a boolean`},
	} {
		if got, err := formSchema(reflect.TypeOf(test.form)); err == nil || err.Error() != test.want {
			t.Errorf("formSchema(%T) = %s, %v, want %s", test.form, got, err, test.want)
		}
	}
	defer func() {
		if got := recover(); got != "agenttool: the form string: it is not a struct" {
			t.Errorf("AskForm panics with %v", got)
		}
	}()
	_, _ = AskForm[string]("Who?")
}

func TestArtifacts(t *testing.T) {
	Native.Artifacts = map[string]NativeArtifact{"z.csv": {"text/csv", []byte("a,b\n")}}
	data := []byte("größer")
	if err := PutArtifact("plots/one.txt", "text/plain", data); err != nil {
		t.Error(err)
	}
	data[0] = 'G'
	want := []Artifact{{"plots/one.txt", "text/plain", 8}, {"z.csv", "text/csv", 4}}
	if got, err := ListArtifacts(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ListArtifacts = %+v, %v, want %+v", got, err, want)
	}
	if got, err := GetArtifact("plots/one.txt"); err != nil || string(got) != "größer" {
		t.Errorf("GetArtifact = %q, %v", got, err)
	}
	if err := DeleteArtifact("z.csv"); err != nil {
		t.Error(err)
	}
	kept := map[string]NativeArtifact{"plots/one.txt": {"text/plain", []byte("größer")}}
	if !reflect.DeepEqual(Native.Artifacts, kept) {
		t.Errorf("Artifacts = %v, want %v", Native.Artifacts, kept)
	}
}

func TestArtifactErrors(t *testing.T) {
	get := func(name string) func() error {
		return func() error { _, err := GetArtifact(name); return err }
	}
	put := func(name string) func() error {
		return func() error { return PutArtifact(name, "text/plain", nil) }
	}
	list := func() error { _, err := ListArtifacts(); return err }
	remove := func() error { return DeleteArtifact("a") }
	granted := map[string]NativeArtifact{}
	for _, test := range []struct {
		artifacts map[string]NativeArtifact
		run       func() error
		want      ArtifactError
	}{
		{granted, get("a"), ArtifactError{ArtifactNotFound, "a"}},
		{granted, remove, ArtifactError{ArtifactNotFound, "a"}},
		{granted, put("/a"), ArtifactError{ArtifactInvalidName, "/a"}},
		{granted, put("a/../b"), ArtifactError{ArtifactInvalidName, "a/../b"}},
		{granted, put("results/1"), ArtifactError{ArtifactInvalidName, "results/1"}},
		{nil, list, ArtifactError{ArtifactDenied, "artifacts"}},
		{nil, get("a"), ArtifactError{ArtifactDenied, "a"}},
		{nil, put("a"), ArtifactError{ArtifactDenied, "a"}},
		{nil, remove, ArtifactError{ArtifactDenied, "a"}},
	} {
		Native.Artifacts = test.artifacts
		var got *ArtifactError
		if err := test.run(); !errors.As(err, &got) || *got != test.want {
			t.Errorf("got %v, want %v", err, &test.want)
		}
	}
	for failure, want := range []string{
		"there is no artifact `a`",
		"`a` is denied: the tool has no grant for artifacts, or only one to read",
		"`a` cannot be the name of an artifact: it must be a relative path such as `plots/one.png`, and not in `results/`",
		"the media type of the artifact `a` is malformed, or does not agree with its bytes",
		"the artifact `a` is larger than one call may move",
		"the artifact `a` cannot be kept: the artifacts of the session have used up their quota",
	} {
		if got := textOfFailure(failure); got != want {
			t.Errorf("failure %d is %q, want %q", failure, got, want)
		}
	}
}

// textOfFailure is the result of a tool that returns the error.
func textOfFailure(failed int) string {
	return failure(&ArtifactError{ArtifactFailure(failed), "a"}).text
}
