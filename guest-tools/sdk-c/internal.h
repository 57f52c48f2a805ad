/* Declarations that the files of the SDK share and no tool needs. */
#ifndef AGENT_TOOL_INTERNAL_H
#define AGENT_TOOL_INTERNAL_H

#include <stdarg.h>

#include "agent_tool.h"

/* at_format for functions that have a `...` of their own. */
at_str at_vformat(const char *format, va_list arguments) AT_PRINTF(1, 0);

/* Text that the host passed. Of an empty one the address means nothing. */
at_str at_lift(const char *data, size_t len);

/* The JSON Schema of an object with these fields, as text. NULL is an object without fields. */
at_str at_schema(const at_field *fields);

/*
 * True if the value has the types that the fields promise. If not, `misfit` names the first wrong
 * field and its type.
 */
bool at_fits(const at_field *fields, at_value object, at_str *misfit);

/*
 * The JSON Schema of a form: of a flat object whose fields are never null. It is in the subset of
 * MCP's form elicitation, which has no `additionalProperties`.
 */
at_value at_form_schema(const at_field *fields);

/* ---- Results of imports, as the host writes them: variants begin with a byte for their case. ---- */

/* `answer` of wit/human.wit. */
typedef struct {
    uint8_t kind;
    union {
        at_str text;
        uint32_t choice;
        struct {
            const uint32_t *data;
            size_t len;
        } choices;
    } value;
} wire_answer;

/* `form-answer` of wit/human.wit. */
typedef struct {
    uint8_t kind;
    at_str fields;
} wire_form_answer;

/* The result of `list` in wit/artifacts.wit. */
typedef struct {
    uint8_t is_error;
    union {
        struct {
            at_artifact *data;
            size_t len;
        } list;
        uint8_t error;
    } value;
} wire_artifact_list;

/* The result of `get` in wit/artifacts.wit. */
typedef struct {
    uint8_t is_error;
    union {
        at_str bytes;
        uint8_t error;
    } value;
} wire_artifact_bytes;

/* The result of `put` and `delete` in wit/artifacts.wit. */
typedef struct {
    uint8_t is_error;
    uint8_t error;
} wire_artifact_done;

#ifdef __wasm__
_Static_assert(sizeof(wire_answer) == 12, "the size of answer in wit/human.wit");
_Static_assert(sizeof(wire_form_answer) == 12, "the size of form-answer in wit/human.wit");
_Static_assert(sizeof(at_artifact) == 24, "the size of artifact in wit/artifacts.wit");
_Static_assert(offsetof(at_artifact, size) == 16, "the offset of size in artifact in wit/artifacts.wit");
_Static_assert(sizeof(wire_artifact_list) == 12, "the size of the result of list in wit/artifacts.wit");
_Static_assert(sizeof(wire_artifact_bytes) == 12, "the size of the result of get in wit/artifacts.wit");
_Static_assert(sizeof(wire_artifact_done) == 2, "the size of the result of put in wit/artifacts.wit");
#endif

#endif
