//! Schemas of real tools, by what providers refuse in them.

use serde_json::{Value, json};

pub(super) fn all() -> Vec<(&'static str, Value)> {
    vec![
        (
            "ordinary",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "A path."},
                    "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}},
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
        ),
        ("no-properties", json!({"type": "object"})),
        (
            "closed",
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
        ),
        (
            "nested-object-and-arrays-open",
            json!({
                "type": "object",
                "properties": {
                    "options": {"type": "object"},
                    "list": {"type": "array"},
                    "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]},
                    "any": true,
                    "none": false,
                },
            }),
        ),
        (
            "root-presence",
            json!({
                "type": "object",
                "properties": {"title": {"type": "string"}, "body": {"type": "string"}},
                "anyOf": [{"required": ["title"]}, {"required": ["body"]}],
            }),
        ),
        (
            "root-union",
            json!({
                "type": "object",
                "description": "Two forms.",
                "oneOf": [
                    {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
                    {"type": "object", "properties": {"arguments": {"type": "string"}}, "required": ["arguments"]},
                ],
            }),
        ),
        (
            "root-intersection",
            json!({
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "allOf": [
                    {"$ref": "#/$defs/page"},
                    {"required": ["a"], "not": {"required": ["b"]}},
                ],
                "$defs": {"page": {"type": "object", "properties": {"limit": {"type": "integer", "maximum": 9}}, "required": ["limit"]}},
            }),
        ),
        (
            "root-enum",
            json!({"type": "object", "enum": [{"a": 1}, {"b": 2}]}),
        ),
        (
            "names",
            json!({
                "type": "object",
                "properties": {
                    "Due Date": {"type": "string"},
                    "Due_Date": {"type": "string"},
                    "per-page": {"type": "integer"},
                    "sub": {"type": "array", "items": {"type": "object", "properties": {"é": {"type": "null"}}, "required": ["é"]}},
                },
                "required": ["Due Date"],
            }),
        ),
        (
            "references",
            json!({
                "type": "object",
                "properties": {
                    "from": {"$ref": "#/$defs/a~1b", "description": "Where it starts."},
                    "to": {"$ref": "#/%24defs/a~1b"},
                    "elsewhere": {"$ref": "https://example.com/schema"},
                },
                "$defs": {"a/b": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"], "description": "A point."}},
            }),
        ),
        (
            "recursion",
            json!({
                "type": "object",
                "properties": {"tree": {"$ref": "#/$defs/Node"}},
                "$defs": {"Node": {"type": "object", "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                }}},
            }),
        ),
        (
            "recursion-of-no-type",
            json!({
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/N"}},
                "$defs": {"N": {"type": "any", "properties": {"b": {"$ref": "#/$defs/N"}}}},
            }),
        ),
        (
            "keywords",
            json!({
                "type": "object",
                "properties": {
                    "mail": {"type": "string", "format": "email", "maxLength": 99, "default": "a@b.c"},
                    "when": {"type": "string", "format": "date-time"},
                    "code": {"type": "string", "pattern": "^(?=a)[0-9]+$"},
                    "part": {"type": "string", "pattern": "[a-z]+"},
                    "whole": {"type": "string", "pattern": "^[a-z]+$", "items": {"type": "string"}},
                    "size": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
                    "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "minItems": 1},
                    "map": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
                    "fixed": {"const": "x"},
                    "flag": {"const": true},
                    "maybe": {"type": ["string", "null"], "enum": ["a", "b", null]},
                    "level": {"enum": [1, 2]},
                    "either": {"type": ["string", "array", "object"], "minLength": 2},
                    "union": {"type": "object", "required": ["k"], "anyOf": [{"properties": {"k": {"type": "string"}}}, {"properties": {"k": {"type": "integer"}}}]},
                    "both": {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "object", "properties": {"b": {"type": "string"}}}]},
                },
                "required": ["mail", "unknown"],
            }),
        ),
        (
            "invalid",
            json!({
                "type": "object",
                "properties": {
                    "a": {"type": "any", "minLength": -1, "enum": [], "required": true},
                    "b": {"type": "integer", "minimum": "1", "exclusiveMinimum": true},
                    "c": 7,
                },
                "required": ["a", "a", 1],
                "anyOf": "none",
            }),
        ),
    ]
}
