/*
 * Write a tool for agent-host in C: include this header, write a function for each tool, and list
 * them with AT_TOOLS.
 *
 * A tool reads its input with at_get_string, at_get_int64 and their like, and returns one result:
 * at_text, at_json, at_content, at_image, at_file, at_error, at_error_json or at_denied.
 * `agent-host build` compiles the tool with the files beside this header.
 *
 * Every call runs in an instance of its own that is dropped afterwards. So nothing here is ever
 * freed, nothing is left between calls, and every pointer that a function returns stays good until
 * the call ends.
 */
#ifndef AGENT_TOOL_H
#define AGENT_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define AT_PRINTF(text, arguments) __attribute__((format(printf, text, arguments)))
#else
#define AT_PRINTF(text, arguments)
#endif

/* ---- Text and bytes ---- */

/*
 * Text (UTF-8) or bytes. Texts that this SDK returns also have a zero byte after their end, which
 * `len` does not count.
 */
typedef struct {
    const char *data;
    size_t len;
} at_str;

/* No text, where a text is optional: not the same as an empty one. */
#define AT_NONE ((at_str){NULL, 0})

/* A string literal, with its length known to the compiler. */
#define AT_STR(literal) ((at_str){"" literal, sizeof(literal) - 1})

/* A zero-terminated string; NULL is AT_NONE. */
at_str at_cstr(const char *text);

/* Bytes of a given length. */
at_str at_bytes(const void *data, size_t len);

/* Text as printf makes it, of any length. */
at_str at_format(const char *format, ...) AT_PRINTF(1, 2);

/* True if both texts are equal. */
bool at_equal(at_str left, at_str right);

/* The text with every byte that is not UTF-8 replaced by U+FFFD; the same text if there is none. */
at_str at_utf8(at_str text);

/*
 * Zeroed memory for `count` elements of `size` bytes. When there is none left the call ends; this
 * never returns NULL.
 */
void *at_alloc(size_t count, size_t size);

/* Writes the message to stderr, and ends the call as a `trap`. The model reads its first line. */
_Noreturn void at_panic(const char *format, ...) AT_PRINTF(1, 2);

/* ---- Reading JSON ---- */

/*
 * A JSON value as its text, unchanged: numbers keep every digit. An empty one stands for a value
 * that is not there.
 */
typedef struct {
    const char *data;
    size_t len;
} at_value;

/* A value that is not there. */
#define AT_MISSING ((at_value){NULL, 0})

/* The kind of a value. */
typedef enum {
    AT_KIND_MISSING,
    AT_KIND_NULL,
    AT_KIND_BOOLEAN,
    AT_KIND_NUMBER,
    AT_KIND_STRING,
    AT_KIND_ARRAY,
    AT_KIND_OBJECT,
} at_kind;

/*
 * Checks a JSON document and returns its value, or AT_MISSING if it is none. Nesting may be
 * AT_MAX_DEPTH deep.
 */
at_value at_parse(at_str text);
#define AT_MAX_DEPTH 128

/* The kind of the value. */
at_kind at_kind_of(at_value value);

/* The member with this name, or AT_MISSING. Of several with one name the last counts. */
at_value at_get(at_value object, const char *name);

/*
 * The member with this name as a C value, or `fallback` where it is absent, null or something else.
 * The types that the tool's `input` promises were checked before the tool runs, so there the
 * fallback only ever stands for an absent member.
 */
at_str at_get_string(at_value object, const char *name, at_str fallback);
int64_t at_get_int64(at_value object, const char *name, int64_t fallback);
uint64_t at_get_uint64(at_value object, const char *name, uint64_t fallback);
double at_get_double(at_value object, const char *name, double fallback);
bool at_get_bool(at_value object, const char *name, bool fallback);

/*
 * A value as a C value. False, with `out` untouched, if it is something else. Integers are exact:
 * 1.0 and 1e3 are integers, 0.5 and what does not fit 64 bits are not. A number too large for a
 * double is no double.
 */
bool at_read_string(at_value value, at_str *out);
bool at_read_int64(at_value value, int64_t *out);
bool at_read_uint64(at_value value, uint64_t *out);
bool at_read_double(at_value value, double *out);
bool at_read_bool(at_value value, bool *out);

/* The number of elements or members; 0 for anything else. */
size_t at_count(at_value container);

/* A place in an array or object. */
typedef struct {
    const char *at;
    const char *end;
} at_iter;

/* The start of an array or object; of anything else there is nothing to read. */
at_iter at_iterate(at_value container);

/* The next element of an array; false after the last. */
bool at_next(at_iter *iter, at_value *element);

/* The next member of an object; false after the last. */
bool at_next_member(at_iter *iter, at_str *name, at_value *value);

/* ---- Writing JSON ---- */

/*
 * A JSON document under construction; begin with `at_writer writer = {0}`. The writer adds commas
 * and escapes.
 */
typedef struct {
    char *data;
    size_t len;
    size_t capacity;
    bool comma;
} at_writer;

void at_object_begin(at_writer *writer);
void at_object_end(at_writer *writer);
void at_array_begin(at_writer *writer);
void at_array_end(at_writer *writer);

/* The name of the member whose value is put next. */
void at_key(at_writer *writer, const char *name);
void at_key_str(at_writer *writer, at_str name);

/*
 * AT_NONE is null, and so is a double that is not finite. Doubles are as short as reads back
 * exactly.
 */
void at_put_string(at_writer *writer, at_str text);
void at_put_int64(at_writer *writer, int64_t number);
void at_put_uint64(at_writer *writer, uint64_t number);
void at_put_double(at_writer *writer, double number);
void at_put_bool(at_writer *writer, bool truth);
void at_put_null(at_writer *writer);

/* Any value, unchanged; AT_MISSING is null. */
void at_put_value(at_writer *writer, at_value value);

/* The written document. The tool ends with at_panic if it is not complete. */
at_value at_written(const at_writer *writer);

/* ---- Results ---- */

/* One part of a result with several: text, or a file. Made by the functions below. */
typedef struct {
    enum { AT_PART_TEXT, AT_PART_BYTES, AT_PART_URL, AT_PART_TEXT_FILE } kind;
    at_str content;
    at_str media_type;
    at_str filename;
} at_part;

/* Text for the model to read. */
at_part at_part_text(at_str text);

/*
 * A file by its content. The media type must agree with the bytes: the host sniffs them. `filename`
 * may be AT_NONE.
 */
at_part at_part_bytes(const char *media_type, at_str bytes, at_str filename);

/* A file whose content is text. */
at_part at_part_text_file(const char *media_type, at_str text, at_str filename);

/* A file by its absolute URL, from which the host fetches it if the tool may reach it. */
at_part at_part_url(const char *media_type, at_str url, at_str filename);

/* The result of a call. Made by the functions below. */
typedef struct {
    enum { AT_TEXT, AT_JSON, AT_CONTENT, AT_ERROR_TEXT, AT_ERROR_JSON, AT_DENIED } kind;
    at_str text;
    const at_part *parts;
    size_t part_count;
} at_result;

/* Success, as text. */
at_result at_text(at_str text);
at_result at_textf(const char *format, ...) AT_PRINTF(1, 2);

/* Success, as JSON. */
at_result at_json(at_value value);

/* Success, as several parts. */
at_result at_content(const at_part *parts, size_t count);

/* Success, as one image. */
at_result at_image(const char *media_type, at_str bytes);

/* Success, as one file. */
at_result at_file(const char *media_type, at_str bytes, const char *filename);

/* Failure. Write it for the model: what went wrong, and what to do next. */
at_result at_error(at_str text);
at_result at_errorf(const char *format, ...) AT_PRINTF(1, 2);

/* Failure, as JSON. */
at_result at_error_json(at_value value);

/* The call did not run, because a user or a rule did not allow it. The reason may be AT_NONE. */
at_result at_denied(at_str reason);

/* ---- Tools ---- */

/* The call that a tool is answering. */
typedef struct {
    /* The id of the call, unique in its session. */
    at_str id;
    /* The name of the tool. */
    at_str name;
    /* The arguments: an object that fits the tool's input. */
    at_value input;
    /*
     * A key that is equal for every attempt at this call: pass it on to services that support
     * idempotency keys.
     */
    at_str idempotency_key;
} at_call;

/* The type of a field. */
typedef enum {
    AT_ANY,
    AT_BOOLEAN,
    /* An integer that fits int64_t. */
    AT_INTEGER,
    /* An integer that fits uint64_t. */
    AT_UNSIGNED,
    AT_NUMBER,
    AT_STRING,
    AT_ARRAY,
    AT_OBJECT,
} at_type;

/*
 * A field of an input or output: one property of the JSON Schema. A table of them ends with AT_END.
 */
typedef struct at_field {
    const char *name;
    at_type type;
    /* The description for the model. */
    const char *description;
    /* True if it may be absent. A field with a `fallback` may be, too. */
    bool optional;
    /* True if it may be null. */
    bool nullable;
    /* The texts that it can be, up to a NULL; for AT_STRING. */
    const char *const *choices;
    /* Bounds of a number, and what an absent field stands for, as JSON: "0", "[]", "\"small\"". */
    const char *minimum;
    const char *maximum;
    const char *fallback;
    /* The elements of an AT_ARRAY: one field, whose name does not matter. */
    const struct at_field *items;
    /* The fields of an AT_OBJECT; without them it is any object. */
    const struct at_field *fields;
} at_field;

/* The end of a table of fields. */
#define AT_END {.name = NULL}

/* The effect that a call may have. The host enforces it. There is no default. */
typedef enum {
    /* Changes nothing. May run beside others, and again. */
    AT_READ_ONLY = 1,
    /* Changes something, and a repetition with the same idempotency key changes nothing more. */
    AT_IDEMPOTENT,
    /* Changes something. Never repeated without being asked. */
    AT_EFFECTFUL,
} at_effect;

/* A tool. */
typedef struct {
    /* The name that the model calls: letters, digits, `_` and `-`, at most 64. */
    const char *name;
    /* A short name to show to users; may be absent. */
    const char *title;
    /* A description of what the tool does and when to use it, for the model. */
    const char *description;
    at_effect effect;
    /* The input, as fields or as a JSON Schema; with neither it is an object without fields. */
    const at_field *input;
    const char *input_schema;
    /* The schema of a JSON result, where the tool promises one, as fields or as a JSON Schema. */
    const at_field *output;
    const char *output_schema;
    /* Answers a call. */
    at_result (*run)(const at_call *call);
} at_tool;

/*
 * The component's tools, in one place of one file: AT_TOOLS({.name = "one", ...}, {.name = "two",
 * ...});
 */
#define AT_TOOLS(...) const at_tool at_tools[] = {__VA_ARGS__, {.name = NULL}}
extern const at_tool at_tools[];

/* ---- Talking to the host. A component that calls none of these asks for none of them. ---- */

/* Shows the progress of the call to the waiting user; `fraction` is between 0 and 1. */
void at_progress(at_str message);
void at_progress_fraction(at_str message, double fraction);

/*
 * The result of the call, piece by piece, as the pieces are ready: users see the text while the call
 * runs. When the tool returns text or content, the pieces come first in the result, and text
 * continues the text before it; an empty text adds nothing. Any other variant is the whole result.
 * A file begins without content, which the bytes after it add; its name may be AT_NONE. False says
 * that the result is full: what is left out is not part of it, and a note at its end says so.
 */
bool at_partial_text(at_str text);
bool at_partial_file(const char *media_type, at_str filename);
bool at_partial_bytes(at_str bytes);

/* The state that the tools of a session share, as it was when the call began: an object. */
at_value at_state_get(void);

/*
 * Asks for a change of the state: objects merge deeply, other values replace. It is applied when
 * the call settles.
 */
void at_state_merge(at_value delta);

/*
 * What the operator's program says of the request that the session serves, such as a user or a
 * tenant, as it was when the call began: an object, {} where none was given. The model neither sees
 * nor sets it.
 */
at_value at_context_get(void);

/*
 * Asks to end the whole run with a message for the user once this call has succeeded: the model is
 * not asked again. A call that fails or is denied ends nothing. The last message counts.
 */
void at_halt(at_str message);

/* The user's answer. */
typedef struct {
    enum {
        /* `text`: free text. */
        AT_ANSWER_TEXT,
        /* `choice`, an index into the choices. */
        AT_ANSWER_CHOICE,
        /* `choices`, `choice_count` indexes in ascending order; only of at_ask_multiple. */
        AT_ANSWER_CHOICES,
        /* The user declined to answer. */
        AT_ANSWER_CANCELLED,
        /* No user can be asked here, or the call has already changed something. */
        AT_ANSWER_UNAVAILABLE,
    } kind;
    at_str text;
    uint32_t choice;
    const uint32_t *choices;
    size_t choice_count;
} at_answer;

/*
 * Asks the user and waits, for days if needed. The call is then run again from its start with the
 * earlier answers, so ask before the first effect, and the same questions in the same order.
 */
at_answer at_ask(at_str prompt, const at_str *choices, size_t choice_count, bool free_text);

/* at_ask, where the user may take several of the choices. */
at_answer at_ask_multiple(at_str prompt, const at_str *choices, size_t choice_count, bool free_text);

/* The user's answer to a form. */
typedef struct {
    enum {
        /* `fields`: an object with the fields. */
        AT_FORM_FIELDS,
        /* The user declined to answer. */
        AT_FORM_CANCELLED,
        /* No user can be asked here, or the call has already changed something. */
        AT_FORM_UNAVAILABLE,
    } kind;
    at_value fields;
} at_form_answer;

/*
 * Asks for several fields at once, under the rules of at_ask. The fields are of AT_STRING,
 * AT_INTEGER, AT_UNSIGNED, AT_NUMBER or AT_BOOLEAN, and not nullable.
 */
at_form_answer at_ask_form(at_str prompt, const at_field *fields);

/* at_ask_form with a JSON Schema of one flat object. */
at_form_answer at_ask_form_schema(at_str prompt, at_value schema);

/* ---- Artifacts: named files of the session, and results too large for it. They need a grant. ---- */

/* An artifact. */
typedef struct {
    /* The name, a relative path such as `plots/one.png`. */
    at_str name;
    /* The media type, such as `text/csv`. */
    at_str media_type;
    /* The size, in bytes. */
    uint64_t size;
} at_artifact;

/* The outcome of a function below. */
typedef enum {
    AT_ARTIFACT_OK,
    /* No artifact has this name. */
    AT_ARTIFACT_NOT_FOUND,
    /* The tool has no grant for artifacts, or only one to read. */
    AT_ARTIFACT_DENIED,
    /* The name is absolute, too long, leads out, or is in `results/`. */
    AT_ARTIFACT_INVALID_NAME,
    /* The media type is malformed, or does not agree with the bytes. */
    AT_ARTIFACT_INVALID_MEDIA_TYPE,
    /* The artifact is larger than one call may move. */
    AT_ARTIFACT_TOO_LARGE,
    /* The artifacts of the session have used up their quota. */
    AT_ARTIFACT_QUOTA_EXCEEDED,
} at_artifact_outcome;

/* The artifacts as they were when the call began, with this call's changes, sorted by name. */
at_artifact_outcome at_artifact_list(const at_artifact **artifacts, size_t *count);

/* The bytes of an artifact. `data` is untouched where it fails. */
at_artifact_outcome at_artifact_get(at_str name, at_str *data);

/*
 * Stores an artifact, in place of one with its name. It is kept once the call has succeeded, and
 * not at all otherwise.
 */
at_artifact_outcome at_artifact_put(at_str name, const char *media_type, at_str data);

/* Deletes an artifact, once the call has succeeded. */
at_artifact_outcome at_artifact_delete(at_str name);

/* The failed call for the model: what went wrong with the artifact `name`. */
at_result at_artifact_error(at_artifact_outcome outcome, at_str name);

/* ---- Files ---- */

/*
 * Makes relative paths start in the first directory that the host granted. False if it granted
 * none.
 */
bool at_enter_workspace(void);

#endif
