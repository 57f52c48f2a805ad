// The conformance tools in Go: each does the same as its namesakes in the other languages. See
// ../README.md.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"agenttool"
)

//go:embed dot.png
var dotPNG []byte

type none struct{}

type textInput struct {
	Text string `json:"text" description:"The text."`
}

type valueInput struct {
	Value json.RawMessage `json:"value" description:"Any JSON value."`
}

type messageInput struct {
	Message string `json:"message" description:"The message."`
}

type raiseInput struct {
	Name string `json:"name" description:"The failure: lookup, or another one."`
}

func init() {
	read("give_text", "Returns the text as it is.", func(_ *agenttool.Call, in textInput) (string, error) { return in.Text, nil })
	read("give_json", "Returns the value as JSON.", func(_ *agenttool.Call, in valueInput) (any, error) { return in.Value, nil })
	read("give_content", "Returns content of five parts.", giveContent)
	read("give_image", "Returns an image of one pixel.", giveImage)
	read("give_file", "Returns a file of the given size.", giveFile)
	read("give_error", "Fails with the message.", giveError)
	read("give_error_json", "Fails with the value as JSON.", giveErrorJSON)
	read("deny", "Refuses, with a reason or without.", deny)
	read("repeat", "Returns the text again and again.", repeat)
	read("add", "Adds integers of 64 bits.", add)
	read("typed", "Returns its input, with null for what is absent.", typed)
	read("who", "Returns what identifies the call.", who)
	read("report", "Reports progress step by step.", report)
	read("report_unmeasured", "Reports progress without a measure.", reportUnmeasured)
	read("give_pieces", "Gives its result piece by piece, with a file unless the end is `text`.", givePieces)
	read("ask_question", "Asks the user and returns the answer.", askUser)
	read("fill_form", "Asks the user for the fields of a form and returns them.", fillForm)
	read("read_context", "Returns the context of the session.", readContext)
	change("remember", "Puts a value into the shared state and returns the state before.", remember)
	change("change_and_end", "Changes the session in every way, and ends as it is told.", changeAndEnd)
	change("artifact", "Reads, lists, stores or deletes artifacts.", artifact)
	change("http", "Sends a request and gives the response.", sendHTTP)
	change("stream_http", "Sends and receives a body in pieces, and counts what it receives.", streamHTTP)
	read("count", "Counts its calls in this instance.", count)
	read("spin", "Never comes to an end.", spin)
	read("crash", "Panics with the message.", crash)
	read("raise", "Fails as a program with a mistake does.", raise)
	read("grow", "Allocates memory until none is left.", grow)
	read("recurse", "Calls itself without end.", recurse)
	read("print", "Writes the text to stdout and stderr.", printText)
}

// read registers a tool that changes nothing.
func read[In, Out any](name, description string, run func(*agenttool.Call, In) (Out, error)) {
	agenttool.Register(agenttool.Tool{Name: name, Description: description, Effect: agenttool.ReadOnly}, run)
}

// change registers a tool that changes something.
func change[In, Out any](name, description string, run func(*agenttool.Call, In) (Out, error)) {
	agenttool.Register(agenttool.Tool{Name: name, Description: description, Effect: agenttool.Effectful}, run)
}

func giveContent(*agenttool.Call, none) ([]agenttool.Part, error) {
	return []agenttool.Part{
		agenttool.TextPart("before"),
		agenttool.BytesPart("image/png", dotPNG).Named("dot.png"),
		agenttool.TextPart("between ☃"),
		agenttool.TextFilePart("text/plain", "inline"),
		agenttool.URLPart("text/html", "https://example.com/page"),
	}, nil
}

func giveImage(*agenttool.Call, none) (agenttool.Result, error) {
	return agenttool.Image("image/png", dotPNG), nil
}

type fileInput struct {
	Size int `json:"size" description:"The size in bytes." minimum:"0" maximum:"1048576"`
}

func giveFile(_ *agenttool.Call, in fileInput) (agenttool.Result, error) {
	bytes := make([]byte, in.Size)
	for i := range bytes {
		bytes[i] = byte(i % 256)
	}
	return agenttool.File("application/octet-stream", bytes, "data.bin"), nil
}

func giveError(_ *agenttool.Call, in messageInput) (string, error) {
	return "", errors.New(in.Message)
}

func giveErrorJSON(_ *agenttool.Call, in valueInput) (agenttool.Result, error) {
	return agenttool.ErrorJSON(in.Value), nil
}

type denyInput struct {
	Reason *string `json:"reason" description:"The reason for the refusal."`
}

func deny(_ *agenttool.Call, in denyInput) (agenttool.Result, error) {
	if in.Reason == nil {
		return agenttool.DeniedWithoutReason(), nil
	}
	return agenttool.Denied(*in.Reason), nil
}

type repeatInput struct {
	Text  string `json:"text" description:"The text."`
	Times int    `json:"times" description:"The number of repetitions." minimum:"0" maximum:"1000000"`
}

func repeat(_ *agenttool.Call, in repeatInput) (string, error) {
	return strings.Repeat(in.Text, in.Times), nil
}

type addInput struct {
	Numbers []int64 `json:"numbers" description:"The numbers to add."`
}

type addOutput struct {
	Sum   int64 `json:"sum" description:"The sum."`
	Count int   `json:"count" description:"The number of numbers."`
}

func add(_ *agenttool.Call, in addInput) (addOutput, error) {
	var sum int64
	for _, number := range in.Numbers {
		if number > 0 && sum > math.MaxInt64-number || number < 0 && sum < math.MinInt64-number {
			return addOutput{}, errors.New("overflow")
		}
		sum += number
	}
	return addOutput{Sum: sum, Count: len(in.Numbers)}, nil
}

type place struct {
	X int64 `json:"x" description:"To the right."`
	Y int64 `json:"y" description:"Upwards."`
}

type typedInput struct {
	Name  string   `json:"name" description:"A name."`
	Size  string   `json:"size" description:"One of two sizes." enum:"small,large"`
	Ratio *float64 `json:"ratio" description:"A number."`
	Tags  []string `json:"tags" description:"Some words." default:"[]"`
	Place *place   `json:"place" description:"A place."`
}

func typed(_ *agenttool.Call, in typedInput) (typedInput, error) {
	return in, nil
}

type identity struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	IdempotencyKey string `json:"idempotency_key"`
}

func who(call *agenttool.Call, _ none) (identity, error) {
	return identity{call.ID, call.Name, call.IdempotencyKey}, nil
}

type reportInput struct {
	Steps int `json:"steps" description:"The number of steps." minimum:"0" maximum:"10"`
}

func report(_ *agenttool.Call, in reportInput) (string, error) {
	for step := 1; step <= in.Steps; step++ {
		agenttool.ProgressFraction(fmt.Sprintf("step %d of %d", step, in.Steps), float64(step)/float64(in.Steps))
	}
	return "done", nil
}

func reportUnmeasured(*agenttool.Call, none) (string, error) {
	agenttool.Progress("working")
	return "done", nil
}

type piecesInput struct {
	End string `json:"end" description:"The end: text, parts, json or error."`
}

func givePieces(_ *agenttool.Call, in piecesInput) (agenttool.Result, error) {
	agenttool.PartialText("one ")
	agenttool.PartialText("two ")
	if in.End != "text" {
		agenttool.PartialFile("text/plain", "abc.txt")
		agenttool.PartialBytes([]byte("ab"))
		agenttool.PartialBytes([]byte("c"))
	}
	switch in.End {
	case "json":
		return agenttool.JSON(map[string]bool{"whole": true}), nil
	case "error":
		return agenttool.Result{}, errors.New("whole")
	default:
		return agenttool.Text("☃"), nil
	}
}

type askInput struct {
	Prompt   string   `json:"prompt" description:"The text of the question."`
	Choices  []string `json:"choices" description:"The choices."`
	FreeText bool     `json:"free_text" description:"True if free text is allowed."`
	Multiple bool     `json:"multiple" description:"True if several choices are allowed." default:"false"`
}

func askUser(_ *agenttool.Call, in askInput) (agenttool.Result, error) {
	answer := agenttool.Ask(agenttool.Question{Prompt: in.Prompt, Choices: in.Choices, FreeText: in.FreeText, Multiple: in.Multiple})
	switch answer.Kind {
	case agenttool.AnswerText:
		return agenttool.Textf("text: %s", answer.Text), nil
	case agenttool.AnswerChoice:
		return agenttool.Textf("choice: %d", answer.Choice), nil
	case agenttool.AnswerChoices:
		return agenttool.Textf("choices: %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(answer.Choices), " ", ", "), "[]")), nil
	case agenttool.AnswerCancelled:
		return agenttool.Text("cancelled"), nil
	default:
		return agenttool.Text("unavailable"), nil
	}
}

type formInput struct {
	Prompt string          `json:"prompt" description:"The text of the form."`
	Schema json.RawMessage `json:"schema" description:"The schema of its fields."`
}

func fillForm(_ *agenttool.Call, in formInput) (agenttool.Result, error) {
	answer := agenttool.AskFormSchema(in.Prompt, in.Schema)
	switch answer.Kind {
	case agenttool.FormFields:
		return agenttool.JSON(answer.Fields), nil
	case agenttool.FormCancelled:
		return agenttool.Text("cancelled"), nil
	default:
		return agenttool.Text("unavailable"), nil
	}
}

func readContext(*agenttool.Call, none) (any, error) {
	var context json.RawMessage
	err := agenttool.Context(&context)
	return context, err
}

type endInput struct {
	End string `json:"end" description:"How the call ends." enum:"success,error,error_json,denied"`
}

func changeAndEnd(_ *agenttool.Call, in endInput) (agenttool.Result, error) {
	if err := agenttool.Merge(map[string]bool{"touched": true}); err != nil {
		return agenttool.Result{}, err
	}
	agenttool.Halt("too early")
	agenttool.Halt("enough")
	if err := agenttool.PutArtifact("out.txt", "text/plain", []byte("changed")); err != nil {
		return agenttool.Error(nameOf(err)), nil
	}
	switch in.End {
	case "error":
		return agenttool.Error("failed"), nil
	case "error_json":
		return agenttool.ErrorJSON(map[string]string{"code": "failed"}), nil
	case "denied":
		return agenttool.Denied("refused"), nil
	default:
		return agenttool.Text("changed"), nil
	}
}

type artifactInput struct {
	Action    string `json:"action" description:"What to do." enum:"list,get,put,delete"`
	Name      string `json:"name" description:"The name of the artifact." default:""`
	MediaType string `json:"media_type" description:"Its media type." default:""`
	Text      string `json:"text" description:"Its content." default:""`
}

func artifact(_ *agenttool.Call, in artifactInput) (agenttool.Result, error) {
	var err error
	switch in.Action {
	case "get":
		data, err := agenttool.GetArtifact(in.Name)
		if err != nil {
			return agenttool.Error(nameOf(err)), nil
		}
		return agenttool.Text(string(data)), nil
	case "put":
		err = agenttool.PutArtifact(in.Name, in.MediaType, []byte(in.Text))
	case "delete":
		err = agenttool.DeleteArtifact(in.Name)
	}
	if err != nil {
		return agenttool.Error(nameOf(err)), nil
	}
	listed, err := agenttool.ListArtifacts()
	if err != nil {
		return agenttool.Error(nameOf(err)), nil
	}
	rows := [][]any{}
	for _, one := range listed {
		rows = append(rows, []any{one.Name, one.MediaType, one.Size})
	}
	return agenttool.JSON(rows), nil
}

// nameOf is the name that the contract has for the failure of a function for artifacts.
func nameOf(err error) string {
	names := map[agenttool.ArtifactFailure]string{
		agenttool.ArtifactNotFound:         "not-found",
		agenttool.ArtifactDenied:           "denied",
		agenttool.ArtifactInvalidName:      "invalid-name",
		agenttool.ArtifactInvalidMediaType: "invalid-media-type",
		agenttool.ArtifactTooLarge:         "too-large",
		agenttool.ArtifactQuotaExceeded:    "quota-exceeded",
	}
	var failed *agenttool.ArtifactError
	if errors.As(err, &failed) {
		return names[failed.Failure]
	}
	return err.Error()
}

type rememberInput struct {
	Key   string          `json:"key" description:"The name to remember the value by."`
	Value json.RawMessage `json:"value" description:"Any JSON value."`
}

func remember(_ *agenttool.Call, in rememberInput) (any, error) {
	var before json.RawMessage
	if err := agenttool.State(&before); err != nil {
		return nil, err
	}
	return before, agenttool.Merge(map[string]json.RawMessage{in.Key: in.Value})
}

var calls int

func count(*agenttool.Call, none) (any, error) {
	calls++
	return map[string]int{"count": calls}, nil
}

func spin(*agenttool.Call, none) (string, error) {
	for {
	}
}

func crash(_ *agenttool.Call, in messageInput) (string, error) {
	panic(in.Message)
}

func raise(_ *agenttool.Call, in raiseInput) (string, error) {
	if in.Name == "lookup" {
		return []string{}[len(in.Name)], nil
	}
	panic(fmt.Errorf("no wheel\nhere"))
}

func grow(*agenttool.Call, none) (string, error) {
	const step = 1 << 20
	var held [][]byte
	for {
		block := make([]byte, step)
		for i := range block {
			block[i] = 1
		}
		held = append(held, block)
	}
}

func dive(depth int) int {
	return dive(depth+1) + depth
}

func recurse(*agenttool.Call, none) (agenttool.Result, error) {
	return agenttool.Textf("%d", dive(1)), nil
}

func printText(_ *agenttool.Call, in textInput) (string, error) {
	fmt.Fprint(os.Stdout, in.Text)
	fmt.Fprint(os.Stderr, in.Text)
	return "printed", nil
}

func main() {}
