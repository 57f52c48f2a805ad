/*
 * Calls from a tool to its host, by the canonical ABI. Each import is used by one function, and the
 * linker drops those that no tool calls: the rest are the component's permission requests.
 */
#include <unistd.h>
#include <wasi/api.h>

#include "internal.h"

#define IMPORT(interface, function)                                                                                          \
    __attribute__((import_module("agent:tool/" interface "@0.1.0"), import_name(function)))

IMPORT("progress", "report")
void host_report(const char *message, size_t len, int32_t has_fraction, double fraction);

IMPORT("state", "get")
void host_state_get(at_str *state);

IMPORT("state", "merge")
void host_state_merge(const char *delta, size_t len);

/* The variant `answer` in memory: its case, then a text or an index. */
typedef struct {
    uint8_t kind;
    union {
        at_str text;
        uint32_t choice;
    } value;
} wire_answer;

IMPORT("human", "ask")
void host_ask(const char *prompt, size_t prompt_len, const at_str *choices, size_t choice_count, int32_t free_text,
              wire_answer *answer);

void at_progress(at_str message) {
    message = at_utf8(message);
    host_report(message.data, message.len, 0, 0);
}

void at_progress_fraction(at_str message, double fraction) {
    message = at_utf8(message);
    host_report(message.data, message.len, 1, fraction);
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

at_answer at_ask(at_str prompt, const at_str *choices, size_t choice_count, bool free_text) {
    at_str *texts = at_alloc(choice_count, sizeof *texts);
    for (size_t i = 0; i < choice_count; i++) {
        texts[i] = at_utf8(choices[i]);
    }
    prompt = at_utf8(prompt);
    wire_answer wire;
    host_ask(prompt.data, prompt.len, texts, choice_count, free_text, &wire);
    at_answer answer = {.kind = AT_ANSWER_UNAVAILABLE, .text = AT_NONE, .choice = 0};
    switch (wire.kind) {
    case 0:
        answer.kind = AT_ANSWER_TEXT;
        answer.text = at_lift(wire.value.text.data, wire.value.text.len);
        break;
    case 1:
        answer.kind = AT_ANSWER_CHOICE;
        answer.choice = wire.value.choice;
        break;
    case 2:
        answer.kind = AT_ANSWER_CANCELLED;
        break;
    default:
        break;
    }
    return answer;
}

bool at_enter_workspace(void) {
    /* Granted directories are the open descriptors from 3 on. */
    __wasi_prestat_t directory;
    if (__wasi_fd_prestat_get(3, &directory) != 0 || directory.tag != __WASI_PREOPENTYPE_DIR) {
        return false;
    }
    size_t len = directory.u.dir.pr_name_len;
    uint8_t *name = at_alloc(len + 1, 1);
    return __wasi_fd_prestat_dir_name(3, name, len) == 0 && chdir((const char *)name) == 0;
}
