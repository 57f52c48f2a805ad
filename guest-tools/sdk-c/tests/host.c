/* Tests of the calls to the host, over a host that this file plays. `run` compiles them for this machine. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static int failures = 0;

/* What the host was asked last, as text. */
static at_str asked;
/* What it answers. */
static wire_answer next_answer;
static wire_form_answer next_form;
static wire_artifact_list next_list;
static wire_artifact_bytes next_bytes;
static wire_artifact_done next_done;

/* ---- The host's side of the imports ---- */

void host_report(const char *message, size_t len, int32_t has_fraction, double fraction) {
    asked = at_format("report %.*s %d %g", (int)len, message, has_fraction, fraction);
}

int32_t host_partial_text(const char *text, size_t len) {
    asked = at_format("text %.*s", (int)len, text);
    return 1;
}

int32_t host_partial_file(const char *media_type, size_t media_type_len, int32_t has_filename, const char *filename,
                          size_t filename_len) {
    asked = at_format("file %.*s %d %.*s", (int)media_type_len, media_type, has_filename, (int)filename_len, filename);
    return 1;
}

int32_t host_partial_bytes(const char *bytes, size_t len) {
    asked = at_format("bytes %.*s", (int)len, bytes);
    return 0;
}

void host_state_get(at_str *state) {
    *state = AT_STR("{\"n\":18446744073709551615}");
}

void host_state_merge(const char *delta, size_t len) {
    asked = at_format("merge %.*s", (int)len, delta);
}

void host_context_get(at_str *context) {
    *context = AT_STR("{\"user\":\"Ann\"}");
}

void host_halt(const char *message, size_t len) {
    asked = at_format("halt %.*s", (int)len, message);
}

void host_ask(const char *prompt, size_t prompt_len, const at_str *choices, size_t choice_count, int32_t free_text,
              int32_t multiple, wire_answer *answer) {
    asked = at_format("ask %.*s %d %d", (int)prompt_len, prompt, free_text, multiple);
    for (size_t i = 0; i < choice_count; i++) {
        asked = at_format("%s %.*s", asked.data, (int)choices[i].len, choices[i].data);
    }
    *answer = next_answer;
}

void host_ask_form(const char *prompt, size_t prompt_len, const char *schema, size_t schema_len, wire_form_answer *answer) {
    asked = at_format("ask-form %.*s %.*s", (int)prompt_len, prompt, (int)schema_len, schema);
    *answer = next_form;
}

void host_artifact_list(wire_artifact_list *result) {
    *result = next_list;
}

void host_artifact_get(const char *name, size_t name_len, wire_artifact_bytes *result) {
    asked = at_format("get %.*s", (int)name_len, name);
    *result = next_bytes;
}

void host_artifact_put(const char *name, size_t name_len, const char *media_type, size_t media_type_len, const char *data,
                       size_t data_len, wire_artifact_done *result) {
    asked = at_format("put %.*s %.*s %.*s", (int)name_len, name, (int)media_type_len, media_type, (int)data_len, data);
    *result = next_done;
}

void host_artifact_delete(const char *name, size_t name_len, wire_artifact_done *result) {
    asked = at_format("delete %.*s", (int)name_len, name);
    *result = next_done;
}

/* ---- The tests ---- */

static void check(const char *what, at_str got, const char *want) {
    if (!at_equal(got, at_cstr(want))) {
        printf("%s\n   got %s\n  want %s\n", what, got.data == NULL ? "nothing" : got.data, want);
        failures++;
    }
}

static at_str slice(at_value value) {
    return at_format("%.*s", (int)value.len, value.data);
}

/* An answer as text. */
static at_str told(at_answer answer) {
    at_str text = at_format("%d %s %" PRIu32, (int)answer.kind, answer.text.data == NULL ? "-" : answer.text.data, answer.choice);
    for (size_t i = 0; i < answer.choice_count; i++) {
        text = at_format("%s [%" PRIu32 "]", text.data, answer.choices[i]);
    }
    return text;
}

static void test_reports(void) {
    at_progress(AT_STR("half\xFF"));
    check("progress", asked, "report half\xEF\xBF\xBD 0 0");
    at_progress_fraction(AT_STR("half"), 0.5);
    check("progress with a fraction", asked, "report half 1 0.5");
    at_halt(AT_STR("over"));
    check("halt", asked, "halt over");
    check("state", slice(at_state_get()), "{\"n\":18446744073709551615}");
    check("context", slice(at_context_get()), "{\"user\":\"Ann\"}");
    at_state_merge(at_parse(AT_STR("{\"n\":1}")));
    check("merge", asked, "merge {\"n\":1}");
}

static void test_pieces(void) {
    check("whether text fits", at_partial_text(AT_STR("half\xFF")) ? AT_STR("yes") : AT_STR("no"), "yes");
    check("a piece of text", asked, "text half\xEF\xBF\xBD");
    at_partial_file("text/plain", AT_STR("a.txt"));
    check("a file", asked, "file text/plain 1 a.txt");
    at_partial_file("image/png", AT_NONE);
    check("a file without a name", asked, "file image/png 0 ");
    check("whether bytes fit", at_partial_bytes(AT_STR("\xFF")) ? AT_STR("yes") : AT_STR("no"), "no");
    check("bytes", asked, "bytes \xFF");
}

static void test_questions(void) {
    static const uint32_t several[] = {0, 2};
    const wire_answer answers[] = {
        {.kind = 0, .value.text = AT_STR("Ann")},
        {.kind = 0, .value.text = {(const char *)1, 0}},
        {.kind = 1, .value.choice = 7},
        {.kind = 2, .value.choices = {several, 2}},
        {.kind = 3},
        {.kind = 4},
    };
    static const char *const want[] = {"0 Ann 0", "0  0", "1 - 7", "2 - 0 [0] [2]", "3 - 0", "4 - 0"};
    const at_str choices[] = {AT_STR("this"), AT_STR("that")};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        next_answer = answers[i];
        check("an answer", told(at_ask(AT_STR("Which?"), choices, 2, true)), want[i]);
        check("a question", asked, "ask Which? 1 0 this that");
        check("an answer", told(at_ask_multiple(AT_STR("Which?"), choices, 1, false)), want[i]);
        check("a question with several answers", asked, "ask Which? 0 1 this");
    }
}

static void test_forms(void) {
    static const at_field fields[] = {{.name = "city", .type = AT_STRING}, AT_END};
    const wire_form_answer answers[] = {{0, AT_STR("{\"city\":\"Graz\"}")}, {.kind = 1}, {.kind = 2}};
    static const char *const want[] = {"0 {\"city\":\"Graz\"}", "1 ", "2 "};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        next_form = answers[i];
        at_form_answer answer = at_ask_form(AT_STR("Where?"), fields);
        check("a form's answer", at_format("%d %s", (int)answer.kind, slice(answer.fields).data), want[i]);
        check("a form", asked,
              "ask-form Where? {\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},\"required\":[\"city\"]}");
    }
}

static void test_artifacts(void) {
    static at_artifact kept[] = {
        {{"a.csv", 5}, {"text/csv", 8}, UINT64_C(1) << 40},
        {{"b", 1}, {(const char *)1, 0}, 0},
    };
    const at_artifact *listed = NULL;
    size_t count = 0;
    next_list = (wire_artifact_list){.is_error = 0, .value.list = {kept, 2}};
    at_artifact_outcome outcome = at_artifact_list(&listed, &count);
    check("list", at_format("%d %zu %s %s %" PRIu64 " %s[%s]", (int)outcome, count, listed[0].name.data,
                            listed[0].media_type.data, listed[0].size, listed[1].name.data, listed[1].media_type.data),
          "0 2 a.csv text/csv 1099511627776 b[]");

    at_str data = AT_STR("before");
    next_bytes = (wire_artifact_bytes){.is_error = 0, .value.bytes = AT_STR("bytes")};
    outcome = at_artifact_get(AT_STR("a"), &data);
    check("get", at_format("%d %s", (int)outcome, data.data), "0 bytes");
    check("what get asks", asked, "get a");
    next_done = (wire_artifact_done){0, 0};
    check("put", at_format("%d", (int)at_artifact_put(AT_STR("a\xFF"), "text/plain", AT_STR("x\xFF"))), "0");
    check("what put asks", asked, "put a\xEF\xBF\xBD text/plain x\xFF");
    check("delete", at_format("%d", (int)at_artifact_delete(AT_STR("a"))), "0");
    check("what delete asks", asked, "delete a");
}

static void test_artifact_failures(void) {
    static const struct {
        at_artifact_outcome outcome;
        const char *text;
    } tests[] = {
        {AT_ARTIFACT_NOT_FOUND, "there is no artifact `a`"},
        {AT_ARTIFACT_DENIED, "`a` is denied: the tool has no grant for artifacts, or only one to read"},
        {AT_ARTIFACT_INVALID_NAME, "`a` cannot be the name of an artifact: it must be a relative path such as "
                                   "`plots/one.png`, and not in `results/`"},
        {AT_ARTIFACT_INVALID_MEDIA_TYPE, "the media type of the artifact `a` is malformed, or does not agree with its bytes"},
        {AT_ARTIFACT_TOO_LARGE, "the artifact `a` is larger than one call may move"},
        {AT_ARTIFACT_QUOTA_EXCEEDED, "the artifact `a` cannot be kept: the artifacts of the session have used up their quota"},
    };
    for (uint8_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        const at_artifact *listed = NULL;
        size_t count = 1;
        at_str data = AT_STR("before");
        next_list = (wire_artifact_list){.is_error = 1, .value.error = i};
        next_bytes = (wire_artifact_bytes){.is_error = 1, .value.error = i};
        next_done = (wire_artifact_done){1, i};
        at_artifact_outcome got[] = {
            at_artifact_list(&listed, &count),
            at_artifact_get(AT_STR("a"), &data),
            at_artifact_put(AT_STR("a"), "text/plain", AT_STR("")),
            at_artifact_delete(AT_STR("a")),
        };
        for (size_t j = 0; j < sizeof got / sizeof *got; j++) {
            check("a failure", at_format("%d", (int)got[j]), at_format("%d", (int)tests[i].outcome).data);
        }
        check("what a failure leaves", at_format("%zu %s", count, data.data), "0 before");
        check("a failure's text", at_artifact_error(tests[i].outcome, AT_STR("a")).text, tests[i].text);
    }
}

int main(void) {
    test_reports();
    test_pieces();
    test_questions();
    test_forms();
    test_artifacts();
    test_artifact_failures();
    printf("%d failures\n", failures);
    return failures != 0;
}
