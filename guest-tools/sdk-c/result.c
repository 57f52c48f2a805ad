/* Tool results. The variant is chosen by function, never by inspecting a value. */
#include <stdarg.h>
#include <string.h>

#include "internal.h"

at_part at_part_text(at_str text) {
    return (at_part){.kind = AT_PART_TEXT, .content = text};
}

at_part at_part_bytes(const char *media_type, at_str bytes, at_str filename) {
    return (at_part){.kind = AT_PART_BYTES, .content = bytes, .media_type = at_cstr(media_type), .filename = filename};
}

at_part at_part_text_file(const char *media_type, at_str text, at_str filename) {
    return (at_part){.kind = AT_PART_TEXT_FILE, .content = text, .media_type = at_cstr(media_type), .filename = filename};
}

at_part at_part_url(const char *media_type, at_str url, at_str filename) {
    return (at_part){.kind = AT_PART_URL, .content = url, .media_type = at_cstr(media_type), .filename = filename};
}

at_result at_text(at_str text) {
    return (at_result){.kind = AT_TEXT, .text = text};
}

at_result at_textf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    at_str text = at_vformat(format, arguments);
    va_end(arguments);
    return at_text(text);
}

/* A value as the text of its document: one that is not there is null. */
static at_str document(at_value value) {
    return at_kind_of(value) == AT_KIND_MISSING ? AT_STR("null") : (at_str){value.data, value.len};
}

at_result at_json(at_value value) {
    return (at_result){.kind = AT_JSON, .text = document(value)};
}

at_result at_content(const at_part *parts, size_t count) {
    at_part *copy = at_alloc(count, sizeof *parts);
    if (count > 0) {
        memcpy(copy, parts, count * sizeof *parts);
    }
    return (at_result){.kind = AT_CONTENT, .parts = copy, .part_count = count};
}

at_result at_image(const char *media_type, at_str bytes) {
    at_part part = at_part_bytes(media_type, bytes, AT_NONE);
    return at_content(&part, 1);
}

at_result at_file(const char *media_type, at_str bytes, const char *filename) {
    at_part part = at_part_bytes(media_type, bytes, at_cstr(filename));
    return at_content(&part, 1);
}

at_result at_error(at_str text) {
    return (at_result){.kind = AT_ERROR_TEXT, .text = text};
}

at_result at_errorf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    at_str text = at_vformat(format, arguments);
    va_end(arguments);
    return at_error(text);
}

at_result at_error_json(at_value value) {
    return (at_result){.kind = AT_ERROR_JSON, .text = document(value)};
}

at_result at_denied(at_str reason) {
    return (at_result){.kind = AT_DENIED, .text = reason};
}
