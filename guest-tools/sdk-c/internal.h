/* Declarations that the files of the SDK share and no tool needs. */
#ifndef AGENT_TOOL_INTERNAL_H
#define AGENT_TOOL_INTERNAL_H

#include <stdarg.h>

#include "agent_tool.h"

/* at_format for functions that have a `...` of their own. */
at_str at_vformat(const char *format, va_list arguments) AT_PRINTF(1, 0);

/* Text that the host passed. Of an empty one the address means nothing. */
at_str at_lift(const char *data, size_t len);

/* The JSON Schema of an object with these fields, as text. NULL is an object without fields. */
at_str at_schema(const at_field *fields);

/*
 * True if the value has the types that the fields promise. If not, `misfit` names the first wrong
 * field and its type.
 */
bool at_fits(const at_field *fields, at_value object, at_str *misfit);

#endif
