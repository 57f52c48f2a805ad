//go:build !wasip1

package agenttool

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Native is the host outside of WebAssembly, where tools are tested as functions: the answers of
// Ask, AskForm, State and Context, and the calls of Progress, Merge and Halt. Tests that run beside
// each other must not share it.
var Native struct {
	// Answers are given in order; afterwards no user can be asked.
	Answers []Answer
	// Forms are the answers to forms, in order; afterwards no user can be asked.
	Forms []FormAnswer[json.RawMessage]
	// State is an object, or nil for an empty one.
	State json.RawMessage
	// Context is an object, or nil for an empty one.
	Context json.RawMessage
	// Artifacts are the artifacts by name, as the calls left them; nil where the tool has no grant
	// for them. No media type is checked, and there is no quota.
	Artifacts map[string]NativeArtifact
	// Questions are the questions that were asked, in order.
	Questions []Question
	// Schemas are the schemas of the forms that were asked, in order.
	Schemas []json.RawMessage
	// Progress are the messages that were reported.
	Progress []string
	// Partial are the parts that were added to results while calls ran.
	Partial []Part
	// Merged are the requested changes of the state.
	Merged []json.RawMessage
	// Halted are the messages with which the run was to end; the last counts.
	Halted []string
}

// NativeArtifact is an artifact in Native.
type NativeArtifact struct {
	// MediaType is the media type.
	MediaType string
	// Data is the content.
	Data []byte
}

func report(message string, _ *float64) {
	Native.Progress = append(Native.Progress, message)
}

func partialText(text string) bool {
	if last := lastPartial(); last != nil && !last.file {
		last.content += text
	} else {
		Native.Partial = append(Native.Partial, TextPart(text))
	}
	return true
}

func partialFile(mediaType, filename string) bool {
	part := BytesPart(mediaType, nil)
	if filename != "" {
		part = part.Named(filename)
	}
	Native.Partial = append(Native.Partial, part)
	return true
}

func partialBytes(data []byte) bool {
	if last := lastPartial(); last != nil && last.file {
		last.content += string(data)
	} else {
		Native.Partial = append(Native.Partial, BytesPart("application/octet-stream", data))
	}
	return true
}

func lastPartial() *Part {
	if len(Native.Partial) == 0 {
		return nil
	}
	return &Native.Partial[len(Native.Partial)-1]
}

func ask(question Question) Answer {
	Native.Questions = append(Native.Questions, question)
	if len(Native.Answers) == 0 {
		return Answer{Kind: AnswerUnavailable}
	}
	answer := Native.Answers[0]
	Native.Answers = Native.Answers[1:]
	return answer
}

func askForm(_, schema string) (FormAnswerKind, string) {
	Native.Schemas = append(Native.Schemas, json.RawMessage(schema))
	if len(Native.Forms) == 0 {
		return FormUnavailable, ""
	}
	answer := Native.Forms[0]
	Native.Forms = Native.Forms[1:]
	return answer.Kind, string(answer.Fields)
}

func state() []byte {
	return object(Native.State)
}

func context() []byte {
	return object(Native.Context)
}

// object is a JSON object, and the empty one where none is given.
func object(given json.RawMessage) []byte {
	if given == nil {
		return []byte("{}")
	}
	return given
}

func merge(delta string) {
	Native.Merged = append(Native.Merged, json.RawMessage(delta))
}

func halt(message string) {
	Native.Halted = append(Native.Halted, message)
}

func listArtifacts() ([]Artifact, error) {
	if Native.Artifacts == nil {
		return nil, &ArtifactError{ArtifactDenied, "artifacts"}
	}
	listed := []Artifact{}
	for name, kept := range Native.Artifacts {
		listed = append(listed, Artifact{name, kept.MediaType, uint64(len(kept.Data))})
	}
	slices.SortFunc(listed, func(a, b Artifact) int { return cmp.Compare(a.Name, b.Name) })
	return listed, nil
}

func getArtifact(name string) ([]byte, error) {
	if Native.Artifacts == nil {
		return nil, &ArtifactError{ArtifactDenied, name}
	}
	kept, found := Native.Artifacts[name]
	if !found {
		return nil, &ArtifactError{ArtifactNotFound, name}
	}
	return kept.Data, nil
}

func putArtifact(name, mediaType string, data []byte) error {
	if Native.Artifacts == nil {
		return &ArtifactError{ArtifactDenied, name}
	}
	parts := strings.Split(name, "/")
	unusual := func(part string) bool { return part == "" || part == "." || part == ".." }
	if parts[0] == "results" || slices.ContainsFunc(parts, unusual) {
		return &ArtifactError{ArtifactInvalidName, name}
	}
	Native.Artifacts[name] = NativeArtifact{mediaType, slices.Clone(data)}
	return nil
}

func deleteArtifact(name string) error {
	if _, err := getArtifact(name); err != nil {
		return err
	}
	delete(Native.Artifacts, name)
	return nil
}
