/* What the files of the SDK share with each other and no tool needs. */
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

/* Whether the value is of the types that the fields promise. If not, the name of the first field that is not, and what it must be. */
bool at_fits(const at_field *fields, at_value object, at_str *misfit);

#endif
