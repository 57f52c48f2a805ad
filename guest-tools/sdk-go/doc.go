// Package agenttool is for writing tools for agent-host in Go.
//
// A tool is a function over a typed input. Register makes the fields of the input the JSON Schema
// that the host checks every call against, and what the function returns the result:
//
//	type Text struct {
//		Text string `json:"text" description:"The text to count in."`
//	}
//
//	type Count struct {
//		Words int `json:"words"`
//	}
//
//	func init() {
//		agenttool.Register(agenttool.Tool{
//			Name:        "count_words",
//			Description: "Counts the words of a text. Words are separated by white space.",
//			Effect:      agenttool.ReadOnly,
//		}, countWords)
//	}
//
//	func countWords(call *agenttool.Call, in Text) (Count, error) {
//		return Count{Words: len(strings.Fields(in.Text))}, nil
//	}
//
//	func main() {}
//
// Tools are registered in init, because a component has no main that runs.
//
// # Results
//
// A string is text, a [Result] is itself, and every other value is JSON. A [Part] or a slice of
// them is content. An error is the text of a failed call, so write it for the model: what went
// wrong, and what to do next. A panic ends the call as a trap: the model reads its message, and its
// stack goes to stderr for the author.
//
// # Input
//
// The tags are those of encoding/json, and description:"...", enum:"a,b", minimum:"0", maximum:"10"
// and default:"..." for the schema. A field is required unless it is a pointer, has a default, or
// is omitempty or omitzero. [json.RawMessage] takes any JSON unchanged, and in a field of type any
// numbers are [json.Number], so no digit is lost.
//
// # Talking to the host
//
// [Progress] shows the progress of a call, [PartialText] and its like add to its result while it
// runs, [State] and [Merge] access the state that the tools of a
// session share, and [Ask] and [AskForm] ask the user. [Context] is what the operator's program says
// of the request, [Halt] ends the whole run, and [PutArtifact] and its like access the artifacts of
// the session. The package agenthttp sends HTTP requests. A component imports what it uses and nothing else. Files and clocks are those of the
// standard library: relative paths start in the first directory that the host granted.
package agenttool
