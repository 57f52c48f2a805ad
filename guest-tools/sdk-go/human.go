package agenttool

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Question is a question to the user.
type Question struct {
	// Prompt is the text that the user reads.
	Prompt string
	// Choices are the choices; they may be empty when FreeText is set.
	Choices []string
	// FreeText says whether the user may answer with free text.
	FreeText bool
	// Multiple says whether the user may take several of the choices.
	Multiple bool
}

// AnswerKind is the kind of an answer.
type AnswerKind int

const (
	// AnswerText is a free-text answer.
	AnswerText AnswerKind = iota
	// AnswerChoice is one of the choices.
	AnswerChoice
	// AnswerChoices are several of the choices; only to a question with Multiple.
	AnswerChoices
	// AnswerCancelled says that the user declined to answer.
	AnswerCancelled
	// AnswerUnavailable says that no user can be asked here, or that the call has already changed
	// something.
	AnswerUnavailable
)

// Answer is the user's answer.
type Answer struct {
	// Kind says which of the fields below counts.
	Kind AnswerKind
	// Text is the free-text answer.
	Text string
	// Choice is an index into the question's choices.
	Choice int
	// Choices are indexes into the question's choices, ascending.
	Choices []int
}

// Ask asks the user and waits, for days if needed. The call is then run again from its start with
// the earlier answers, so ask before the first effect, and the same questions in the same order.
func Ask(question Question) Answer {
	return ask(question)
}

// FormAnswerKind is the kind of an answer to a form.
type FormAnswerKind int

const (
	// FormFields says that the fields are filled in.
	FormFields FormAnswerKind = iota
	// FormCancelled says that the user declined to answer.
	FormCancelled
	// FormUnavailable says that no user can be asked here, or that the call has already changed
	// something.
	FormUnavailable
)

// FormAnswer is the user's answer to a form.
type FormAnswer[Form any] struct {
	// Kind says whether the fields are filled in.
	Kind FormAnswerKind
	// Fields are the fields.
	Fields Form
}

// AskForm asks the user for several fields at once, under the rules of Ask. Form is a struct whose
// fields are strings, numbers and booleans, with the tags of an input; a field that may be left
// empty is a pointer. A type that is no form panics. The error says that the answer does not fit.
func AskForm[Form any](prompt string) (FormAnswer[Form], error) {
	schema, err := formSchema(reflect.TypeFor[Form]())
	if err != nil {
		panic(fmt.Sprintf("agenttool: the form %s: %v", reflect.TypeFor[Form](), err))
	}
	kind, fields := askForm(prompt, string(schema))
	answer := FormAnswer[Form]{Kind: kind}
	if kind != FormFields {
		return answer, nil
	}
	answer.Fields, err = decode[Form]([]byte(fields))
	return answer, err
}

// AskFormSchema is AskForm with a JSON Schema of one flat object, and the fields as JSON.
func AskFormSchema(prompt string, schema json.RawMessage) FormAnswer[json.RawMessage] {
	kind, fields := askForm(prompt, string(schema))
	if kind != FormFields {
		return FormAnswer[json.RawMessage]{Kind: kind}
	}
	return FormAnswer[json.RawMessage]{kind, json.RawMessage(fields)}
}

// formSchema is the schema of a form: of one flat object, in the subset of MCP's form elicitation,
// which has no additionalProperties.
func formSchema(of reflect.Type) (json.RawMessage, error) {
	if of.Kind() != reflect.Struct {
		return nil, fmt.Errorf("it is not a struct")
	}
	made, err := (&reflection{}).of(of)
	if err != nil {
		return nil, err
	}
	properties, _ := made["properties"].(schema)
	for name, property := range properties {
		switch property.(schema)["type"] {
		case "string", "integer", "number", "boolean":
		default:
			return nil, fmt.Errorf("the field %q is not a string, a number or a boolean", name)
		}
	}
	delete(made, "additionalProperties")
	return json.Marshal(made)
}
