package agenttool

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// schema is a JSON Schema.
type schema = map[string]any

// reflection makes the schema of a type.
type reflection struct {
	// output says that the value is a result, where null stands for a nil pointer, map or slice.
	output bool
	// open are the structs around the type that is read. None of them may come again: the schema
	// would not end.
	open []reflect.Type
	// elements counts the lists, maps and pointers around the type that is read. Within them no
	// default can be set beforehand.
	elements int
}

// inputSchema is the schema of an input.
func inputSchema(of reflect.Type) (json.RawMessage, error) {
	made, err := (&reflection{}).of(of)
	if err != nil {
		return nil, err
	}
	return json.Marshal(made)
}

// outputSchema is the schema of a result.
func outputSchema(of reflect.Type) (json.RawMessage, error) {
	made, err := (&reflection{output: true}).of(of)
	if err != nil {
		return nil, err
	}
	return json.Marshal(made)
}

// promises says whether a result type says enough for an output schema: whether it is a struct of
// the author's.
func promises(of reflect.Type) bool {
	return of.Kind() == reflect.Struct && of != reflect.TypeFor[Result]() && of != reflect.TypeFor[Part]() && !speaksForItself(of)
}

// speaksForItself says whether the type has its own JSON encoding, whose schema is unknown.
func speaksForItself(of reflect.Type) bool {
	pointer := reflect.PointerTo(of)
	return pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[json.Unmarshaler]())
}

// isText says whether the type encodes itself as a JSON string.
func isText(of reflect.Type) bool {
	pointer := reflect.PointerTo(of)
	return pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// of makes the schema of a type.
func (r *reflection) of(of reflect.Type) (schema, error) {
	switch {
	case of == reflect.TypeFor[json.Number]():
		return schema{"type": "number"}, nil
	case of.Kind() == reflect.Pointer:
		return r.element(of.Elem(), r.nullable)
	case of == reflect.TypeFor[time.Time]():
		return schema{"type": "string", "format": "date-time"}, nil
	case of.Kind() == reflect.Interface || speaksForItself(of):
		return schema{}, nil
	case isText(of):
		return schema{"type": "string"}, nil
	}
	switch of.Kind() {
	case reflect.Bool:
		return schema{"type": "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return schema{"type": "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return schema{"type": "integer", "minimum": 0}, nil
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}, nil
	case reflect.String:
		return schema{"type": "string"}, nil
	case reflect.Struct:
		return r.object(of)
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			// encoding/json writes and reads bytes as base64.
			return r.nullable(schema{"type": "string"}), nil
		}
		return r.element(of.Elem(), func(items schema) schema { return r.nullable(schema{"type": "array", "items": items}) })
	case reflect.Array:
		return r.element(of.Elem(), func(items schema) schema {
			return schema{"type": "array", "items": items, "minItems": of.Len(), "maxItems": of.Len()}
		})
	case reflect.Map:
		if of.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("the keys of a %s are not strings", of)
		}
		return r.element(of.Elem(), func(values schema) schema {
			return r.nullable(schema{"type": "object", "additionalProperties": values})
		})
	default:
		return nil, fmt.Errorf("a %s has no JSON form", of)
	}
}

// element makes the schema of what is in a list, map or pointer, and then that of the whole.
func (r *reflection) element(of reflect.Type, whole func(schema) schema) (schema, error) {
	r.elements++
	defer func() { r.elements-- }()
	element, err := r.of(of)
	if err != nil {
		return nil, err
	}
	return whole(element), nil
}

// nullable allows null in a result. Without a type everything is allowed already.
func (r *reflection) nullable(s schema) schema {
	if name, one := s["type"].(string); one && r.output {
		s["type"] = []string{name, "null"}
	}
	return s
}

// object makes the schema of a struct.
func (r *reflection) object(of reflect.Type) (schema, error) {
	if slices.Contains(r.open, of) {
		return nil, fmt.Errorf("the type %s contains itself; give the tool a schema written by hand", of)
	}
	r.open = append(r.open, of)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	properties := schema{}
	required := []string{}
	for _, field := range fieldsOf(of) {
		property, err := r.property(field)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field.Name, err)
		}
		properties[field.key] = property
		if r.output && !field.omitted || !r.output && field.required() {
			required = append(required, field.key)
		}
	}
	made := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		made["required"] = required
	}
	return made, nil
}

// property makes the schema of a field: that of its type, and what its tags say.
func (r *reflection) property(field field) (schema, error) {
	made, err := r.of(field.Type)
	if err != nil {
		return nil, err
	}
	if field.Tag.Get("default") != "" && r.elements > 0 {
		return nil, fmt.Errorf("a default within a list, map or pointer cannot be set")
	}
	// The constraints of the elements are on the list.
	target := made
	for target["items"] != nil {
		target = target["items"].(schema)
	}
	if description, has := field.Tag.Lookup("description"); has {
		made["description"] = description
	}
	for keyword, into := range map[string]schema{"minimum": target, "maximum": target, "default": made} {
		if tag, has := field.Tag.Lookup(keyword); has {
			if into[keyword], err = literal(into, tag); err != nil {
				return nil, fmt.Errorf("the tag %s: %w", keyword, err)
			}
		}
	}
	if tag, has := field.Tag.Lookup("enum"); has {
		choices := []json.RawMessage{}
		for _, choice := range strings.Split(tag, ",") {
			value, err := literal(target, choice)
			if err != nil {
				return nil, fmt.Errorf("the tag enum: %w", err)
			}
			choices = append(choices, value)
		}
		if _, null := target["type"].([]string); null {
			choices = append(choices, json.RawMessage("null"))
		}
		target["enum"] = choices
	}
	return made, nil
}
