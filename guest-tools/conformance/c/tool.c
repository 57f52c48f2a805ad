/*
 * The conformance tools in C: each does the same as its namesakes in the other languages. See
 * ../README.md.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_tool.h"
#include "dot.h"
#include "web.h"

/* ---- Results ---- */

static at_result give_text(const at_call *call) {
    return at_text(at_get_string(call->input, "text", AT_NONE));
}

static at_result give_json(const at_call *call) {
    return at_json(at_get(call->input, "value"));
}

static at_str dot(void) {
    return at_bytes(DOT_PNG, sizeof DOT_PNG);
}

static at_result give_content(const at_call *call) {
    (void)call;
    const at_part parts[] = {
        at_part_text(AT_STR("before")),
        at_part_bytes("image/png", dot(), AT_STR("dot.png")),
        at_part_text(AT_STR("between ☃")),
        at_part_text_file("text/plain", AT_STR("inline"), AT_NONE),
        at_part_url("text/html", AT_STR("https://example.com/page"), AT_NONE),
    };
    return at_content(parts, sizeof parts / sizeof *parts);
}

static at_result give_image(const at_call *call) {
    (void)call;
    return at_image("image/png", dot());
}

static at_result give_file(const at_call *call) {
    size_t size = (size_t)at_get_uint64(call->input, "size", 0);
    unsigned char *bytes = at_alloc(size, 1);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(i % 256);
    }
    return at_file("application/octet-stream", at_bytes(bytes, size), "data.bin");
}

static at_result give_error(const at_call *call) {
    return at_error(at_get_string(call->input, "message", AT_NONE));
}

static at_result give_error_json(const at_call *call) {
    return at_error_json(at_get(call->input, "value"));
}

static at_result deny(const at_call *call) {
    return at_denied(at_get_string(call->input, "reason", AT_NONE));
}

/* ---- Input ---- */

static at_result repeat(const at_call *call) {
    at_str text = at_get_string(call->input, "text", AT_NONE);
    size_t times = (size_t)at_get_uint64(call->input, "times", 0);
    char *repeated = at_alloc(times, text.len);
    for (size_t i = 0; i < times; i++) {
        memcpy(repeated + i * text.len, text.data, text.len);
    }
    return at_text(at_bytes(repeated, times * text.len));
}

static at_result add(const at_call *call) {
    at_iter numbers = at_iterate(at_get(call->input, "numbers"));
    at_value element;
    int64_t sum = 0;
    uint64_t count = 0;
    for (; at_next(&numbers, &element); count++) {
        int64_t number;
        if (!at_read_int64(element, &number) || __builtin_add_overflow(sum, number, &sum)) {
            return at_error(AT_STR("overflow"));
        }
    }
    at_writer result = {0};
    at_object_begin(&result);
    at_key(&result, "sum");
    at_put_int64(&result, sum);
    at_key(&result, "count");
    at_put_uint64(&result, count);
    at_object_end(&result);
    return at_json(at_written(&result));
}

static at_result typed(const at_call *call) {
    static const char *const names[] = {"name", "size", "ratio", "tags", "place"};
    at_writer result = {0};
    at_object_begin(&result);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        at_value value = at_get(call->input, names[i]);
        bool no_tags = at_kind_of(value) == AT_KIND_MISSING && strcmp(names[i], "tags") == 0;
        at_key(&result, names[i]);
        at_put_value(&result, no_tags ? at_parse(AT_STR("[]")) : value);
    }
    at_object_end(&result);
    return at_json(at_written(&result));
}

/* ---- The call and the host ---- */

static at_result who(const at_call *call) {
    at_writer result = {0};
    at_object_begin(&result);
    at_key(&result, "id");
    at_put_string(&result, call->id);
    at_key(&result, "name");
    at_put_string(&result, call->name);
    at_key(&result, "idempotency_key");
    at_put_string(&result, call->idempotency_key);
    at_object_end(&result);
    return at_json(at_written(&result));
}

static at_result report(const at_call *call) {
    int64_t steps = at_get_int64(call->input, "steps", 0);
    for (int64_t step = 1; step <= steps; step++) {
        at_progress_fraction(at_format("step %" PRId64 " of %" PRId64, step, steps), (double)step / (double)steps);
    }
    return at_text(AT_STR("done"));
}

static at_result report_unmeasured(const at_call *call) {
    (void)call;
    at_progress(AT_STR("working"));
    return at_text(AT_STR("done"));
}

static at_result give_pieces(const at_call *call) {
    at_str end = at_get_string(call->input, "end", AT_STR(""));
    at_partial_text(AT_STR("one "));
    at_partial_text(AT_STR("two "));
    if (!at_equal(end, AT_STR("text"))) {
        at_partial_file("text/plain", AT_STR("abc.txt"));
        at_partial_bytes(AT_STR("ab"));
        at_partial_bytes(AT_STR("c"));
    }
    if (at_equal(end, AT_STR("json"))) {
        return at_json(at_parse(AT_STR("{\"whole\":true}")));
    }
    if (at_equal(end, AT_STR("error"))) {
        return at_error(AT_STR("whole"));
    }
    return at_text(AT_STR("\xE2\x98\x83"));
}

static at_str listed_choices(const at_answer *answer) {
    at_str text = AT_STR("choices:");
    for (size_t i = 0; i < answer->choice_count; i++) {
        text = at_format("%s%s %" PRIu32, text.data, i == 0 ? "" : ",", answer->choices[i]);
    }
    return text;
}

static at_result ask_question(const at_call *call) {
    at_value choices = at_get(call->input, "choices");
    at_str *texts = at_alloc(at_count(choices), sizeof *texts);
    at_iter iter = at_iterate(choices);
    at_value choice;
    size_t count = 0;
    while (at_next(&iter, &choice)) {
        at_read_string(choice, &texts[count++]);
    }
    at_str prompt = at_get_string(call->input, "prompt", AT_NONE);
    bool free_text = at_get_bool(call->input, "free_text", false);
    bool multiple = at_get_bool(call->input, "multiple", false);
    at_answer answer = (multiple ? at_ask_multiple : at_ask)(prompt, texts, count, free_text);
    switch (answer.kind) {
    case AT_ANSWER_TEXT:
        return at_textf("text: %s", answer.text.data);
    case AT_ANSWER_CHOICE:
        return at_textf("choice: %" PRIu32, answer.choice);
    case AT_ANSWER_CHOICES:
        return at_text(listed_choices(&answer));
    case AT_ANSWER_CANCELLED:
        return at_text(AT_STR("cancelled"));
    case AT_ANSWER_UNAVAILABLE:
        break;
    }
    return at_text(AT_STR("unavailable"));
}

static at_result fill_form(const at_call *call) {
    at_form_answer answer = at_ask_form_schema(at_get_string(call->input, "prompt", AT_NONE), at_get(call->input, "schema"));
    switch (answer.kind) {
    case AT_FORM_FIELDS:
        return at_json(answer.fields);
    case AT_FORM_CANCELLED:
        return at_text(AT_STR("cancelled"));
    case AT_FORM_UNAVAILABLE:
        break;
    }
    return at_text(AT_STR("unavailable"));
}

static at_result read_context(const at_call *call) {
    (void)call;
    return at_json(at_context_get());
}

/* The name that the contract has for a failure. */
static at_result failed(at_artifact_outcome outcome) {
    static const char *const names[] = {
        [AT_ARTIFACT_NOT_FOUND] = "not-found",
        [AT_ARTIFACT_DENIED] = "denied",
        [AT_ARTIFACT_INVALID_NAME] = "invalid-name",
        [AT_ARTIFACT_INVALID_MEDIA_TYPE] = "invalid-media-type",
        [AT_ARTIFACT_TOO_LARGE] = "too-large",
        [AT_ARTIFACT_QUOTA_EXCEEDED] = "quota-exceeded",
    };
    return at_error(at_cstr(names[outcome]));
}

static at_result change_and_end(const at_call *call) {
    at_state_merge(at_parse(AT_STR("{\"touched\":true}")));
    at_halt(AT_STR("too early"));
    at_halt(AT_STR("enough"));
    at_artifact_outcome outcome = at_artifact_put(AT_STR("out.txt"), "text/plain", AT_STR("changed"));
    if (outcome != AT_ARTIFACT_OK) {
        return failed(outcome);
    }
    at_str end = at_get_string(call->input, "end", AT_NONE);
    if (at_equal(end, AT_STR("error"))) {
        return at_error(AT_STR("failed"));
    }
    if (at_equal(end, AT_STR("error_json"))) {
        return at_error_json(at_parse(AT_STR("{\"code\":\"failed\"}")));
    }
    if (at_equal(end, AT_STR("denied"))) {
        return at_denied(AT_STR("refused"));
    }
    return at_text(AT_STR("changed"));
}

/* The artifacts as rows of name, media type and size. */
static at_result list_artifacts(void) {
    const at_artifact *artifacts;
    size_t count;
    at_artifact_outcome outcome = at_artifact_list(&artifacts, &count);
    if (outcome != AT_ARTIFACT_OK) {
        return failed(outcome);
    }
    at_writer rows = {0};
    at_array_begin(&rows);
    for (size_t i = 0; i < count; i++) {
        at_array_begin(&rows);
        at_put_string(&rows, artifacts[i].name);
        at_put_string(&rows, artifacts[i].media_type);
        at_put_uint64(&rows, artifacts[i].size);
        at_array_end(&rows);
    }
    at_array_end(&rows);
    return at_json(at_written(&rows));
}

static at_result artifact(const at_call *call) {
    at_str action = at_get_string(call->input, "action", AT_NONE);
    at_str name = at_get_string(call->input, "name", AT_STR(""));
    at_str media_type = at_get_string(call->input, "media_type", AT_STR(""));
    at_artifact_outcome outcome = AT_ARTIFACT_OK;
    if (at_equal(action, AT_STR("get"))) {
        at_str data;
        outcome = at_artifact_get(name, &data);
        return outcome == AT_ARTIFACT_OK ? at_text(data) : failed(outcome);
    }
    if (at_equal(action, AT_STR("put"))) {
        outcome = at_artifact_put(name, media_type.data, at_get_string(call->input, "text", AT_STR("")));
    } else if (at_equal(action, AT_STR("delete"))) {
        outcome = at_artifact_delete(name);
    }
    return outcome == AT_ARTIFACT_OK ? list_artifacts() : failed(outcome);
}

static at_result remember(const at_call *call) {
    at_value before = at_state_get();
    at_writer delta = {0};
    at_object_begin(&delta);
    at_key_str(&delta, at_get_string(call->input, "key", AT_NONE));
    at_put_value(&delta, at_get(call->input, "value"));
    at_object_end(&delta);
    at_state_merge(at_written(&delta));
    return at_json(before);
}

static at_result print(const at_call *call) {
    at_str text = at_get_string(call->input, "text", AT_NONE);
    fwrite(text.data, 1, text.len, stdout);
    fwrite(text.data, 1, text.len, stderr);
    return at_text(AT_STR("printed"));
}

/* ---- State and ends ---- */

static at_result count(const at_call *call) {
    (void)call;
    static uint64_t calls = 0;
    at_writer result = {0};
    at_object_begin(&result);
    at_key(&result, "count");
    at_put_uint64(&result, ++calls);
    at_object_end(&result);
    return at_json(at_written(&result));
}

static at_result spin(const at_call *call) {
    (void)call;
    for (volatile unsigned turns = 0;; turns++) {
    }
}

static at_result crash(const at_call *call) {
    at_panic("%s", at_get_string(call->input, "message", AT_NONE).data);
}

static at_result grow(const at_call *call) {
    (void)call;
    enum { STEP = 1 << 20 };
    for (;;) {
        memset(at_alloc(1, STEP), 1, STEP);
    }
}

/* The volatile depth keeps the compiler from making a loop of it. */
static unsigned dive(volatile unsigned depth) {
    return depth == 0 ? 0 : dive(depth + 1) + depth;
}

static at_result recurse(const at_call *call) {
    (void)call;
    return at_textf("%u", dive(1));
}

/* ---- The tools ---- */

static const at_field text_input[] = {
    {.name = "text", .type = AT_STRING, .description = "The text."},
    AT_END,
};

static const at_field value_input[] = {
    {.name = "value", .type = AT_ANY, .description = "Any JSON value."},
    AT_END,
};

static const at_field message_input[] = {
    {.name = "message", .type = AT_STRING, .description = "The message."},
    AT_END,
};

static const at_field file_input[] = {
    {.name = "size", .type = AT_INTEGER, .description = "The size in bytes.", .minimum = "0", .maximum = "1048576"},
    AT_END,
};

static const at_field deny_input[] = {
    {.name = "reason", .type = AT_STRING, .description = "The reason for the refusal.", .optional = true},
    AT_END,
};

static const at_field repeat_input[] = {
    {.name = "text", .type = AT_STRING, .description = "The text."},
    {.name = "times", .type = AT_INTEGER, .description = "The number of repetitions.", .minimum = "0", .maximum = "1000000"},
    AT_END,
};

static const at_field integer = {.type = AT_INTEGER};
static const at_field string = {.type = AT_STRING};

static const at_field add_input[] = {
    {.name = "numbers", .type = AT_ARRAY, .description = "The numbers to add.", .items = &integer},
    AT_END,
};

static const at_field add_output[] = {
    {.name = "sum", .type = AT_INTEGER, .description = "The sum."},
    {.name = "count", .type = AT_INTEGER, .description = "The number of numbers."},
    AT_END,
};

static const char *const sizes[] = {"small", "large", NULL};

static const at_field place_fields[] = {
    {.name = "x", .type = AT_INTEGER, .description = "To the right."},
    {.name = "y", .type = AT_INTEGER, .description = "Upwards."},
    AT_END,
};

static const at_field typed_input[] = {
    {.name = "name", .type = AT_STRING, .description = "A name."},
    {.name = "size", .type = AT_STRING, .description = "One of two sizes.", .choices = sizes},
    {.name = "ratio", .type = AT_NUMBER, .description = "A number.", .optional = true},
    {.name = "tags", .type = AT_ARRAY, .description = "Some words.", .items = &string, .fallback = "[]"},
    {.name = "place", .type = AT_OBJECT, .description = "A place.", .fields = place_fields, .optional = true},
    AT_END,
};

static const at_field pieces_input[] = {
    {.name = "end", .type = AT_STRING, .description = "The end: `text`, `parts`, `json` or `error`."},
    AT_END,
};

static const at_field report_input[] = {
    {.name = "steps", .type = AT_INTEGER, .description = "The number of steps.", .minimum = "0", .maximum = "10"},
    AT_END,
};

static const at_field ask_input[] = {
    {.name = "prompt", .type = AT_STRING, .description = "The text of the question."},
    {.name = "choices", .type = AT_ARRAY, .description = "The choices.", .items = &string},
    {.name = "free_text", .type = AT_BOOLEAN, .description = "True if free text is allowed."},
    {.name = "multiple", .type = AT_BOOLEAN, .description = "True if several choices are allowed.", .fallback = "false"},
    AT_END,
};

static const at_field form_input[] = {
    {.name = "prompt", .type = AT_STRING, .description = "The text of the form."},
    {.name = "schema", .type = AT_ANY, .description = "The schema of its fields."},
    AT_END,
};

static const char *const ends[] = {"success", "error", "error_json", "denied", NULL};

static const at_field end_input[] = {
    {.name = "end", .type = AT_STRING, .description = "How the call ends.", .choices = ends},
    AT_END,
};

static const char *const actions[] = {"list", "get", "put", "delete", NULL};

static const at_field artifact_input[] = {
    {.name = "action", .type = AT_STRING, .description = "What to do.", .choices = actions},
    {.name = "name", .type = AT_STRING, .description = "The name of the artifact.", .optional = true},
    {.name = "media_type", .type = AT_STRING, .description = "Its media type.", .optional = true},
    {.name = "text", .type = AT_STRING, .description = "Its content.", .optional = true},
    AT_END,
};

static const at_field remember_input[] = {
    {.name = "key", .type = AT_STRING, .description = "The name to remember the value by."},
    {.name = "value", .type = AT_ANY, .description = "Any JSON value."},
    AT_END,
};

/* One line for each tool. */
#define READ(tool, what, fields) {.name = #tool, .description = what, .effect = AT_READ_ONLY, .input = fields, .run = tool}
#define CHANGE(tool, what, fields) {.name = #tool, .description = what, .effect = AT_EFFECTFUL, .input = fields, .run = tool}

AT_TOOLS(
    READ(give_text, "Returns the text as it is.", text_input), READ(give_json, "Returns the value as JSON.", value_input),
    READ(give_content, "Returns content of five parts.", NULL), READ(give_image, "Returns an image of one pixel.", NULL),
    READ(give_file, "Returns a file of the given size.", file_input),
    READ(give_error, "Fails with the message.", message_input),
    READ(give_error_json, "Fails with the value as JSON.", value_input),
    READ(deny, "Refuses, with a reason or without.", deny_input),
    READ(repeat, "Returns the text again and again.", repeat_input),
    {.name = "add",
     .description = "Adds integers of 64 bits.",
     .effect = AT_READ_ONLY,
     .input = add_input,
     .output = add_output,
     .run = add},
    READ(typed, "Returns its input, with null for what is absent.", typed_input),
    READ(who, "Returns what identifies the call.", NULL), READ(report, "Reports progress step by step.", report_input),
    READ(report_unmeasured, "Reports progress without a measure.", NULL),
    READ(give_pieces, "Gives its result piece by piece, with a file unless the end is `text`.", pieces_input),
    READ(ask_question, "Asks the user and returns the answer.", ask_input),
    READ(fill_form, "Asks the user for the fields of a form and returns them.", form_input),
    READ(read_context, "Returns the context of the session.", NULL),
    CHANGE(remember, "Puts a value into the shared state and returns the state before.", remember_input),
    CHANGE(change_and_end, "Changes the session in every way, and ends as it is told.", end_input),
    CHANGE(artifact, "Reads, lists, stores or deletes artifacts.", artifact_input),
    {.name = "http",
     .description = "Sends a request and gives the response.",
     .effect = AT_EFFECTFUL,
     .input = http_input,
     .run = send_http},
    CHANGE(stream_http, "Sends and receives a body in pieces, and counts what it receives.", stream_input),
    READ(count, "Counts its calls in this instance.", NULL), READ(spin, "Never comes to an end.", NULL),
    READ(crash, "Panics with the message.", message_input), READ(grow, "Allocates memory until none is left.", NULL),
    READ(recurse, "Calls itself without end.", NULL), READ(print, "Writes the text to stdout and stderr.", text_input));
