package agenttool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
)

// Effect is what a call of a tool may change. The host enforces it, and there is no default.
type Effect int

const (
	// ReadOnly changes nothing. Such a call may run beside others, and again.
	ReadOnly Effect = iota + 1
	// Idempotent changes something, and a repetition with the same idempotency key changes nothing more.
	Idempotent
	// Effectful changes something, and is never repeated without being asked.
	Effectful
)

// Tool is what a tool tells the model and the host about itself.
type Tool struct {
	// Name is what the model calls: letters, digits, `_` and `-`, at most 64.
	Name string
	// Title is a short name for people; it may be empty.
	Title string
	// Description says what the tool does and when to use it. The model reads it.
	Description string
	// Effect is what a call may change.
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
	// IdempotencyKey is the same for every attempt at this call: pass it on to services that support one.
	IdempotencyKey string
}

// registered is a tool with its function, whose types are no longer seen.
type registered struct {
	Tool
	run func(call *Call, input []byte) Result
}

// tools are the component's, in the order of their registration.
var tools []registered

// Register adds a tool to the component. Call it in init. It panics when the tool is not complete or a type has no JSON Schema, so
// that a mistake ends the build and not a call.
//
// In is a struct whose fields are the input. A result type that is a struct gives the tool an output schema.
func Register[In, Out any](tool Tool, run func(call *Call, in In) (Out, error)) {
	mustf := func(holds bool, format string, arguments ...any) {
		if !holds {
			panic(fmt.Sprintf("agenttool: tool %q ", tool.Name) + fmt.Sprintf(format, arguments...))
		}
	}
	mustf(tool.Name != "", "has no name")
	mustf(tool.Description != "", "has no description: write what it does and when to use it")
	mustf(tool.Effect >= ReadOnly && tool.Effect <= Effectful, "has no effect: write ReadOnly, Idempotent or Effectful")
	for _, other := range tools {
		mustf(other.Name != tool.Name, "is registered twice")
	}
	input := reflect.TypeFor[In]()
	if tool.InputSchema == nil {
		mustf(input.Kind() == reflect.Struct, "has an input of type %s: make it a struct, or give the tool an InputSchema", input)
		schema, err := inputSchema(input)
		mustf(err == nil, "has an input without a JSON Schema: %v", err)
		tool.InputSchema = schema
	}
	mistake := setDefaults(reflect.New(input).Elem())
	mustf(mistake == nil, "has a default that does not fit: %v", mistake)
	if tool.OutputSchema == nil && promises(reflect.TypeFor[Out]()) {
		schema, err := outputSchema(reflect.TypeFor[Out]())
		mustf(err == nil, "has a result without a JSON Schema: %v", err)
		tool.OutputSchema = schema
	}
	tools = append(tools, registered{tool, func(call *Call, input []byte) Result {
		in, err := decode[In](input)
		if err != nil {
			return Errorf("the input of `%s` does not fit: %v; correct it and call again", call.Name, err)
		}
		out, err := run(call, in)
		if err != nil {
			return failure(err)
		}
		return toResult(out)
	}})
}

// decode reads an input: with its defaults, with every digit of a number, and with no field that the type does not have.
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
