package agenttool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
)

// Effect is the effect that a call of a tool may have. The host enforces it, and there is no
// default.
type Effect int

const (
	// ReadOnly changes nothing. Such a call may run beside others, and again.
	ReadOnly Effect = iota + 1
	// Idempotent changes something, and a repetition with the same idempotency key changes nothing
	// more.
	Idempotent
	// Effectful changes something, and is never repeated without being asked.
	Effectful
)

// Tool is the definition of a tool, for the model and the host.
type Tool struct {
	// Name is the name that the model calls: letters, digits, `_` and `-`, at most 64.
	Name string
	// Title is a short name to show to users; it may be empty.
	Title string
	// Description says what the tool does and when to use it. The model reads it.
	Description string
	// Effect is the effect that a call may have.
	Effect Effect
	// InputSchema is a JSON Schema in place of the one of the input's type; mostly it is empty.
	InputSchema json.RawMessage
	// OutputSchema is a JSON Schema in place of the one of the result's type; mostly it is empty.
	OutputSchema json.RawMessage
}

// Call is the call that a tool is answering.
type Call struct {
	// ID is unique in the session.
	ID string
	// Name is the name of the tool.
	Name string
	// IdempotencyKey is equal for every attempt at this call: pass it on to services that support
	// idempotency keys.
	IdempotencyKey string
}

// registered is a tool with its functions, whose types are no longer seen.
type registered struct {
	Tool
	// schemas are those of the input and of the result. Every call is in an instance of its own, so
	// they are made on demand.
	schemas func() (input, output json.RawMessage)
	run     func(call *Call, input []byte) Result
}

// tools are the component's, in the order of their registration.
var tools []registered

// Register adds a tool to the component. Call it in init. A tool that is not complete, and a type
// that has no JSON Schema, panic at the latest when the host asks for the definitions, so that a
// mistake ends the build and not a call.
//
// In is a struct whose fields are the input. A result type that is a struct gives the tool an
// output schema.
func Register[In, Out any](tool Tool, run func(call *Call, in In) (Out, error)) {
	tool.must(tool.Name != "", "has no name")
	tool.must(tool.Description != "", "has no description: write what it does and when to use it")
	tool.must(tool.Effect >= ReadOnly && tool.Effect <= Effectful, "has no effect: write ReadOnly, Idempotent or Effectful")
	for _, other := range tools {
		tool.must(other.Name != tool.Name, "is registered twice")
	}
	tools = append(tools, registered{
		Tool: tool,
		schemas: func() (input, output json.RawMessage) {
			return tool.inputSchema(reflect.TypeFor[In]()), tool.outputSchema(reflect.TypeFor[Out]())
		},
		run: func(call *Call, input []byte) Result {
			in, err := decode[In](input)
			if err != nil {
				return Errorf("the input of `%s` does not fit: %v; correct it and call again", call.Name, err)
			}
			out, err := run(call, in)
			if err != nil {
				return failure(err)
			}
			return toResult(out)
		},
	})
}

// must panics where the author made a mistake.
func (t *Tool) must(holds bool, format string, arguments ...any) {
	if !holds {
		panic(fmt.Sprintf("agenttool: tool %q ", t.Name) + fmt.Sprintf(format, arguments...))
	}
}

// inputSchema is the schema that the author gave, or that of the input's type.
func (t *Tool) inputSchema(of reflect.Type) json.RawMessage {
	if t.InputSchema != nil {
		return t.InputSchema
	}
	t.must(of.Kind() == reflect.Struct, "has an input of type %s: make it a struct, or give the tool an InputSchema", of)
	schema, err := inputSchema(of)
	t.must(err == nil, "has an input without a JSON Schema: %v", err)
	err = setDefaults(reflect.New(of).Elem())
	t.must(err == nil, "has a default that does not fit: %v", err)
	return schema
}

// outputSchema is the schema that the author gave, or that of the result's type where it says
// enough, or none.
func (t *Tool) outputSchema(of reflect.Type) json.RawMessage {
	if t.OutputSchema != nil || !promises(of) {
		return t.OutputSchema
	}
	schema, err := outputSchema(of)
	t.must(err == nil, "has a result without a JSON Schema: %v", err)
	return schema
}

// decode reads an input: with its defaults, with every digit of a number, and with no field that
// the type does not have.
func decode[In any](input []byte) (In, error) {
	var in In
	if err := setDefaults(reflect.ValueOf(&in).Elem()); err != nil {
		return in, err
	}
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return in, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return in, fmt.Errorf("something follows the JSON document")
	}
	return in, nil
}

// answer runs a call by the name of its tool.
func answer(call *Call, input []byte) Result {
	for _, tool := range tools {
		if tool.Name == call.Name {
			return tool.run(call, input)
		}
	}
	return Errorf("this component has no tool `%s`", call.Name)
}
