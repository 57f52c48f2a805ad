package agenttool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// field is a field of a struct as encoding/json sees it.
type field struct {
	reflect.StructField
	// key is its name in JSON.
	key string
	// omitted says that encoding/json leaves it out when it is empty.
	omitted bool
}

// required says whether an input must have the field.
func (f field) required() bool {
	_, hasDefault := f.Tag.Lookup("default")
	return !hasDefault && !f.omitted && f.Type.Kind() != reflect.Pointer
}

// fieldsOf are the fields of a struct, with those of the structs embedded in it.
func fieldsOf(of reflect.Type) []field {
	var fields []field
	for at := range of.NumField() {
		structField := of.Field(at)
		tag := structField.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-" || !structField.IsExported() && !structField.Anonymous:
			continue
		case structField.Anonymous && name == "" && structField.Type.Kind() == reflect.Struct:
			fields = append(fields, fieldsOf(structField.Type)...)
			continue
		case !structField.IsExported():
			continue
		case name == "":
			name = structField.Name
		}
		omitted := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		fields = append(fields, field{structField, name, omitted})
	}
	return fields
}

// literal reads a value of a tag: text as it is where the schema is that of a string, and JSON
// elsewhere.
func literal(of schema, tag string) (json.RawMessage, error) {
	if types, several := of["type"].([]string); of["type"] == "string" || several && types[0] == "string" {
		return json.Marshal(tag)
	}
	if !json.Valid([]byte(tag)) {
		return nil, fmt.Errorf("%q is not JSON", tag)
	}
	return json.RawMessage(tag), nil
}

// setDefaults sets what the fields of a struct are before an input is read into them.
func setDefaults(value reflect.Value) error {
	if value.Kind() != reflect.Struct {
		return nil
	}
	for at := range value.NumField() {
		structField, target := value.Type().Field(at), value.Field(at)
		tag, has := structField.Tag.Lookup("default")
		switch {
		case has && target.Kind() == reflect.String:
			target.SetString(tag)
		case has:
			if err := json.Unmarshal([]byte(tag), target.Addr().Interface()); err != nil {
				return fmt.Errorf("the default of %s is not a %s: %w", structField.Name, target.Type(), err)
			}
		default:
			if err := setDefaults(target); err != nil {
				return err
			}
		}
	}
	return nil
}
