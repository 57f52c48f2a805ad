/* Text: lengths, printf, and the rule that all text that leaves the tool is UTF-8. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

at_str at_cstr(const char *text) {
    return text == NULL ? AT_NONE : (at_str){text, strlen(text)};
}

at_str at_bytes(const void *data, size_t len) {
    return (at_str){data, len};
}

at_str at_lift(const char *data, size_t len) {
    return len == 0 ? AT_STR("") : (at_str){data, len};
}

bool at_equal(at_str left, at_str right) {
    return left.len == right.len && (left.len == 0 || memcmp(left.data, right.data, left.len) == 0);
}

at_str at_vformat(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, arguments);
    if (len < 0) {
        at_panic("the format `%s` cannot be written", format);
    }
    char *data = at_alloc((size_t)len + 1, 1);
    vsnprintf(data, (size_t)len + 1, format, again);
    va_end(again);
    return (at_str){data, (size_t)len};
}

at_str at_format(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    at_str text = at_vformat(format, arguments);
    va_end(arguments);
    return text;
}

/*
 * The length of the UTF-8 character at the start of `text`, or 0 if there is none: RFC 3629,
 * without surrogates and overlong forms.
 */
static size_t character(at_str text) {
    const unsigned char *bytes = (const unsigned char *)text.data;
    if (text.len == 0) {
        return 0;
    }
    unsigned char first = bytes[0];
    size_t len = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (len < 2 || len > text.len) {
        return len == 1 ? 1 : 0;
    }
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (bytes[1] < low || bytes[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < len; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return len;
}

/* The length of the part from `start` on that is UTF-8. */
static size_t valid(at_str text, size_t start) {
    size_t at = start;
    for (size_t len = 1; at < text.len && len != 0; at += len) {
        len = character((at_str){text.data + at, text.len - at});
    }
    return at - start;
}

at_str at_utf8(at_str text) {
    size_t good = valid(text, 0);
    if (good == text.len) {
        return text;
    }
    /* One bad byte becomes the three of U+FFFD. */
    char *data = at_alloc(text.len + 1, 3);
    size_t len = 0;
    for (size_t at = 0; at < text.len;) {
        memcpy(data + len, text.data + at, good);
        len += good;
        at += good;
        if (at < text.len) {
            memcpy(data + len, "\xEF\xBF\xBD", 3);
            len += 3;
            at += 1;
            good = valid(text, at);
        }
    }
    return (at_str){data, len};
}
