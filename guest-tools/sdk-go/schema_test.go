package agenttool

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
)

type inner struct {
	X int `json:"x" description:"To the right."`
}

type common struct {
	Limit int `json:"limit" default:"3"`
}

type everything struct {
	common
	Text    string            `json:"text" description:"A text."`
	Size    string            `json:"size" enum:"small,large" default:"small"`
	Level   int               `json:"level" enum:"1,2" minimum:"1" maximum:"2"`
	Natural uint8             `json:"natural"`
	Ratio   *float64          `json:"ratio"`
	Flag    bool              `json:"flag,omitempty"`
	Tags    []string          `json:"tags" enum:"a,b"`
	Pair    [2]bool           `json:"pair"`
	Place   *inner            `json:"place"`
	Map     map[string]inner  `json:"map"`
	Raw     json.RawMessage   `json:"raw"`
	Any     any               `json:"any"`
	Number  json.Number       `json:"number"`
	Bytes   []byte            `json:"bytes"`
	When    time.Time         `json:"when"`
	Big     *big.Int          `json:"big"`
	Hidden  string            `json:"-"`
	own     map[string]string //nolint:unused
	Untag   string
}

func TestSchemas(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(reflect.Type) (json.RawMessage, error)
		of   reflect.Type
		want string
	}{
		{"nothing", inputSchema, reflect.TypeFor[struct{}](), `{"type":"object","properties":{},"additionalProperties":false}`},
		{"an input", inputSchema, reflect.TypeFor[everything](), `{
			"type": "object",
			"additionalProperties": false,
			"required": ["text", "level", "natural", "tags", "pair", "map", "raw", "any", "number", "bytes", "when", "Untag"],
			"properties": {
				"limit": {"type": "integer", "default": 3},
				"text": {"type": "string", "description": "A text."},
				"size": {"type": "string", "enum": ["small", "large"], "default": "small"},
				"level": {"type": "integer", "enum": [1, 2], "minimum": 1, "maximum": 2},
				"natural": {"type": "integer", "minimum": 0},
				"ratio": {"type": "number"},
				"flag": {"type": "boolean"},
				"tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
				"pair": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2},
				"place": {"type": "object", "properties": {"x": {"type": "integer", "description": "To the right."}}, "required": ["x"], "additionalProperties": false},
				"map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "integer", "description": "To the right."}}, "required": ["x"], "additionalProperties": false}},
				"raw": {},
				"any": {},
				"number": {"type": "number"},
				"bytes": {"type": "string"},
				"when": {"type": "string", "format": "date-time"},
				"big": {},
				"Untag": {"type": "string"}
			}}`},
		{"a result, where nothing is null", outputSchema, reflect.TypeFor[struct {
			Size  *string  `json:"size" enum:"small"`
			Tags  []string `json:"tags"`
			Empty *int     `json:"empty,omitempty"`
		}](), `{
			"type": "object",
			"additionalProperties": false,
			"required": ["size", "tags"],
			"properties": {
				"size": {"type": ["string", "null"], "enum": ["small", null]},
				"tags": {"type": ["array", "null"], "items": {"type": "string"}},
				"empty": {"type": ["integer", "null"]}
			}}`},
	} {
		got, err := test.make(test.of)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if !same(t, string(got), test.want) {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// same says whether two documents are the same value.
func same(t *testing.T, left, right string) bool {
	t.Helper()
	var a, b any
	for text, into := range map[string]*any{left: &a, right: &b} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return reflect.DeepEqual(a, b)
}

type list struct {
	Next *list `json:"next"`
}

func TestTypesWithoutASchema(t *testing.T) {
	for _, test := range []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[list](), "field Next: the type agenttool.list contains itself; give the tool a schema written by hand"},
		{reflect.TypeFor[struct{ C chan int }](), "field C: a chan int has no JSON form"},
		{reflect.TypeFor[struct{ M map[int]int }](), "field M: the keys of a map[int]int are not strings"},
		{reflect.TypeFor[struct {
			I int `minimum:"low"`
		}](), `field I: the tag minimum: "low" is not JSON`},
		{reflect.TypeFor[struct {
			I int `enum:"1,two"`
		}](), `field I: the tag enum: "two" is not JSON`},
		{reflect.TypeFor[struct{ L []common }](), "field L: field Limit: a default within a list, map or pointer cannot be set"},
	} {
		if got, err := inputSchema(test.of); err == nil || err.Error() != test.want {
			t.Errorf("inputSchema(%s) = %s, %v, want the error %s", test.of, got, err, test.want)
		}
	}
}

func TestMistakesPanicAtRegistration(t *testing.T) {
	run := func(*Call, struct{}) (string, error) { return "", nil }
	complete := Tool{Name: "complete", Description: "Does nothing.", Effect: ReadOnly}
	for _, test := range []struct {
		want     string
		register func()
	}{
		{`tool "" has no name`, func() { Register(Tool{}, run) }},
		{`tool "t" has no description`, func() { Register(Tool{Name: "t"}, run) }},
		{`tool "t" has no effect`, func() { Register(Tool{Name: "t", Description: "d"}, run) }},
		{`tool "complete" is registered twice`, func() { Register(complete, run); Register(complete, run) }},
		{`tool "complete" has an input of type string`, func() {
			Register(complete, func(*Call, string) (string, error) { return "", nil })
		}},
		{`tool "complete" has an input without a JSON Schema: field Next`, func() {
			Register(complete, func(*Call, list) (string, error) { return "", nil })
		}},
		{`tool "complete" has a default that does not fit: the default of N is not a int`, func() {
			Register(complete, func(*Call, struct {
				N int `default:"\"three\""`
			}) (string, error) {
				return "", nil
			})
		}},
	} {
		tools = nil
		define := func() {
			test.register()
			for _, tool := range tools {
				tool.schemas()
			}
		}
		if got := panicOf(define); !strings.HasPrefix(got, "agenttool: "+test.want) {
			t.Errorf("the panic is %q, want %q", got, test.want)
		}
	}
	tools = nil
}

// panicOf is what a function panics with, or nothing.
func panicOf(run func()) (message string) {
	defer func() {
		message, _ = recover().(string)
	}()
	run()
	return ""
}
