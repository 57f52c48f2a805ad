/* JSON as it is written. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_tool.h"

static void put(at_writer *writer, const char *data, size_t len) {
    if (len > SIZE_MAX / 2 - writer->len) {
        at_panic("the JSON is too long");
    }
    size_t needed = writer->len + len + 1;
    if (needed > writer->capacity) {
        size_t capacity = needed > writer->capacity * 2 ? needed + 32 : writer->capacity * 2;
        char *grown = realloc(writer->data, capacity);
        if (grown == NULL) {
            at_panic("no memory is left for %zu bytes of JSON", capacity);
        }
        writer->data = grown;
        writer->capacity = capacity;
    }
    if (len > 0) {
        memcpy(writer->data + writer->len, data, len);
    }
    writer->len += len;
    writer->data[writer->len] = '\0';
}

/* Puts a whole value, after a comma where one is due. */
static void put_element(at_writer *writer, const char *data, size_t len) {
    if (writer->comma) {
        put(writer, ",", 1);
    }
    put(writer, data, len);
    writer->comma = true;
}

static void begin(at_writer *writer, const char *bracket) {
    put_element(writer, bracket, 1);
    writer->comma = false;
}

static void end(at_writer *writer, const char *bracket) {
    put(writer, bracket, 1);
    writer->comma = true;
}

void at_object_begin(at_writer *writer) {
    begin(writer, "{");
}

void at_object_end(at_writer *writer) {
    end(writer, "}");
}

void at_array_begin(at_writer *writer) {
    begin(writer, "[");
}

void at_array_end(at_writer *writer) {
    end(writer, "]");
}

void at_key(at_writer *writer, const char *name) {
    at_key_str(writer, at_cstr(name));
}

void at_key_str(at_writer *writer, at_str name) {
    at_put_string(writer, name.data == NULL ? AT_STR("") : name);
    put(writer, ":", 1);
    writer->comma = false;
}

void at_put_string(at_writer *writer, at_str text) {
    if (text.data == NULL) {
        at_put_null(writer);
        return;
    }
    text = at_utf8(text);
    put_element(writer, "\"", 1);
    size_t plain = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char next = (unsigned char)text.data[i];
        if (next >= 0x20 && next != '"' && next != '\\') {
            continue;
        }
        char escape[8];
        int len = next < 0x20 ? snprintf(escape, sizeof escape, "\\u%04x", (unsigned)next)
                              : snprintf(escape, sizeof escape, "\\%c", next);
        put(writer, text.data + plain, i - plain);
        put(writer, escape, (size_t)len);
        plain = i + 1;
    }
    put(writer, text.data + plain, text.len - plain);
    put(writer, "\"", 1);
}

void at_put_int64(at_writer *writer, int64_t number) {
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRId64, number);
    put_element(writer, digits, (size_t)len);
}

void at_put_uint64(at_writer *writer, uint64_t number) {
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, number);
    put_element(writer, digits, (size_t)len);
}

void at_put_double(at_writer *writer, double number) {
    if (!isfinite(number)) {
        at_put_null(writer);
        return;
    }
    /* 17 digits always read back as the same double, and mostly fewer do. */
    char digits[32];
    int len = 0;
    for (int precision = 15; precision <= 17; precision++) {
        len = snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (strtod(digits, NULL) == number) {
            break;
        }
    }
    put_element(writer, digits, (size_t)len);
}

void at_put_bool(at_writer *writer, bool truth) {
    at_put_value(writer, truth ? (at_value){"true", 4} : (at_value){"false", 5});
}

void at_put_null(at_writer *writer) {
    at_put_value(writer, AT_MISSING);
}

void at_put_value(at_writer *writer, at_value value) {
    if (value.len == 0) {
        put_element(writer, "null", 4);
    } else {
        put_element(writer, value.data, value.len);
    }
}

at_value at_written(const at_writer *writer) {
    at_value value = at_parse((at_str){writer->data, writer->len});
    if (at_kind_of(value) == AT_KIND_MISSING) {
        at_panic("the JSON that was written is not one complete document: %.200s", writer->len == 0 ? "" : writer->data);
    }
    return value;
}
