/*
 * JSON as it is read: a value is a slice of the checked document, and is understood only when it is
 * asked for. So numbers keep every digit, and a value that a tool passes on stays unchanged.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent_tool.h"

/* A position in a document. */
typedef struct {
    const char *at;
    const char *end;
} cursor;

static bool eat(cursor *in, char wanted) {
    if (in->at < in->end && *in->at == wanted) {
        in->at++;
        return true;
    }
    return false;
}

static void skip_space(cursor *in) {
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' || *in->at == '\r' || *in->at == '\t')) {
        in->at++;
    }
}

static bool skip_word(cursor *in, const char *word, size_t len) {
    if ((size_t)(in->end - in->at) < len || memcmp(in->at, word, len) != 0) {
        return false;
    }
    in->at += len;
    return true;
}

static bool skip_digits(cursor *in) {
    const char *start = in->at;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9') {
        in->at++;
    }
    return in->at > start;
}

static bool skip_number(cursor *in) {
    eat(in, '-');
    if (!eat(in, '0') && !skip_digits(in)) {
        return false;
    }
    if (eat(in, '.') && !skip_digits(in)) {
        return false;
    }
    if (eat(in, 'e') || eat(in, 'E')) {
        if (!eat(in, '+')) {
            eat(in, '-');
        }
        return skip_digits(in);
    }
    return true;
}

/* The value of a hexadecimal digit, or -1. */
static int hex(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* The four hexadecimal digits of a \u escape. */
static bool read_unit(cursor *in, uint32_t *unit) {
    if (in->end - in->at < 4) {
        return false;
    }
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex(*in->at++);
        if (digit < 0) {
            return false;
        }
        *unit = *unit * 16 + (uint32_t)digit;
    }
    return true;
}

static bool skip_string(cursor *in) {
    if (!eat(in, '"')) {
        return false;
    }
    while (in->at < in->end) {
        char next = *in->at++;
        if (next == '"') {
            return true;
        }
        if ((unsigned char)next < 0x20) {
            return false;
        }
        if (next == '\\') {
            uint32_t unit;
            if (in->at == in->end) {
                return false;
            }
            char escape = *in->at++;
            if (escape == 'u' ? !read_unit(in, &unit) : memchr("\"\\/bfnrt", escape, 8) == NULL) {
                return false;
            }
        }
    }
    return false;
}

static bool skip_value(cursor *in, unsigned depth);

/* An array, or an object if its elements have names. */
static bool skip_container(cursor *in, char close, unsigned depth) {
    if (depth == AT_MAX_DEPTH) {
        return false;
    }
    in->at++;
    skip_space(in);
    if (eat(in, close)) {
        return true;
    }
    do {
        skip_space(in);
        if (close == '}') {
            if (!skip_string(in)) {
                return false;
            }
            skip_space(in);
            if (!eat(in, ':')) {
                return false;
            }
            skip_space(in);
        }
        if (!skip_value(in, depth + 1)) {
            return false;
        }
        skip_space(in);
    } while (eat(in, ','));
    return eat(in, close);
}

static bool skip_value(cursor *in, unsigned depth) {
    switch (in->at < in->end ? *in->at : '\0') {
    case '{':
        return skip_container(in, '}', depth);
    case '[':
        return skip_container(in, ']', depth);
    case '"':
        return skip_string(in);
    case 't':
        return skip_word(in, "true", 4);
    case 'f':
        return skip_word(in, "false", 5);
    case 'n':
        return skip_word(in, "null", 4);
    default:
        return skip_number(in);
    }
}

at_value at_parse(at_str text) {
    cursor in = {text.data, text.data + text.len};
    skip_space(&in);
    const char *start = in.at;
    if (text.len == 0 || at_utf8(text).data != text.data || !skip_value(&in, 0)) {
        return AT_MISSING;
    }
    at_value value = {start, (size_t)(in.at - start)};
    skip_space(&in);
    return in.at == in.end ? value : AT_MISSING;
}

at_kind at_kind_of(at_value value) {
    switch (value.len == 0 ? '\0' : *value.data) {
    case '\0':
        return AT_KIND_MISSING;
    case '{':
        return AT_KIND_OBJECT;
    case '[':
        return AT_KIND_ARRAY;
    case '"':
        return AT_KIND_STRING;
    case 't':
    case 'f':
        return AT_KIND_BOOLEAN;
    case 'n':
        return AT_KIND_NULL;
    default:
        return AT_KIND_NUMBER;
    }
}

/* Writes a code point as UTF-8 and returns its length. */
static size_t encode(uint32_t point, char *out) {
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xC0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xE0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}

/*
 * The code point of a \u escape, after its `u`. Half of a surrogate pair stands for no character:
 * U+FFFD.
 */
static uint32_t read_escape(cursor *in) {
    uint32_t high = 0xFFFD;
    uint32_t low = 0;
    read_unit(in, &high);
    if (high < 0xD800 || high > 0xDFFF) {
        return high;
    }
    cursor pair = *in;
    if (high < 0xDC00 && eat(&pair, '\\') && eat(&pair, 'u') && read_unit(&pair, &low) && low >= 0xDC00 && low <= 0xDFFF) {
        *in = pair;
        return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    }
    return 0xFFFD;
}

bool at_read_string(at_value value, at_str *out) {
    if (at_kind_of(value) != AT_KIND_STRING || value.len < 2) {
        return false;
    }
    /*
     * No escape is shorter than what it stands for, so the result is never longer than the value.
     */
    char *data = at_alloc(value.len, 1);
    size_t len = 0;
    cursor in = {value.data + 1, value.data + value.len - 1};
    while (in.at < in.end) {
        char next = *in.at++;
        if (next != '\\' || in.at == in.end) {
            data[len++] = next;
            continue;
        }
        char escape = *in.at++;
        const char *plain = memchr("bfnrt", escape, 5);
        if (escape == 'u') {
            len += encode(read_escape(&in), data + len);
        } else {
            data[len++] = plain == NULL ? escape : "\b\f\n\r\t"[plain - "bfnrt"];
        }
    }
    *out = (at_str){data, len};
    return true;
}

/*
 * The power of ten that a number ends with, `in` being after its digits. Beyond a billion it is all
 * the same.
 */
static int64_t read_exponent(cursor *in) {
    if (!eat(in, 'e') && !eat(in, 'E')) {
        return 0;
    }
    bool negative = eat(in, '-');
    eat(in, '+');
    int64_t power = 0;
    for (; in->at < in->end; in->at++) {
        power = power > 1000000000 ? power : power * 10 + (*in->at - '0');
    }
    return negative ? -power : power;
}

/* Appends a decimal digit. False if the number then no longer fits. */
static bool push_digit(uint64_t *number, unsigned digit) {
    if (*number > (UINT64_MAX - digit) / 10) {
        return false;
    }
    *number = *number * 10 + digit;
    return true;
}

/* The sign and the magnitude of a number that is an integer, if the latter fits 64 bits. */
static bool read_integer(at_value value, bool *negative, uint64_t *magnitude) {
    if (at_kind_of(value) != AT_KIND_NUMBER) {
        return false;
    }
    cursor in = {value.data, value.data + value.len};
    *negative = eat(&in, '-');
    cursor digits = in;
    skip_digits(&in);
    int64_t places = in.at - digits.at;
    if (eat(&in, '.')) {
        skip_digits(&in);
    }
    digits.end = in.at;
    /* The exponent moves the decimal point: digits behind it have to be zeros. */
    places += read_exponent(&in);
    *magnitude = 0;
    for (; digits.at < digits.end; digits.at++) {
        if (*digits.at == '.') {
            continue;
        }
        unsigned digit = (unsigned)(*digits.at - '0');
        if (places > 0 ? !push_digit(magnitude, digit) : digit != 0) {
            return false;
        }
        places--;
    }
    for (; places > 0 && *magnitude != 0; places--) {
        if (!push_digit(magnitude, 0)) {
            return false;
        }
    }
    return true;
}

bool at_read_int64(at_value value, int64_t *out) {
    bool negative;
    uint64_t magnitude;
    if (!read_integer(value, &negative, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative) {
        return false;
    }
    /* The lowest integer has no positive counterpart. */
    *out = !negative ? (int64_t)magnitude : magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1;
    return true;
}

bool at_read_uint64(at_value value, uint64_t *out) {
    bool negative;
    uint64_t magnitude;
    if (!read_integer(value, &negative, &magnitude) || (negative && magnitude != 0)) {
        return false;
    }
    *out = magnitude;
    return true;
}

bool at_read_double(at_value value, double *out) {
    if (at_kind_of(value) != AT_KIND_NUMBER) {
        return false;
    }
    char *digits = at_alloc(value.len + 1, 1);
    memcpy(digits, value.data, value.len);
    double number = strtod(digits, NULL);
    if (!isfinite(number)) {
        return false;
    }
    *out = number;
    return true;
}

bool at_read_bool(at_value value, bool *out) {
    if (at_kind_of(value) != AT_KIND_BOOLEAN) {
        return false;
    }
    *out = *value.data == 't';
    return true;
}

at_iter at_iterate(at_value container) {
    at_kind kind = at_kind_of(container);
    if (container.len < 2 || (kind != AT_KIND_ARRAY && kind != AT_KIND_OBJECT)) {
        return (at_iter){NULL, NULL};
    }
    return (at_iter){container.data + 1, container.data + container.len - 1};
}

bool at_next(at_iter *iter, at_value *element) {
    cursor in = {iter->at, iter->end};
    skip_space(&in);
    const char *start = in.at;
    if (in.at == in.end || !skip_value(&in, 0)) {
        return false;
    }
    *element = (at_value){start, (size_t)(in.at - start)};
    skip_space(&in);
    eat(&in, ',');
    iter->at = in.at;
    return true;
}

bool at_next_member(at_iter *iter, at_str *name, at_value *value) {
    cursor in = {iter->at, iter->end};
    skip_space(&in);
    const char *start = in.at;
    if (!skip_string(&in) || !at_read_string((at_value){start, (size_t)(in.at - start)}, name)) {
        return false;
    }
    skip_space(&in);
    if (!eat(&in, ':')) {
        return false;
    }
    iter->at = in.at;
    return at_next(iter, value);
}

size_t at_count(at_value container) {
    at_iter iter = at_iterate(container);
    at_str name;
    at_value value;
    size_t count = 0;
    bool named = at_kind_of(container) == AT_KIND_OBJECT;
    while (named ? at_next_member(&iter, &name, &value) : at_next(&iter, &value)) {
        count++;
    }
    return count;
}

at_value at_get(at_value object, const char *name) {
    at_value found = AT_MISSING;
    if (at_kind_of(object) != AT_KIND_OBJECT) {
        return found;
    }
    at_iter iter = at_iterate(object);
    at_str wanted = at_cstr(name);
    at_str key;
    at_value value;
    while (at_next_member(&iter, &key, &value)) {
        if (at_equal(key, wanted)) {
            found = value;
        }
    }
    return found;
}

at_str at_get_string(at_value object, const char *name, at_str fallback) {
    at_read_string(at_get(object, name), &fallback);
    return fallback;
}

int64_t at_get_int64(at_value object, const char *name, int64_t fallback) {
    at_read_int64(at_get(object, name), &fallback);
    return fallback;
}

uint64_t at_get_uint64(at_value object, const char *name, uint64_t fallback) {
    at_read_uint64(at_get(object, name), &fallback);
    return fallback;
}

double at_get_double(at_value object, const char *name, double fallback) {
    at_read_double(at_get(object, name), &fallback);
    return fallback;
}

bool at_get_bool(at_value object, const char *name, bool fallback) {
    at_read_bool(at_get(object, name), &fallback);
    return fallback;
}
