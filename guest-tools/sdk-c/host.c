/*
 * Calls from a tool to its host, by the canonical ABI: structs laid out as the host writes them
 * into linear memory. Each import is used by one function, and the linker drops those that no tool
 * calls: the rest are the component's permission requests.
 */
#include "internal.h"

#ifdef __wasm__
#define IMPORT(interface, function)                                                                                          \
    __attribute__((import_module("agent:tool/" interface "@0.1.0"), import_name(function)))
#else
/* The tests of this file are the host. */
#define IMPORT(interface, function)
#endif

IMPORT("progress", "report")
void host_report(const char *message, size_t len, int32_t has_fraction, double fraction);

IMPORT("partial", "text")
int32_t host_partial_text(const char *text, size_t len);

IMPORT("partial", "file")
int32_t host_partial_file(const char *media_type, size_t media_type_len, int32_t has_filename, const char *filename,
                          size_t filename_len);

IMPORT("partial", "bytes")
int32_t host_partial_bytes(const char *bytes, size_t len);

IMPORT("state", "get")
void host_state_get(at_str *state);

IMPORT("state", "merge")
void host_state_merge(const char *delta, size_t len);

IMPORT("context", "get")
void host_context_get(at_str *context);

IMPORT("control", "halt")
void host_halt(const char *message, size_t len);

IMPORT("human", "ask")
void host_ask(const char *prompt, size_t prompt_len, const at_str *choices, size_t choice_count, int32_t free_text,
              int32_t multiple, wire_answer *answer);

IMPORT("human", "ask-form")
void host_ask_form(const char *prompt, size_t prompt_len, const char *schema, size_t schema_len, wire_form_answer *answer);

void at_progress(at_str message) {
    message = at_utf8(message);
    host_report(message.data, message.len, 0, 0);
}

void at_progress_fraction(at_str message, double fraction) {
    message = at_utf8(message);
    host_report(message.data, message.len, 1, fraction);
}

bool at_partial_text(at_str text) {
    text = at_utf8(text);
    return host_partial_text(text.data, text.len) != 0;
}

bool at_partial_file(const char *media_type, at_str filename) {
    at_str type = at_utf8(at_cstr(media_type));
    bool is_named = filename.data != NULL;
    at_str name = is_named ? at_utf8(filename) : AT_STR("");
    return host_partial_file(type.data, type.len, is_named, name.data, name.len) != 0;
}

bool at_partial_bytes(at_str bytes) {
    return host_partial_bytes(bytes.data, bytes.len) != 0;
}

at_value at_state_get(void) {
    at_str state;
    host_state_get(&state);
    return at_parse(at_lift(state.data, state.len));
}

void at_state_merge(at_value delta) {
    if (at_kind_of(delta) != AT_KIND_OBJECT) {
        at_panic("the change of the state is not an object: %.*s", (int)(delta.len < 80 ? delta.len : 80), delta.data);
    }
    host_state_merge(delta.data, delta.len);
}

at_value at_context_get(void) {
    at_str context;
    host_context_get(&context);
    return at_parse(at_lift(context.data, context.len));
}

void at_halt(at_str message) {
    message = at_utf8(message);
    host_halt(message.data, message.len);
}

/* The cases of `at_answer` are in the order of those of `answer`. */
static at_answer lift_answer(const wire_answer *wire) {
    at_answer answer = {.kind = AT_ANSWER_UNAVAILABLE, .text = AT_NONE};
    switch (wire->kind) {
    case AT_ANSWER_TEXT:
        answer.kind = AT_ANSWER_TEXT;
        answer.text = at_lift(wire->value.text.data, wire->value.text.len);
        break;
    case AT_ANSWER_CHOICE:
        answer.kind = AT_ANSWER_CHOICE;
        answer.choice = wire->value.choice;
        break;
    case AT_ANSWER_CHOICES:
        answer.kind = AT_ANSWER_CHOICES;
        answer.choices = wire->value.choices.data;
        answer.choice_count = wire->value.choices.len;
        break;
    case AT_ANSWER_CANCELLED:
        answer.kind = AT_ANSWER_CANCELLED;
        break;
    default:
        break;
    }
    return answer;
}

static at_answer ask(at_str prompt, const at_str *choices, size_t choice_count, bool free_text, bool multiple) {
    at_str *texts = at_alloc(choice_count, sizeof *texts);
    for (size_t i = 0; i < choice_count; i++) {
        texts[i] = at_utf8(choices[i]);
    }
    prompt = at_utf8(prompt);
    wire_answer wire;
    host_ask(prompt.data, prompt.len, texts, choice_count, free_text, multiple, &wire);
    return lift_answer(&wire);
}

at_answer at_ask(at_str prompt, const at_str *choices, size_t choice_count, bool free_text) {
    return ask(prompt, choices, choice_count, free_text, false);
}

at_answer at_ask_multiple(at_str prompt, const at_str *choices, size_t choice_count, bool free_text) {
    return ask(prompt, choices, choice_count, free_text, true);
}

at_form_answer at_ask_form(at_str prompt, const at_field *fields) {
    return at_ask_form_schema(prompt, at_form_schema(fields));
}

/* The cases of `at_form_answer` are in the order of those of `form-answer`. */
at_form_answer at_ask_form_schema(at_str prompt, at_value schema) {
    prompt = at_utf8(prompt);
    wire_form_answer wire;
    host_ask_form(prompt.data, prompt.len, schema.data, schema.len, &wire);
    switch (wire.kind) {
    case AT_FORM_FIELDS:
        return (at_form_answer){AT_FORM_FIELDS, at_parse(at_lift(wire.fields.data, wire.fields.len))};
    case AT_FORM_CANCELLED:
        return (at_form_answer){AT_FORM_CANCELLED, AT_MISSING};
    default:
        return (at_form_answer){AT_FORM_UNAVAILABLE, AT_MISSING};
    }
}
