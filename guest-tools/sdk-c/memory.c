/*
 * Memory, and the end of a call that cannot continue. Nothing is freed: an instance runs one call.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_tool.h"

void *at_alloc(size_t count, size_t size) {
    /* A zero-sized request gets a byte, so that NULL always means that there is none left. */
    void *memory = count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);
    if (memory == NULL) {
        at_panic("no memory is left for %zu elements of %zu bytes", count, size);
    }
    return memory;
}

void at_panic(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("panic: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

void at_assert_failed(const char *expression, const char *file, int line, const char *function) {
    const char *slash = strrchr(file, '/');
    at_panic("assertion failed: %s (%s:%d, %s)", expression, slash == NULL ? file : slash + 1, line, function);
}
