/* Tests of what needs no host: JSON, UTF-8 and schemas. `run` compiles them for this machine. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static int failures = 0;

/* Compares what came with what should have. */
static void check(const char *what, const char *input, at_str got, const char *want) {
    if (!at_equal(got, at_cstr(want))) {
        printf("%s of %s\n   got %s\n  want %s\n", what, input, got.data == NULL ? "nothing" : got.data, want == NULL ? "nothing" : want);
        failures++;
    }
}

static at_str slice(at_value value) {
    return value.len == 0 ? AT_NONE : at_format("%.*s", (int)value.len, value.data);
}

static void test_documents(void) {
    static const struct {
        const char *text;
        const char *value;
    } tests[] = {
        {" {\"a\" : [1, -0.5e+3, true, false, null, \"x\"]} \n", "{\"a\" : [1, -0.5e+3, true, false, null, \"x\"]}"},
        {"0", "0"},
        {"\"\"", "\"\""},
        {"[]", "[]"},
        {"{}", "{}"},
        {"\"\\ud83e\\udd80 \\u00e9 \\n\"", "\"\\ud83e\\udd80 \\u00e9 \\n\""},
        {"", NULL},
        {" ", NULL},
        {"{", NULL},
        {"[1,]", NULL},
        {"[,]", NULL},
        {"{\"a\"}", NULL},
        {"{\"a\":}", NULL},
        {"{a:1}", NULL},
        {"{\"a\":1,}", NULL},
        {"[1 2]", NULL},
        {"1 2", NULL},
        {"01", NULL},
        {"-", NULL},
        {"+1", NULL},
        {".5", NULL},
        {"1.", NULL},
        {"1e", NULL},
        {"tru", NULL},
        {"nul", NULL},
        {"NaN", NULL},
        {"\"", NULL},
        {"\"\\x\"", NULL},
        {"\"\\u12g4\"", NULL},
        {"\"\\u12", NULL},
        {"\"\t\"", NULL},
        {"\"\xFF\"", NULL},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        check("at_parse", tests[i].text, slice(at_parse(at_cstr(tests[i].text))), tests[i].value);
    }
    for (int depth = AT_MAX_DEPTH; depth <= AT_MAX_DEPTH + 1; depth++) {
        char nested[2 * AT_MAX_DEPTH + 3] = {0};
        memset(nested, '[', (size_t)depth);
        memset(nested + depth, ']', (size_t)depth);
        check("at_parse", "nested arrays", slice(at_parse(at_cstr(nested))), depth == AT_MAX_DEPTH ? nested : NULL);
    }
}

/* A number in each of the ways in which it can be read, or `-` where it cannot. */
static at_str readings(at_value value) {
    int64_t integer;
    uint64_t natural;
    double number;
    at_str first = at_read_int64(value, &integer) ? at_format("%" PRId64, integer) : AT_STR("-");
    at_str second = at_read_uint64(value, &natural) ? at_format("%" PRIu64, natural) : AT_STR("-");
    at_str third = at_read_double(value, &number) ? at_format("%.17g", number) : AT_STR("-");
    return at_format("%s %s %s", first.data, second.data, third.data);
}

static void test_numbers(void) {
    static const struct {
        const char *text;
        const char *readings;
    } tests[] = {
        {"0", "0 0 0"},
        {"-0", "0 0 -0"},
        {"9007199254740993", "9007199254740993 9007199254740993 9007199254740992"},
        {"9223372036854775807", "9223372036854775807 9223372036854775807 9.2233720368547758e+18"},
        {"9223372036854775808", "- 9223372036854775808 9.2233720368547758e+18"},
        {"-9223372036854775808", "-9223372036854775808 - -9.2233720368547758e+18"},
        {"-9223372036854775809", "- - -9.2233720368547758e+18"},
        {"18446744073709551615", "- 18446744073709551615 1.8446744073709552e+19"},
        {"18446744073709551616", "- - 1.8446744073709552e+19"},
        {"1.0", "1 1 1"},
        {"1.50e1", "15 15 15"},
        {"1200e-2", "12 12 12"},
        {"12e-2", "- - 0.12"},
        {"0.5", "- - 0.5"},
        {"1e18", "1000000000000000000 1000000000000000000 1e+18"},
        {"1e300", "- - 1.0000000000000001e+300"},
        {"1e400", "- - -"},
        {"0e999999999999999999999", "0 0 0"},
        {"1e-999999999999999999999", "- - 0"},
        {"\"1\"", "- - -"},
        {"null", "- - -"},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        check("the readings", tests[i].text, readings(at_parse(at_cstr(tests[i].text))), tests[i].readings);
    }
}

static void test_strings(void) {
    static const struct {
        const char *text;
        const char *value;
    } tests[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u00e9\\u2603\\ud83e\\udd80\"", "é☃🦀"},
        {"\"\\ud83e\"", "\uFFFD"},
        {"\"\\ud83e\\u0041\"", "\uFFFDA"},
        {"\"\\udd80\\ud83e\"", "\uFFFD\uFFFD"},
        {"1", NULL},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        at_str got = AT_NONE;
        at_read_string(at_parse(at_cstr(tests[i].text)), &got);
        check("at_read_string", tests[i].text, got, tests[i].value);
    }
    at_str zero = AT_NONE;
    at_read_string(at_parse(AT_STR("\"a\\u0000b\"")), &zero);
    if (!at_equal(zero, AT_STR("a\0b"))) {
        printf("a zero byte ends a string\n");
        failures++;
    }
    check("at_utf8", "overlong, surrogate and cut-off characters", at_utf8(AT_STR("a\xC0\x80z\xED\xA0\x80\xF0\x9F\xA6")),
          "a\uFFFD\uFFFDz\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
}

static void test_members(void) {
    at_value object = at_parse(AT_STR("{\"a\": 1, \"b\": [10, [20], {}], \"\\u0061\": 2, \"c\": null}"));
    check("the last `a`", "an object", slice(at_get(object, "a")), "2");
    check("`d`", "an object", slice(at_get(object, "d")), NULL);
    check("`c`", "an object", slice(at_get(object, "c")), "null");
    check("a member", "an array", slice(at_get(at_get(object, "b"), "a")), NULL);
    check("the counts", "an object and its parts",
          at_format("%zu %zu %zu", at_count(object), at_count(at_get(object, "b")), at_count(at_get(object, "a"))), "4 3 0");
    at_iter iter = at_iterate(at_get(object, "b"));
    at_value element;
    for (const char *const *want = (const char *const[]){"10", "[20]", "{}", NULL}; *want != NULL; want++) {
        check("the next element", "an array", at_next(&iter, &element) ? slice(element) : AT_NONE, *want);
    }
    if (at_next(&iter, &element)) {
        printf("an element follows the last\n");
        failures++;
    }
}

static void test_writer(void) {
    at_writer writer = {0};
    at_object_begin(&writer);
    at_key(&writer, "text");
    at_put_string(&writer, AT_STR("\"\\\n\x01 é\xFF"));
    at_key_str(&writer, AT_STR("numbers"));
    at_array_begin(&writer);
    at_put_int64(&writer, INT64_MIN);
    at_put_uint64(&writer, UINT64_MAX);
    at_put_double(&writer, 0.1);
    at_put_double(&writer, 0.30000000000000004);
    at_put_double(&writer, 1e300);
    at_put_double(&writer, 1.0 / 0.0);
    at_array_end(&writer);
    at_key(&writer, "rest");
    at_array_begin(&writer);
    at_put_bool(&writer, true);
    at_put_null(&writer);
    at_put_string(&writer, AT_NONE);
    at_put_value(&writer, at_parse(AT_STR("{\"n\":1.50}")));
    at_object_begin(&writer);
    at_object_end(&writer);
    at_array_end(&writer);
    at_object_end(&writer);
    check("what was written", "a writer", slice(at_written(&writer)),
          "{\"text\":\"\\\"\\\\\\u000a\\u0001 é\uFFFD\",\"numbers\":[-9223372036854775808,18446744073709551615,0.1,"
          "0.30000000000000004,1e+300,null],\"rest\":[true,null,null,{\"n\":1.50},{}]}");
}

static const char *const sizes[] = {"small", "large", NULL};
static const at_field integer = {.type = AT_INTEGER};
static const at_field place[] = {{.name = "x", .type = AT_NUMBER, .description = "To the right."}, AT_END};
static const at_field fields[] = {
    {.name = "size", .type = AT_STRING, .choices = sizes, .nullable = true},
    {.name = "numbers", .type = AT_ARRAY, .items = &integer, .fallback = "[]"},
    {.name = "count", .type = AT_UNSIGNED, .maximum = "9", .optional = true},
    {.name = "place", .type = AT_OBJECT, .fields = place, .optional = true},
    {.name = "any", .type = AT_ANY, .optional = true},
    AT_END,
};

static void test_fields(void) {
    check("the schema", "no fields", at_schema(NULL), "{\"type\":\"object\",\"properties\":{},\"required\":[],\"additionalProperties\":false}");
    check("the schema", "the fields", at_schema(fields),
          "{\"type\":\"object\",\"properties\":{"
          "\"size\":{\"type\":[\"string\",\"null\"],\"enum\":[\"small\",\"large\",null]},"
          "\"numbers\":{\"type\":\"array\",\"default\":[],\"items\":{\"type\":\"integer\"}},"
          "\"count\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":9},"
          "\"place\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"number\",\"description\":\"To the right.\"}},"
          "\"required\":[\"x\"],\"additionalProperties\":false},"
          "\"any\":{}},\"required\":[\"size\"],\"additionalProperties\":false}");
    static const at_field form[] = {
        {.name = "city", .type = AT_STRING, .description = "Where to."},
        {.name = "nights", .type = AT_UNSIGNED, .maximum = "30", .optional = true},
        AT_END,
    };
    check("the schema", "a form", slice(at_form_schema(form)),
          "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\",\"description\":\"Where to.\"},"
          "\"nights\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":30}},\"required\":[\"city\"]}");
    static const struct {
        const char *input;
        const char *misfit;
    } tests[] = {
        {"{\"size\":null}", NULL},
        {"{\"size\":\"small\",\"numbers\":[1,2.0],\"count\":3,\"place\":{\"x\":1},\"any\":[null]}", NULL},
        {"{}", "`size` is missing"},
        {"{\"size\":1}", "`size`: `1` is not string"},
        {"{\"size\":null,\"numbers\":[1,9223372036854775808]}", "`numbers`: `9223372036854775808` is not an integer of 64 bits"},
        {"{\"size\":null,\"count\":-1}", "`count`: `-1` is not an integer of 64 bits that is not negative"},
        {"{\"size\":null,\"place\":{\"x\":1e999}}", "`place`: `x`: `1e999` is not a number that a double can hold"},
        {"{\"size\":null,\"place\":{}}", "`place`: `x` is missing"},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        at_str misfit = AT_NONE;
        at_fits(fields, at_parse(at_cstr(tests[i].input)), &misfit);
        check("the misfit", tests[i].input, misfit, tests[i].misfit);
    }
}

int main(void) {
    test_documents();
    test_numbers();
    test_strings();
    test_members();
    test_writer();
    test_fields();
    printf("%d failures\n", failures);
    return failures != 0;
}
